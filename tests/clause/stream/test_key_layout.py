"""Open rows and released rows -> the rows of each key together: letters for keys."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.key_layout import key_numbers, lay_out
from ostinato.streams.bucket_state import RememberedKeys


def laid_out(open_rows: str, released: str, order: Sequence[int] | None = None, *, due: str = "") -> list[str]:
    """The rows of each key that is searched: open rows as small letters, released rows as capitals with their index.

    `open_rows` has the keys of the open rows, key after key; `released` those of the released rows; `order` the indexes
    of the released rows in order.
    """
    remembered = list(dict.fromkeys(open_rows))
    counts = np.array([open_rows.count(key) for key in remembered], np.int64)
    keys = RememberedKeys.new(len(remembered))._replace(rows=counts)
    batch = pa.RecordBatch.from_pydict({"k": list(released)}) if released else None
    key_of = key_numbers([pa.array(remembered)] if remembered else None, batch, ["k"])
    is_due = np.array([key in due for key in remembered], np.bool_)
    rows = np.arange(len(released)) if order is None else np.array(order)
    layout = lay_out(keys, is_due, rows, key_of)
    names = [*open_rows, *(f"{key.upper()}{index}" for index, key in enumerate(released))]
    return [" ".join(names[row] for row in layout.rows[first:end]) for first, end in pairwise(layout.key_at)]


def test_released_rows_follow_the_open_rows_of_their_key() -> None:
    assert laid_out("aabb", "ba") == ["a a A1", "b b B0"]


def test_a_new_key_comes_behind_the_remembered_ones() -> None:
    assert laid_out("a", "cab") == ["a A1", "C0", "B2"]
    assert laid_out("", "ba") == ["B0", "A1"]


def test_keys_without_new_rows_are_left_alone() -> None:
    assert laid_out("aabbc", "b") == ["b b B0"]
    assert laid_out("ab", "") == []


def test_a_key_that_is_due_is_searched_without_new_rows() -> None:
    assert laid_out("aabc", "b", due="a") == ["a a", "b B0"]
    assert laid_out("ab", "", due="ab") == ["a", "b"]


def test_rows_of_a_key_keep_the_order_of_the_released_rows() -> None:
    assert laid_out("a", "abab", order=[3, 2, 0, 1]) == ["a A2 A0", "B3 B1"]
