"""A `StreamSummary` in this process: tables in, answers out. No JVM.

Keys are numbered in the order of arrival. Their values are Arrow columns, so bytes keep all types.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import MatchError, OstinatoError, QueryError
from ostinato.expressions import types as t
from ostinato.expressions.values.value_order import group_numbers
from ostinato.kernels.stopping import check_stopped
from ostinato.rows.arrow_tables import as_table
from ostinato.rows.batches import one_array
from ostinato.rows.times import times_of
from ostinato.streams.stored_state import (
    Section,
    check,
    check_columns_are,
    check_ranges,
    read_batch,
    reading,
    seal,
    unseal,
    whole_numbers,
)
from ostinato.summaries.engine.answers import Answering, KeptEvents
from ostinato.summaries.engine.keyed import KeyedSummary
from ostinato.summaries.engine.summary_state_checks import STATE
from ostinato.summaries.language.summary_query import LARGEST_TIME_US
from ostinato.summaries.summary_answer import SummaryAnswer
from ostinato.summaries.summary_request import SummaryRequest
from ostinato.summaries.task.summary_answers import AnswerLayout
from ostinato.summaries.task.summary_batches import SummaryBatch
from ostinato.summaries.task.summary_input import SummaryInput, key_arrays_of, key_values, summary_input
from ostinato.summaries.task.summary_moments import read_moments
from ostinato.summaries.task.summary_rows import SummaryRows, key_columns, ordered_events

_HEADER = struct.Struct("<qq")  # lengths of the schema and of the keys
NEVER_FED = seal(_HEADER.pack(0, 0), Section.SUMMARY)
"""The bytes of a summary that doesn't know the types of its columns yet."""
_KEYS_AT_ONCE = 8192
"""Keys whose answers are computed together: an answer takes much more memory than a key."""
_BEFORE_ALL = np.iinfo(np.int64).min


def arrow_of(table: Any) -> pa.Table:
    """A table in any form that `ost.match` takes."""
    return as_table(table, t.Settings())


def summary_answers_of(description: SummaryRequest, table: Any, at: Any) -> pa.Table:
    """The answers over the events of one table: at its end, at times, or at rows in which a boolean column is true."""
    arrow, settings = arrow_of(table), t.Settings()
    types = {field.name: field.type for field in arrow.schema}
    source = summary_input(description.columns, arrow.column_names, types.__getitem__)
    booleans = [name for name, kind in types.items() if pa.types.is_boolean(kind)]
    moments = read_moments(at, arrow.column_names, booleans, source, settings)
    layout = AnswerLayout(source, description.query, description.form)
    needed = (*source.needed, *(() if moments.column is None else (moments.column,)))
    arrays = {name: one_array(arrow.column(name)) for name in needed}
    answers = SummaryBatch(layout, moments).answers(arrays)
    schema = layout.schema
    tables = [pa.Table.from_pydict(columns, schema=schema) for columns in answers]
    return pa.concat_tables([schema.empty_table(), *tables])


class LiveSummary:
    """The events fed so far."""

    def __init__(self, description: SummaryRequest, source: SummaryInput) -> None:
        self.source = source
        self.layout = AnswerLayout(source, description.query, description.form)
        self.keyed = KeyedSummary(description.query, float_values=source.float_values)
        self.is_shared = description.query.keyed_types is not None
        """Some events belong to every key."""
        self._keys = [pa.array([], source.type_of(name)) for name in source.columns.keys]
        self._is_whole = True
        """False while events are being fed, and from then on if that was interrupted."""
        self._last = np.zeros(0, np.int64)
        """For each key the time of its last event; of any event if some are shared."""

    @classmethod
    def of_schema(cls, description: SummaryRequest, schema: pa.Schema) -> LiveSummary:
        """A new summary for tables of this schema."""
        types = {field.name: field.type for field in schema}
        return cls(description, summary_input(description.columns, schema.names, types.__getitem__))

    @classmethod
    def of_nothing(cls, description: SummaryRequest, key: Any = None) -> LiveSummary:
        """A summary that was never fed. It doesn't know the types of its columns, except those of the values in `key`,
        and assumes types for all others."""
        columns = description.columns
        types = dict.fromkeys((*columns.ties, *columns.keys, columns.type), t.STRING)
        if key is not None:
            values = zip(columns.keys, key_values(columns.keys, key), strict=True)
            types |= {name: pa.array([value]).type for name, value in values if value is not None}
        types[columns.time] = t.INT64 if columns.counts_units else t.NTZ
        if columns.value is not None:
            types[columns.value] = t.INT64
        return cls.of_schema(description, pa.schema(list(types.items())))

    def __len__(self) -> int:
        """The number of keys."""
        return len(self._last)

    # --- events ---

    def feed(self, table: pa.Table) -> None:
        """Takes the events of a table."""
        self._check_whole()
        arrays = self._arrays(table)
        rows = ordered_events(self.source, arrays, self.keyed.codes, by_key=not self.is_shared)
        if not len(rows.events):
            return
        key_arrays = key_columns(self.source, arrays, rows)
        numbers = self._numbers(key_arrays, len(rows.examples))
        key, is_new = numbers[rows.key], numbers >= len(self)
        last = np.append(self._last, np.full(int(is_new.sum()), self._latest()))
        self._check_not_older(rows, last[key])
        check_stopped()
        self._is_whole = False
        try:
            self.keyed.advance(key.tolist(), rows.events)
        except OstinatoError:  # raised before any change: the summary can be used as before
            self._is_whole = True
            raise
        np.maximum.at(last, key, rows.events.time)
        self._last = last
        new = pa.array(is_new)
        self._keys = [
            pa.concat_arrays([old, more.filter(new)]) for old, more in zip(self._keys, key_arrays, strict=True)
        ]
        self._is_whole = True

    def _check_whole(self) -> None:
        if not self._is_whole:
            raise MatchError(
                "SUMMARY_INTERRUPTED",
                "`feed` was interrupted, so this summary holds only some of the events",
                hint="go on from bytes that were saved before: s.restore(data), or begin a new summary",
            )

    def _numbers(self, keys: Sequence[pa.Array], count: int) -> NDArray[np.int64]:
        """The numbers of `count` different keys; new keys get the next numbers, in their order."""
        if not keys:
            return np.zeros(count, np.int64)
        together = [pa.concat_arrays([old, new]) for old, new in zip(self._keys, keys, strict=True)]
        return group_numbers(len(self) + count, together)[len(self) :]

    def _latest(self) -> int:
        """Events of a new key may be older than those of others, unless keys share events."""
        return int(self._last.max(initial=_BEFORE_ALL)) if self.is_shared else _BEFORE_ALL

    def _arrays(self, table: pa.Table) -> dict[str, pa.Array]:
        """The columns that are needed, in the types of the first table."""
        types = {field.name: field.type for field in table.schema}
        same = summary_input(self.source.columns, table.column_names, types.__getitem__)
        if same != self.source:
            named = zip(self.source.needed, self.source.types, strict=True)
            was = ", ".join(f"{name} {t.spark_name(kind)}" for name, kind in named)
            raise QueryError("SUMMARY_COLUMNS", "this table has other types than the one before", hint=f"it had {was}")
        return {name: one_array(table.column(name)) for name in self.source.needed}

    def _check_not_older(self, rows: SummaryRows, last: NDArray[np.int64]) -> None:
        old = np.flatnonzero(rows.events.time < (self._latest() if self.is_shared else last))
        if len(old):
            one = old[:1]
            before = np.array([self._latest()]) if self.is_shared else last[one]
            event_time, last_time = (
                times_of(us, self.source.time_type)[0].as_py() for us in (rows.events.time[one], before)
            )
            message = f"an event at {event_time} came in a table after one at {last_time}"
            hint = "feed tables in order of time; rows of one table may stand in any order"
            raise MatchError("SUMMARY_TIME_ORDER", message, hint=hint)

    # --- answers ---

    def ask(self, key: Any) -> SummaryAnswer:
        """The answer of one key."""
        self._check_whole()
        arrays = key_arrays_of(self.source, key)
        number = int(self._numbers(arrays, 1)[0])
        answers = self.keyed.ask_many([number])
        return self.layout.objects(self.keyed.pool.answering, answers, [self._values(arrays, 0)])[0]

    def ask_shared(self) -> SummaryAnswer:
        """The answer over matches without a key."""
        self._check_whole()
        if not self.is_shared:
            raise QueryError(
                "SUMMARY_KEY", "all events have a key", hint="ost.EventTypes(keyed=...) says which types carry it"
            )
        answers = self.keyed.ask_shared()
        return self.layout.objects(Answering(self.keyed.base), answers, [{}])[0]

    def ask_all(self) -> pa.Table:
        """The answers of all keys as rows."""
        self._check_whole()
        schema = self.layout.schema
        tables = [self._answer_rows(numbers).select(schema.names) for numbers in self._key_batches()]
        return pa.concat_tables([schema.empty_table(), *tables])

    def _key_batches(self) -> Iterator[list[int]]:
        """The numbers of all keys, in batches. Values that only shared events have in their key columns aren't keys."""
        numbers = [number for number in range(len(self)) if number in self.keyed.pool]
        for start in range(0, len(numbers), _KEYS_AT_ONCE):
            yield numbers[start : start + _KEYS_AT_ONCE]

    def _answer_rows(self, numbers: list[int]) -> pa.Table:
        chosen = pa.array(numbers, pa.int64())
        keys = {name: array.take(chosen) for name, array in zip(self._key_names, self._keys, strict=True)}
        answers = self.layout.columns(self.keyed.pool.answering, self.keyed.ask_many(numbers))
        return pa.Table.from_pydict({**keys, **answers}, schema=self.layout.schema)

    @property
    def _key_names(self) -> tuple[str, ...]:
        return self.source.columns.keys

    def _values(self, arrays: Sequence[pa.Array], row: int) -> dict[str, Any]:
        return {name: array[row].as_py() for name, array in zip(self._key_names, arrays, strict=True)}

    def exact(self, table: pa.Table, key: Any) -> SummaryAnswer:
        """The answer over all events of a table, none of them dropped. Ignores the events fed before."""
        alone = key_arrays_of(self.source, key)
        arrays = self._arrays(table)
        rows = ordered_events(self.source, arrays, self.keyed.codes, by_key=False)
        events = rows.events
        belongs = self._has_key(arrays, rows, alone)
        if self.is_shared:
            belongs = belongs & self.keyed.carries_key(events.codes) | self.keyed.is_shared(events.codes)
        answering = self.keyed.pool.answering
        inside = np.flatnonzero(belongs & (events.codes < len(answering.summary.automaton.types)))
        valid = np.ones(len(events), np.bool_) if events.valid is None else events.valid
        values = np.zeros(len(events), np.int64) if events.values is None else events.values
        of_key = np.flatnonzero(belongs)
        everything = KeptEvents(
            first=np.array([0, len(inside)], np.int64),
            seen=np.array([len(of_key)], np.int64),
            now=events.time[of_key[-1:]] if len(of_key) else np.zeros(1, np.int64),
            started=np.array([len(of_key) > 0]),
            number=inside if self.is_shared else np.searchsorted(of_key, inside).astype(np.int64),
            time=events.time[inside],
            code=events.codes[inside],
            value=values[inside],
            valid=valid[inside],
        )
        return self.layout.objects(answering, answering.answers(everything), [self._values(alone, 0)])[0]

    def _has_key(self, arrays: Mapping[str, pa.Array], rows: SummaryRows, key: Sequence[pa.Array]) -> NDArray[np.bool_]:
        """The events that have the key."""
        key_arrays = key_columns(self.source, arrays, rows)
        numbers = group_numbers(
            1 + len(rows.examples), [pa.concat_arrays(pair) for pair in zip(key, key_arrays, strict=True)]
        )
        return np.asarray((numbers[1:] == numbers[0])[rows.key], np.bool_)

    # --- bytes ---

    def to_bytes(self) -> bytes:
        """The summary as bytes."""
        self._check_whole()
        schema = pa.schema(list(zip(self.source.needed, self.source.types, strict=True))).serialize().to_pybytes()
        columns = [pa.array(self._last), *self._keys]
        keys = pa.record_batch(columns, names=[str(at) for at in range(len(columns))])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, keys.schema) as writer:
            writer.write_batch(keys)
        packed: bytes = sink.getvalue().to_pybytes()
        body = b"".join((_HEADER.pack(len(schema), len(packed)), schema, packed, self.keyed.to_bytes()))
        return seal(body, Section.SUMMARY)

    @classmethod
    def from_bytes(cls, description: SummaryRequest, data: bytes) -> LiveSummary | None:
        """Reads `to_bytes`; None for `NEVER_FED`. Raises STATE_FORMAT for damaged bytes, and SUMMARY_STATE for those of
        another query."""
        body = unseal(data, Section.SUMMARY, STATE).to_pybytes()
        if data == NEVER_FED:
            return None
        with reading(STATE):
            schema_length, keys_length = _HEADER.unpack_from(body)
            check(min(schema_length, keys_length) >= 0, STATE, "a length is negative")
            schema_end = _HEADER.size + schema_length
            schema = pa.ipc.read_schema(pa.py_buffer(body[_HEADER.size : schema_end]))
            keys = read_batch(body[schema_end : schema_end + keys_length], STATE)
        summary = _of_stored(cls, description, schema)
        summary.keyed.restore(body[schema_end + keys_length :])
        summary._take_keys(keys)
        return summary

    def _take_keys(self, stored: pa.RecordBatch) -> None:
        kinds = [pa.int64(), *(array.type for array in self._keys)]
        check_columns_are(stored, {str(at): kind for at, kind in enumerate(kinds)}, STATE)
        last, *columns = stored.columns
        self._last, self._keys = whole_numbers(last, STATE).copy(), columns
        numbers = np.array(list(self.keyed.pool), np.int64)
        check_ranges(
            STATE,
            {
                "the last time of a key": (self._last, _BEFORE_ALL, LARGEST_TIME_US),
                "the number of a key": (numbers, 0, len(self) - 1),
            },
        )


def _of_stored(kind: type[LiveSummary], description: SummaryRequest, schema: pa.Schema) -> LiveSummary:
    """A new summary for the schema that was stored."""
    try:
        with reading(STATE):
            return kind.of_schema(description, schema)
    except QueryError as error:
        message = f"the summary of another query: {error.message}"
        raise MatchError("SUMMARY_STATE", message, hint="start anew, or ask with its own query") from None
