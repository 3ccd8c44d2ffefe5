"""The in-process engine gives what the oracle gives, on random clauses over random small tables."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings
from tests.examples import examples
from tests.laws.comparison import difference, rows_of
from tests.laws.strategies import clauses, table_of, tables

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.errors import MatchError, QueryError
from ostinato.local.local_clause import match_table

DECLINED = frozenset({"UNSUPPORTED_ACROSS_ROWS"})
"""Codes by which the engine says that it doesn't take an expression."""


def check(text: str, table: pa.Table) -> None:
    try:
        found = difference(text, table)
    except NotImplementedError:  # the oracle never guesses
        event("the oracle declines")
        assume(False)
    except QueryError as error:
        if error.code not in DECLINED:
            raise
        event("the engine declines")
        assume(False)
    assert found is None, f"{text}\n{table.to_pylist()}\n{found}"


@given(clauses(), tables())
def test_preferred_matches(text: str, table: pa.Table) -> None:
    check(text, table)


@given(clauses(modes=True), tables(most_rows=6))
def test_match_modes(text: str, table: pa.Table) -> None:
    check(text, table)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(clauses(), tables())
def test_preferred_matches_deeply(text: str, table: pa.Table) -> None:
    check(text, table)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(clauses(modes=True), tables(most_rows=6))
def test_match_modes_deeply(text: str, table: pa.Table) -> None:
    check(text, table)


FOUND_BEFORE = (
    "MEASURES count(DISTINCT x) AS n, count(DISTINCT t) AS moments, count(DISTINCT y) AS reals PATTERN (A+)",
    "MEASURES count(*) AS n PATTERN (A+) DEFINE A AS avg(coalesce(d, 1.25)) < 2",
    "MEASURES count(*) AS n PATTERN (A* B) DEFINE B AS PREV(CASE WHEN CLASSIFIER() = 'A' THEN x ELSE 0 END) >= -3",
    "MEASURES count(*) AS n PATTERN (A+ B) DEFINE A AS FIRST(x + MATCH_NUMBER()) > -9",
)
"""What random examples have brought to light, in its smallest form."""


@pytest.mark.parametrize("text", FOUND_BEFORE)
def test_found_before(text: str) -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    numbers = [(-3, 1.5, None), (None, None, Decimal("3.00")), (-3, -2.0, Decimal("0.50")), (4, 1.5, None)]
    rows = [
        {"k": None, "g": 1, "id": at, "x": x, "y": y, "d": d, "s": "a", "f": True, "t": moment}
        for at, (x, y, d) in enumerate(numbers)
    ]
    check(f"ORDER BY id {text}", table_of(rows))


def test_most_examples_say_something() -> None:
    """A test of the strategies: most clauses find matches, and neither side declines more than a few."""
    seen = {"rows": 0, "none": 0, "error": 0, "declined": 0}

    @settings(max_examples=100, database=None)
    @given(clauses(), tables())
    def look(text: str, table: pa.Table) -> None:
        try:
            found = rows_of(match_table(parse_clause(text), table))
            seen["rows" if found else "none"] += 1
        except MatchError:
            seen["error"] += 1
        except QueryError:
            seen["declined"] += 1

    look()
    assert seen["rows"] >= 25, seen
    assert seen["declined"] <= 5, seen
