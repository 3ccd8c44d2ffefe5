"""Separate queries over letters: the paper's numbers, selections, absences, windows, spans, and stored states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from ostinato.errors import MatchError
from ostinato.event_queries.automaton.trend_automaton import build_trend_automaton
from ostinato.event_queries.language.event_pattern import parse_event_pattern
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import (
    NO_WINDOW,
    BoundKind,
    EdgeTest,
    Events,
    Extent,
    Program,
    QueryResults,
    Slot,
    SlotKind,
)
from ostinato.event_queries.trends.separate.program_method import method_of, needs_events, needs_visits
from ostinato.event_queries.trends.separate.running_plan import in_place_order
from ostinato.event_queries.trends.separate.separate_engine import SeparateEngine
from ostinato.kernels.numbers.python_numbers import Extended

pytestmark = pytest.mark.kernel
LETTERS = "ABCDEF"
PAPER = "a1 a2 c1 b3 b4 b5 b6 a3 a4 c2 c3 c4 b7"


def program(pattern: str, **more: Any) -> Program:
    """Condition n holds for the n-th letter of LETTERS. Value 0 is the event's number, value 1 is half of it."""
    automaton = build_trend_automaton(parse_event_pattern(pattern))
    return Program(
        automaton,
        tuple(LETTERS.index(name) for name in automaton.labels),
        tuple(tuple(LETTERS.index(name) for name in absence.labels) for absence in automaton.absences),
        **more,
    )


def events(*sequences: str) -> Events:
    """ "a1 b2=b3" is an A and then two Bs of the same time. Times and numbers of events start at 0."""
    words = [[event.split("=") for event in sequence.split()] for sequence in sequences]
    flat = [(time, word) for sequence in words for time, together in enumerate(sequence) for word in together]
    sizes = [sum(map(len, sequence)) for sequence in words]
    return Events(
        starts=np.cumsum([0, *sizes]),
        time=np.array([time for time, _ in flat], np.int64),
        place=np.array([place for size in sizes for place in range(size)], np.int64),
        conditions=tuple(np.array([word[0].upper() == letter for _, word in flat], bool) for letter in LETTERS),
        values=(
            np.array([int(word[1:] or 0) for _, word in flat], np.int64),
            np.array([int(word[1:] or 0) / 2 for _, word in flat], np.float64),
        ),
        valid=(np.array([word[1:] != "" for _, word in flat], bool), None),
        pair_tests=(lambda earlier, later: ~((earlier == 4) & (later == 5)),),
    )


def results(query: Program, *sequences: str, exact: bool = True) -> QueryResults:
    return SeparateEngine([query], exact).advance(events(*sequences), [b""] * len(sequences), None).results[0]


def count(query: Program, sequence: str) -> int:
    query_results = results(query, sequence)
    return int(query_results.count[0]) if len(query_results.sequence) else 0  # type: ignore[index]


def counts_by_window(query: Program, sequence: str) -> dict[int, int]:
    query_results = results(query, sequence)
    return dict(zip(query_results.window.tolist(), query_results.count.tolist(), strict=True))  # type: ignore[union-attr]


def label(query: Program, *names: str) -> frozenset[int]:
    return frozenset(query.automaton.labels.index(name) for name in names)


# --- the paper's numbers ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [("SEQ(A, B+)", 64), ("SEQ(C, B+)", 34), ("(SEQ(A, B+))+", 124), ("(SEQ(C, B+))+", 79)],
)
def test_counts_of_the_paper(pattern: str, matches: int) -> None:
    assert count(program(pattern), PAPER) == matches


@pytest.mark.parametrize(("pattern", "events_bound"), [("SEQ(A, B+)", 162), ("SEQ(C, B+)", 83)])
def test_count_of_events_of_the_paper(pattern: str, events_bound: int) -> None:
    query = program(pattern)
    query = replace(query, slots=(Slot(SlotKind.COUNT, label(query, "B")),))
    assert results(query, PAPER).slots[0].tolist() == [events_bound]  # type: ignore[union-attr]


def test_the_count_of_the_paper_with_a_forbidden_edge() -> None:
    query = program("SEQ(C, B+)")
    [b] = label(query, "B")
    assert count(replace(query, edges=(EdgeTest(b, b, pair_test=0),)), PAPER) == 26


# --- rules of trends --------------------------------------------------------------------------------------------------


def test_events_of_the_same_time_are_never_adjacent() -> None:
    assert count(program("A+"), "a a") == 3
    assert count(program("A+"), "a=a") == 2
    assert count(program("SEQ(A, B+)"), "a b=b b") == 2 + 1 + 2


def test_matches_of_each_selection() -> None:
    query = program("SEQ(A, B+)")
    assert count(query, "a b c b") == 3
    assert count(replace(query, selection=Selection.NEXT), "a b c b") == 2
    assert count(replace(query, selection=Selection.STRICT), "a b c b") == 1
    assert count(replace(query, selection=Selection.STRICT), "a b=c b") == 0


@pytest.mark.parametrize("selection", list(Selection))
def test_absence_between_and_at_the_start(selection: Selection) -> None:
    between = replace(program("SEQ(A, NOT C, B)"), selection=selection)
    assert count(between, "a b") == 1
    assert count(between, "a c b") == 0
    assert count(between, "a c a b") == 1
    before = replace(program("SEQ(NOT C, A)"), selection=selection)
    assert count(before, "a c a") == 1


def test_absence_of_several_events() -> None:
    query = program("SEQ(A, NOT SEQ(C, D), B)")
    assert needs_events(query) is not None
    assert count(query, "a c b") == 1
    assert count(query, "a c d b") == 0
    assert count(query, "a c a d b") == 1


def test_absence_at_the_end_of_a_window() -> None:
    windows = Extent(BoundKind.WINDOWS, length=3, slide=3)
    assert counts_by_window(replace(program("SEQ(A, NOT C)"), extent=windows), "a b c a a b a c a") == {3: 2, 6: 1}


def test_absence_at_both_ends_of_a_span() -> None:
    span = Extent(BoundKind.SPAN, length=2)
    assert count(replace(program("SEQ(A, NOT C)"), extent=span), "a b c a b b c") == 1
    assert count(replace(program("SEQ(NOT C, A, B)"), extent=span), "c a b") == 0
    assert count(replace(program("SEQ(NOT C, A, B)"), extent=span), "c a d b") == 1


# --- windows and spans ------------------------------------------------------------------------------------------------


def test_sliding_windows_lose_no_events() -> None:
    windows = Extent(BoundKind.WINDOWS, length=4, slide=2)
    assert counts_by_window(replace(program("A+"), extent=windows), "a a a a a") == {-2: 3, 0: 15, 2: 7, 4: 1}


def test_windows_that_count_events_start_with_the_first_event() -> None:
    windows = Extent(BoundKind.WINDOWS, by_place=True, length=4, slide=2)
    assert counts_by_window(replace(program("A+"), extent=windows), "a a a=a a") == {0: 11, 2: 3 + 2, 4: 1}


def test_windows_with_gaps() -> None:
    windows = Extent(BoundKind.WINDOWS, length=1, slide=3)
    assert counts_by_window(replace(program("A"), extent=windows), "a a a a") == {0: 1, 3: 1}


def test_spans_by_time_and_by_events() -> None:
    query = program("A+")
    assert count(replace(query, extent=Extent(BoundKind.SPAN, length=1)), "a a a a") == 4 + 3
    assert count(replace(query, extent=Extent(BoundKind.SPAN, by_place=True, length=1)), "a a=a a") == 4 + 2


def test_each_sequence_has_its_own_result() -> None:
    query_results = results(program("SEQ(A, B+)"), "a b", "b a", "a b b")
    assert query_results.sequence.tolist() == [0, 2]
    assert query_results.count.tolist() == [1, 3]  # type: ignore[union-attr]
    assert query_results.window.tolist() == [NO_WINDOW, NO_WINDOW]


@pytest.mark.parametrize("edges", [(), (EdgeTest(0, 0, "<", 0, 0),), (EdgeTest(0, 0, pair_test=0),)])
def test_no_sequences_and_no_events(edges: tuple[EdgeTest, ...]) -> None:
    query = replace(with_all_slots(program("A+")), edges=edges)
    assert not len(results(query).sequence)
    assert results(query, "", "a b", "").sequence.tolist() == [1]


# --- aggregates -------------------------------------------------------------------------------------------------------


def with_all_slots(query: Program) -> Program:
    labels = frozenset(range(len(query.automaton.labels)))
    kinds = [SlotKind.COUNT, SlotKind.SUM, SlotKind.MIN, SlotKind.MAX]
    return replace(query, slots=tuple(Slot(kind, labels, value) for value in (0, 1) for kind in kinds))


@pytest.mark.parametrize("edges", [(), (EdgeTest(0, 0, "<>", 0, 0),)], ids=["running", "ordered"])
def test_aggregates(edges: tuple[EdgeTest, ...]) -> None:
    query_results = results(replace(with_all_slots(program("A+")), edges=edges), "a1 a5 a")
    # With an edge test, the event without a number is a trend only by itself: 1, 5, NULL, 1 5.
    trends = [[1], [5], [None], [1, 5]] + ([] if edges else [[1, None], [5, None], [1, 5, None]])
    numbers = [x for trend in trends for x in trend if x is not None]
    with_nulls_as_zero = [x or 0 for trend in trends for x in trend]
    expected = [len(numbers), sum(numbers), 1, 5]
    assert [slot.tolist()[0] for slot in query_results.slots[:4]] == expected  # type: ignore[union-attr]
    real = query_results.slots[5]
    assert isinstance(real, Extended)
    assert math.ldexp(real.mantissa[0], int(real.exponent[0])) == sum(with_nulls_as_zero) / 2
    assert (query_results.slots[6].tolist(), query_results.slots[7].tolist()) == ([0.0], [2.5])  # type: ignore[union-attr]


def test_aggregates_of_no_values() -> None:
    query_results = results(with_all_slots(program("A+")), "a a")
    assert [present.tolist() for present in query_results.present[1:4]] == [[False]] * 3
    assert query_results.slots[0].tolist() == [0]  # type: ignore[union-attr]


# --- numbers ----------------------------------------------------------------------------------------------------------


def test_numbers_of_any_size() -> None:
    assert count(program("A+"), "a " * 5000) == 2**5000 - 1
    query = with_all_slots(program("A+"))
    query_results = results(query, "a7 " * 600)
    assert query_results.slots[1].tolist() == [7 * 600 * 2**599]  # type: ignore[union-attr]


def test_approximate_numbers() -> None:
    trend_count = results(program("A+"), "a " * 5000, exact=False).count
    assert isinstance(trend_count, Extended)
    assert math.log2(trend_count.mantissa[0]) + trend_count.exponent[0] == pytest.approx(5000)


@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "=", "<>"])
def test_ordered_edges_equal_visits(op: str) -> None:
    rng = np.random.default_rng(7)
    stream = " ".join(rng.choice([f"{letter}{x}" for letter in "abc" for x in range(6)], 150))
    query = with_all_slots(program("SEQ(A, B+, NOT C, A)"))
    [b] = label(query, "B")
    ordered = replace(query, edges=(EdgeTest(b, b, op, 0, 0),))
    # Two tests of the same pair aren't ranked.
    visited = replace(query, edges=(EdgeTest(b, b, op, 0, 0), EdgeTest(b, b, op, 0, 0)))
    assert needs_visits(ordered) is None and needs_visits(visited) is not None
    one, other = results(ordered, stream), results(visited, stream)
    assert one.count.tolist() == other.count.tolist()  # type: ignore[union-attr]
    assert [s.tolist() for s in one.slots[:4]] == [s.tolist() for s in other.slots[:4]]  # type: ignore[union-attr]


def test_pair_tests_are_evaluated_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    query = replace(program("A+"), edges=(EdgeTest(0, 0, pair_test=0),))
    expected = count(query, "a " * 40)
    monkeypatch.setattr("ostinato.event_queries.trends.separate.ordered_edges.PAIRS", 100)
    assert count(query, "a " * 40) == expected


# --- states -----------------------------------------------------------------------------------------------------------


def split(stream: Events, cuts: Sequence[int]) -> list[Events]:
    """Pieces of the only sequence."""
    bounds = [0, *cuts, len(stream.time)]
    return [
        replace(
            stream,
            starts=np.array([0, end - first]),
            time=stream.time[first:end],
            place=stream.place[first:end],
            conditions=tuple(c[first:end] for c in stream.conditions),
            values=tuple(v[first:end] for v in stream.values),
            valid=tuple(None if v is None else v[first:end] for v in stream.valid),
        )
        for first, end in pairwise(bounds)
    ]


EXTENTS = [
    Extent(),
    Extent(BoundKind.SPAN, length=5),
    Extent(BoundKind.WINDOWS, length=30, slide=30),
    Extent(BoundKind.WINDOWS, length=30, slide=10),
]


@pytest.mark.parametrize("extent", EXTENTS, ids=lambda e: f"{e.kind.value}-{e.slide}")
@pytest.mark.parametrize("selection", list(Selection))
@pytest.mark.parametrize("exact", [True, False])
def test_several_calls_give_the_results_of_one(extent: Extent, selection: Selection, exact: bool) -> None:
    rng = np.random.default_rng(3)
    stream = events(" ".join(rng.choice(["a1", "b2", "b5", "c", "d", "b2=b3", "a=b4"], 100)))
    queries = [
        replace(with_all_slots(program(pattern)), extent=extent, selection=selection)
        for pattern in ("SEQ(A, B+)", "SEQ(A, NOT C, B+)", "SEQ(NOT D, A+, B)")
    ]
    queries.append(replace(queries[0], edges=(EdgeTest(1, 1, "<=", 0, 0),)))
    engine = SeparateEngine(queries, exact)
    expected = [shown(r) for r in engine.advance(stream, [b""], None).results]
    cuts = [int(np.searchsorted(stream.time, time)) for time in (20, 21, 60)]
    states: Sequence[bytes] = [b""]
    rows_by_query: list[list[Any]] = [[] for _ in queries]
    for number, piece in enumerate(split(stream, cuts)):
        until = None if number == len(cuts) else np.array([(20, 21, 60)[number]])
        step = engine.advance(piece, states, until)
        states = step.states
        for rows, result in zip(rows_by_query, step.results, strict=True):
            rows += shown(result)
    assert rows_by_query == expected
    assert states == (b"",)


def shown(result: QueryResults) -> list[Any]:
    def plain(numbers: Any) -> list[Any]:
        if isinstance(numbers, Extended):  # a number has several forms; frexp normalises it
            mantissa, exponent = np.frexp(numbers.mantissa)
            return list(zip(mantissa.tolist(), (exponent + numbers.exponent).tolist(), strict=True))
        return list(numbers.tolist())

    columns = [result.window.tolist(), plain(result.count)]
    for numbers, present in zip(result.slots, result.present, strict=True):
        columns.append([n if p else None for n, p in zip(plain(numbers), present.tolist(), strict=True)])
    return list(zip(*columns, strict=True))


def test_a_state_of_another_format_is_refused() -> None:
    engine = SeparateEngine([program("A+")])
    [state] = engine.advance(events("a a"), [b""], np.array([2])).states
    assert state
    for wrong in (b"junk" + state[4:], state[:4] + b"\xff" + state[5:]):
        with pytest.raises(MatchError, match="STATE_FORMAT"):
            engine.advance(events("a"), [wrong], None)
    with pytest.raises(MatchError, match="STATE_FORMAT"):
        SeparateEngine([program("A+"), program("B+")]).advance(events("a"), [state], None)


# --- plans ------------------------------------------------------------------------------------------------------------


def test_order_of_edges_for_updates_in_place() -> None:
    order = in_place_order([(1, 2), (2, 2), (2, 3)])
    assert order is not None
    assert [[(1, 2), (2, 2), (2, 3)][i] for i in order] == [(2, 3), (2, 2), (1, 2)]
    assert in_place_order([(1, 2), (2, 1)]) is None


def test_method_of_a_program() -> None:
    query = program("SEQ(A, B+)")
    assert method_of(query).startswith("running sums")
    assert method_of(replace(query, edges=(EdgeTest(1, 1, "<", 0, 0),))).startswith("sums by the rank")
    assert "test of pairs" in method_of(replace(query, edges=(EdgeTest(1, 1, pair_test=0),)))
    assert method_of(program("SEQ(A, NOT SEQ(C, D), B)")).endswith("(several events together must be absent)")
