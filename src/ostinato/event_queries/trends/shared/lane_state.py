"""A sequence's open windows <-> bytes. Every lane is up to date when its state is saved, so logs aren't saved."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.layout import SharedLayout
from ostinato.kernels.numbers.limbs import BASE, STEP
from ostinato.kernels.numbers.number_table import grown
from ostinato.streams.stored_state import LARGEST, LARGEST_EXPONENT, check, check_ranges, reading

if TYPE_CHECKING:
    from ostinato.event_queries.trends.shared.shared_engine import KernelArrays

_VERSION = 1
_HEADER = 2
_STATE = "the sums in the state of these event queries"


def fingerprint(layout: SharedLayout, exact: bool) -> int:
    """Identifies the programs. A state of other programs is refused."""
    digest = hashlib.sha256(bytes([_VERSION, exact]))
    for group in layout:
        for array in group:
            digest.update(array.tobytes())
            digest.update(b"|")
    return int.from_bytes(digest.digest()[:7], "little")


def save(arrays: KernelArrays, mark: int) -> bytes:
    """The bytes: version, open windows, then for each lane its numbers as (length, limbs), its doubles and extremes."""
    first, following = arrays.lane_section(s.OPEN_FIRST), arrays.lane_section(s.OPEN_NEXT)
    if (first == following).all():
        return b""
    row, real_row, extreme = (
        arrays.lane_section(s.LANE_ROW),
        arrays.lane_section(s.LANE_REAL_ROW),
        arrays.lane_section(s.LANE_EXTREME),
    )
    key, has = arrays.lane_section(s.LANE_KEY), arrays.lane_section(s.LANE_HAS)
    parts = [np.array([_VERSION, mark], np.int64), first, following]
    for lane, _query in _open_lanes(arrays):
        for number in range(row[lane], row[lane + 1]):
            used = arrays.table.length[number] if arrays.table.exact else 2
            parts += [arrays.table.length[number : number + 1], arrays.table.limbs[number, :used]]
        parts.append(arrays.real.limbs[real_row[lane] : real_row[lane + 1]].ravel())
        parts += [key[extreme[lane] : extreme[lane + 1]], has[extreme[lane] : extreme[lane + 1]]]
    return np.concatenate(parts).astype("<i8").tobytes()


def load(arrays: KernelArrays, state: bytes, mark: int) -> None:
    """Restores a state into arrays without open windows."""
    check(len(state) % 8 == 0, _STATE, "its length is wrong")
    data = np.frombuffer(state, "<i8").astype(np.int64)
    if len(data) < _HEADER or data[0] != _VERSION or data[1] != mark:
        raise MatchError(
            "STATE_OF_OTHER_QUERY",
            "the state was written for other queries or by another version",
            hint="start from an empty state",
        )
    with reading(_STATE):
        at = _load_windows(arrays, data)
        _load_lanes(arrays, data, at)


def _load_windows(arrays: KernelArrays, data: NDArray[np.int64]) -> int:
    """Reads the open windows; returns the offset after them. Raises STATE_FORMAT if there are more than lanes."""
    first, following, windows = (
        arrays.lane_section(s.OPEN_FIRST),
        arrays.lane_section(s.OPEN_NEXT),
        arrays.layout.windows,
    )
    at = _HEADER + 2 * len(first)
    first[:], following[:] = data[_HEADER:at].reshape(2, -1)
    largest = np.where(windows.kind > 0, LARGEST // np.maximum(windows.slide, 1), 1)
    begun = following != s.NOT_BEGUN
    check_ranges(
        _STATE,
        {
            "open windows": (following - first, 0, windows.lanes),
            "first window": (first[begun], -largest[begun] * (windows.kind > 0)[begun], largest[begun]),
        },
    )
    return at


def _load_lanes(arrays: KernelArrays, data: NDArray[np.int64], at: int) -> None:
    row, real_row, extreme = (
        arrays.lane_section(s.LANE_ROW),
        arrays.lane_section(s.LANE_REAL_ROW),
        arrays.lane_section(s.LANE_EXTREME),
    )
    for lane, query in _open_lanes(arrays):
        _open(arrays, lane, query)
        for number in range(row[lane], row[lane + 1]):
            length = int(data[at])
            used = length if arrays.table.exact else 2
            check(1 <= used < len(data) - at, _STATE, "the data ends inside a number")
            if used > arrays.table.limbs.shape[1]:
                arrays.table = grown(arrays.table, columns=2 * used)
            arrays.table.length[number] = length
            arrays.table.limbs[number, :used] = data[at + 1 : at + 1 + used]
            at += 1 + used
        count = 2 * (real_row[lane + 1] - real_row[lane])
        arrays.real.limbs[real_row[lane] : real_row[lane + 1]] = data[at : at + count].reshape(-1, 2)
        at += count
        count = extreme[lane + 1] - extreme[lane]
        for section in (s.LANE_KEY, s.LANE_HAS):
            arrays.lane_section(section)[extreme[lane] : extreme[lane + 1]] = data[at : at + count]
            at += count
        _check_lane(arrays, lane)
    check(at == len(data), _STATE, "its stored length doesn't match the data")


def _check_lane(arrays: KernelArrays, lane: int) -> None:
    """Numbers are in the form of `numbers/number_table.py`."""
    row, real_row, extreme = (
        arrays.lane_section(s.LANE_ROW),
        arrays.lane_section(s.LANE_REAL_ROW),
        arrays.lane_section(s.LANE_EXTREME),
    )
    table, numbers = arrays.table, slice(row[lane], row[lane + 1])
    exponents = [arrays.real.limbs[real_row[lane] : real_row[lane + 1], 1]]
    if table.exact:
        limbs, last = table.limbs[numbers], table.length[numbers, None] - 1
        limb_index = np.arange(limbs.shape[1])
        check_ranges(
            _STATE,
            {
                "a number": (np.where(limb_index < last, limbs, 0), 0, BASE - 1),
                "the top of a number": (np.where(limb_index == last, limbs, 0), -BASE, BASE - 1),
            },
        )
    else:
        exponents.append(table.limbs[numbers, 1])
    for exponent in exponents:
        check_ranges(_STATE, {"an exponent": (exponent, -LARGEST_EXPONENT, LARGEST_EXPONENT)})
        check((exponent % STEP == 0).all(), _STATE, "an exponent is out of range")
    check_ranges(_STATE, {"a flag": (arrays.lane_section(s.LANE_HAS)[extreme[lane] : extreme[lane + 1]], 0, 1)})


def _open(arrays: KernelArrays, lane: int, query: int) -> None:
    """The logs are empty, and the lane has taken all of them."""
    loop_from = arrays.layout.queries.loop_from
    np.add.at(arrays.log_section(s.ENTRY_LANES), arrays.layout.loops.log[loop_from[query] : loop_from[query + 1]], 1)
    position_from = arrays.lane_section(s.LANE_POSITION_FROM)
    arrays.lane_section(s.LANE_POSITION)[position_from[lane] : position_from[lane + 1]] = 0
    arrays.lane_section(s.LANE_IS_OPEN)[lane] = 1
    arrays.lane_section(s.LANE_STAMP)[lane] = 0


def _open_lanes(arrays: KernelArrays) -> list[tuple[int, int]]:
    queries, first, following = (
        arrays.layout.queries,
        arrays.lane_section(s.OPEN_FIRST),
        arrays.lane_section(s.OPEN_NEXT),
    )
    return [
        (int(queries.first_lane[query] + number % arrays.layout.windows.lanes[extent]), query)
        for query, extent in enumerate(queries.extent)
        for number in range(first[extent], following[extent])
    ]
