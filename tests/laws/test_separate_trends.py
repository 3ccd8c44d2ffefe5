"""The engine that computes each query by itself gives the oracle's results, in one call and in several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws import trend_programs
from tests.laws.declined import TRENDS, Declined
from tests.laws.event_strategies import AGGREGATES_ONLY, bind, event_queries, event_tables
from tests.laws.trend_programs import Prepared, at_once, in_steps, prepared

from ostinato.event_queries.trends.separate.separate_engine import SeparateEngine
from ostinato.reference.trend_matches import time_us

KNOBS = replace(AGGREGATES_ONLY, conjunction=False, decimals=False)


DECLINED = Declined(TRENDS)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def case(text: str, rows: list[dict[str, Any]]) -> Prepared:
    """The prepared query. Rejects queries that are declined, and queries with too many matches for the oracle."""
    with DECLINED.example(), DECLINED.oracle():
        ready = prepared(bind(text), rows)
        ready.expected()
        ready.all_events()
    DECLINED.answered(rows=bool(ready.expected()))
    return ready


def check(ready: Prepared, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    times = sorted({time_us(row["ts"]) for row in rows if row["ts"] is not None})
    moments = sorted({times[cut % len(times)] for cut in cuts}) if times else []
    for exact in (True, False):
        engine = SeparateEngine([ready.program], exact)
        for (results,) in (at_once(engine, ready), in_steps(engine, ready, moments)):
            assert trend_programs.differing(ready, results) is None


CUTS = st.lists(st.integers(0, 100), max_size=3)


@given(event_queries(KNOBS), event_tables(), CUTS)
@settings(max_examples=examples(60))
def test_equals_the_oracle(text: str, table: Any, cuts: list[int]) -> None:
    rows = table.to_pylist()
    check(case(text, rows), rows, cuts)


@pytest.mark.slow
@given(event_queries(KNOBS), event_tables(), CUTS)
@settings(max_examples=examples(150))
def test_equals_the_oracle_deeply(text: str, table: Any, cuts: list[int]) -> None:
    rows = table.to_pylist()
    check(case(text, rows), rows, cuts)


@pytest.mark.slow
@given(event_queries(replace(KNOBS, adjacent=False, several_variables=False)), event_tables(), CUTS)
@settings(max_examples=examples(150))
def test_running_sums(text: str, table: Any, cuts: list[int]) -> None:
    """Without conditions between events. The engine computes most of these queries as running sums."""
    rows = table.to_pylist()
    check(case(text, rows), rows, cuts)


@pytest.mark.slow
@given(event_queries(replace(KNOBS, selections=("",), negation=False)), event_tables(), CUTS)
@settings(max_examples=examples(150))
def test_ordered_edges(text: str, table: Any, cuts: list[int]) -> None:
    rows = table.to_pylist()
    check(case(text, rows), rows, cuts)
