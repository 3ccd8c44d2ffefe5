"""Events -> rows, symbols and streams. A symbol is a set of conditions; a stream has the values for one aggregate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import Events
from ostinato.event_queries.trends.ordered_keys import ordered_keys
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.blocks import one_at_a_time
from ostinato.event_queries.trends.shared.layout import CompiledPrograms, ValueStream
from ostinato.event_queries.trends.shared.lookups import EventArrays
from ostinato.event_queries.trends.shared.sections import packed
from ostinato.kernels.kernel_cache import borrowing_kernel

_WORD = 62
_BUCKETS = 1 << 14


@dataclass(frozen=True, slots=True)
class SymbolRows:
    events: EventArrays
    log_events: NDArray[np.int64]
    """The number of events that go into each log."""
    one_at_a_time: bool
    """Whether all relevant events have different times, and each concerns a query at most once."""


def prepared(events: Events, plan: CompiledPrograms) -> SymbolRows:
    used = np.unique(np.concatenate([plan.layout.actions.condition, plan.layout.logs.condition]))
    symbol, holds = _symbols(events, used)
    action_from, action = _ranges(holds[:, np.searchsorted(used, plan.layout.actions.condition)])
    in_logs = holds[:, np.searchsorted(used, plan.layout.logs.condition)]
    log_from, log = _ranges(in_logs)
    streams = plan.streams
    columns: list[NDArray[Any]] = [events.time, events.place, symbol]
    columns += [_integers(events, stream) for stream in streams.ints]
    columns += [_keys(events, stream) for stream in streams.extremes]
    columns += [_has_key(events, stream) for stream in streams.extremes]
    rows = np.array(columns, np.int64)
    doubles = np.empty((len(streams.reals), len(symbol)))
    for index, stream in enumerate(streams.reals):
        doubles[index] = _reals(events, stream)
    symbols = {
        s.SYMBOL_ACTION_FROM: action_from,
        s.SYMBOL_ACTION: action,
        s.SYMBOL_LOG_FROM: log_from,
        s.SYMBOL_LOG: log,
    }
    return SymbolRows(
        EventArrays(np.ascontiguousarray(events.starts, np.int64), packed(symbols), rows, doubles),
        np.bincount(symbol, minlength=len(holds)) @ in_logs,
        _times_differ(events, symbol) and one_at_a_time((action_from, action, log_from, log), plan.layout),
    )


def _times_differ(events: Events, symbol: NDArray[np.int32]) -> bool:
    rows = np.flatnonzero(symbol)
    same = np.flatnonzero(np.diff(events.time[rows]) == 0)
    sequences = np.searchsorted(events.starts, rows[same], side="right")
    return not (sequences == np.searchsorted(events.starts, rows[same + 1], side="right")).any()


def _ranges(members: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    begins = np.zeros(len(members) + 1, np.int64)
    np.cumsum(members.sum(axis=1), out=begins[1:])
    return begins, np.nonzero(members)[1].astype(np.int64)


# --- conditions -------------------------------------------------------------------------------------------------------


def _symbols(events: Events, used: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """A symbol for each row, 0 where no condition holds; and the conditions that hold for each symbol."""
    symbol = np.zeros(len(events.time), np.int32)
    holds = np.zeros((1, len(used)), bool)
    for first in range(0, len(used), _WORD):
        condition_group = used[first : first + _WORD]
        codes = np.zeros(len(symbol), np.int64)
        for bit, condition in enumerate(condition_group):
            _set_bit(codes, events.conditions[condition], np.int64(1 << bit))
        known, numbers = _numbered(codes)
        bits = (known[:, None] >> np.arange(len(condition_group))) & 1 == 1
        if first == 0:
            symbol = numbers
            holds = np.zeros((len(known), len(used)), bool)
            holds[:, : len(condition_group)] = bits
        else:
            pairs, symbol = _numbered(symbol.astype(np.int64) * len(known) + numbers)
            holds = holds[pairs // len(known)]
            holds[:, first : first + len(condition_group)] = bits[pairs % len(known)]
    return symbol, holds


def _numbered(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The different codes, 0 first, and for each row the index of its code."""
    buckets = np.full((2, _BUCKETS), -1, np.int64)
    known = np.zeros(_BUCKETS // 4, np.int64)
    numbers = np.empty(len(codes), np.int32)
    count = _number_codes(codes, buckets, known, numbers)
    if count <= len(known):
        return known[:count].copy(), numbers
    every, code_index = np.unique(np.append(codes, 0), return_inverse=True)
    zero = int(np.searchsorted(every, 0))
    order = np.r_[zero, np.delete(np.arange(len(every)), zero)]
    number_of = np.empty(len(every), np.int32)
    number_of[order] = np.arange(len(every), dtype=np.int32)
    return every[order], number_of[code_index[:-1]]


@borrowing_kernel
def _set_bit(codes, holds, bit):  # type: ignore[no-untyped-def]
    for row in range(len(codes)):
        if holds[row]:
            codes[row] |= bit


@borrowing_kernel
def _number_codes(codes, buckets, known, numbers):  # type: ignore[no-untyped-def]
    """Returns the number of different codes. Stops at one more than `known` has room for."""
    known[0] = 0
    count = 1
    mask = buckets.shape[1] - 1
    for row in range(len(codes)):
        code = codes[row]
        if code == 0:
            numbers[row] = 0
            continue
        bucket = ((code * np.int64(-7046029254386353131)) >> 40) & mask
        while buckets[1, bucket] >= 0 and buckets[0, bucket] != code:
            bucket = (bucket + 1) & mask
        if buckets[1, bucket] < 0:
            if count == len(known):
                return count + 1
            buckets[0, bucket] = code
            buckets[1, bucket] = count
            known[count] = code
            count += 1
        numbers[row] = buckets[1, bucket]
    return count


# --- values -----------------------------------------------------------------------------------------------------------


def _valid(events: Events, value: int) -> NDArray[np.bool_]:
    valid = events.valid[value]
    return np.ones(len(events.time), bool) if valid is None else valid


def _integers(events: Events, stream: ValueStream) -> NDArray[np.int64]:
    if stream.kind == "one":
        return np.ones(len(events.time), np.int64)
    if stream.kind == "valid":
        return _valid(events, stream.value).astype(np.int64)
    return np.where(_valid(events, stream.value), events.values[stream.value], 0).astype(np.int64)


def _reals(events: Events, stream: ValueStream) -> NDArray[np.float64]:
    """NaN and infinities are replaced by 0 and have flags instead: in a log they would spoil every later sum."""
    values = events.values[stream.value].astype(np.float64)
    return np.where(_valid(events, stream.value) & np.isfinite(values), values, 0.0)


def _keys(events: Events, stream: ValueStream) -> NDArray[np.int64]:
    match stream.kind:
        case "min":
            return ordered_keys(events.values[stream.value])
        case "max":
            return ~ordered_keys(events.values[stream.value])
        case _:
            return np.zeros(len(events.time), np.int64)


def _has_key(events: Events, stream: ValueStream) -> NDArray[np.bool_]:
    valid, values = _valid(events, stream.value), events.values[stream.value]
    match stream.kind:
        case "nan":
            valid = valid & np.isnan(values)
        case "above":
            valid = valid & (values == np.inf)
        case "below":
            valid = valid & (values == -np.inf)
    return valid
