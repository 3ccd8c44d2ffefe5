"""The variants of the RIP paper: its worked examples, the library's answers, and what each variant promises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.experiment import WrongAnswer
from benchmarks.queries import KNOWN_COUNTS, QUERIES, Mode, PatternQuery, Q, Shape, prices
from benchmarks.rip import kernels, run_based, state_based
from benchmarks.rip.answers import (
    TABLE_1,
    TABLE_1_PRICES,
    TIE_PRICES,
    evaluations_per_event,
    labels_of,
    library_matches,
    variants_of,
)
from benchmarks.rip.linear_query import LinearQuery, NotLinear, linear_query
from benchmarks.rip.run_based import Outcome, Slice, in_threads, round_robin, sequential, sliced, slices_of
from benchmarks.rip.state_based import StateUnit, Transfer, pipelined
from benchmarks.rip.variants import Variant, check_same, rb_plus

from ostinato.kernels.kernel_cache import interpreted

TWELVE = pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)


def pattern_query(pattern: str, define: str) -> PatternQuery:
    return PatternQuery("mine", pattern, define, Shape.VARIABLE)


def labels(query: PatternQuery, *price: float, max_length: int = 100) -> list[str]:
    """Every match of SEQ, as the variables of its rows."""
    linear = linear_query(query, max_length)
    return sorted(labels_of(linear, match) for match in sequential(linear, np.array(price)).matches)


# --- the paper's examples ---


def test_table_1_of_the_paper() -> None:
    query, price = linear_query(TABLE_1), np.array(TABLE_1_PRICES)
    assert "".join(query.variables) == "ABCDEFG"
    assert evaluations_per_event(query, price) == [1, 3, 7, 7]
    assert labels(TABLE_1, *TABLE_1_PRICES) == ["A C E G"]
    assert sequential(query, price).matches.tolist() == [[0, -1, 1, -1, 2, -1, 3, 3]]


def test_a_tie_has_two_labelings_and_with_the_appendix_one() -> None:
    assert labels(Q["Q1"], *TIE_PRICES) == ["A C E F G I K M", "A C E G H I K M"]
    appendix = replace(Q["Q1"], define=Q["Q1"].define.replace(">=", ">"))
    assert labels(appendix, *TIE_PRICES) == ["A C E G H I K M"]


# --- patterns and conditions ---


def test_quantifiers_and_the_longest_match() -> None:
    query = pattern_query("A B* C? D", "D AS D.price > 8")
    assert labels(query, 1, 2, 9) == ["A B D", "A C D", "A D"]
    assert labels(query, 1, 2, 9, max_length=2) == ["A D"]
    assert labels(pattern_query("A B+ C", "B AS B.price > 5, C AS C.price < 5"), 6, 7, 8, 1) == ["A B B C", "A B C"]


def test_conditions_read_the_row_before_and_rows_of_the_run() -> None:
    assert labels(pattern_query("A B", "A AS A.price >= PREV(A.price), B AS B.price < A.price"), 3, 2, 1) == []
    assert labels(pattern_query("A B* C", "B AS B.price <= PREV(B.price), C AS C.price < A.price"), 3, 3, 1) == [
        "A B C",
        "A C",
    ]


@pytest.mark.parametrize(
    ("pattern", "define"),
    [
        ("A (B C)+ D", "A AS A.price > 1"),
        ("A B{2} C", "A AS A.price > 1"),
        ("A | B", "A AS A.price > 1"),
        ("A B A", "A AS A.price > 1"),
        ("A* B", "B AS B.price > 1"),
        ("A B+", "B AS B.price > 1"),
        ("A B C", "B AS B.price > 1 OR B.price < 0"),
        ("A B C", "B AS B.price > A.price + 1"),
        ("A B C", "B AS B.price > PREV(B.price, 2)"),
        ("A B+ C", "C AS C.price > B.price"),
        ("A B C", "B AS B.price > C.price"),
        ("A B C", "B AS A.price > 1"),
    ],
)
def test_what_the_variants_cannot_run_is_refused(pattern: str, define: str) -> None:
    with pytest.raises(NotLinear):
        linear_query(pattern_query(pattern, define))


# --- answers ---


@TWELVE
def test_seq_finds_the_known_counts_and_the_librarys_matches(query: PatternQuery) -> None:
    linear = linear_query(query)
    assert len(sequential(linear, prices(20_000)).matches) == KNOWN_COUNTS[query.name, Mode.ALL, 20_000]
    found = sequential(linear, prices(5_000))
    assert np.array_equal(found.in_order(), library_matches(query, prices(5_000), linear.max_length))


@TWELVE
def test_all_variants_find_the_same_with_as_many_evaluations(query: PatternQuery) -> None:
    linear = linear_query(query)
    found = check_same(linear, prices(6_000), variants_of(linear))
    assert found.evaluations[0] == 6_000


@pytest.mark.parametrize("name", ["Q1", "Q8", "Q12"])
def test_cuts_of_any_size_change_nothing(name: str) -> None:
    query, price = linear_query(Q[name], max_length=12), 10 * np.round(prices(500) / 10)
    right = sequential(query, price).in_order()
    assert len(right) > 0
    for size in (1, 2, 7, 499, 500, 1_000):
        assert np.array_equal(sliced(query, price, 2, slice_rows=query.shared_rows + size).in_order(), right)
        assert np.array_equal(pipelined(query, price, size).in_order(), right)
        assert np.array_equal(pipelined(query, price, size, first_units=2).in_order(), right)
    for units in (1, 2, 5):
        assert np.array_equal(round_robin(query, price, units).in_order(), right)


def test_little_room_is_made_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    query, price = linear_query(Q["Q1"]), np.round(prices(800) / 20)
    right = sequential(query, price)
    monkeypatch.setattr(run_based, "ROOM", 1)
    monkeypatch.setattr(state_based, "ROOM", 1)
    for found in (sequential(query, price), pipelined(query, price, 50), sliced(query, price, 2, 150)):
        assert np.array_equal(found.in_order(), right.in_order())
        assert np.array_equal(found.evaluations, right.evaluations)


def test_kernels_do_the_same_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    query, price = linear_query(Q["Q8"]), prices(400)
    right = sequential(query, price)
    monkeypatch.setattr(run_based, "advance_runs", interpreted(kernels.advance_runs))
    monkeypatch.setattr(state_based, "advance_state", interpreted(kernels.advance_state))
    for found in (sequential(query, price), pipelined(query, price, 90)):
        assert np.array_equal(found.in_order(), right.in_order())
        assert found.evaluations.tolist() == right.evaluations.tolist()


def test_matches_of_slices_come_in_the_order_of_their_starts() -> None:
    found = sliced(linear_query(Q["Q12"]), prices(4_000), 3, slice_rows=50).matches
    assert len(found) > 100
    assert (np.diff(found[:, 0]) >= 0).all()


def test_nothing_found_is_an_empty_answer() -> None:
    query, price = linear_query(Q["Q12"]), np.full(50, 100.0)
    for found in (sequential(query, price), sliced(query, price, 2, 10), pipelined(query, price, 10)):
        assert found.matches.shape == (0, 4)


# --- what is checked, and what fails ---


def test_an_answer_that_lacks_matches_is_a_wrong_answer() -> None:
    query, price = linear_query(Q["Q12"]), prices(2_000)
    with pytest.raises(WrongAnswer, match=r"mine, 2 units.* matches, SEQ has"):
        check_same(query, price, [replace(rb_plus(2, slice_rows=100, shared_rows=0), name="mine")])


def test_an_answer_with_more_evaluations_is_a_wrong_answer() -> None:
    def wasteful(query: LinearQuery, price: np.ndarray) -> Outcome:
        found = sequential(query, price)
        return Outcome(found.matches, found.evaluations + 1)

    with pytest.raises(WrongAnswer, match="evaluations, SEQ has"):
        check_same(linear_query(Q["Q12"]), prices(100), [Variant("wasteful", 1, wasteful)])


def test_slices_own_n_minus_s_rows_and_read_n() -> None:
    assert slices_of(10, slice_rows=6, shared_rows=2) == [Slice(0, 4, 6), Slice(4, 8, 10), Slice(8, 10, 10)]
    assert slices_of(0, 6, 2) == []
    with pytest.raises(ValueError, match="no larger than the part of 6"):
        slices_of(10, 6, 6)


def test_the_shared_part_follows_from_the_query() -> None:
    assert [linear_query(Q[name]).shared_rows for name in ("Q1", "Q7", "Q5")] == [99, 2, 12]
    assert linear_query(Q["Q1"], max_length=20).shared_rows == 19


def test_a_failing_unit_is_told_and_keeps_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails_in_the_middle(self: StateUnit, first: int, end: int, incoming: Transfer, outgoing: Transfer) -> None:
        if self._state == 2 and first >= 100:
            raise ArithmeticError("in the third state")
        advance(self, first, end, incoming, outgoing)

    advance = StateUnit.advance
    monkeypatch.setattr(StateUnit, "advance", fails_in_the_middle)
    for first_units in (1, 2):
        with pytest.raises(ArithmeticError, match="in the third state"):
            pipelined(linear_query(Q["Q6"]), prices(2_000), 10, first_units=first_units)
    with pytest.raises(ZeroDivisionError):
        in_threads(lambda unit: 1 // (1 - unit) and None, 2)
