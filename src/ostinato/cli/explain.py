"""`ostinato explain`: a query -> its explanation, as text and as a picture. Doesn't start Spark."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ostinato.cli.arrow_inputs import input_schema
from ostinato.cli.failures import UsageFault
from ostinato.cli.files import parse_inputs
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.queries import query_text
from ostinato.cli.terminal import say


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
        write_picture(explanation.svg, options.svg)
    return 0


def write_picture(svg: str, path: Path) -> None:
    """Writes the picture, and says so. Raises OUTPUT_FOLDER_MISSING."""
    if not path.absolute().parent.is_dir():
        raise UsageFault("OUTPUT_FOLDER_MISSING", f"there is no folder {path.absolute().parent}")
    path.write_text(svg, encoding="utf-8")
    say(f"wrote {path}", sys.stderr)
