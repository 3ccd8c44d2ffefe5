"""Checks of the output columns of a bound clause: names that occur twice, and a clause without any column."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from ostinato.clause.query.bound_clause import BoundClause
from ostinato.errors import QueryError, Span


def check_output_columns(bound: BoundClause, fold: Callable[[str], str]) -> None:
    """Raises DUPLICATE_COLUMN and NO_OUTPUT_COLUMNS. `fold` gives equal texts for names that are the same."""
    _check_keys(bound)
    measures, seen = {fold(measure.name): measure.span for measure in bound.measures}, set[str]()
    for name in bound.output_names:
        if fold(name) in seen:
            message, span = f"two output columns are named '{name}'", measures.get(fold(name))
            _fail(bound, "DUPLICATE_COLUMN", message, span, "give the measure another name" + _also_shown(bound))
        seen.add(fold(name))
    if not bound.output_names:
        _fail(
            bound,
            "NO_OUTPUT_COLUMNS",
            "ONE ROW PER MATCH without PARTITION BY and MEASURES has no column to show",
            bound.clause.spans.rows_per_match,
            "add MEASURES, or ALL ROWS PER MATCH",
        )


def _check_keys(bound: BoundClause) -> None:
    for at, key in enumerate(bound.clause.partition_by):
        if bound.partition_by[at] in bound.partition_by[:at]:
            _fail(bound, "DUPLICATE_COLUMN", "PARTITION BY names a column twice", key.span)


def _also_shown(bound: BoundClause) -> str:
    if bound.shows_all_rows:
        words = "the output" if bound.clause.spans.rows_per_match is None else "ALL ROWS PER MATCH"
        return f": {words} also shows the input's columns"
    return ": late='show' also shows the ORDER BY columns" if bound.shows_order else ""


def _fail(bound: BoundClause, code: str, message: str, span: Span | None, hint: str | None = None) -> NoReturn:
    raise QueryError(code, message, text=bound.clause.text, span=span, hint=hint)
