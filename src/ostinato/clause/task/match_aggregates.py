"""Rows of matches -> the value of an aggregate at every frame. One pass over the rows computes all frames."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.kernels.kernel_arrays import for_kernels
from ostinato.kernels.kernel_cache import kernel
from ostinato.rows.match_navigation import NO_ROW
from ostinato.rows.matches import Frames, Matches


class AggregateRows(NamedTuple):
    """`counts[path_at[m] + j]` says whether the j-th row of match m counts; frame f reads rows up to `last[f]`."""

    matches: Matches
    frames: Frames
    counts: NDArray[np.bool_]
    last: NDArray[np.int64]


def aggregate_rows(
    matches: Matches, frames: Frames, member: NDArray[np.bool_] | None, valid: NDArray[np.bool_] | None, *, final: bool
) -> AggregateRows:
    """The rows of an aggregate: those of its variables whose argument isn't NULL (`valid`, along `label`)."""
    counts = np.ones(len(matches.label), np.bool_) if member is None else member[matches.label]
    if valid is not None:
        counts = counts & valid
    last = matches.length[frames.match] - 1 if final else frames.at
    return AggregateRows(matches, frames, counts, last)


def only_first_of_equals(rows: AggregateRows, codes: NDArray[np.int64]) -> AggregateRows:
    """DISTINCT: of rows of one match with equal codes only the first counts."""
    counts = rows.counts.copy()
    _drop_repeats(rows.matches.path_at, rows.matches.length, codes, np.full(int(codes.max(initial=-1)) + 1, -1), counts)
    return rows._replace(counts=counts)


@kernel
def _drop_repeats(path_at, length, codes, seen_in, counts):  # type: ignore[no-untyped-def]
    for match in range(len(length)):
        for entry in range(path_at[match], path_at[match] + length[match]):
            if counts[entry]:
                if seen_in[codes[entry]] == match:
                    counts[entry] = False
                seen_in[codes[entry]] = match


def count(rows: AggregateRows) -> NDArray[np.int64]:
    """The number of rows that count."""
    result = np.empty(len(rows.frames.match), np.int64)
    _count(rows.matches.path_at, rows.counts, rows.frames.match, rows.last, result)
    return result


@kernel
def _count(path_at, counts, match, last, result):  # type: ignore[no-untyped-def]
    current, reached, total = -1, 0, 0
    for frame in range(len(match)):
        if match[frame] != current:
            current, reached, total = match[frame], 0, 0
        while reached <= last[frame]:
            if counts[path_at[current] + reached]:
                total += 1
            reached += 1
        result[frame] = total


def total(rows: AggregateRows, values: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """The sum of the values (int64 or float64, along `label`), and whether one left int64."""
    result = np.zeros(len(rows.frames.match), values.dtype)
    args = (rows.matches.path_at, rows.counts, rows.frames.match, rows.last, for_kernels(values), result)
    if values.dtype == np.float64:
        _sum_real(*args)
        return result, False
    return result, bool(_sum_whole(*args))


@kernel
def _sum_real(path_at, counts, match, last, values, result):  # type: ignore[no-untyped-def]
    current, reached, total = -1, 0, 0.0
    for frame in range(len(match)):
        if match[frame] != current:
            current, reached, total = match[frame], 0, 0.0
        while reached <= last[frame]:
            entry = path_at[current] + reached
            if counts[entry]:
                total += values[entry]
            reached += 1
        result[frame] = total


@kernel
def _sum_whole(path_at, counts, match, last, values, result):  # type: ignore[no-untyped-def]
    current, reached, total = -1, 0, np.int64(0)
    largest, smallest = np.int64(9223372036854775807), np.int64(-9223372036854775808)
    for frame in range(len(match)):
        if match[frame] != current:
            current, reached, total = match[frame], 0, np.int64(0)
        while reached <= last[frame]:
            entry = path_at[current] + reached
            if counts[entry]:
                value = values[entry]
                if (value > 0 and total > largest - value) or (value < 0 and total < smallest - value):
                    return True
                total += value
            reached += 1
        result[frame] = total
    return False


def total_exactly(rows: AggregateRows, values: list[int | None]) -> list[int]:
    """The sum of whole numbers of any size: for decimals beyond 18 digits."""
    result, current, reached, running = [], -1, 0, 0
    for match, last in zip(rows.frames.match.tolist(), rows.last.tolist(), strict=True):
        if match != current:
            current, reached, running = match, 0, 0
        while reached <= last:
            entry = int(rows.matches.path_at[match]) + reached
            value = values[entry]
            if rows.counts[entry] and value is not None:
                running += value
            reached += 1
        result.append(running)
    return result


def best_rows(rows: AggregateRows, ranks: NDArray[np.int64], *, most: bool) -> NDArray[np.int64]:
    """The entry of `label` with the smallest or largest rank, the last among equals; NO_ROW if no row counts.

    Of equals Spark's min_by and max_by also take the last.
    """
    result = np.empty(len(rows.frames.match), np.int64)
    in_order = for_kernels(~ranks if most else ranks)
    _best(rows.matches.path_at, rows.counts, rows.frames.match, rows.last, in_order, result)
    return result


@kernel
def _best(path_at, counts, match, last, ranks, result):  # type: ignore[no-untyped-def]
    current, reached, best = -1, 0, NO_ROW
    for frame in range(len(match)):
        if match[frame] != current:
            current, reached, best = match[frame], 0, NO_ROW
        while reached <= last[frame]:
            entry = path_at[current] + reached
            if counts[entry] and (best < 0 or ranks[entry] <= ranks[best]):
                best = entry
            reached += 1
        result[frame] = best


def collected(rows: AggregateRows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """For array_agg: offsets of the lists, and the entries of `label` that are their elements."""
    lengths = count(rows)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    entries = np.empty(int(offsets[-1]), np.int64)
    _collect(rows.matches.path_at, rows.counts, rows.frames.match, rows.last, entries)
    return offsets, entries


@kernel
def _collect(path_at, counts, match, last, entries):  # type: ignore[no-untyped-def]
    written = 0
    for frame in range(len(match)):
        for entry in range(path_at[match[frame]], path_at[match[frame]] + last[frame] + 1):
            if counts[entry]:
                entries[written] = entry
                written += 1


def spread(rows: AggregateRows, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The sum of squared distances from the mean (Welford), and the number of values."""
    squares = np.zeros(len(rows.frames.match), np.float64)
    _spread(rows.matches.path_at, rows.counts, rows.frames.match, rows.last, for_kernels(values), squares)
    return squares, count(rows)


@kernel
def _spread(path_at, counts, match, last, values, squares):  # type: ignore[no-untyped-def]
    current, reached, size, mean, total = -1, 0, 0, 0.0, 0.0
    for frame in range(len(match)):
        if match[frame] != current:
            current, reached, size, mean, total = match[frame], 0, 0, 0.0, 0.0
        while reached <= last[frame]:
            entry = path_at[current] + reached
            if counts[entry]:
                size += 1
                step = values[entry] - mean
                mean += step / size
                total += step * (values[entry] - mean)
            reached += 1
        squares[frame] = total
