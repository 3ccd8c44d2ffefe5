"""The six languages: how a text is drawn, and everything that is done with it on a tiny table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from random import Random

import pyarrow as pa
from tests.fuzz import texts

import ostinato as ost
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.clause.language.statement_spans import read_statement
from ostinato.correlations.language.correlation_parser import find_correlations

TABLE = pa.table(
    {
        "id": pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
        "k": ["a", "b", "b", "c", "a", None],
        "x": [1.0, 3.0, None, float("nan"), 2.0, -0.0],
        "i": pa.array([1, -2, 2147483647, None, 0, 7], pa.int32()),
        "ts": pa.array(
            [datetime(2024, 1, 1, 0, 0, s, tzinfo=UTC) for s in (0, 1, 1, 3, 8, 9)], pa.timestamp("us", "UTC")
        ),
        "d": pa.array(
            [Decimal("1.50"), None, Decimal("-2.25"), Decimal(0), Decimal("9.99"), Decimal(3)], pa.decimal128(10, 2)
        ),
        "a": pa.array([[1, 2], [], None, [None], [3], [4, 5]], pa.list_(pa.int32())),
        "s": pa.array([{"f": 1}, None, {"f": None}, {"f": 2}, {"f": 3}, {"f": 4}], pa.struct([("f", pa.int32())])),
        "b": [True, False, None, True, True, False],
    }
)
GRAPH = ost.graph(pa.table({"head": list("abcd"), "relation": list("rsru"), "tail": list("bcda")}))
MOST_PARTIAL_MATCHES = 20_000
"""A text that needs more than this is refused by our own error."""


@dataclass(frozen=True, slots=True)
class Language:
    """`draw` makes a text of a generator; `use` does everything that a caller may do with it."""

    name: str
    draw: Callable[[Random], str]
    use: Callable[[str], None]


def _each(*steps: Callable[[], object]) -> None:
    """Takes all steps, though some raise errors of ours: a text that can't run can still be explained."""
    for step in steps:
        try:
            step()
        except ost.OstinatoError as error:
            _check(error)


def _check(error: ost.OstinatoError) -> None:
    """An error can be printed. On six rows no memory runs out, and no value passes our checks to be refused later."""
    str(error).encode()
    if error.code in ("INTERNAL_ERROR", "OUT_OF_MEMORY", "TASK_TOO_LARGE"):
        raise error.__cause__ or error


def use_clause(text: str) -> None:
    _each(
        lambda: ost.explain(text),
        lambda: ost.explain(text, TABLE)._repr_html_(),
        lambda: ost.match(text, TABLE, max_partial_matches=MOST_PARTIAL_MATCHES),
    )


def use_statement(text: str) -> None:
    _each(only_our_errors()(lambda: find_correlations(read_statement(text))), lambda: use_clause(text))


def use_events(text: str) -> None:
    def run() -> None:
        asked = ost.events(text, type="k", time="id")
        limits = {"max_matches": 1_000, "max_partial_matches": MOST_PARTIAL_MATCHES}
        _each(
            lambda: ost.explain(asked, TABLE),
            lambda: asked.to_sql(TABLE.column_names, "t"),
            lambda: ost.match(asked, TABLE, **limits),
        )

    _each(run)


def use_path(text: str) -> None:
    _each(lambda: ost.paths(text, start="a", max_hops=3).run(GRAPH).plot())


def use_summary(text: str) -> None:
    def run() -> None:
        asked = ost.summary(text, type="k", time="id", within=4, size=3, aggregate="SUM(i)")
        _each(lambda: ost.explain(asked), lambda: asked.feed(TABLE).ask())

    _each(run)


def use_correlation(text: str) -> None:
    def run() -> None:
        asked = ost.correlate(text, max_partial_matches=MOST_PARTIAL_MATCHES)
        _each(lambda: ost.explain(asked), lambda: asked.run(TABLE))

    _each(run)


LANGUAGES = (
    Language("clause", texts.clause, use_clause),
    Language("statement", texts.statement, use_statement),
    Language("events", texts.event_query, use_events),
    Language("path", texts.path, use_path),
    Language("summary", texts.summary, use_summary),
    Language("correlation", texts.correlation, use_correlation),
)
