"""Suppression: the text, and the matches that it hides, however the table is split."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.rule_sets.suppression import Suppression, mark_suppressed, read_suppression

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


def table(*rows: tuple[str, Any, int]) -> pa.Table:
    start = datetime(2024, 1, 1)
    rules, users, ends = zip(*rows, strict=True)
    times = pa.array([start + timedelta(minutes=end) for end in ends], pa.timestamp("us", "UTC"))
    return pa.table({"rule": list(rules), "user": list(users), "ended": times})


def suppressed(matches: pa.Table, **rules: Suppression) -> list[bool]:
    return mark_suppressed(matches, rules).suppressed.tolist()


def test_time_counts_from_the_last_match_that_was_shown() -> None:
    matches = table(*(("r", "ann", end) for end in (0, 40, 59, 60, 100, 119, 121)))
    assert suppressed(matches, r=Suppression(HOUR, ("user",))) == [False, True, True, False, True, True, False]


def test_rules_and_keys_are_apart() -> None:
    matches = table(("r", "ann", 0), ("r", None, 1), ("s", "ann", 2), ("t", "ann", 3), ("r", None, 4), ("t", "ann", 5))
    one = Suppression(HOUR, ("user",))
    assert suppressed(matches, r=one, s=one) == [False, False, False, False, True, False]


def test_a_match_that_ends_earlier_is_suppressed() -> None:
    assert suppressed(table(("r", "ann", 90), ("r", "ann", 5)), r=Suppression(HOUR, ("user",))) == [False, True]


def test_nan_is_one_key() -> None:
    matches = table(("r", float("nan"), 0), ("r", float("nan"), 1), ("r", 0.0, 2), ("r", -0.0, 3))
    assert suppressed(matches, r=Suppression(HOUR, ("user",))) == [False, True, False, True]


@given(
    st.lists(st.tuples(st.sampled_from("rs"), st.sampled_from(["ann", "bob"]), st.integers(0, 300)), min_size=1),
    st.data(),
)
def test_a_table_may_be_split_anywhere(rows: list[tuple[str, str, int]], data: st.DataObject) -> None:
    rules = {"r": Suppression(HOUR, ("user",))}
    whole = mark_suppressed(table(*rows), rules)
    at = data.draw(st.integers(0, len(rows)))
    before = mark_suppressed(table(*rows).slice(0, at), rules)
    after = mark_suppressed(table(*rows).slice(at), rules, before.last_shown)
    assert [*before.suppressed, *after.suppressed] == [*whole.suppressed]
    assert after.last_shown == whole.last_shown
