"""RETURN MATCHES: the matches, their order, and errors. Letters for events, as in the oracle's tests."""

from __future__ import annotations

import math
from dataclasses import replace
from types import FunctionType

import numpy as np
import pyarrow as pa
import pytest
from tests.event_queries.enumeration.event_matching import NO_LIMITS, kernel_matches, listed
from tests.laws.trend_programs import prepared
from tests.reference.event_letters import bound, events

from ostinato.errors import MatchError, QueryError
from ostinato.event_queries.automaton.trend_automaton import Transition, TrendAutomaton
from ostinato.event_queries.enumeration import event_buffers, event_marks, event_matches
from ostinato.event_queries.enumeration.event_matches import find_event_matches
from ostinato.event_queries.enumeration.event_scopes import fill_first_rows
from ostinato.event_queries.enumeration.event_search import event_search_in_python
from ostinato.event_queries.enumeration.match_conditions import lower_run_conditions
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.event_queries.language.event_query import RunCondition, Selection
from ostinato.event_queries.plan.event_program import BoundKind, EdgeTest, Events, Extent, Program
from ostinato.expressions.syntax import Aggregate, Column, Literal, Operator
from ostinato.expressions.types import Settings
from ostinato.kernels.kernel_cache import interpreted

COLUMNS = {
    "kind": pa.string(),
    "ts": pa.timestamp("us", tz="UTC"),
    "x": pa.int64(),
    "key": pa.string(),
    "name": pa.string(),
}


def matches(query: str, stream: str, limits: MatchLimits = NO_LIMITS) -> list[str]:
    """The matches as words of their events, in output order."""
    rows = events(stream)
    ready = prepared(bound(query), rows)
    by_scope = listed(ready, kernel_matches(ready, COLUMNS, limits))
    return [" ".join(rows[row]["name"] for row, _ in pairs) for scope in by_scope.values() for pairs in scope]


# --- order ------------------------------------------------------------------------------------------------------------


def test_matches_are_ordered_by_first_time_last_time_and_events() -> None:
    assert matches("SEQ(A, B+)", "a1 b2 a3 b4 b5") == [
        "a1 b2",
        "a1 b2 b4",
        "a1 b4",
        "a1 b2 b4 b5",
        "a1 b2 b5",
        "a1 b4 b5",
        "a1 b5",
        "a3 b4",
        "a3 b4 b5",
        "a3 b5",
    ]


def test_matches_are_ordered_by_variables_before_rows() -> None:
    ready = prepared(bound("SEQ((A x OR A y), B)"), rows := events("a1=a2 b3"))
    [pairs] = listed(ready, kernel_matches(ready, COLUMNS)).values()
    assert [(name, rows[row]["name"]) for (row, name), _ in pairs] == [
        ("x", "a1"),
        ("x", "a2"),
        ("y", "a1"),
        ("y", "a2"),
    ]


def test_events_of_the_same_time_are_never_in_one_match() -> None:
    assert matches("SEQ(A, B)", "a1=b2 b3=a4 b5") == ["a1 b3", "a1 b5", "a4 b5"]


def test_long_blocks_are_sorted_by_radix() -> None:
    """The block has more than 256 end times and many matches, so that all sorting methods are used."""
    count = 700
    kinds = np.repeat([0, 1, 2], [1, 2, count])
    program = Program(chain(3), (0, 1, 2))
    listed = find_event_matches(program, one_sequence(kinds), NO_LIMITS)
    rows = listed.rows.reshape(-1, 3)
    expected = [(0, b, c) for c in range(3, count + 3) for b in (1, 2)]
    assert rows.tolist() == [list(row) for row in expected]


# --- conditions over several variables --------------------------------------------------------------------------------


def test_arithmetic_over_three_variables() -> None:
    query = "SEQ(A a, B b, C c, D d) WHERE a.x + b.x < d.x AND a.x <= c.x"
    assert matches(query, "a1 a4 b2 c3 d4 d7") == ["a1 b2 c3 d4", "a1 b2 c3 d7"]


def test_a_sum_over_a_kleene_variable() -> None:
    assert matches("SEQ(A a, B+ b, C c) WHERE SUM(b[i].x) < c.x", "a1 b2 b3 c5 c6") == [
        "a1 b2 c5",
        "a1 b3 c5",
        "a1 b2 b3 c6",
        "a1 b2 c6",
        "a1 b3 c6",
    ]


def test_a_kleene_variable_means_each_of_its_events() -> None:
    before, after = "SEQ(A a, B+ b, C c) WHERE b[i].x < c.x", "SEQ(A a, B+ b, C c) WHERE b[i].x > a.x"
    assert matches(before, "a2 b1 b3 c3 c4") == ["a2 b1 c3", "a2 b1 b3 c4", "a2 b1 c4", "a2 b3 c4"]
    assert matches(after, "a2 b1 b3 c3 c4") == ["a2 b3 c3", "a2 b3 c4"]


def test_each_event_is_compared_with_an_aggregate_of_its_variable() -> None:
    assert matches("SEQ(A a, B+ b) WHERE b[i].x + a.x >= AVG(b[i].x)", "a1 b2 b8") == ["a1 b2", "a1 b8"]


def test_a_condition_on_a_missing_variable_holds() -> None:
    assert matches("SEQ(A a, B? b, C, D d) WHERE a.x < d.x AND b.x > d.x", "a1 b2 c3 d4") == ["a1 c3 d4"]
    assert matches("SEQ(A a, B* b, C, D d) WHERE SUM(b[i].x) > d.x", "a1 b2 c3 d4") == ["a1 c3 d4"]


def test_a_condition_that_later_events_change_is_checked_at_the_end() -> None:
    """SUM(b) may still grow after any b. So the search continues, even if the match so far fails the condition."""
    assert matches("SEQ(A a, B+ b) WHERE SUM(b[i].x) >= a.x", "a3 b1 b2 b4") == [
        "a3 b1 b2",
        "a3 b1 b2 b4",
        "a3 b1 b4",
        "a3 b2 b4",
        "a3 b4",
    ]


@pytest.mark.parametrize("function", ["sqrt", "sin", "cos", "asin", "acos"])
def test_math_functions(function: str) -> None:
    query = f"SEQ(A a, B b, C c) WHERE {function}(a.x / 1E1) + {function}(c.x / 1E1) < b.x / 1E1"
    apply = getattr(math, function)
    expected = [
        f"a{a} b{b} c{c}" for a in (1, 4) for c in (2, 9) for b in (8, 16) if apply(a / 10) + apply(c / 10) < b / 10
    ]
    assert matches(query, "a1 a4 b8 b16 c2 c9") == expected


def test_distinct_is_refused() -> None:
    several = Operator(">", (Aggregate("count", (Column("x"),), frozenset("a"), distinct=True), Literal("number", "1")))
    with pytest.raises(QueryError) as caught:
        lower_run_conditions([RunCondition(several, frozenset("a"))], chain(2), lambda _: pa.int64(), Settings())
    assert caught.value.code == "UNSUPPORTED_ACROSS_ROWS"


@pytest.mark.parametrize(
    ("condition", "code"),
    [("a.x / b.x < c.x", "DIVIDE_BY_ZERO"), ("a.x + 9223372036854775807 > c.x - b.x", "ARITHMETIC_OVERFLOW")],
)
def test_errors_in_conditions(condition: str, code: str) -> None:
    with pytest.raises(MatchError) as caught:
        matches(f"SEQ(A a, B b, C c) WHERE {condition}", "a1 b0 c3")
    assert caught.value.code == code
    assert "WHERE" in caught.value.message


# --- LIMIT and other limits -------------------------------------------------------------------------------------------


def test_a_limit_does_not_enumerate_further_matches() -> None:
    """There are 2^59 matches that start with the first event."""
    stream = " ".join(f"a{i}" for i in range(60))
    assert matches("A+", stream, MatchLimits(limit=4)) == ["a0", "a0 a1", "a0 a1 a2", "a0 a2"]


def test_a_limit_if_all_matches_end_with_the_same_event() -> None:
    stream = "a0 " + " ".join(f"b{i}" for i in range(50)) + " c0"
    longest, first, second = matches("SEQ(A, B+, C)", stream, MatchLimits(limit=3))
    assert longest == stream
    assert first == stream.replace(" b49", "")
    assert second == stream.replace(" b48", "")


def test_a_limit_if_some_matches_are_very_long() -> None:
    """The search visits the longest matches first, and these end last."""
    program = Program(kleene(), (0, 1))
    listed = find_event_matches(program, one_sequence(np.repeat([0, 1], [1, 20_000])), MatchLimits(limit=4))
    assert [rows.tolist() for rows in np.split(listed.rows, listed.offsets[1:-1])] == [
        [0, 1],
        [0, 1, 2],
        [0, 2],
        [0, 1, 2, 3],
    ]


def test_a_limit_takes_the_first_matches_if_a_type_is_used_several_times() -> None:
    """The first event alone starts 77,815 matches, too many to list them all. They are searched by their end times."""
    stream = " ".join(f"a{i}" for i in range(396))
    first = matches("SEQ(A a1, A a2, A a3)", stream, MatchLimits(limit=6))
    assert first == ["a0 a1 a2", "a0 a1 a3", "a0 a2 a3", "a0 a1 a4", "a0 a2 a4", "a0 a3 a4"]


def test_a_limit_holds_for_each_window() -> None:
    assert matches("SEQ(A, B) WITHIN 3 SECONDS TUMBLE", "a1 b2 b3 a4 b5 b6", MatchLimits(limit=1)) == ["a1 b2", "a4 b5"]


def test_too_many_matches_raise() -> None:
    with pytest.raises(MatchError) as caught:
        matches("A+", " ".join(f"a{i}" for i in range(40)), MatchLimits(most_matches=1000))
    assert caught.value.code == "TOO_MANY_MATCHES"
    assert "1,000" in caught.value.message


def test_the_largest_allowed_number_of_matches() -> None:
    assert len(matches("A+", "a1 a2 a3", MatchLimits(most_matches=7))) == 7


def test_too_many_partial_matches_raise() -> None:
    stream = " ".join(f"a{i}" for i in range(40))
    with pytest.raises(MatchError) as caught:
        matches("SEQ(A+ a, B b) WHERE SUM(a[i].x) < b.x", f"{stream} b-1", MatchLimits(max_partial_matches=1000))
    assert caught.value.code == "TOO_MANY_PARTIAL_MATCHES"
    assert "1,000" in caught.value.message


def test_partial_matches_that_lead_to_matches_are_not_counted() -> None:
    assert len(matches("A+", " ".join(f"a{i}" for i in range(12)), MatchLimits(max_partial_matches=1))) == 4095


def test_matches_with_too_many_events_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_buffers, "LARGEST_OUTPUT", 10_000)
    with pytest.raises(MatchError) as caught:
        matches("A+", " ".join(f"a{i}" for i in range(20)))
    assert caught.value.code == "RESULT_TOO_LARGE"


# --- the kernel -------------------------------------------------------------------------------------------------------


def chain(length: int) -> TrendAutomaton:
    """SEQ of `length` variables."""
    steps = tuple(Transition(state, state, state + 1) for state in range(length))
    return TrendAutomaton(tuple("abcdefgh"[:length]), length + 1, steps, frozenset({length}))


def kleene() -> TrendAutomaton:
    """SEQ(a, b+)."""
    return TrendAutomaton(
        ("a", "b"), 3, (Transition(0, 0, 1), Transition(1, 1, 2), Transition(2, 1, 2)), frozenset({2})
    )


def one_sequence(kinds: np.ndarray, values: tuple[np.ndarray, ...] = ()) -> Events:
    """One sequence of events. The kind of an event is its label."""
    count = len(kinds)
    masks = tuple(kinds == kind for kind in range(int(kinds.max(initial=0)) + 1))
    starts = np.array([0, count]) if count else np.zeros(1, np.int64)
    return Events(starts, np.arange(count), np.arange(count), masks, values, (None,) * len(values))


@pytest.mark.kernel
def test_every_choice_of_one_event_per_type_is_a_match() -> None:
    """The stream is A^n B^n C^n D^n."""
    size = 12
    listed = find_event_matches(Program(chain(4), (0, 1, 2, 3)), one_sequence(np.repeat(np.arange(4), size)))
    choices = np.stack(np.meshgrid(*[np.arange(size)] * 4, indexing="ij"), -1).reshape(-1, 4) + size * np.arange(4)
    in_order = choices[np.lexsort(choices.T[[2, 1, 3, 0]])]
    assert (listed.rows.reshape(-1, 4) == in_order).all()
    assert (listed.labels.reshape(-1, 4) == np.arange(4)).all()
    assert (listed.offsets == np.arange(size**4 + 1) * 4).all()


@pytest.mark.kernel
@pytest.mark.parametrize("op", ["<", "<=", ">", ">=", "=", "<>"])
@pytest.mark.parametrize("real", [False, True])
def test_comparisons_of_adjacent_events(op: str, real: bool) -> None:
    numbers = np.array([0.0, -0.0, np.nan, 2, -1, np.inf, 2, np.nan] if real else [0, 1, -1, 2, 2, -5, 2**62, 0])
    program = Program(chain(2), (0, 0), edges=(EdgeTest(0, 1, op, 0, 0),))
    listed = find_event_matches(program, one_sequence(np.zeros(8, int), (numbers,)))

    def key(value: float) -> tuple[bool, float]:
        return (bool(np.isnan(value)), 0.0 if np.isnan(value) else value)

    compare = {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "=": lambda a, b: a == b,
        "<>": lambda a, b: a != b,
    }[op]
    pairs = [[i, j] for i in range(8) for j in range(i + 1, 8) if compare(key(numbers[j]), key(numbers[i]))]
    assert listed.rows.reshape(-1, 2).tolist() == pairs


@pytest.mark.kernel
def test_pair_tests_are_evaluated_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostinato.event_queries.enumeration.event_tables._PAIRS_AT_ONCE", 16)
    kinds = np.zeros(30, int)
    sequence = one_sequence(kinds)
    sequence = Events(
        sequence.starts, sequence.time, sequence.place, sequence.conditions, (), (), (lambda a, b: (a + b) % 3 == 0,)
    )
    listed = find_event_matches(Program(chain(2), (0, 0), edges=(EdgeTest(0, 1, pair_test=0),)), sequence)
    assert listed.rows.reshape(-1, 2).tolist() == [
        [i, j] for i in range(30) for j in range(i + 1, 30) if (i + j) % 3 == 0
    ]


@pytest.mark.parametrize("selection", list(Selection))
def test_rows_beyond_the_window_are_not_searched(selection: Selection, monkeypatch: pytest.MonkeyPatch) -> None:
    """WITHIN excludes A and B that are far apart: their rows are never compared, and no window is searched."""
    compared_rows: list[tuple[int, int]] = []

    def edge_holds(step: int, row: int, later: int, *tables: object) -> bool:
        compared_rows.append((row, later))
        return True

    marks = {**vars(event_marks), "edge_holds": edge_holds}
    for name in ("following", "_best_of_any", "_best_between", "may_end", "mark"):
        marks[name] = FunctionType(interpreted(getattr(event_marks, name)).__code__, marks)
    plain = FunctionType(interpreted(event_marks.mark_sequences).__code__, marks)
    monkeypatch.setattr(event_matches, "mark_sequences", plain)
    sequence = replace(one_sequence(np.array([0, 1, 0, 1]), (np.arange(4),)), time=np.array([0, 50, 100, 101]))
    for kind in (BoundKind.SPAN, BoundKind.WINDOWS):
        compared_rows.clear()
        extent = Extent(kind, length=10, slide=10)
        program = Program(chain(2), (0, 1), edges=(EdgeTest(0, 1, ">", 0, 0),), extent=extent, selection=selection)
        listed = find_event_matches(program, sequence)
        assert listed.rows.tolist() == [2, 3] and set(compared_rows) == {(2, 3)}
    assert listed.scopes.window.tolist() == [100]


@pytest.mark.kernel
def test_first_rows_are_found_in_one_sweep() -> None:
    """The kernel finds for each value the first row of its sequence at or above it, like a binary search."""
    rng = np.random.default_rng(4)
    starts = np.array([0, 0, 40, 41, 100])
    position = np.concatenate([np.sort(rng.integers(0, 60, n)) for n in np.diff(starts)])
    sequence = np.sort(rng.integers(0, len(starts) - 1, 300))
    value = np.concatenate([np.sort(rng.integers(-5, 70, n)) for n in np.bincount(sequence, minlength=4)])
    expected = [
        starts[s] + np.searchsorted(position[starts[s] : starts[s + 1]], v)
        for s, v in zip(sequence, value, strict=True)
    ]
    for sweep in (fill_first_rows, interpreted(fill_first_rows)):
        filled = np.full(len(value), -1)
        sweep(position, starts, sequence, value, filled)
        assert filled.tolist() == expected


@pytest.mark.kernel
def test_the_kernel_agrees_with_its_python(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = ["SEQ(A, B+)", "SEQ(A, NOT C, B) WITHIN 3 SECONDS", "STRICT", "SKIP TILL NEXT MATCH"]
    stream = "a1 b2 c3 a4=b5 b6 c7 b8"
    texts = [query if "SEQ" in query else f"SEQ(A, B+, C) {query}" for query in queries]
    compiled = [matches(text, stream) for text in texts]
    monkeypatch.setattr(event_matches, "search_plain_events", event_search_in_python())
    assert [matches(text, stream) for text in texts] == compiled


def test_more_than_256_labels_raise() -> None:
    steps = tuple(Transition(state, state, state + 1) for state in range(257))
    many = TrendAutomaton(tuple(f"v{i}" for i in range(257)), 258, steps, frozenset({257}))
    with pytest.raises(MatchError) as caught:
        find_event_matches(Program(many, (0,) * 257), one_sequence(np.zeros(1, int)))
    assert caught.value.code == "PATTERN_TOO_LARGE"


def test_a_sequence_without_events_has_no_matches() -> None:
    assert find_event_matches(Program(chain(2), (0, 0)), one_sequence(np.zeros(0, int))).count == 0


def test_a_state_is_entered_under_one_label() -> None:
    steps = (Transition(0, 0, 1), Transition(0, 1, 1))
    with pytest.raises(ValueError, match="one label"):
        find_event_matches(
            Program(TrendAutomaton(("a", "b"), 2, steps, frozenset({1})), (0, 0)), one_sequence(np.zeros(2, int))
        )
