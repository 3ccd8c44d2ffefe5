"""A sequence's open windows <-> bytes. Logs are empty when a state is taken: every lane is up to date."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from ostinato.errors import MatchError
from ostinato.techniques.shared_trends.numbers.table import grown
from ostinato.techniques.shared_trends.shared.layout import Layout
from ostinato.techniques.shared_trends.shared.sections import (
    ENTRY_LANES,
    LANE_EXTREME,
    LANE_HAS,
    LANE_IS_OPEN,
    LANE_KEY,
    LANE_POSITION,
    LANE_POSITION_FROM,
    LANE_REAL_ROW,
    LANE_ROW,
    LANE_STAMP,
    OPEN_FIRST,
    OPEN_NEXT,
)

if TYPE_CHECKING:
    from ostinato.techniques.shared_trends.shared.engine import Work

_VERSION = 1
_HEADER = 2


def fingerprint(layout: Layout, exact: bool) -> int:
    """Stands for the programs: a state of other ones is refused."""
    digest = hashlib.sha256(bytes([_VERSION, exact]))
    for group in layout:
        for array in group:
            digest.update(array.tobytes())
            digest.update(b"|")
    return int.from_bytes(digest.digest()[:7], "little")


def save(work: Work, mark: int) -> bytes:
    """Version, open windows, then for each lane its numbers as (length, limbs), its doubles, its extremes."""
    first, following = work.part(OPEN_FIRST), work.part(OPEN_NEXT)
    if (first == following).all():
        return b""
    row, real_row, extreme = work.part(LANE_ROW), work.part(LANE_REAL_ROW), work.part(LANE_EXTREME)
    key, has = work.part(LANE_KEY), work.part(LANE_HAS)
    parts = [np.array([_VERSION, mark], np.int64), first, following]
    for lane, _query in _open_lanes(work):
        for number in range(row[lane], row[lane + 1]):
            used = work.table.length[number] if work.table.exact else 2
            parts += [work.table.length[number : number + 1], work.table.limbs[number, :used]]
        parts.append(work.real.limbs[real_row[lane] : real_row[lane + 1]].ravel())
        parts += [key[extreme[lane] : extreme[lane + 1]], has[extreme[lane] : extreme[lane + 1]]]
    return np.concatenate(parts).astype("<i8").tobytes()


def load(work: Work, state: bytes, mark: int) -> None:
    """Into lanes without windows."""
    data = np.frombuffer(state, "<i8").astype(np.int64)
    if len(data) < _HEADER or data[0] != _VERSION or data[1] != mark:
        raise MatchError(
            "STATE_OF_OTHER_QUERY",
            "the state was written for other queries or by another version",
            hint="start from an empty state",
        )
    first, following = work.part(OPEN_FIRST), work.part(OPEN_NEXT)
    row, real_row, extreme = work.part(LANE_ROW), work.part(LANE_REAL_ROW), work.part(LANE_EXTREME)
    at = _HEADER
    first[:] = data[at : at + len(first)]
    at += len(first)
    following[:] = data[at : at + len(first)]
    at += len(first)
    for lane, query in _open_lanes(work):
        _open(work, lane, query)
        for number in range(row[lane], row[lane + 1]):
            length = int(data[at])
            used = length if work.table.exact else 2
            if used > work.table.limbs.shape[1]:
                work.table = grown(work.table, columns=2 * used)
            work.table.length[number] = length
            work.table.limbs[number, :used] = data[at + 1 : at + 1 + used]
            at += 1 + used
        count = 2 * (real_row[lane + 1] - real_row[lane])
        work.real.limbs[real_row[lane] : real_row[lane + 1]] = data[at : at + count].reshape(-1, 2)
        at += count
        count = extreme[lane + 1] - extreme[lane]
        for section in (LANE_KEY, LANE_HAS):
            work.part(section)[extreme[lane] : extreme[lane + 1]] = data[at : at + count]
            at += count


def _open(work: Work, lane: int, query: int) -> None:
    """The logs are empty, and the lane has taken all of them."""
    loop_from = work.layout.queries.loop_from
    np.add.at(work.log_part(ENTRY_LANES), work.layout.loops.log[loop_from[query] : loop_from[query + 1]], 1)
    position_from = work.part(LANE_POSITION_FROM)
    work.part(LANE_POSITION)[position_from[lane] : position_from[lane + 1]] = 0
    work.part(LANE_IS_OPEN)[lane] = 1
    work.part(LANE_STAMP)[lane] = 0


def _open_lanes(work: Work) -> list[tuple[int, int]]:
    queries, first, following = work.layout.queries, work.part(OPEN_FIRST), work.part(OPEN_NEXT)
    return [
        (int(queries.first_lane[query] + number % work.layout.windows.lanes[extent]), query)
        for query, extent in enumerate(queries.extent)
        for number in range(first[extent], following[extent])
    ]
