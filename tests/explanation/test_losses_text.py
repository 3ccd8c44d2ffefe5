"""What explain says of bounds: who runs under them, what is shared, what was given up and when."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.explanation.losses_text import MOST_PERIODS, losses_section
from ostinato.rows.loss_report import PatternReport, Period, Report

REST = "WITHIN 20 SECONDS RETURN MATCHES"
ABC = f"TYPE kind TIME ts PATTERN SEQ(A a, B b, C c) {REST}"
ABD = f"TYPE kind TIME ts PATTERN SEQ(A a, B b, D d) {REST}"
CLAUSE = """ORDER BY ts MEASURES A.ts AS began ALL MATCHES PATTERN (A X* B) WITHIN INTERVAL '9' SECOND
    DEFINE A AS kind = 'A', B AS kind = 'B'"""
OTHER_CLAUSE = CLAUSE.replace("kind = 'B'", "kind = 'C'")
FIRST_ONLY = CLAUSE.replace("ALL MATCHES ", "")
CLOCK = ost.VirtualClock()


def events(count: int) -> pa.Table:
    times = pa.array(np.arange(count) * 1_000_000, pa.timestamp("us", "UTC"))
    return pa.table({"ts": times, "kind": np.random.default_rng(7).choice(list("ABCD"), count)})


def report(periods: int, queries: int = 1, *, is_known: bool = False, dropped: int = 3) -> Report:
    lost, recall = (0.0, 1.0) if is_known else (None, None)
    patterns = [
        PatternReport(f"q{i}", 10 * periods, 50, dropped, lost, recall, None, None, None, None, None, 1.0, 0.0)
        for i in range(1, queries + 1)
    ]
    of_each = [Period(10 * at, 10, (dropped,) * queries, (5,) * queries) for at in range(periods)]
    return Report(tuple(patterns), tuple(of_each))


def told(*reports: Report) -> list[str]:
    found = losses_section(SimpleNamespace(reports=reports, metrics=None))
    assert found is not None and found[0] == "Losses of the last run"
    return list(found[1])


# --- what was given up ---


def test_period_by_period() -> None:
    lost = "5 found, unknown number lost, 3 partial matches dropped"
    line = f"q1: {lost}; q2: {lost}"
    assert told(report(3, queries=2))[3:] == [
        "by period (about one window of events each):",
        f"  events 0 to 9    {line}",
        f"  events 10 to 19  {line}",
        f"  events 20 to 29  {line}",
    ]


def test_many_periods_and_many_queries_are_put_together() -> None:
    lines = told(report(100, queries=20))
    assert lines[21] == "by period (about one window of events each, some joined):"
    assert len(lines[22:]) <= MOST_PERIODS
    assert lines[22] == "  events 0 to 159    20 queries: 1,600 found, unknown number lost, 960 partial matches dropped"


def test_of_input_that_was_left_out_losses_are_unknown() -> None:
    assert (
        told(report(1, dropped=0))[-1] == "  events 0 to 9  q1: 5 found, unknown number lost, 0 partial matches dropped"
    )


def test_where_nothing_was_dropped_nothing_is_said_of_periods() -> None:
    assert len(told(report(3, is_known=True, dropped=0))) == 2


def test_beside_an_unknown_loss_a_query_that_gave_up_nothing_says_so() -> None:
    both = report(1, queries=2)
    free = replace(both.patterns[0], dropped=0, lost_estimate=0.0, recall_estimate=1.0)
    mixed = replace(both, patterns=(free, both.patterns[1]), periods=(replace(both.periods[0], dropped=(0, 3)),))
    dropped = (
        "q1: 5 found, none lost, 0 partial matches dropped; q2: 5 found, unknown number lost, 3 partial matches dropped"
    )
    assert told(mixed)[-1] == f"  events 0 to 9  {dropped}"


def test_every_engine_has_its_say() -> None:
    assert sum(line.startswith("by period") for line in told(report(2), report(3))) == 2


def test_nothing_bounded_is_nothing_to_say() -> None:
    assert losses_section(SimpleNamespace(reports=(), metrics=None)) is None


def test_a_result_of_spark_points_to_its_metrics() -> None:
    found = losses_section(SimpleNamespace(reports=(), metrics=object()))
    assert found is not None and found[0] == "Losses of a run"
    assert "result.report.table" in (lines := list(found[1]))[0] and "result.table_with_report" in lines[1]


# --- who runs under a bound ---


def engines(asked: Any, table: Any = None) -> list[str]:
    text = ost.explain(asked, table).text
    return [line.strip() for line in text.splitlines() if "enumeration" in line or "shared matcher" in line]


def test_what_has_a_bound_runs_on_the_shared_matcher_whether_types_are_known_or_not() -> None:
    workload, table = ost.Workload([ABC, ABD], latency_bound="1 s", clock=CLOCK), events(50)
    for told_by in (engines(workload), engines(workload, table), engines(workload.run(table))):
        assert told_by == ["shared matcher: q1, q2"]


def test_without_types_it_is_open_who_runs_what_has_no_bound() -> None:
    open_ = "shared matcher or enumeration of matches, depending on the column types"
    assert engines(ost.Workload([ABC, ABD], latency_bound={"q1": "1 s"})) == ["shared matcher: q1", f"{open_}: q2"]
    assert engines(ost.Workload([ABC, ABD])) == [f"{open_}: q1, q2"]
    assert engines(ost.Workload([ABC, ABD], sharing="never")) == ["enumeration of matches: q1, q2"]
    assert engines(ost.Workload([ABC])) == ["enumeration of matches: q1"]


def test_on_a_stream_what_the_last_event_decides_is_carried_on_by_the_shared_matcher() -> None:
    """Of a DataFrame nothing is asked but its columns, and whether it is a stream."""
    df = SimpleNamespace(
        columns=["ts", "kind"], dtypes=[("ts", "timestamp"), ("kind", "string")], schema=None, isStreaming=True
    )
    windows = ABD.replace("20 SECONDS", "20 SECONDS SLIDE 5 SECONDS")
    assert engines(ost.Workload([ABC]), df) == ["shared matcher: q1"]
    assert engines(ost.Workload([ABC, windows]), df) == ["shared matcher: q1", "enumeration of matches: q2"]
    assert engines(ost.Workload([ABC, windows], latency_bound="1 s"), df) == ["shared matcher: q1, q2"]
    assert (
        "q2  on a stream its matches are emitted at the end of their window"
        in ost.explain(ost.Workload([ABC, windows]), df).text
    )
    df.isStreaming = False
    assert engines(ost.Workload([ABC]), df) == ["enumeration of matches: q1"]


# --- clauses ---


def test_clauses_under_a_bound_say_what_they_share_and_keep_to() -> None:
    workload, table = ost.Workload([CLAUSE, OTHER_CLAUSE], latency_bound="90 ns", clock=CLOCK), events(50)
    for text in (ost.explain(workload, table).text, ost.explain(workload.run(table)).text):
        assert "shared matcher   q1, q2: equal sub-patterns share a state." in text
        assert "Shared states: q1, q2\n" in text
        assert "3 states instead of 4; 1 serves more than one pattern" in text
        assert "11  A\n01  A B\n10  A B\n" in text
        assert "Bounds of the clauses\n" in text and "q2  at most 0.09 us of computing time for an event" in text


def test_without_types_the_bound_and_the_engine_are_known() -> None:
    text = ost.explain(ost.Workload([CLAUSE], memory_bound="1 MB")).text
    assert "shared matcher   q1: they have a bound." in text
    assert "Partial matches use at most 1,000,000 bytes in a task, over all its plans." in text
    assert "instead of" not in text


def test_one_clause_under_a_bound_has_a_section_too() -> None:
    text = ost.explain(ost.Workload([CLAUSE], batch_budget="2 ms"), events(5)).text
    assert "shared matcher   q1:" in text and "2 states instead of 2" in text
    assert "A micro-batch, or the batch of a task, takes at most 2 ms, over all plans of the task." in text
    assert "run together" not in ost.explain(ost.Workload([CLAUSE]), events(5)).text


def test_states_apart() -> None:
    text = ost.explain(ost.Workload([CLAUSE, OTHER_CLAUSE], latency_bound="1 s", sharing="never"), events(5)).text
    assert "shared matcher   q1, q2: each has its own states." in text
    assert "4 states instead of 4; 0 serve more than one pattern" in text


def test_what_cannot_be_bounded_is_refused_as_running_it_would() -> None:
    with pytest.raises(QueryError, match="BOUND_NOT_SUPPORTED"):
        ost.explain(ost.Workload([CLAUSE, FIRST_ONLY], latency_bound="1 s"), events(5))
