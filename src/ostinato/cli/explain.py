"""`ostinato explain`: a query -> how it is understood and run, as text and as a picture. Starts no Spark."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ostinato.cli.failures import UsageFault
from ostinato.cli.files import Input, parse_inputs
from ostinato.cli.queries import query_text

if TYPE_CHECKING:
    import pyarrow as pa


def explain_query(options: argparse.Namespace) -> int:
    """Print the explanation; with --svg, also draw it."""
    from ostinato.explanation import explain

    query = query_text(options)
    inputs = parse_inputs(options.input)
    explanation = explain(query, {given.name: input_schema(given) for given in inputs} or None)
    print(explanation.text)
    if options.svg is not None:
        if not options.svg.absolute().parent.is_dir():
            raise UsageFault("OUTPUT_FOLDER_MISSING", f"there is no folder {options.svg.absolute().parent}")
        options.svg.write_text(explanation.svg, encoding="utf-8")
        print(f"wrote {options.svg}", file=sys.stderr)
    return 0


def input_schema(given: Input) -> pa.Schema:
    """Column names and types of a file or folder, read without Spark."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset

    if given.format == "tsv":
        form = pyarrow.dataset.CsvFileFormat(parse_options=pyarrow.csv.ParseOptions(delimiter="\t"))
    else:
        form = given.format
    try:
        return pyarrow.dataset.dataset(given.path, format=form).schema
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageFault(
            "INPUT_UNREADABLE", f"can't read {given.path} as {given.format}: {str(error).splitlines()[0]}"
        ) from None
