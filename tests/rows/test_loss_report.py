"""The text and the table of a report: lines of patterns, common bounds, periods."""

from __future__ import annotations

from dataclasses import replace

from ostinato.calls.bounds import Bounds, read_bounds
from ostinato.rows.loss_report import PatternReport, Period, Report, at_most

ROW = PatternReport(
    query="q",
    events=1_000,
    matches=90,
    dropped=7,
    lost_estimate=None,
    recall_estimate=None,
    bound_ns=150.0,
    calibrated_events=None,
    latency_p50_ns=100.0,
    latency_p95_ns=120.0,
    latency_p99_ns=130.0,
    within_bound=0.75,
    overhead=0.04,
)


def lines(row: PatternReport, bounds: Bounds | None = None, **measured: int) -> list[str]:
    return str(Report((row,), bounds=bounds, **measured)).split("\n")  # type: ignore[arg-type]


def bounds(**options: object) -> Bounds:
    return read_bounds(["q"], **options)  # type: ignore[arg-type]


def test_each_pattern_has_a_line() -> None:
    assert lines(ROW) == [
        "shedding: sharp",
        "q: 90 matches, an unknown number given up (recall unknown: partial matches were dropped, and the matches they "
        "would have made aren't known), 7 partial matches dropped; bound 150 ns an event, "
        "kept for 75.0% of the events; latency 100 ns median, 130 ns at 99 %; "
        "deciding took 4.0% of the time of matching",
    ]


def test_recall_is_known_if_nothing_was_dropped() -> None:
    row = replace(ROW, dropped=0, lost_estimate=0.0, recall_estimate=1.0)
    assert "q: 90 matches, none given up (recall 100%), 0 partial matches dropped; " in lines(row)[1]


def test_recall_is_unknown_with_input_shedding() -> None:
    text = str(Report((replace(ROW, dropped=0),), policy="random_input", sheds_input=True))
    reason = "random_input leaves out events, and the matches they would have made aren't known"
    assert f"90 matches, an unknown number given up (recall unknown: {reason}), 0 partial" in text


def test_deciding_may_take_longer_than_matching() -> None:
    assert lines(replace(ROW, overhead=6.455))[1].endswith("deciding took 6.5 times as long as matching")


def test_the_line_of_a_ratio_has_the_events_of_its_calibration() -> None:
    text = lines(replace(ROW, calibrated_events=3_598))[1]
    assert "bound 150 ns an event (calibrated on 3,598 events without one), kept for 75.0% of the events since" in text


def test_a_ratio_before_its_calibration_is_not_reported_as_no_bound() -> None:
    text = lines(replace(ROW, bound_ns=None, calibrated_events=0))[1]
    assert "its bound isn't known yet, it is measured on at least 4,096 events and 4 windows" in text
    assert "no latency bound" not in text


def test_no_latency_bound_is_reported_only_without_any_bound() -> None:
    free = replace(ROW, bound_ns=None)
    assert "; no latency bound; " in lines(free)[1]
    assert "no latency bound" not in lines(free, bounds(memory_bound="1 MB"))[1]


def test_memory_used_and_allowed() -> None:
    allowed = bounds(memory_bound="2 KB")
    assert lines(ROW, allowed, memory_bytes=1_500)[2:] == ["memory: 2,000 bytes allowed; at most 1,500 when deciding"]
    assert lines(ROW, allowed, memory_bytes=3_000)[2:] == [
        "memory: 2,000 bytes allowed; at most 3,000 when deciding, 50% too much"
    ]
    assert lines(ROW, allowed)[2:] == ["memory: 2,000 bytes allowed; not measured: no chunk has ended"]


def test_time_spent_and_budget() -> None:
    allowed = bounds(batch_budget="2 ms")
    assert lines(ROW, allowed, spent_ns=1_900_000)[2:] == ["budget: 2 ms; 1.9 ms spent"]
    assert lines(ROW, allowed, spent_ns=5_000_000)[2:] == ["budget: 2 ms; 5 ms spent, 150% too much"]


def test_the_line_of_a_selection_ratio() -> None:
    assert lines(ROW, bounds(selection_ratio=0.2))[2:] == [
        "selection: 0.2 of the partial matches are kept, whatever they cost"
    ]


def test_every_row_of_the_table_has_the_common_bounds() -> None:
    allowed = bounds(memory_bound=2_000, batch_budget="2 ms", selection_ratio=0.2)
    table = Report((ROW, ROW), bounds=allowed, memory_bytes=1_500, spent_ns=1_900_000).table()
    columns = ("memory_bytes", "memory_bound_bytes", "spent_ns", "batch_budget_ns", "selection_ratio")
    assert (
        table.select(columns).to_pylist()
        == [dict(zip(columns, (1_500, 2_000, 1_900_000, 2_000_000, 0.2), strict=True))] * 2
    )
    free = Report((ROW,)).table()
    assert free.schema == table.schema
    assert [free[name][0].as_py() for name in columns] == [None, None, 0, None, None]


def test_periods_are_merged_until_there_are_few_enough() -> None:
    periods = tuple(Period(10 * number, 10, (1,), (2,)) for number in range(11))
    few = at_most(periods, 4)
    assert [(one.first_event, one.events, one.dropped, one.matches) for one in few] == [
        (0, 40, (4,), (8,)),
        (40, 40, (4,), (8,)),
        (80, 30, (3,), (6,)),
    ]
    assert at_most(periods, 11) == periods
