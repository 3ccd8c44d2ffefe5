"""Undecided starts of slices -> regions of rows in which a seam finishes them. No rows here.

A slice can't read the rows of other slices. For its rows of a key, it reports the row at which it took over
(`takes_over`), the first start that it left undecided (`hands_on`), and the row that earlier runs may reach (`reach`).
A seam lies between the `hands_on` of one slice and the `takes_over` of the next slice that has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ostinato.slices.handover import NOWHERE


@dataclass(frozen=True, slots=True)
class KeySlice:
    """A key's rows in one slice, numbered from 0."""

    slice: int
    rows: int
    begins: bool
    """Whether the key is known to begin here."""
    ends: bool
    """Whether the key is known to end here."""
    takes_over: int
    """The first start tried by the slice, or NOWHERE."""
    reach: int
    """Runs that began before `takes_over` end before this row. It is `rows` if they may reach the next slice."""
    hands_on: int
    """The first start that the slice left undecided."""
    match_count: int
    """Number of matches that the slice found."""

    def head_end(self, after: int) -> int:
        """The end of the first rows, which the neighbours need."""
        return self.rows if self.takes_over == NOWHERE else min(self.reach + after, self.rows)

    def tail_first(self, before: int) -> int:
        """The beginning of the last rows, which the neighbours need."""
        return 0 if self.takes_over == NOWHERE else max(self.hands_on - before, 0)


class SliceRows(NamedTuple):
    """Rows `first:end` of the key in one slice."""

    key_slice: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class SeamRegion:
    """The rows of a seam: pieces of consecutive slices. Row numbers count over all pieces."""

    pieces: tuple[SliceRows, ...]
    start: int
    stop: int
    """Starts `start:stop` are tried."""
    end: int
    """Rows before this one may be consumed."""
    is_open: bool
    taken_over_by: int | None
    """The slice that takes over behind the region; None at the end of the key."""


def regions(key_slices: Sequence[KeySlice], before: int, after: int) -> Iterator[SeamRegion]:
    """The regions of one key, given its slices in order. PREV and NEXT read `before` and `after` rows."""
    left, row = 0, 0
    for number, key_slice in enumerate(key_slices):
        if key_slice.takes_over == NOWHERE:
            continue
        if not (number == 0 and key_slice.begins):
            yield _region(key_slices, left, row, number, before, after)
        left, row = number, key_slice.hands_on
    if row < key_slices[left].rows or left < len(key_slices) - 1:
        yield _region(key_slices, left, row, None, before, after)


def _region(
    key_slices: Sequence[KeySlice], left: int, row: int, right: int | None, before: int, after: int
) -> SeamRegion:
    """The region from row `row` of slice `left` to the takeover of slice `right`, or to the end of the key."""
    first = max(row - before, 0)
    pieces: list[SliceRows] = []
    count, stop, end, is_open = 0, -1, -1, False
    for number in range(left, len(key_slices)):
        key_slice = key_slices[number]
        begin = first if number == left else 0
        is_past = right is not None and number >= right
        upto = key_slice.head_end(after) if is_past else key_slice.rows
        if number == right:
            stop = count + key_slice.takes_over - begin
        if is_past and key_slice.takes_over != NOWHERE and key_slice.reach < key_slice.rows:
            end, is_open = count + key_slice.reach - begin, True
        pieces.append(SliceRows(number, begin, upto))
        count += upto - begin
        if is_open:
            break
    if not is_open:
        end = count
    return SeamRegion(tuple(pieces), row - first, count if right is None else stop, end, is_open, right)
