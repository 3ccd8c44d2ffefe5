"""Shared bursts with conditions between adjacent events: HAMLET's examples, decisions, and brute force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.event_queries.trends.enumerated import events, expected, program, run, windows

from ostinato.event_queries.plan.event_program import EdgeTest, Events, Extent, Program, Slot, SlotKind
from ostinato.event_queries.trends.graphlets.burst_benefit import BurstWork, engine_costs
from ostinato.event_queries.trends.graphlets.graphlet import Adjacency, Candidate, decide, shared_graphlet
from ostinato.event_queries.trends.graphlets.graphlet_engine import GraphletEngine, declined

STREAM = "AACBBBBAACCCB"
FORBIDDEN = EdgeTest(1, 1, pair_test=0)


def not_from_4_to_5(before: Any, after: Any) -> Any:
    """All edges but b4 -> b5."""
    return ~((before == 4) & (after == 5))


Q1, Q2 = program("A B+"), program("C B+", edges=[FORBIDDEN])


def all_pass(events_of_burst: int, past: int = 0) -> Adjacency:
    indices = np.arange(events_of_burst)
    return Adjacency(indices[:, None] < indices, np.ones((past, events_of_burst), bool), indices)


def test_table_3_one_snapshot_doubles_through_the_graphlet() -> None:
    shared = shared_graphlet([all_pass(4)], [])
    assert shared.coefficients.counts.tolist() == [[1], [2], [4], [8]]  # x, 2x, 4x, 8x


def test_example_7_an_event_whose_predecessors_differ_is_a_snapshot() -> None:
    one, other = all_pass(4), all_pass(4)
    other.inside[1, 2] = False  # b4 -> b5 holds for q1 only
    shared = shared_graphlet([one, other], [])
    assert shared.own.tolist() == [2]
    assert shared.coefficients.counts.tolist() == [[1, 0], [2, 0], [0, 1], [4, 1]]  # b6 = 4x + z


def test_table_5_and_the_counts_with_the_edge_forbidden() -> None:
    stream = events(STREAM, pair_tests=(not_from_4_to_5,))
    for sharing in ("always", "never", "dynamic"):
        engine = GraphletEngine([Q1, Q2], True, sharing)
        assert [rows[0][2] for rows in run(engine, stream)] == [64, 26]
        until_b6 = events(STREAM[:12], pair_tests=(not_from_4_to_5,))
        assert [rows[0][2] for rows in run(engine, until_b6)] == [64 - 34, 26 - 15]  # y is 34 and 15


def test_statistics_count_snapshots_at_both_levels() -> None:
    stream = events(STREAM, pair_tests=(not_from_4_to_5,))
    step = GraphletEngine([Q1, Q2], True, "always").advance(stream, [b""], None)
    assert step.statistics["bursts"] == step.statistics["shared"] == 2
    assert step.statistics["snapshots"] == 3  # x and z in B3, y in B6


def test_a_long_burst_is_shared_until_too_many_snapshots_are_needed() -> None:
    """Split and merge of figure 6, with the costs of this engine."""
    rng = np.random.default_rng(7)
    agree, differ = all_pass(60, past=40), all_pass(60, past=40)
    candidates = [Candidate(query, query % 2, lanes=1, limbs=20) for query in range(20)]
    assert decide(candidates, {0: agree, 1: differ}) == frozenset(range(20))
    noisy = replace(differ, outside=rng.random((40, 60)) < 0.5)
    assert decide(candidates, {0: agree, 1: noisy}) == frozenset(range(0, 20, 2))
    assert not decide(candidates[1::2], {1: noisy})


def test_own_costs_share_long_bursts_with_few_snapshots_only() -> None:
    few = BurstWork(events=120, lanes=50, links=7000, own_links=0, snapshots=1, limbs=4, coefficient_limbs=2)
    many = BurstWork(events=400, lanes=50, links=400, own_links=7000, snapshots=400, limbs=4, coefficient_limbs=7)
    assert engine_costs(few).benefit > 0
    assert engine_costs(many).benefit < 0


EXTENTS = (Extent(), windows(5, 5), windows(6, 2), windows(3, 4))


@st.composite
def workloads(draw: st.DrawFn) -> tuple[list[Program], Events]:
    text = draw(st.text("AABBBBBC+", max_size=9))
    n = len(text)
    times = np.cumsum(np.array(draw(st.lists(st.sampled_from([0, 1, 1, 2]), min_size=n, max_size=n)), np.int64))
    forbidden = draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=4))

    def pairs(before: Any, after: Any) -> Any:
        allowed = np.ones(len(before), bool)
        for one, other in forbidden:
            allowed &= ~((before == one) & (after == other))
        return allowed

    values = np.array(draw(st.lists(st.integers(-3, 3), min_size=n, max_size=n)), np.int64)
    valid = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)), bool)
    if draw(st.booleans()):
        values = values * 0.5
    stream = events(text, times, [values], [valid], pair_tests=(pairs, lambda before, after: (before + after) % 3 > 0))
    programs = []
    for _ in range(draw(st.integers(2, 4))):
        pattern = draw(st.sampled_from(["B+", "A B+", "A B+ C", "C B+", "B+ A"]))
        label = pattern.replace("+", "").split().index("B")
        edges = [EdgeTest(label, label, pair_test=test) for test in draw(st.sets(st.integers(0, 1)))]
        kinds = draw(st.sampled_from([[], [SlotKind.COUNT], [SlotKind.SUM, SlotKind.COUNT]]))
        labels = draw(st.frozensets(st.integers(0, len(pattern.split()) - 1), min_size=1))
        slots = [Slot(kind, labels, 0) for kind in kinds]
        programs.append(program(pattern, slots, draw(st.sampled_from(EXTENTS)), draw(st.booleans()), edges))
    return programs, stream


@settings(max_examples=80, deadline=None)
@given(workloads(), st.sampled_from(["always", "never", "dynamic"]))
def test_every_kind_of_sharing_gives_the_numbers_of_brute_force(
    workload: tuple[list[Program], Events], sharing: str
) -> None:
    programs, stream = workload
    assert declined(programs) is None
    for query, rows in zip(programs, run(GraphletEngine(programs, True, sharing), stream), strict=True):
        assert rows == expected(query, stream)


def test_graphlets_split_and_merge_at_run_time() -> None:
    """Bursts whose conditions hold are shared. A burst with many failing conditions is split. The next is merged."""
    calm, noisy = "A" + "C" + "B" * 40, "A" + "C" + "B" * 40
    text = calm + noisy + calm + noisy + calm
    fails = np.random.default_rng(3).random((len(text), len(text))) < 0.5
    in_noise = np.zeros(len(text), bool)
    in_noise[len(calm) : 2 * len(calm)] = in_noise[3 * len(calm) : 4 * len(calm)] = True
    stream = events(text, pair_tests=(lambda before, after: ~(fails[before, after] & in_noise[after]),))
    queries = [program("A B+" if i % 2 else "C B+", edges=[FORBIDDEN] if i % 2 else []) for i in range(12)]
    step = GraphletEngine(queries, True, "dynamic").advance(stream, [b""], None)
    assert step.statistics["split"] > 0 and step.statistics["merged"] > 0
    separate = GraphletEngine(queries, True, "never").advance(stream, [b""], None)
    assert [results.count.tolist() for results in step.results] == [
        results.count.tolist() for results in separate.results
    ]


def test_order_comparisons_are_edges_too() -> None:
    edge = EdgeTest(0, 0, "<", 0, 0)  # the later event is smaller
    stream = events("BBBB", values=[np.array([4.0, 2.0, np.nan, 1.0])])
    falling = program("B+", edges=[edge])
    answers = run(GraphletEngine([falling, program("B+")], True), stream)
    assert answers[0][0][2] == 4 + 4 + 1  # trends of one, two and three events
