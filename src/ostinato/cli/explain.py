"""`ostinato explain`: a query -> its explanation, as text and as a picture. Doesn't start Spark."""

from __future__ import annotations

import argparse
import re
import sys
from glob import glob, has_magic
from typing import TYPE_CHECKING

from ostinato.cli.failures import UsageFault
from ostinato.cli.files import InputFile, parse_inputs
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.queries import query_text
from ostinato.cli.terminal import say

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_READ = 100
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:\d\d)?")


def explain_query(options: argparse.Namespace) -> int:
    """Prints the explanation; with --svg, also draws the automaton."""
    from ostinato.api.explain import explain

    query = query_text(options)
    inputs = parse_inputs(options.input)
    progress = progress_on_stderr()
    with progress("reading columns"):
        schemas = {table.name: input_schema(table) for table in inputs}
    with progress("explaining"):
        explanation = explain(query, schemas or None)
    say(explanation.text)
    if options.svg is not None:
        if not options.svg.absolute().parent.is_dir():
            raise UsageFault("OUTPUT_FOLDER_MISSING", f"there is no folder {options.svg.absolute().parent}")
        options.svg.write_text(explanation.svg, encoding="utf-8")
        say(f"wrote {options.svg}", sys.stderr)
    return 0


def input_schema(table: InputFile) -> pa.Schema:
    """Column names and types of a file, a folder or a path with wildcards, read without Spark."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset

    source = sorted(glob(table.path)) if has_magic(table.path) else table.path
    if not source:
        raise UsageFault("INPUT_MISSING", f"there is no file {table.path} (for table {table.name})")
    if table.format == "tsv":
        form = pyarrow.dataset.CsvFileFormat(parse_options=pyarrow.csv.ParseOptions(delimiter="\t"))
    else:
        form = table.format
    try:
        data = pyarrow.dataset.dataset(source, format=form)
        return _with_times(data.head(_ROWS_READ)) if table.format == "json" else data.schema
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageFault(
            "INPUT_UNREADABLE", f"can't read {table.path} as {table.format}: {str(error).splitlines()[0]}"
        ) from None


def _with_times(rows: pa.Table) -> pa.Schema:
    """The schema of rows from JSON. Texts that are times count as timestamps, as in Spark's reader."""
    import pyarrow as pa

    schema = rows.schema
    for i, name in enumerate(schema.names):
        texts = rows.column(name).drop_null().to_pylist() if pa.types.is_string(schema.types[i]) else []
        if texts and all(_TIME.fullmatch(text) for text in texts):
            schema = schema.set(i, pa.field(name, pa.timestamp("us")))
    return schema
