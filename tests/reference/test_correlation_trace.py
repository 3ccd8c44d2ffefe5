"""The paper's Tables 3 and 4, as corrected: buffer and cache of the running example after each row."""

from __future__ import annotations

from tests.reference.correlations import FALL, TABLE_1, TICK, at_minutes, correlation, starts_and_ends

from ostinato.reference.correlation_trace import TraceStep, trace_archive_first, trace_live_first


def by_time(steps: list[TraceStep]) -> dict[int, tuple[tuple[int, int], tuple[tuple[int, int], ...]]]:
    """The first and last buffered row and the cached matches, at each time."""
    return {step.time: ((step.buffer[0], step.buffer[-1]), step.cache) for step in steps if step.buffer}


def test_table_3_live_first() -> None:
    held = by_time(trace_live_first(correlation(FALL, TICK), ["t", "p"], at_minutes(TABLE_1)))
    assert {time: held[time] for time in range(4, 11)} == {
        4: ((0, 4), ()),
        5: ((3, 5), ((2, 4),)),
        6: ((3, 6), ((2, 4),)),
        7: ((5, 7), ((2, 4), (4, 6))),
        8: ((5, 8), ((2, 4), (4, 6))),
        9: ((5, 9), ((2, 4), (4, 6))),
        10: ((5, 10), ((4, 6),)),
    }


def test_table_4_archive_first() -> None:
    held = by_time(trace_archive_first(correlation(FALL, TICK), ["t", "p"], at_minutes(TABLE_1)))
    assert {time: held[time] for time in range(3, 11)} == {
        3: ((3, 3), ()),
        4: ((3, 4), ()),
        5: ((3, 5), ((4, 5),)),
        6: ((3, 6), ((4, 5),)),
        7: ((3, 7), ((4, 5), (6, 7))),
        8: ((3, 8), ((4, 5), (6, 7))),
        9: ((3, 9), ((4, 5), (6, 7), (8, 9))),
        10: ((5, 10), ((6, 7), (8, 9))),  # the paper prints 7 to 10, against its rule
    }


def test_results_are_given_at_5_7_and_9_in_the_order_of_start_and_end() -> None:
    asked = correlation(FALL, TICK)
    expected = {5: ((2, 5),), 7: ((2, 7),), 9: ((2, 9), (4, 7), (4, 9))}
    for trace in (trace_live_first, trace_archive_first):
        steps = trace(asked, ["t", "p"], at_minutes(TABLE_1))
        assert {step.time: step.results for step in steps if step.results} == expected


def test_a_cached_match_that_is_still_open_is_stale_in_the_paper() -> None:
    rise = "DEFINE B AS p > PREV(p)"
    asked = correlation(
        f"MEASURES A.p AS a INCREMENTAL MATCHES PATTERN (A B) {rise}",
        f"MEASURES LAST(B.p) AS b MAXIMAL MATCHES PATTERN (A B+) {rise}",
    )
    rows = at_minutes((1, 2, 3, 4))
    steps = trace_live_first(asked, ["t", "p"], rows)
    assert steps[3].cache == ((0, 1), (1, 2))  # as of the last live match, the first is (0, 2)
    assert starts_and_ends(asked, rows) == [(0, 2), (0, 3), (1, 3)]
