"""A bucket of a correlation on a stream: state + arriving rows + watermark -> pairs + state. No Spark here.

The gate of all streams decides which rows are late and which wait (`streams/intake.py`). The correlator matches the
rows that the gate releases. Its own state is one value in the bucket's header. The rows that wait are segments. With
`recent_rows`, released rows are also appended to the bucket's history, from which a step reads what its buffer lacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from ostinato.correlations.stream.history import needed_rows, wanted_rows
from ostinato.correlations.task.correlation_state import STATE, CorrelationState, read_state, state_bytes
from ostinato.correlations.task.correlation_state_checks import check_state
from ostinato.correlations.task.correlation_task import CorrelationOptions, CorrelationTask
from ostinato.correlations.task.correlation_worker import AdvancedStep, Correlator
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.bucket_state import EMPTY, BucketState, read_rows, segments_of, stamped
from ostinato.streams.intake import Gate, Intake
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_segments import size_of, with_segments
from ostinato.streams.stored_state import LARGEST, Section, check, check_columns_are, check_ranges, whole_numbers

_CORRELATION, _WAKES_AT, _HELD_RESULTS, _HISTORY_BYTES = "correlation", "wakes_at", "held_results", "history_bytes"
_NUMBERS = (_WAKES_AT, _HELD_RESULTS, _HISTORY_BYTES)
_HEADER = pa.schema([(_CORRELATION, pa.large_binary()), *((name, pa.int64()) for name in _NUMBERS)])
_SMALL_HISTORY_BYTES = 1 << 16
_HISTORY_GROWTH = 2
"""A history is cut when it has grown by this factor since the last cut, and not before it has the size above."""
_NEVER = (1 << 63) - 1


class _Stored(NamedTuple):
    """The correlator's state, and the watermark at which it changes even if no row comes."""

    correlation: bytes = b""
    wakes_at: int = _NEVER
    held_results: int = 0
    """Number of results that wait for earlier ones."""
    history_bytes: int = 0
    """Size of the history after the last cut."""


@dataclass(frozen=True, slots=True)
class StreamClock:
    """Watermarks in microseconds <-> times of the rows: microseconds, or numbers of which one is a millisecond."""

    time_column: str
    us_per_unit: int = 1

    def watermark(self, watermark_us: int) -> int:
        return watermark_us if watermark_us == NO_TIME else watermark_us // self.us_per_unit

    def wakes_at_us(self, time: int) -> int:
        return time * self.us_per_unit


class CorrelationStream:
    """The core of a correlation whose archive is the stream itself. It holds nothing between two steps."""

    def __init__(
        self, task: CorrelationTask, options: CorrelationOptions, clock: StreamClock, fingerprint: str
    ) -> None:
        self.correlator = Correlator(task, options)
        self.clock = clock
        self.gate = Gate(clock.time_column)
        self.fingerprint = fingerprint

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> Step[pa.Table]:
        """One step; raises as `open_state` does."""
        watermark = self.clock.watermark(watermark_us)
        header, _, intake = self.gate.open_bucket(state, self.fingerprint, arrived, watermark, finished=finished)
        before = _stored(header)
        done = None
        if finished or intake.released is not None or intake.known_until >= before.wakes_at:
            done = self._correlated(before, state.open_rows, intake, finished=finished)
        after = before if done is None else self._after(before, done, intake)
        history = state.open_rows
        if done is not None and self.has_history and not finished:
            history = with_segments(history, segments_of(intake.released, Section.OPEN_ROWS))
            if size_of(history) > max(_HISTORY_GROWTH * before.history_bytes, _SMALL_HISTORY_BYTES):
                history = self._cut(history, done.state, intake.known_until)
                after = after._replace(history_bytes=size_of(history))
        return Step(
            self.correlator.writer.schema.empty_table() if done is None else done.results,
            EMPTY if finished else BucketState(self._header(after, intake), history, intake.waiting),
            None if finished else self._wakes_at_us(after, intake),
            Counts(
                rows=intake.arrived,
                late_rows=intake.late_rows,
                matches=0 if done is None else done.counts.results,
                open_runs=after.held_results,
                buffered_rows=intake.waiting_rows + (0 if done is None else done.counts.buffered_rows),
                waiting_rows=intake.waiting_rows,
            ),
        )

    @property
    def has_history(self) -> bool:
        """Whether the buffer drops rows that a later step may want."""
        return self.correlator.capacity is not None

    def _correlated(self, before: _Stored, history: Sequence[bytes], intake: Intake, *, finished: bool) -> AdvancedStep:
        correlator = self.correlator
        state = read_state(before.correlation, self.fingerprint)
        rows = None if intake.released is None else pa.Table.from_batches([intake.released])
        check_state(state, correlator.task, correlator.writer, rows, None)
        done = correlator.run(state, rows, None, intake.known_until, finished=finished)
        if not done.wanted.num_rows:
            return done
        older = wanted_rows(correlator.task, history, done.wanted)
        check(older is not None, STATE, "its history is missing")
        return correlator.run(state, rows, None, intake.known_until, finished=finished, history=older)

    def _cut(self, history: Sequence[bytes], state: CorrelationState, known_until: int) -> tuple[bytes, ...]:
        """The history without the rows that no later step may want, as one segment."""
        rows = read_rows(history, Section.OPEN_ROWS)
        assert rows is not None
        needed = needed_rows(self.correlator.task, self.correlator.archive, state, rows, known_until)
        return segments_of(needed, Section.OPEN_ROWS)

    def _after(self, before: _Stored, done: AdvancedStep, intake: Intake) -> _Stored:
        wakes_at = _NEVER if done.wakes_at is None else max(done.wakes_at, intake.known_until + 1)
        correlation = state_bytes(done.state, self.fingerprint)
        return _Stored(correlation, wakes_at, done.counts.held_results, before.history_bytes)

    def _header(self, after: _Stored, intake: Intake) -> bytes:
        columns = [pa.array([value], field.type) for value, field in zip(after, _HEADER, strict=True)]
        header = pa.RecordBatch.from_arrays(columns, schema=_HEADER)
        return stamped(header, intake.known_until, self.fingerprint)

    def _wakes_at_us(self, after: _Stored, intake: Intake) -> int | None:
        moments = [moment for moment in (after.wakes_at, intake.waiting_from) if moment not in (None, _NEVER)]
        return self.clock.wakes_at_us(min(moments)) if moments else None


def _stored(header: pa.RecordBatch | None) -> _Stored:
    if header is None:
        return _Stored()
    check_columns_are(header, {field.name: field.type for field in _HEADER}, STATE)
    check(header.num_rows == 1 and not header.column(_CORRELATION).null_count, STATE, "it has another header")
    wakes_at, held_results, history_bytes = (int(whole_numbers(header.column(name), STATE)[0]) for name in _NUMBERS)
    check_ranges(
        STATE,
        {
            "the time of the next change": (wakes_at, NO_TIME, _NEVER),
            "the number of results that wait": (held_results, 0, LARGEST),
            "the size of its history": (history_bytes, 0, LARGEST),
        },
    )
    return _Stored(header.column(_CORRELATION)[0].as_py(), wakes_at, held_results, history_bytes)
