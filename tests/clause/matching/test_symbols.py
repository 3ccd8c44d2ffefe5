"""Masks -> one symbol per row, and the states that each symbol allows: letters for rows, variables for states."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.clause.matching.symbols import ALWAYS, symbols_of

ANY = "."


def allowed(states: str, rows: str) -> str:
    """For each row the states that may consume it: state `a` takes rows `a`, state `.` takes every row."""
    letters = list(dict.fromkeys(states.replace(ANY, "")))
    masks = [np.array([row == letter for row in rows], np.bool_) for letter in letters]
    conditions = [ALWAYS if state == ANY else letters.index(state) for state in states]
    symbols = symbols_of(masks, conditions, len(rows))

    def names(row: int) -> str:
        words = symbols.allowed[symbols.of_row[row]]
        return "".join(state for i, state in enumerate(states) if int(words[i // 64]) >> (i % 64) & 1) or "-"

    return " ".join(names(row) for row in range(len(rows)))


def test_a_state_takes_the_rows_of_its_mask() -> None:
    assert allowed("ab", "abx") == "a b -"


def test_a_state_without_a_condition_takes_every_row() -> None:
    assert allowed("a.", "ax") == "a. ."
    assert allowed("..", "x") == ".."


def test_states_may_share_a_mask() -> None:
    assert allowed("aba", "ab") == "aa b"


def test_no_row_has_no_symbol() -> None:
    assert allowed("ab", "") == ""


@pytest.mark.parametrize("count", [8, 9, 17, 26])
def test_masks_are_read_eight_at_a_time(count: int) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"[:count]
    assert allowed(letters, letters + "?") == " ".join(letters + "-")


def test_more_than_64_states() -> None:
    assert allowed("a" * 70 + "b", "ab") == f"{'a' * 70} b"


def test_rows_with_equal_masks_have_one_symbol() -> None:
    masks = [np.array([True, False, True]), np.array([False, False, False])]
    symbols = symbols_of(masks, [0, 1], 3)
    assert symbols.of_row[0] == symbols.of_row[2] != symbols.of_row[1]
    assert len(symbols.allowed) == 2


def test_more_combinations_than_a_table_holds() -> None:
    """With 24 masks there are 2^24 combinations; only those that occur get a number."""
    rng = np.random.default_rng(7)
    masks = [rng.random(200) < 0.5 for _ in range(24)]
    symbols = symbols_of(masks, list(range(24)), 200)
    bits = symbols.allowed[symbols.of_row, 0]
    assert all(np.array_equal((bits >> np.uint64(i)) & np.uint64(1) != 0, mask) for i, mask in enumerate(masks))
