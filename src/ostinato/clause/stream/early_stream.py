"""A stream of a clause with emit="early": final rows, and changes of preliminary rows, keyed by run id.

The preliminary rows after a step are the rows that the end of input would give. The state remembers those that were
told, and each step tells the differences. So at any time, the latest rows of all run ids, without withdrawn ones, are
those of a batch over the rows so far.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.clause.plan.match_plan import slot_name
from ostinato.clause.stream.clause_stream import StreamWorker
from ostinato.clause.stream.stream_limits import run_slot
from ostinato.clause.stream.stream_search import NO_RESULTS
from ostinato.expressions.syntax import Column
from ostinato.rows.batches import OutputRows
from ostinato.rows.column_names import DECIDED, LATE, PREFIX, STATUS
from ostinato.rows.match_ids import value_bytes
from ostinato.streams.bucket_state import EMPTY, BucketState, read_header
from ostinato.streams.record_batches import to_bytes
from ostinato.streams.step import Step
from ostinato.streams.stored_state import Section, check, check_columns_are, read_batch, seal, unseal
from ostinato.streams.stream_settings import EXTENDED, FINAL, OPEN, WITHDRAWN

_RUN, _DIGEST = f"{PREFIX}run", f"{PREFIX}digest"
_TOLD: Final = "the preliminary rows in the state of this stream"
_LENGTH = struct.Struct("<Q")
_DIGEST_TYPE = pa.binary(16)


class _Stored(NamedTuple):
    """The state of the clause, and the preliminary rows that were told: keys, run ids and digests of the rows."""

    state: BucketState
    told: pa.RecordBatch | None


class EarlyStream:
    """One query over buckets of keys; holds nothing between steps."""

    def __init__(self, stream: StreamWorker) -> None:
        self.stream = stream
        self.run_slot = slot_name(run_slot(stream.typed.plan))
        self.keys = stream.bound.partition_by

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> Step[OutputRows]:
        """One step (`StreamCore.advance`). Results have a column STATUS."""
        before = self._read(state)
        step = self.stream.advance(before.state, arrived, watermark_us, finished=finished)
        outputs = [_with_status(step.results, [FINAL] * step.results.count)] if step.results.count else []
        if finished:  # all preliminary rows that were told are final now
            return Step(_joined(outputs), EMPTY, None, step.counts)
        preliminary = self.stream.advance(step.state, None, watermark_us, finished=True).results
        told = self._told(preliminary)
        changes = self._changes(before.told, told, preliminary, step.results)
        if changes.count:
            known_until = read_header(step.state, self.stream.fingerprint)[1]
            outputs.append(_decided(changes, known_until + 1))
        return Step(_joined(outputs), _stored(step.state, told), step.wake_at_us, step.counts)

    def clause_state(self, state: BucketState) -> BucketState:
        """The state without what was told."""
        return self._read(state).state

    def no_results(self, rows: pa.Table) -> OutputRows:
        """The columns of results, without rows; `rows` has the shipped columns."""
        return _with_status(self.stream.no_results(rows), [])

    # --- changes ---

    def _told(self, rows: OutputRows) -> pa.RecordBatch | None:
        """Keys, run ids and digests of preliminary rows.

        Measures are computed from these values later. So a row may be told again though its measures are the same.
        """
        if not rows.count:
            return None
        values = [value_bytes(array) for name, array in rows.arrays.items() if name not in (DECIDED, LATE)]
        digests = [hashlib.blake2b(b"".join(row), digest_size=16).digest() for row in zip(*values, strict=True)]
        columns = {name: rows.arrays[name] for name in self.keys}
        columns |= {_RUN: rows.arrays[self.run_slot], _DIGEST: pa.array(digests, _DIGEST_TYPE)}
        return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))

    def _changes(
        self, before: pa.RecordBatch | None, after: pa.RecordBatch | None, preliminary: OutputRows, final: OutputRows
    ) -> OutputRows:
        """Preliminary rows that are new or differ, and withdrawn ones."""
        old, new = _digests(before), _digests(after)
        changed = [(i, EXTENDED if run in old else OPEN) for i, run in enumerate(new) if old.get(run) != new[run]]
        outputs = []
        if changed:
            chosen = pa.array([i for i, _ in changed])
            rows = {name: array.take(chosen) for name, array in preliminary.arrays.items() if name != DECIDED}
            outputs.append(_with_status(OutputRows(len(changed), rows), [status for _, status in changed]))
        decided = set(final.arrays[self.run_slot].to_pylist()) if final.count else set()
        gone = [i for i, run in enumerate(old) if run not in new and run not in decided]
        if gone and before is not None:
            outputs.append(self._withdrawn(before.take(pa.array(gone))))
        return _joined(outputs)

    def _withdrawn(self, told: pa.RecordBatch) -> OutputRows:
        """Rows with their keys and run ids, and NULL for all other values."""
        count, plan = told.num_rows, self.stream.typed
        arrays = {slot_name(i): pa.nulls(count, kind) for i, kind in enumerate(plan.slot_types)}
        arrays |= {name: pa.nulls(count, plan.input_types[Column(name)]) for name in plan.plan.bound.shown_order}
        arrays |= {name: told.column(name) for name in self.keys}
        arrays[self.run_slot] = told.column(_RUN)
        if self.stream.settings.shows_late:
            arrays[LATE] = pa.array(np.zeros(count, np.bool_))
        return _with_status(OutputRows(count, arrays), [WITHDRAWN] * count)

    # --- state ---

    def _read(self, state: BucketState) -> _Stored:
        if not state.header:
            return _Stored(state, None)
        body = unseal(state.header, Section.EARLY, _TOLD)
        check(len(body) >= _LENGTH.size, _TOLD, "it is too short")
        (length,) = _LENGTH.unpack_from(body)
        check(_LENGTH.size + length <= len(body), _TOLD, "it is too short")
        header = body.slice(_LENGTH.size + length).to_pybytes()
        told = read_batch(body.slice(_LENGTH.size, length), _TOLD) if length else None
        if told is not None:
            types = {name: told.schema.field(name).type for name in self.keys if name in told.schema.names}
            check_columns_are(told, {**types, _RUN: pa.string(), _DIGEST: _DIGEST_TYPE}, _TOLD)
            check(len(types) == len(self.keys), _TOLD, "it has other columns")
        return _Stored(BucketState(header, state.open_rows, state.waiting), told)


def _stored(state: BucketState, told: pa.RecordBatch | None) -> BucketState:
    told_bytes = b"" if told is None else to_bytes(told)
    header = seal(_LENGTH.pack(len(told_bytes)) + told_bytes + state.header, Section.EARLY)
    return BucketState(header, state.open_rows, state.waiting)


def _digests(told: pa.RecordBatch | None) -> Mapping[str, bytes]:
    """The digest of the row of each run, in the order of the rows."""
    if told is None:
        return {}
    return dict(zip(told.column(_RUN).to_pylist(), told.column(_DIGEST).to_pylist(), strict=True))


def _with_status(rows: OutputRows, status: list[str]) -> OutputRows:
    return OutputRows(rows.count, {**rows.arrays, STATUS: pa.array(status, pa.string())})


def _decided(rows: OutputRows, decided_us: int) -> OutputRows:
    decided = pa.array(np.full(rows.count, decided_us)).cast(pa.timestamp("us", "UTC"))
    return OutputRows(rows.count, {**rows.arrays, DECIDED: decided})


def _joined(outputs: list[OutputRows]) -> OutputRows:
    if not outputs:
        return NO_RESULTS
    arrays = {name: pa.concat_arrays([rows.arrays[name] for rows in outputs]) for name in outputs[0].arrays}
    return OutputRows(sum(rows.count for rows in outputs), arrays)
