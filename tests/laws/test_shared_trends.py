"""The shared engine gives what the oracle gives, for a query beside itself and beside others, at once and in steps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.laws import trend_programs
from tests.laws.event_strategies import AGGREGATES_ONLY, DECLINED, bind, event_queries, event_tables
from tests.laws.trend_programs import Prepared, at_once, in_steps, prepared

from ostinato.errors import QueryError
from ostinato.reference.trend_matches import TooManyRuns, time_us
from ostinato.techniques.shared_trends.shared.engine import SharedEngine, declined

KNOBS = replace(AGGREGATES_ONLY, conjunction=False, decimals=False, spans=False, selections=("", "SKIP TILL ANY MATCH"))


def case(text: str, rows: list[dict[str, Any]]) -> Prepared:
    """Queries that are declined, and those with more matches than the oracle bears, are no examples."""
    try:
        ready = prepared(bind(text), rows)
        ready.expected()
        ready.whole()
    except QueryError as error:
        assert error.code in DECLINED, error
        assume(False)
    except (TooManyRuns, NotImplementedError):
        assume(False)
    return ready


def check(ready: Prepared, rows: list[dict[str, Any]], cuts: list[int]) -> None:
    programs = [ready.program, ready.program]
    reason = declined(programs)
    event(reason or "shared")
    times = sorted({time_us(row["ts"]) for row in rows if row["ts"] is not None})
    moments = sorted({times[cut % len(times)] for cut in cuts}) if times else []
    assume(reason is None or reason == "no two queries repeat the same events")
    for exact in (True, False):
        engine = SharedEngine(programs, exact)
        assert trend_programs.differing(ready, at_once(engine, ready)) is None
        assert trend_programs.differing(ready, in_steps(engine, ready, moments)) is None


@given(event_queries(KNOBS), event_tables(), st.lists(st.integers(0, 100), max_size=3))
@settings(max_examples=60, deadline=None)
def test_equals_the_oracle(text: str, table: Any, cuts: list[int]) -> None:
    rows = table.to_pylist()
    check(case(text, rows), rows, cuts)


@pytest.mark.slow
@given(event_queries(KNOBS), event_tables(), st.lists(st.integers(0, 100), max_size=3))
@settings(max_examples=3000, deadline=None)
def test_equals_the_oracle_deeply(text: str, table: Any, cuts: list[int]) -> None:
    rows = table.to_pylist()
    check(case(text, rows), rows, cuts)
