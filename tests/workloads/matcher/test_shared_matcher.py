"""Tests single features of the shared matcher, with letters for rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.laws.event_strategies import event_table
from tests.workloads.matcher.shared_matching import Workload, in_calls, renumbered, workloads

from ostinato.errors import MatchError
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.kernels.kernel_cache import interpreted
from ostinato.workloads.matcher import (
    births,
    match_kernel,
    matcher_kernels,
    matcher_run,
    outcomes,
    quick_checks,
    store,
    upkeep,
    visits,
)
from ostinato.workloads.matcher.ledger import Buckets, KeepMasks, chain_begins, chain_offsets
from ostinato.workloads.matcher.matcher_run import MatcherRun, everything_kept
from ostinato.workloads.matcher.matcher_state import MatcherState
from ostinato.workloads.matcher.plan_shape import shape_of
from ostinato.workloads.matcher.shared_matcher import SharedMatcher, one_class_per_node
from ostinato.workloads.matcher.store import USED

pytestmark = pytest.mark.kernel
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


def letters(kinds: str, x: list[int] | None = None) -> list[dict[str, Any]]:
    """One row per second. Its letter is its type. The default of x is the number of the row."""
    rows = [
        {"id": i, "kind": kind, "ts": BEGIN + timedelta(seconds=i), "x": x[i] if x else i}
        for i, kind in enumerate(kinds)
    ]
    return list(event_table(rows).to_pylist())


def queries(*patterns: str) -> list[str]:
    return [f"TYPE kind TIME ts\nPATTERN {pattern}\nRETURN MATCHES" for pattern in patterns]


def workload(kinds: str, *patterns: str, x: list[int] | None = None, **options: bool) -> Workload:
    (work,) = workloads(queries(*patterns), letters(kinds, x), **options)
    return work


def started(work: Workload, **options: Any) -> MatcherRun:
    run = SharedMatcher(work.merged, work.conditions, **options)
    return run.begin(work.events, None, one_class_per_node(work.merged, work.conditions))


def matched_rows(work: Workload, **options: Any) -> list[list[tuple[int, ...]]]:
    return [
        [tuple(row for row, _ in match) for _, _, match in matches_of_query]
        for matches_of_query in in_calls(work, [], **options)
    ]


def test_a_match_is_any_choice_of_events_in_order() -> None:
    assert matched_rows(workload("ABAB", "SEQ(A a, B b)")) == [[(0, 1), (0, 3), (2, 3)]]


def test_shared_partial_matches_are_created_once() -> None:
    work = workload("ABCD", "SEQ(A a, B b, C c)", "SEQ(A a, B b, D d)")
    run = started(work)
    run.advance(4, None)
    assert [int(n) for n in run.ledger.live] == [0, 1, 1, 0, 0]  # the root, A, AB, and the ends, which aren't listed
    assert matched_rows(work) == [[(0, 1, 2)], [(0, 1, 3)]]


def test_an_absence_between_two_events() -> None:
    assert matched_rows(workload("ADABDB", "SEQ(A a, NOT D d, B b)")) == [[(2, 3)]]


def test_a_guard_removes_one_pattern_of_a_partial_match() -> None:
    texts = ("SEQ(A a, B b, C c)", "SEQ(A a, B b, D d) WHERE a.x < b.x")
    work = workload("ABBCD", *texts, x=[5, 9, 1, 0, 0], guards=True)
    assert any(step.guards for step in work.merged.steps)
    assert matched_rows(work) == [[(0, 1, 3), (0, 2, 3)], [(0, 1, 4)]]


def test_no_match_is_lost_when_buffers_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((matcher_run, "FIRST_ROOM"), (matcher_run, "FIRST_MATCHES"), (matcher_run, "FIRST_ROWS")):
        monkeypatch.setattr(module, name, 1)
    work = workload("AABBACBC", "SEQ(A+ a, B+ b, C c)", "SEQ(A a, B b)")
    expected = [work.expected(0), work.expected(1)]
    assert len(expected[0]) > 20
    assert in_calls(work, [3, 4]) == expected


def test_expired_partial_matches_are_removed_and_their_space_reused() -> None:
    """Keys without further rows keep no partial matches."""
    rows = [{**row, "k": i // 2} for i, row in enumerate(letters("AB" * 40))]
    text = "TYPE kind TIME ts PATTERN SEQ(A a, B b, C c) WHERE SAME[k] WITHIN 3 SECONDS RETURN MATCHES"
    (work,) = workloads([text], rows)
    run = started(work)
    run.rules = run.rules._replace(sweep_rows=8)
    run.advance(80, None)
    assert run.ledger.live.sum() <= 2 * 12
    assert run.store.counts[USED] <= 2 * 16
    _, state = run.finish()
    assert len(state.rows_needed) <= 2 * 12


def test_strict_removes_partial_matches_that_cannot_grow() -> None:
    """With STRICT, a partial match that no later row can extend is removed."""
    text = "TYPE kind TIME ts PATTERN SEQ(A a, B b) STRICT RETURN MATCHES"
    (work,) = workloads([text], letters("A" * 30 + "BCB"))
    run = started(work)
    run.advance(33, None)
    # The first B visits two partial matches: its neighbour, and one that is too old. The second B visits the last one.
    assert (int(run.ledger.visits.sum()), int(run.ledger.live.sum())) == (3, 0)


def test_keep_masks_may_drop_one_pattern_and_keep_the_other() -> None:
    work = workload("ABCD", "SEQ(A a, B b, C c)", "SEQ(A a, B b, D d)")
    run = started(work)
    slots = len(run.ledger.visits)
    keep_all = everything_kept(slots, 2)
    run.advance(2, keep_all)
    only_first = KeepMasks(np.full_like(keep_all.masks, 0b01), keep_all.threshold)
    run.advance(4, only_first)
    matches, _ = run.finish()
    assert [matches_of_pattern.count for matches_of_pattern in matches] == [1, 0]
    assert run.ledger.dropped.sum(axis=0).tolist() == [0, 1]


def test_keep_masks_may_drop_new_partial_matches() -> None:
    work = workload("AB", "SEQ(A a, B b)")
    run = started(work)
    keep_all = everything_kept(len(run.ledger.visits), 1)
    run.advance(2, KeepMasks(np.zeros_like(keep_all.masks), keep_all.threshold))
    assert (int(run.ledger.refused.sum()), int(run.ledger.live.sum())) == (1, 0)
    assert run.finish()[0][0].count == 0


def test_rows_that_are_not_admitted_match_nothing_but_break_absences() -> None:
    work = workload("ADB", "SEQ(A a, NOT D d, B b)")
    run = started(work)
    run.advance(3, None, np.array([True, False, True]))
    assert run.finish()[0][0].count == 0
    work = workload("AB", "SEQ(A a, B b)")
    run = started(work)
    run.advance(2, None, np.array([False, True]))
    assert run.finish()[0][0].count == 0


@pytest.mark.parametrize("until", [1, 5])
def test_advance_refuses_rows_out_of_range(until: int) -> None:
    run = started(workload("ABAB", "SEQ(A a, B b)"))
    run.advance(2, None)
    with pytest.raises(ValueError, match="2 of 4 were matched before"):
        run.advance(until, None)


def test_births_and_completions_are_counted_by_class() -> None:
    work = workload("ABC", "SEQ(A a, B b, C c)")
    run = started(work)
    run.advance(3, None)
    abc = int(run.buckets.class_at[3])
    assert run.ledger.births.tolist() == [1, 1]  # of AB from A, and of ABC from AB; each node has one class
    assert run.ledger.completed[abc].tolist() == [1]


def test_new_buckets_give_new_classes() -> None:
    work = workload("AAAB", "SEQ(A a, B b, C c) WHERE a.x < c.x AND b.x < c.x", x=[1, 5, 9, 4])
    run = started(work)
    run.advance(4, None)
    assert sorted(run.feature_samples(1)[0].tolist()) == [1.0, 5.0, 9.0]
    before = run.buckets
    (first, end), node = before.feature_at[1:3], 1
    edge_at = np.where(np.arange(len(before.edge_at)) > first, 1, 0)
    class_at = before.class_at.copy()
    class_at[node + 1 :] += 1 << (int(end - first) - 1)
    pairs = shape_of(work.merged).pairs
    offsets, cells = chain_offsets(class_at, pairs), int(chain_begins(class_at, pairs)[-1])
    run.rebucket(Buckets(class_at, offsets, cells, before.feature_at, edge_at, np.array([4.5])))
    at_a = run.ledger.live[class_at[1] : class_at[2]]
    assert sorted(at_a[at_a > 0].tolist()) == [1, 2]  # one below the edge, two above
    assert run.ledger.live.sum() == 3 + 3


def test_too_many_partial_matches_raise() -> None:
    run = started(workload("A" * 8, "SEQ(A+ a, B b)"), limits=MatchLimits(max_partial_matches=100))
    run.store = store.new_store(100, run.matcher.shape)
    with pytest.raises(MatchError) as caught:
        run.advance(8, None)
    assert caught.value.code == "TOO_MANY_PARTIAL_MATCHES"


def test_too_many_matches_raise() -> None:
    run = started(workload("AAABBB", "SEQ(A a, B b)"), limits=MatchLimits(most_matches=8))
    with pytest.raises(MatchError) as caught:
        run.advance(6, None)
    assert caught.value.code == "TOO_MANY_MATCHES"


def test_bytes_of_another_format_are_refused() -> None:
    run = started(workload("AB", "SEQ(A a, B b)"))
    run.advance(2, None)
    data = run.finish()[1].to_bytes()
    assert MatcherState.from_bytes(data).to_bytes() == data
    with pytest.raises(MatchError) as caught:
        MatcherState.from_bytes(b"OSBM" + bytes([99]) + data[5:])
    assert caught.value.code == "STATE_FORMAT"


def test_an_empty_call_changes_nothing() -> None:
    work = workload("ABAB", "SEQ(A a, B b)")
    assert in_calls(work, [0, 2, 2, 4, 4]) == [work.expected(0)]


def test_more_patterns_than_a_word_has_bits() -> None:
    patterns = [f"SEQ(A a, B b, C c) WHERE a.x + c.x < {limit}" for limit in range(70)]
    work = workload("ABCABC", *patterns)
    assert matched_rows(work) == [
        [match for match in [(0, 1, 2), (0, 1, 5), (0, 4, 5), (3, 4, 5)] if match[0] + match[2] < limit]
        for limit in range(70)
    ]


def test_the_matcher_without_compiling(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (births, match_kernel, matcher_kernels, outcomes, quick_checks, store, upkeep, visits):
        for name, value in vars(module).items():
            if hasattr(value, "py_func"):
                monkeypatch.setattr(module, name, interpreted(value))
    plain = matcher_kernels.ConditionKernels(*(interpreted(function) for function in matcher_kernels.NO_CONDITIONS))
    kernel = matcher_kernels.build_matcher("matcher_in_python", plain, lambda function: function)
    work = workload("ADABCABDC", "SEQ(A a, NOT D d, B b, C c)", "SEQ(A a, B+ b)")
    shared = SharedMatcher(work.merged, None)
    shared.kernel = kernel
    events = renumbered(work.events, np.arange(9), 0, 0)
    run = shared.begin(events, None, one_class_per_node(work.merged, None))
    with np.errstate(over="ignore"):  # pseudo-random numbers wrap around
        run.advance(9, None)
    matches = [
        work.listed(query, matches_of_query, np.arange(9)) for query, matches_of_query in enumerate(run.finish()[0])
    ]
    assert [sorted(matches_of_query, key=str) for matches_of_query in matches] == [work.expected(0), work.expected(1)]
