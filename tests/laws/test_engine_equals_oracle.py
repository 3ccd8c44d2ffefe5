"""The in-process engine gives the oracle's rows, on random clauses over random small tables."""

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
"""Error codes of expressions that the engine declines."""


def check(text: str, table: pa.Table) -> None:
    try:
        wrong = difference(text, table)
    except NotImplementedError:  # the oracle never guesses
        event("the oracle declines")
        assume(False)
    except QueryError as error:
        if error.code not in DECLINED:
            raise
        event("the engine declines")
        assume(False)
    assert wrong is None, f"{text}\n{table.to_pylist()}\n{wrong}"


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


PAST_FAILURES = (
    "MEASURES count(DISTINCT x) AS n, count(DISTINCT t) AS moments, count(DISTINCT y) AS reals PATTERN (A+)",
    "MEASURES count(*) AS n PATTERN (A+) DEFINE A AS avg(coalesce(d, 1.25)) < 2",
    "MEASURES count(*) AS n PATTERN (A* B) DEFINE B AS PREV(CASE WHEN CLASSIFIER() = 'A' THEN x ELSE 0 END) >= -3",
    "MEASURES count(*) AS n PATTERN (A+ B) DEFINE A AS FIRST(x + MATCH_NUMBER()) > -9",
)
"""Clauses that random examples failed on, in their smallest form."""


@pytest.mark.parametrize("text", PAST_FAILURES)
def test_past_failures(text: str) -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    values = [(-3, 1.5, None), (None, None, Decimal("3.00")), (-3, -2.0, Decimal("0.50")), (4, 1.5, None)]
    rows = [
        {"k": None, "g": 1, "id": number, "x": x, "y": y, "d": d, "s": "a", "f": True, "t": moment}
        for number, (x, y, d) in enumerate(values)
    ]
    check(f"ORDER BY id {text}", table_of(rows))


def test_many_examples_have_matches() -> None:
    """Tests the strategies: at least 25 of 100 clauses have matches, and the engine declines at most 5."""
    examples_by_outcome = {"rows": 0, "none": 0, "error": 0, "declined": 0}

    @settings(max_examples=100, database=None)
    @given(clauses(), tables())
    def look(text: str, table: pa.Table) -> None:
        try:
            rows = rows_of(match_table(parse_clause(text), table))
            examples_by_outcome["rows" if rows else "none"] += 1
        except MatchError:
            examples_by_outcome["error"] += 1
        except QueryError:
            examples_by_outcome["declined"] += 1

    look()
    assert examples_by_outcome["rows"] >= 25, examples_by_outcome
    assert examples_by_outcome["declined"] <= 5, examples_by_outcome
