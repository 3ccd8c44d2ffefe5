"""Columns of a table -> the ordered events of summaries, key by key. Neither Spark nor state here.

    pool = SummaryPool(Summary(query, float_values=source.float_values))       # source: a SummaryInput
    rows = ordered_events(source, arrays, pool.summary.codes)   # arrays: one Arrow array for each of `source.needed`
    pool.advance(rows.key.tolist(), rows.events)                # events stand by key, then by time
    key_columns(source, arrays, rows)                           # the key columns' values of key 0, 1, ... of these rows

Rows without a time are left out. Rows of one time are ordered by the other columns of `time`, then by type and
value, so the order of arrival doesn't matter. NULL is a key, too. NaN equals NaN, and -0.0 equals 0.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_types import engine_numbers
from ostinato.expressions.values.value_order import OrderKey, group_numbers
from ostinato.expressions.values.vectors import from_arrow
from ostinato.rows.ordering import order_rows
from ostinato.rows.times import microseconds_of
from ostinato.summaries.engine.summary import SummaryEvents
from ostinato.summaries.task.summary_input import SummaryInput

Ints = NDArray[np.int64]
Codes = Callable[[Sequence[str | None]], Ints]
"""`Summary.codes` or `KeyedSummary.codes`: names of types -> numbers. Refuses unknown types if the query says so."""


@dataclass(frozen=True, slots=True)
class SummaryRows:
    """The events of some rows, ordered by key and time."""

    rows: Ints
    """For each event, its row in the input."""
    key: Ints
    """For each event, the number of its key. Keys are numbered from 0 for these rows only."""
    examples: Ints
    """For each key, an input row that has it."""
    events: SummaryEvents

    def key_at(self) -> Ints:
        """The first event of each key, then the number of events. Not for rows ordered by time."""
        return np.searchsorted(self.key, np.arange(len(self.examples) + 1)).astype(np.int64)


def ordered_events(
    source: SummaryInput, arrays: Mapping[str, pa.Array], codes: Codes, *, by_key: bool = True
) -> SummaryRows:
    """The events of the rows. Without `by_key`, events of all keys are ordered by time, as `keyed_types` needs."""
    named = source.columns
    time = arrays[named.time]
    inside = np.flatnonzero(np.asarray(time.is_valid())) if time.null_count else None
    timed = arrays if inside is None else {name: array.take(pa.array(inside)) for name, array in arrays.items()}
    count, keys = len(timed[named.time]), [timed[name] for name in named.keys]
    order = [OrderKey(timed[name]) for name in (named.time, *named.ties)]
    ties = () if by_key else keys
    ordered = order_rows(count, keys if by_key else (), order, lambda: [*_ties(source, timed), *ties])
    rows = np.arange(count) if ordered.rows is None else ordered.rows
    if by_key:
        key = np.repeat(np.arange(len(ordered.key_at) - 1), np.diff(ordered.key_at))
        examples = rows[ordered.key_at[:-1]]
    else:
        _, first, key = np.unique(group_numbers(count, keys)[rows], return_index=True, return_inverse=True)
        examples = rows[first]
    input_rows = rows if inside is None else inside[rows]
    key_rows = examples if inside is None else inside[examples]
    return SummaryRows(input_rows, key.astype(np.int64), key_rows, _events(source, timed, rows, codes))


def _ties(source: SummaryInput, arrays: Mapping[str, pa.Array]) -> list[pa.Array]:
    value = source.columns.value
    return [arrays[source.columns.type], *([] if value is None else [arrays[value]])]


def _events(source: SummaryInput, arrays: Mapping[str, pa.Array], rows: Ints, codes: Codes) -> SummaryEvents:
    time = microseconds_of(arrays[source.columns.time])[rows]
    types = arrays[source.columns.type].dictionary_encode(null_encoding="encode")
    code_of_type = codes(types.dictionary.to_pylist())
    code = code_of_type[types.indices.to_numpy(zero_copy_only=False)][rows]
    if source.columns.value is None:
        return SummaryEvents(time, code)
    vector = from_arrow(arrays[source.columns.value], source.type_of(source.columns.value))
    values, valid = engine_numbers(vector, len(time))
    return SummaryEvents(time, code, values[rows], None if valid is None else valid[rows])


def key_columns(source: SummaryInput, arrays: Mapping[str, pa.Array], rows: SummaryRows) -> list[pa.Array]:
    """The key columns, one row for each key."""
    chosen = pa.array(rows.examples)
    return [arrays[name].take(chosen) for name in source.columns.keys]
