"""The bounded engine on streams for which the useless partial matches are known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.workloads.shedding.bounded_runs import CLOCK, Ran, Stream, latency_bound, recall, run

from ostinato.errors import MatchError
from ostinato.kernels.clock import RealClock
from ostinato.workloads.shedding.bounded_engine import BoundedEngine

WINDOW = 200
REST = f"WITHIN {WINDOW} EVENTS RETURN MATCHES"
LOW_FIRST = f"TIME at TYPE kind PATTERN SEQ(A a, B b, C c, D d) WHERE SAME[id] AND a.v < b.v AND b.v + c.v < 100 {REST}"
OTHER_END = f"TIME at TYPE kind PATTERN SEQ(A a, B b, C c, E e) WHERE SAME[id] AND a.v < b.v AND b.v + c.v < 100 {REST}"


def table(values: np.ndarray, seed: int = 7) -> dict[str, pa.Array]:
    """Five kinds, three ids, and the values `v`."""
    rng, count = np.random.default_rng(seed), len(values)
    return {
        "at": pa.array(np.arange(count)),
        "kind": pa.array(list("ABCDE")).take(pa.array(rng.integers(0, 5, count))),
        "id": pa.array(rng.integers(0, 3, count)),
        "v": pa.array(values),
    }


@pytest.fixture(scope="module")
def stream() -> Stream:
    """A B above 100 never leads to a match. These are two thirds of all B."""
    return Stream((LOW_FIRST, OTHER_END), table(np.random.default_rng(3).uniform(0, 300, 8000)))


@pytest.fixture(scope="module")
def exact(stream: Stream) -> Ran:
    return run(stream)


@pytest.fixture(scope="module")
def half(stream: Stream) -> Ran:
    return run(stream, latency_bound(stream, latency_bound=0.5))


def test_half_the_latency_loses_few_matches(half: Ran, exact: Ran) -> None:
    assert recall(half, exact, since=4000) > 0.97
    assert all(
        shed_matches <= all_matches for shed_matches, all_matches in zip(half.matches, exact.matches, strict=True)
    )
    assert min(half.dropped) > 0


def test_the_latency_exceeds_its_bound_by_a_tenth_at_most(stream: Stream) -> None:
    unshed = run(stream, latency_bound(stream, latency_bound="1 s"))
    usual = unshed.reports[0].patterns[0].latency_p50_ns
    ran = run(stream, latency_bound(stream, latency_bound=f"{usual / 2:.0f} ns"))
    for pattern in ran.reports[0].patterns:
        assert pattern.latency_p50_ns < 1.1 * usual / 2 * 2 ** (1 / 8)  # quantiles are rounded up by an eighth octave


def test_cuts_change_nothing(stream: Stream) -> None:
    bounds = latency_bound(stream, latency_bound=0.5)
    at_once = run(stream, bounds)
    in_calls = run(stream, bounds, cuts=(1, 2000, 2001, 5555))
    assert (in_calls.matches, in_calls.dropped) == (at_once.matches, at_once.dropped)


def test_without_bounds_no_match_is_lost(stream: Stream, exact: Ran) -> None:
    ran = run(stream, latency_bound(stream))
    assert ran.matches == exact.matches
    assert ran.reports == []


def test_a_bound_that_is_never_reached_loses_no_match(stream: Stream, exact: Ran) -> None:
    assert run(stream, latency_bound(stream, latency_bound="1 s")).matches == exact.matches


def test_a_bound_below_the_cost_of_an_event_loses_most_matches(stream: Stream, exact: Ran) -> None:
    ran = run(stream, latency_bound(stream, latency_bound="1 ns"))
    assert recall(ran, exact, since=4000) < 0.2
    assert [pattern.within_bound for pattern in ran.reports[0].patterns] == [0.0, 0.0]


def test_a_pattern_without_a_bound_is_matched_exactly(stream: Stream, exact: Ran) -> None:
    ran = run(stream, latency_bound(stream, latency_bound={"q0": "60 ns"}))
    assert ran.matches[1] == exact.matches[1]
    assert ran.matches[0] < exact.matches[0]


def test_the_pattern_with_the_higher_weight_loses_less() -> None:
    """One pattern needs low values of b, the other high ones. If both needed the same, weights would have no effect."""
    low_b = f"TIME at TYPE kind PATTERN SEQ(A a, B b, C c, D d) WHERE SAME[id] AND b.v + 200 < d.v {REST}"
    high_b = f"TIME at TYPE kind PATTERN SEQ(A a, B b, C c, E e) WHERE SAME[id] AND b.v > e.v + 200 {REST}"
    stream = Stream((low_b, high_b), table(np.random.default_rng(3).uniform(0, 300, 8000)))
    heavy = run(stream, latency_bound(stream, latency_bound=0.1, weights={"q0": 50.0}))
    light = run(stream, latency_bound(stream, latency_bound=0.1, weights={"q0": 0.02}))
    assert len(heavy.matches[0]) > 1.1 * len(light.matches[0])
    assert len(light.matches[1]) > 1.1 * len(heavy.matches[1])


def test_a_memory_bound_reduces_partial_matches(stream: Stream, exact: Ran) -> None:
    unshed = run(stream, latency_bound(stream, memory_bound="1 GB"))
    tight = run(stream, latency_bound(stream, memory_bound="12 KB"))
    assert unshed.matches == exact.matches
    assert tight.partial_matches < 0.7 * unshed.partial_matches
    assert recall(tight, exact, since=4000) > 0.5


def test_a_selection_ratio_keeps_about_that_share_of_partial_matches(stream: Stream, exact: Ran) -> None:
    unshed = run(stream, latency_bound(stream, selection_ratio=1.0))
    most, least = (run(stream, latency_bound(stream, selection_ratio=r)) for r in (0.5, 0.2))
    assert unshed.matches == exact.matches
    assert 0.3 < most.partial_matches / unshed.partial_matches < 0.65
    assert 0.1 < least.partial_matches / unshed.partial_matches < 0.35
    assert recall(least, exact, since=4000) < recall(most, exact, since=4000)


def test_a_batch_budget_bounds_the_time_of_a_call(stream: Stream, exact: Ran) -> None:
    free = run(stream, latency_bound(stream, batch_budget="1 s"))
    ran = run(stream, latency_bound(stream, batch_budget="400 us"))
    assert free.matches == exact.matches
    assert 0 < sum(map(len, ran.matches)) < sum(map(len, exact.matches))


def test_the_report_counts_dropped_partial_matches(half: Ran) -> None:
    report = half.reports[0]
    table = report.table()
    assert table.column("query").to_pylist() == ["q0", "q1"]
    assert table.column("matches").to_pylist() == [len(matches) for matches in half.matches]
    assert sum(half.dropped) > 0
    for dropped, reported_recall in zip(half.dropped, table.column("recall_estimate").to_pylist(), strict=True):
        assert reported_recall == (None if dropped else 1.0)
    assert all(events > 0 for events in table.column("calibrated_events").to_pylist())
    periods = report.by_period()
    assert sum(periods.column("dropped").to_pylist()) == sum(half.dropped)
    assert "given up" in str(report)


def test_the_shedder_relearns_when_values_drift() -> None:
    """Only low values of b lead to a match. Then all values are shifted, and none of the old buckets fits."""
    low_b = f"TIME at TYPE kind PATTERN SEQ(A a, B b, C c, D d) WHERE SAME[id] AND a.v < b.v AND b.v + 200 < d.v {REST}"
    values = np.random.default_rng(5).uniform(0, 300, 10_000) + np.where(np.arange(10_000) < 6000, 0, 5000)
    stream = Stream((low_b,), table(values))
    shed, exact = run(stream, latency_bound(stream, latency_bound=0.5)), run(stream)
    assert recall(shed, exact, since=6000 + 2 * WINDOW) > 0.95


def test_a_real_clock_gives_a_subset(stream: Stream, exact: Ran) -> None:
    ran = run(stream, latency_bound(stream, latency_bound="50 us"), clock=RealClock())
    assert all(
        shed_matches <= all_matches for shed_matches, all_matches in zip(ran.matches, exact.matches, strict=True)
    )
    assert ran.reports[0].patterns[0].overhead >= 0.0


# --- partial matches that multiply ------------------------------------------------------------------------------------

DOUBLING = (
    "TIME at TYPE kind PATTERN SEQ(A a, B+ b, C c) WHERE SAME[id] AND SUM(b.v) < c.v WITHIN 60 EVENTS RETURN MATCHES"
)


@pytest.fixture(scope="module")
def doubling() -> Stream:
    """Each B doubles the partial matches of its id."""
    rng, count = np.random.default_rng(5), 600
    columns = table(rng.uniform(0, 300, count))
    kinds = pa.array(list("ABBC")).take(pa.array(rng.integers(0, 4, count)))
    return Stream((DOUBLING,), {**columns, "kind": kinds, "id": pa.array(np.zeros(count, np.int64))})


def test_the_memory_bound_holds_if_rows_double_partial_matches(doubling: Stream) -> None:
    ran = run(doubling, latency_bound(doubling, memory_bound="200 KB"))
    max_bytes = ran.reports[0].memory_bytes
    # One row may double the partial matches, and each first event adds one.
    assert max_bytes is not None and max_bytes < 3 * 200_000
    assert ran.dropped[0] > 1000


def test_a_latency_bound_drops_partial_matches_that_double(doubling: Stream) -> None:
    ran = run(doubling, latency_bound(doubling, latency_bound="1 us"))
    assert ran.dropped[0] > 1000


def test_cuts_change_nothing_when_the_memory_bound_is_exceeded(doubling: Stream) -> None:
    bounds = latency_bound(doubling, memory_bound="50 KB")
    at_once, in_calls = run(doubling, bounds), run(doubling, bounds, cuts=tuple(range(50, 600, 25)))
    assert (in_calls.matches, in_calls.dropped) == (at_once.matches, at_once.dropped)


# --- reports of several calls and of several patterns -----------------------------------------------------------------


def test_drops_add_up_over_calls(stream: Stream) -> None:
    bounds = latency_bound(stream, latency_bound="60 ns")
    at_once, in_calls = run(stream, bounds), run(stream, bounds, cuts=tuple(range(100, 8000, 100)))
    periods = [period for report in in_calls.reports for period in report.periods]
    for pattern in range(2):
        assert sum(period.dropped[pattern] for period in periods) == at_once.dropped[pattern] > 0


def test_recall_is_unknown_from_the_first_drop_on(stream: Stream) -> None:
    """A call without drops may still lose matches, because an earlier call dropped their partial matches."""
    in_calls = run(stream, latency_bound(stream, latency_bound="60 ns"), cuts=tuple(range(100, 8000, 100)))
    recalls = [report.patterns[0].recall_estimate for report in in_calls.reports]
    first_unknown = recalls.index(None)
    assert first_unknown > 0 and set(recalls[:first_unknown]) == {1.0} and set(recalls[first_unknown:]) == {None}
    assert any(report.patterns[0].dropped == 0 for report in in_calls.reports[first_unknown:])


def test_recall_of_a_pattern_without_a_bound_is_known(stream: Stream, exact: Ran) -> None:
    ran = run(stream, latency_bound(stream, latency_bound={"q0": "60 ns"}))
    assert [row.recall_estimate for row in ran.reports[0].patterns] == [None, 1.0]
    assert len(ran.matches[0]) < len(exact.matches[0]) and ran.matches[1] == exact.matches[1]


def test_only_the_ratio_of_weights_matters(stream: Stream) -> None:
    first_run, scaled_run = (
        run(stream, latency_bound(stream, latency_bound=0.2, weights={"q0": 3.0 * scale, "q1": scale}))
        for scale in (1.0, 1e12)
    )
    assert first_run.matches == scaled_run.matches


def test_a_stream_may_resume_with_another_bound(stream: Stream, exact: Ran) -> None:
    _, merged, conditions = stream.planned
    tight, loose = (
        BoundedEngine(merged, conditions, latency_bound(stream, latency_bound=bound), clock=CLOCK)
        for bound in ("40 ns", "1 s")
    )
    first = tight.advance(stream.events(np.arange(4000)))
    rows = np.concatenate([first.rows_needed, np.arange(4000, 8000)])
    second = loose.advance(stream.events(rows, len(first.rows_needed)), first.state, finished=True)
    assert [pattern.bound_ns for pattern in second.report.patterns] == [1e9, 1e9]
    later_matches = sum(match[0] >= 4000 for match in exact.matches[0])
    assert second.matches[0].count >= later_matches


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "of other patterns"])
def test_damaged_state_is_refused(stream: Stream, damage: str) -> None:
    _, merged, conditions = stream.planned
    engine = BoundedEngine(merged, conditions, latency_bound(stream, latency_bound="60 ns"), clock=CLOCK)
    step = engine.advance(stream.events(np.arange(2000)))
    state = {"cut": step.state[:-3], "empty": b"", "changed": step.state[:-9] + b"x" + step.state[-8:]}.get(damage)
    if state is None:
        other = Stream((LOW_FIRST,), stream.columns)
        _, plan, conditions = other.planned
        state = BoundedEngine(plan, conditions, clock=CLOCK).advance(other.events(np.arange(100))).state
    with pytest.raises(MatchError) as caught:
        engine.advance(stream.events(step.rows_needed, len(step.rows_needed)), state)
    assert caught.value.code == "STATE_FORMAT"
