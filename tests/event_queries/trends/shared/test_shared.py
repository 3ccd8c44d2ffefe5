"""The shared engine: HAMLET's examples, and random streams compared with brute force."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.event_queries.trends.enumerated import answers, events, expected, program, recurrence, run, windows

from ostinato.errors import MatchError
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import BoundKind, EdgeTest, Events, Extent, Program, Slot, SlotKind
from ostinato.event_queries.trends.engine_choice import declined
from ostinato.event_queries.trends.shared.shared_engine import SharedEngine

pytestmark = pytest.mark.kernel

STREAM = "AACBBBBAACCCB"
"""a1 a2 c1 b3 b4 b5 b6 a3 a4 c2 c3 c4 b7: the stream of the paper's figure 4."""
Q1, Q2 = program("A B+"), program("C B+")
COUNT_B = Slot(SlotKind.COUNT, frozenset({1}))


def counts(programs: list[Program], stream: Events, exact: bool = True) -> list[Any]:
    return [rows[0][2] if rows else 0 for rows in run(SharedEngine(programs, exact), stream)]


# --- the paper's examples ---------------------------------------------------------------------------------------------


def test_counts_of_examples_4_to_6() -> None:
    """Table 4: snapshot y is the number of trends that the next b ends: 34 for q1, 19 for q2. Snapshot x is 2 and 1."""
    totals = [counts([Q1, Q2], events(STREAM[:length])) for length in range(len(STREAM) + 1)]
    assert totals[4:8] == [[2, 1], [6, 3], [14, 7], [30, 15]]
    assert totals[13] == [64, 34]
    assert [totals[13][q] - totals[12][q] for q in (0, 1)] == [34, 19]


def test_the_number_of_b_events_in_all_trends() -> None:
    both = [replace(query, slots=(COUNT_B,)) for query in (Q1, Q2)]
    assert [rows[0][2:] for rows in run(SharedEngine(both, True), events(STREAM))] == [(64, 162), (34, 83)]


def test_example_10_nested_kleene() -> None:
    assert counts([program("A B+", again=True), program("C B+", again=True)], events(STREAM)) == [124, 79]


def test_statistics_count_the_work_that_sharing_saves() -> None:
    step = SharedEngine([Q1, Q2], True).advance(events(STREAM), [b""], None)
    assert step.statistics["bursts"] == step.statistics["shared"] == 2  # B3 and B6 of figure 4 (b)
    assert step.statistics["snapshots"] == 4  # x and y, each for both queries
    assert step.statistics["lane updates"] == 8  # a1 a2 c1 a3 a4 c2 c3 c4, each for its own query
    assert step.statistics["lane updates saved"] == 5 * 2 - 4


# --- everything against brute force -----------------------------------------------------------------------------------

EXTENTS = (
    Extent(),
    windows(5, 5),
    windows(6, 2),
    windows(3, 4),
    windows(4, 2, by_place=True),
    windows(3, 3, by_place=True),
    windows(2, 5, by_place=True),
)
PATTERNS = ("A B+", "C B+", "B+", "A+ B+", "B+ A+", "A B+ C", "A B+ A", "B+ A B+", "A B C", "B+ C+ A", "A A+ B+")
ABSENT = ("A !N B+", "!N B+", "A B+ !N C", "!N A B+", "A !N B", "A B+ !C A", "B+ !B A")
ENDS = ("B+ !N", "A B+ !C", "A B !N")


@st.composite
def queries(draw: st.DrawFn) -> Program:
    extent = draw(st.sampled_from(EXTENTS))
    patterns = PATTERNS + ABSENT + (ENDS if extent.kind is BoundKind.WINDOWS else ())
    query = program(draw(st.sampled_from(patterns)), extent=extent, again=draw(st.integers(0, 3)) == 0)
    labels = st.frozensets(st.integers(0, len(query.qualifies) - 1), min_size=1)
    slots = st.builds(Slot, st.sampled_from(SlotKind), labels, st.integers(0, 1))
    only = st.builds(lambda label_set: Slot(SlotKind.COUNT, label_set), labels)
    return replace(query, slots=tuple(draw(st.lists(slots | only, max_size=3))))


@st.composite
def streams(draw: st.DrawFn) -> Events:
    text = draw(st.text("AABBBBBCN+X", max_size=10))
    n = len(text)
    gaps = draw(st.lists(st.sampled_from([0, 0, 1, 1, 1, 2, 5]), min_size=n, max_size=n))
    times = np.cumsum(np.array(gaps, np.int64)) + draw(st.sampled_from([0, -7]))
    ints = draw(st.lists(st.integers(-9, 9) | st.sampled_from([2**63 - 1, -(2**63)]), min_size=n, max_size=n))
    reals = draw(st.lists(st.sampled_from([0.5, -1.25, 3.0, 1e9]), min_size=n, max_size=n))
    null = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), np.int64) > 0
    cut = draw(st.integers(0, n))
    begins = [0, cut, n]
    values = [np.array(ints, np.int64), np.array(reals, np.float64)]
    return events(text, times, values, [null, None], starts=begins)


def assert_close(actual: list[Any], expected_rows: list[Any]) -> None:
    assert len(actual) == len(expected_rows), (actual, expected_rows)
    for row, other in zip(actual, expected_rows, strict=True):
        for value, target in zip(row, other, strict=True):
            if isinstance(target, float) or isinstance(value, float):
                assert math.isclose(value, target, rel_tol=1e-9, abs_tol=1e-6), (actual, expected_rows)
            else:
                assert value == target, (actual, expected_rows)


@settings(max_examples=60, deadline=None)
@given(st.lists(queries(), min_size=1, max_size=3), streams(), st.sampled_from(["dynamic", "never"]))
def test_exact_numbers_equal_brute_force(programs: list[Program], stream: Events, sharing: Any) -> None:
    for query, rows in zip(programs, run(SharedEngine(programs, True, sharing), stream), strict=True):
        assert_close(rows, expected(query, stream))


@settings(max_examples=40, deadline=None)
@given(st.lists(queries(), min_size=1, max_size=3), streams())
def test_approximate_numbers_are_close_to_brute_force(programs: list[Program], stream: Events) -> None:
    """Sums of large numbers of both signs lose digits in doubles, so integers stay small here."""
    small = np.clip(stream.values[0], -9, 9)
    stream = replace(stream, values=(small, stream.values[1]))
    for query, rows in zip(programs, run(SharedEngine(programs, False), stream), strict=True):
        assert_close(rows, expected(query, stream))


@settings(max_examples=40, deadline=None)
@given(st.lists(queries(), min_size=1, max_size=2), streams(), st.data())
def test_two_calls_give_the_results_of_one(programs: list[Program], stream: Events, data: st.DataObject) -> None:
    """advance(a + b) gives the same results as advance(a) and advance(b) together."""
    programs = [replace(query, extent=programs[0].extent) for query in programs]
    engine = SharedEngine(programs, True)
    in_one_call = run(engine, stream)
    by_place = programs[0].extent.by_place
    pieces: list[list[Any]] = [[] for _ in programs]
    states = [b"", b""]
    cuts = [data.draw(st.integers(stream.starts[s], stream.starts[s + 1])) for s in (0, 1)]
    cuts = [_before_ties(stream, s, cut) for s, cut in enumerate(cuts)]
    first = _rows(stream, [(stream.starts[s], cuts[s]) for s in (0, 1)])
    second = _rows(stream, [(cuts[s], stream.starts[s + 1]) for s in (0, 1)])
    positions = stream.place if by_place else stream.time
    until = np.array(
        [positions[cut] if cut < stream.starts[s + 1] else -(2**40) for s, cut in enumerate(cuts)], np.int64
    )
    for piece, ends in ((first, until), (second, None)):
        step = engine.advance(piece, states, ends)
        states = list(step.states)
        for number, results in enumerate(step.results):
            pieces[number] += answers(results)
    for actual, expected_rows in zip(pieces, in_one_call, strict=True):
        assert_close(sorted(actual, key=lambda row: row[:2]), expected_rows)


def _before_ties(stream: Events, sequence: int, cut: int) -> int:
    while stream.starts[sequence] < cut < stream.starts[sequence + 1] and stream.time[cut - 1] == stream.time[cut]:
        cut -= 1
    return cut


def _rows(stream: Events, bounds: list[tuple[int, int]]) -> Events:
    rows = np.concatenate([np.arange(first, last) for first, last in bounds]).astype(np.int64)
    lengths = [last - first for first, last in bounds]
    return Events(
        np.array([0, lengths[0], sum(lengths)], np.int64),
        stream.time[rows],
        stream.place[rows],
        tuple(condition[rows] for condition in stream.conditions),
        tuple(column[rows] for column in stream.values),
        tuple(None if valid is None else valid[rows] for valid in stream.valid),
    )


# --- large numbers ----------------------------------------------------------------------------------------------------


def test_a_thousand_events_are_counted_exactly() -> None:
    text = "".join(np.random.default_rng(5).choice(list("ABCTTTT"), 1000))
    programs = [program(pattern) for pattern in ("A T+ B", "B T+ C", "C T+ A")]
    all_rows = run(SharedEngine(programs, True), events(text))
    assert all_rows == [recurrence(query, events(text)) for query in programs]
    assert min(rows[0][2] for rows in all_rows) > 2**400


def test_sliding_windows_lose_no_events() -> None:
    """Each event is in 5 windows. The authors' program loses some of them."""
    text = "".join(np.random.default_rng(6).choice(list("ABTTTTT"), 300))
    query = program("A T+ B", extent=windows(100, 20))
    assert run(SharedEngine([query], True), events(text)) == [recurrence(query, events(text))]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(PATTERNS), st.sampled_from([(0, 0), (200, 200), (90, 40)])), min_size=1),
    st.text("ABBBBBBBBC", min_size=150, max_size=400),
    st.booleans(),
    st.booleans(),
)
def test_long_streams_are_counted_in_blocks(patterns: list[Any], text: str, exact: bool, by_place: bool) -> None:
    """Plain counts without ties are collected as small numbers until they have 58 bits."""
    extents = [Extent() if not length else windows(length, slide, by_place) for _, (length, slide) in patterns]
    programs = [program(pattern, extent=extent) for (pattern, _), extent in zip(patterns, extents, strict=True)]
    stream = events(text)
    for query, rows in zip(programs, run(SharedEngine(programs, exact), stream), strict=True):
        expected_rows = recurrence(query, stream)
        assert_close(rows, expected_rows if exact else [(*row[:2], float(row[2])) for row in expected_rows])


def test_n_ties_multiply_the_count_by_n_plus_one() -> None:
    assert counts([program("B+"), program("A B+")], events("ABBB", [0, 1, 1, 1])) == [3, 3]
    times = np.repeat(np.arange(200), 3)
    assert counts([program("B+")], events("B" * 600, times)) == [4**200 - 1]


def test_values_beyond_64_bits_add_up() -> None:
    total = Slot(SlotKind.SUM, frozenset({0}), 0)
    stream = events("BBB", values=[np.full(3, 2**63 - 1)])
    assert run(SharedEngine([replace(program("B+"), slots=(total,))], True), stream)[0][0][3] == 12 * (2**63 - 1)


def test_nan_and_infinity_affect_only_their_own_windows() -> None:
    total = Slot(SlotKind.SUM, frozenset({0}), 0)
    values = [np.array([1.0, np.inf, 2.0, 3.0, np.nan, np.inf, -np.inf, 4.0])]
    query = program("B+", slots=[total], extent=windows(2, 2))
    (rows,) = run(SharedEngine([query], True), events("B" * 8, values=values))
    assert str([row[3] for row in rows]) == "[inf, 10.0, nan, -inf]"


# --- declined queries -------------------------------------------------------------------------------------------------


def test_declined_queries_have_a_reason() -> None:
    span = Extent(BoundKind.SPAN, length=5)
    edge = EdgeTest(1, 1, "<", 0, 0)
    several = replace(program("A !N B+").automaton.absences[0], accepting=frozenset({0}))
    long_absence = replace(program("A !N B+"), automaton=replace(program("A !N B+").automaton, absences=(several,)))
    assert declined([Q1, Q2]) is None
    assert declined([Q1]) == "no two queries repeat the same events"
    assert declined([Q1, replace(Q2, extent=span)]) == "WITHIN without SLIDE needs the start of each match"
    assert declined([Q1, replace(Q2, edges=(edge,))]) is None
    edge = EdgeTest(0, 1, "<", 0, 0)
    assert declined([Q1, replace(Q2, edges=(edge,))]) == (
        "conditions between adjacent events other than those of one repeated event"
    )
    assert declined([Q1, replace(Q2, selection=Selection.NEXT)]) == "only SKIP TILL ANY MATCH can be shared"
    many = windows(1_000_000, 1)
    assert declined([replace(Q1, extent=many), Q2]) == "too many windows are open at once"
    assert declined([Q1, long_absence]) == "NOT over more than one event"


def test_a_state_of_other_queries_is_refused() -> None:
    state = SharedEngine([Q1, Q2], True).advance(events("AB"), [b""], np.array([2])).states
    with pytest.raises(MatchError, match="other queries"):
        SharedEngine([Q1, program("X B+")], True).advance(events("AB", [3, 4]), state, None)
