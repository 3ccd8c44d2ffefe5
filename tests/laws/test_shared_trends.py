"""Workloads of event queries give the oracle's results of each query, in one call and in several."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws import trend_programs
from tests.laws.declined import TRENDS, Declined
from tests.laws.event_strategies import bind, event_table, event_tables, sharing_workloads
from tests.laws.trend_programs import Prepared, at_once, in_steps, prepared_workload

from ostinato.event_queries.task.engines import engine_of
from ostinato.event_queries.trends.engine_groups import groups_of_stream
from ostinato.event_queries.workload_options import Sharing
from ostinato.reference.trend_matches import time_us

CUTS = st.lists(st.integers(0, 100), max_size=3)
PLAIN_TABLES = event_tables(ties=False, special=False, kinds="AABBC")
TABLES = st.one_of(PLAIN_TABLES, PLAIN_TABLES, event_tables())
"""Most tables have neither ties nor NaN, because these hide wrong sums."""
SHARING = st.sampled_from(["dynamic", "dynamic", "always"])

SUM_OF_DOUBLES = ["TYPE kind TIME ts PATTERN SEQ(A+, C) RETURN SUM(C.y), AVG(C.y)"] * 2
"""The pattern begins with the shared part: the count of its next event is a difference."""
ONE_TREND = event_table(
    [
        {"kind": "A", "ts": datetime(2024, 1, 1, tzinfo=UTC)},
        {"kind": "C", "ts": datetime(2024, 1, 2, tzinfo=UTC), "y": 2.0},
    ]
)


DECLINED = Declined(TRENDS)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def workload(texts: list[str], rows: list[dict[str, Any]]) -> list[Prepared]:
    """The prepared queries. Rejects queries that are declined, and queries with too many matches for the oracle."""
    with DECLINED.example(), DECLINED.oracle():
        ready = prepared_workload([bind(text) for text in texts], rows)
        for query in ready:
            query.expected()
    DECLINED.answered(rows=any(query.expected() for query in ready))
    return ready


def check(texts: list[str], rows: list[dict[str, Any]], cuts: list[int], sharing: Sharing) -> None:
    """Tests all engines that the plan chooses, with exact and with approximate numbers."""
    ready = workload(texts, rows)
    times = sorted({time_us(row["ts"]) for row in rows if row["ts"] is not None})
    moments = sorted({times[cut % len(times)] for cut in cuts}) if times else []
    groups = groups_of_stream(ready[0].plan, 0, sharing)
    event(", ".join(sorted(type(engine_of(group, True, sharing)).__name__ for group in groups)))
    for group in groups:
        for exact in (True, False):
            engine = engine_of(group, exact, sharing)
            for results_of_programs in (at_once(engine, ready[0]), in_steps(engine, ready[0], moments)):
                for member, results in zip(group.members, results_of_programs, strict=True):
                    difference = trend_programs.differing(ready[member.query], results)
                    assert difference is None, f"query {member.query} of {texts}: {difference}"


@given(sharing_workloads(), TABLES, CUTS, SHARING)
@settings(max_examples=examples(120))
@example(SUM_OF_DOUBLES, ONE_TREND, [], "dynamic")
def test_equals_the_oracle(texts: list[str], table: Any, cuts: list[int], sharing: Sharing) -> None:
    check(texts, table.to_pylist(), cuts, sharing)


@pytest.mark.slow
@given(sharing_workloads(), TABLES, CUTS, SHARING)
@settings(max_examples=examples(200))
def test_equals_the_oracle_deeply(texts: list[str], table: Any, cuts: list[int], sharing: Sharing) -> None:
    check(texts, table.to_pylist(), cuts, sharing)
