"""The in-process engine gives the oracle's rows, on random clauses over random small tables."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.examples import examples
from tests.laws.comparison import difference
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import clauses, table_of, tables

PREFERRED = Declined(CLAUSES, most_declined=0.05, fewest_with_rows=0.25)
MODES = Declined(CLAUSES, most_declined=0.05)
"""ALL, INCREMENTAL and MAXIMAL MATCHES have smaller tables, which match less often."""


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with PREFERRED.counted(), MODES.counted():
        yield


def check(text: str, table: pa.Table, declined: Declined = PREFERRED) -> None:
    wrong = difference(text, table, declined)
    assert wrong is None, f"{text}\n{table.to_pylist()}\n{wrong}"


@given(clauses(), tables())
def test_preferred_matches(text: str, table: pa.Table) -> None:
    check(text, table)


@given(clauses(modes=True), tables(most_rows=6))
def test_match_modes(text: str, table: pa.Table) -> None:
    check(text, table, MODES)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(clauses(), tables())
def test_preferred_matches_deeply(text: str, table: pa.Table) -> None:
    check(text, table)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(clauses(modes=True), tables(most_rows=6))
def test_match_modes_deeply(text: str, table: pa.Table) -> None:
    check(text, table, MODES)


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
