"""Suppression: the text, and the matches that it hides, however the table is split."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.kernels.constants import NO_TIME
from ostinato.rule_sets.suppression import Suppression, read_suppression, suppress

HOUR = 3_600_000_000


@pytest.mark.parametrize(
    ("text", "keys", "read"),
    [
        ("1 hour by user", ["user"], Suppression(HOUR, ("user",))),
        ("INTERVAL '90' MINUTE BY user", ["user"], Suppression(HOUR * 3 // 2, ("user",))),
        ("1 hour by b, `A`", ["a", "b"], Suppression(HOUR, ("b", "a"))),
        ("1 hour", [], Suppression(HOUR, ())),
    ],
)
def test_texts(text: str, keys: list[str], read: Suppression) -> None:
    assert read_suppression(text, keys) == read


@pytest.mark.parametrize(
    ("text", "keys", "words"),
    [
        ("1 hour", ["user"], "names all keys"),
        ("1 hour by user, user", ["user"], "names all keys"),
        ("1 hour by a", ["a", "b"], "hint: 1 hour by a, b"),
        ("1 hour by amount", ["user"], "not by 'amount'"),
        ("1 hour by user", [], "not by 'user'"),
        ("0 hours by user", ["user"], "above zero"),
        ("-1 hour by user", ["user"], "above zero"),
        ("1 month by user", ["user"], "above zero"),
        ("by user", ["user"], "above zero"),
        (" ", [], "above zero"),
        (3600, ["user"], "suppress is a text"),
    ],
)
def test_refused_texts(text: object, keys: list[str], words: str) -> None:
    with pytest.raises(QueryError, match=words) as caught:
        read_suppression(text, keys)
    assert caught.value.code == "INVALID_SUPPRESS"


def test_keys_are_remembered_for_as_long_as_matches_are_suppressed() -> None:
    assert read_suppression("1 hour by user", ["user"], HOUR).duration_us == HOUR
    with pytest.raises(QueryError, match=r"INVALID_SUPPRESS.*remembered \(forget_keys_after, 0:59:59\)"):
        read_suppression("1 hour by user", ["user"], HOUR - 1_000_000)


def suppressed(*matches: tuple[int, int]) -> list[bool]:
    """`matches` are keys and ends, in minutes."""
    keys, ends = np.array(matches, np.int64).T
    return suppress(keys, ends * HOUR // 60, HOUR, np.full(9, NO_TIME)).matches.tolist()


def test_time_counts_from_the_last_match_that_was_shown() -> None:
    ends = (0, 40, 59, 60, 100, 119, 121)
    assert suppressed(*((0, end) for end in ends)) == [False, True, True, False, True, True, False]


def test_keys_are_apart() -> None:
    assert suppressed((0, 0), (1, 1), (0, 4), (1, 5), (2, 6)) == [False, False, True, True, False]


def test_a_match_that_ends_earlier_is_suppressed() -> None:
    assert suppressed((0, 90), (0, 5)) == [False, True]


def test_an_empty_match_is_shown_and_starts_no_quiet_time() -> None:
    keys, ends = np.zeros(3, np.int64), np.array([NO_TIME, 5, NO_TIME])
    assert suppress(keys, ends, HOUR, np.full(1, NO_TIME)).matches.tolist() == [False] * 3


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 300)), min_size=1), st.data())
def test_matches_may_be_split_anywhere(matches: list[tuple[int, int]], data: st.DataObject) -> None:
    keys, ends = np.array(matches, np.int64).T
    start = np.full(3, NO_TIME)
    whole = suppress(keys, ends, 60, start)
    at = data.draw(st.integers(0, len(matches)))
    before = suppress(keys[:at], ends[:at], 60, start)
    after = suppress(keys[at:], ends[at:], 60, before.quiet_until)
    assert [*before.matches, *after.matches] == [*whole.matches]
    assert after.quiet_until.tolist() == whole.quiet_until.tolist()
