"""What slices leave to their neighbours -> the regions of rows in which it is finished. Rows themselves aren't here.

A slice that is matched where nobody else's rows can be read tells, for its part of a key: from which row on it took
over (`takes_over`), the first start that it left undecided (`hands_on`), and how far runs begun before it took over may
reach (`reach`). A seam lies between the `hands_on` of one part and the `takes_over` of the next that has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ostinato.slices.handover import NOWHERE


@dataclass(frozen=True, slots=True)
class Part:
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
    """Runs begun before `takes_over` consume rows before this one only; all rows if they may live on."""
    hands_on: int
    """The first start that the slice left."""
    found: int
    """How many matches the slice found."""

    def head_end(self, after: int) -> int:
        """The part's first rows that its neighbours need end here."""
        return self.rows if self.takes_over == NOWHERE else min(self.reach + after, self.rows)

    def tail_first(self, before: int) -> int:
        """The part's last rows that its neighbours need begin here."""
        return 0 if self.takes_over == NOWHERE else max(self.hands_on - before, 0)


class Piece(NamedTuple):
    """Rows `first:end` of a part."""

    part: int
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Region:
    """Pieces one after another; numbers count their rows."""

    pieces: tuple[Piece, ...]
    start: int
    stop: int
    """Starts `start:stop` are tried."""
    end: int
    """Rows before this one may be consumed."""
    is_open: bool
    taken_over_by: int | None
    """The part that goes on after it; None at the end of the key."""


def regions(parts: Sequence[Part], before: int, after: int) -> Iterator[Region]:
    """What is left of one key, whose parts are given in order; PREV and NEXT read `before` and `after` rows."""
    left, row = 0, 0
    for number, part in enumerate(parts):
        if part.takes_over == NOWHERE:
            continue
        if not (number == 0 and part.begins):
            yield _region(parts, left, row, number, before, after)
        left, row = number, part.hands_on
    if row < parts[left].rows or left < len(parts) - 1:
        yield _region(parts, left, row, None, before, after)


def _region(parts: Sequence[Part], left: int, row: int, right: int | None, before: int, after: int) -> Region:
    """From the start at `row` of part `left` to where part `right` takes over, or to the end of the key."""
    first = max(row - before, 0)
    pieces: list[Piece] = []
    count, stop, end, is_open = 0, -1, -1, False
    for number in range(left, len(parts)):
        part = parts[number]
        begin = first if number == left else 0
        is_past = right is not None and number >= right
        upto = part.head_end(after) if is_past else part.rows
        if number == right:
            stop = count + part.takes_over - begin
        if is_past and part.takes_over != NOWHERE and part.reach < part.rows:
            end, is_open = count + part.reach - begin, True
        pieces.append(Piece(number, begin, upto))
        count += upto - begin
        if is_open:
            break
    if not is_open:
        end = count
    return Region(tuple(pieces), row - first, count if right is None else stop, end, is_open, right)
