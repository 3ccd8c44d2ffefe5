"""`ostinato why-not`: a query, a file and a key -> why its rows don't match. Doesn't start Spark."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ostinato.cli.arrow_inputs import input_rows
from ostinato.cli.explain import write_picture
from ostinato.cli.failures import UsageFault
from ostinato.cli.files import InputFile, parse_inputs
from ostinato.cli.progress import progress_on_stderr
from ostinato.cli.queries import query_text
from ostinato.cli.terminal import say
from ostinato.errors import QueryError
from ostinato.rows.column_lookup import ColumnLookup

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS = re.compile(r"(\d+)|(\d*):(\d*)")


def explain_attempts(options: argparse.Namespace) -> int:
    """Prints how far each start row came, and why the next row was refused; with --svg, also draws it."""
    from ostinato.api.why_not import why_not

    query = query_text(options)
    table = _only_input(parse_inputs(options.input))
    starts = None if options.rows is None else start_rows(options.rows)
    progress = progress_on_stderr()
    with progress("reading rows"):
        rows = input_rows(table)
    key = key_values(options.key, rows.schema)
    with progress("matching"):
        try:
            found = why_not(query, rows, key=key, rows=starts)
        except QueryError as error:
            error.hint = error.hint and hint_of_command(error.hint)
            raise
    say(found.text)
    if options.svg is not None:
        write_picture(found.svg, options.svg)
    return 0


_HINTS = {
    'key={"symbol": "ACME"}, or key="ACME" if there is one key column': "--key symbol=ACME",
    "key= is one of": "--key COLUMN=VALUE, with one of",
    "leave key= out": "leave --key out",
    "rows= has": "--rows has",
}
"""Hints of `ost.why_not` about its arguments, in the words of the command."""


def hint_of_command(hint: str) -> str:
    """A hint of `ost.why_not` for the command line.

    >>> hint_of_command("leave key= out: the query has no PARTITION BY")
    'leave --key out: the query has no PARTITION BY'
    """
    for call, command in _HINTS.items():
        hint = hint.replace(call, command)
    return hint


def add_attempt_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose the key and the start rows."""
    parser.add_argument(
        "--key",
        action="append",
        default=[],
        metavar="COLUMN=VALUE",
        help="value of a PARTITION BY column; repeat the option for further columns",
    )
    parser.add_argument(
        "--rows", metavar="FIRST:END", help="start rows, as positions in the order of the key from 0 on: 3 or 0:10"
    )


def _only_input(inputs: Sequence[InputFile]) -> InputFile:
    if len(inputs) != 1:
        hint = "--input trades=trades.csv"
        raise UsageFault("INVALID_INPUT", f"why-not reads one input, not {len(inputs)}", hint=hint)
    return inputs[0]


def start_rows(words: str) -> int | slice:
    """The positions in `--rows`.

    >>> start_rows("3"), start_rows("2:"), start_rows("0:10")
    (3, slice(2, None, None), slice(0, 10, None))
    """
    found = _ROWS.fullmatch(words)
    if found is None or len(words) > 30:
        raise UsageFault("INVALID_OPTION", f"--rows {words} is not of the form FIRST:END", hint="--rows 0:10")
    if found[1]:
        return int(found[1])
    return slice(*(int(number) if number else None for number in (found[2], found[3])))


def key_values(words: Sequence[str], schema: pa.Schema) -> dict[str, object] | None:
    """The values in `--key`, in the types of their columns. None if there is none."""
    import pyarrow as pa

    lookup = ColumnLookup(schema.names, case_sensitive=False)
    key: dict[str, object] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise UsageFault("INVALID_KEY", f"--key {word} is not of the form COLUMN=VALUE", hint="--key symbol=ACME")
        column = lookup.column(name)
        kind = schema.field(column).type
        try:
            key[column] = pa.scalar(value).cast(kind).as_py()
        except pa.ArrowException as error:
            raise UsageFault("INVALID_KEY", f"the column '{column}' is {kind}, which '{value}' isn't") from error
    return key or None
