"""`ostinato explain`: a query -> its explanation, as text and as a picture. Doesn't start Spark."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ostinato.cli.failures import UsageFault
from ostinato.cli.files import InputFile, parse_inputs
from ostinato.cli.queries import query_text
from ostinato.cli.terminal import say

if TYPE_CHECKING:
    import pyarrow as pa


def explain_query(options: argparse.Namespace) -> int:
    """Prints the explanation; with --svg, also draws the automaton."""
    from ostinato.api.explain import explain

    query = query_text(options)
    inputs = parse_inputs(options.input)
    explanation = explain(query, {table.name: input_schema(table) for table in inputs} or None)
    say(explanation.text)
    if options.svg is not None:
        if not options.svg.absolute().parent.is_dir():
            raise UsageFault("OUTPUT_FOLDER_MISSING", f"there is no folder {options.svg.absolute().parent}")
        options.svg.write_text(explanation.svg, encoding="utf-8")
        say(f"wrote {options.svg}", sys.stderr)
    return 0


def input_schema(table: InputFile) -> pa.Schema:
    """Column names and types of a file or folder, read without Spark."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset

    if table.format == "tsv":
        form = pyarrow.dataset.CsvFileFormat(parse_options=pyarrow.csv.ParseOptions(delimiter="\t"))
    else:
        form = table.format
    try:
        return pyarrow.dataset.dataset(table.path, format=form).schema
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageFault(
            "INPUT_UNREADABLE", f"can't read {table.path} as {table.format}: {str(error).splitlines()[0]}"
        ) from None
