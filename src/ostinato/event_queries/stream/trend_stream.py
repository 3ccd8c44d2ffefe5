"""State of a bucket + arriving events + watermark -> results of windows that are over + new state.

All steps together give the rows of a batch. Engines have a state for each sequence with the sums of its trends. Queries
that need the events themselves (RETURN MATCHES, tests of pairs) buffer the rows of open windows and are evaluated when
their window is over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.event_queries.language.event_query import WindowEdge
from ostinato.event_queries.plan.event_plan import QueryPlan
from ostinato.event_queries.plan.event_program import Events, Extent, QueryResults
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.event_queries.stream.trend_steps import TrendRows
from ostinato.event_queries.task.engines import engine_of
from ostinato.event_queries.task.shared_matching import SharedMatching
from ostinato.event_queries.task.trend_worker import TrendWorker
from ostinato.event_queries.trends.engine_groups import Member, groups_of_stream
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.values.value_order import group_numbers
from ostinato.rows.batches import Batch, batch_of
from ostinato.rows.times import microseconds_of
from ostinato.streams.bucket_state import BucketState, check_kept_rows, read_rows, segments_of, stamped
from ostinato.streams.intake import Gate
from ostinato.streams.record_batches import joined
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_state import Section, check, check_columns_are

_STATE = "the header in the state of this stream of event queries"


@dataclass(frozen=True, slots=True)
class _StoredSequences:
    """The sequences with a state in some engine."""

    count: int
    keys: list[pa.Array]
    states: list[list[bytes]]
    """For each engine, the state of each sequence."""


@dataclass(frozen=True, slots=True)
class _JoinedSequences:
    """Arriving events with the stored sequences. Sequences with new events come first, then the others."""

    events: Events
    keys: list[pa.Array]
    states: list[list[bytes]]
    group: NDArray[np.int64]
    examples: NDArray[np.int64]
    """For each group one of its sequences."""


class TrendStreamWorker:
    """The queries of one plan over buckets of groups. It has no state between steps.

    The plan has one stream, and each of its queries has windows of time. `shipped` are the columns that arrive.
    """

    def __init__(
        self,
        typed: TypedEventsPlan,
        names: Sequence[str],
        shipped: pa.Schema,
        conditions: Sequence[tuple[str, int]],
        options: WorkloadOptions = WorkloadOptions(),
        sharing_of: Callable[[TypedEventsPlan, Sequence[str]], SharedMatching | None] = lambda typed, names: None,
        *,
        fingerprint: str,
    ) -> None:
        """`sharing_of` says which of the queries evaluated from rows are matched together."""
        queries = typed.plan.queries
        (self.stream,) = typed.plan.streams
        self.shipped = shipped
        self.conditions = tuple(conditions)
        self.options = options
        self.by_rows = tuple(i for i, query in enumerate(queries) if _needs_rows(query))
        """Queries that are evaluated from rows when their windows are over."""
        self.by_sums = tuple(i for i in range(len(queries)) if i not in self.by_rows)
        """Queries whose sums are in the state."""
        rows_plan, rows_names = _with_queries(typed, self.by_rows), [names[i] for i in self.by_rows]
        self.rows_worker = TrendWorker(rows_plan, rows_names, options, sharing_of(rows_plan, rows_names))
        self.worker = TrendWorker(_with_queries(typed, self.by_sums), [names[i] for i in self.by_sums], options)
        groups = groups_of_stream(self.worker.plan, 0, options.sharing)
        self.engines = [(group, engine_of(group, not typed.approximate, options.sharing)) for group in groups]
        self.extents = tuple(query.programs[0].extent for query in queries)
        self.keys = self.stream.keys
        self.gate = Gate(self.stream.time)
        self.fingerprint = fingerprint

    def advance(
        self, state: BucketState, arrived: pa.Table | None, watermark_us: int, *, finished: bool = False
    ) -> Step[TrendRows]:
        """One step: `StreamCore.advance`."""
        header, before_us, intake = self.gate.open_bucket(
            state, self.fingerprint, arrived, watermark_us, finished=finished
        )
        until = intake.known_until + 1
        over = None if finished else until
        columns: list[list[pa.Array] | None] = [None] * len(self.extents)
        stored = self._advance_sums(self._stored_sequences(header), intake.released, over, columns)
        rows = joined([self._open_rows(state), intake.released]) if self.by_rows else None
        if rows is not None:
            self._evaluate_rows(rows, before_us + 1, over, columns)
            rows = self._still_wanted(rows, until)
        kept_rows = 0 if rows is None else rows.num_rows
        is_open = bool(stored.count or kept_rows)
        after = BucketState()
        if not finished:
            open_rows = segments_of(rows, Section.OPEN_ROWS)
            after = BucketState(self._header(stored, intake.known_until), open_rows, intake.waiting)
        return Step(
            results=TrendRows(tuple(columns), intake.decided_us(finished=finished)),
            state=after,
            wake_at_us=None if finished else self._wake_at(until, is_open, intake.waiting_from),
            counts=Counts(
                rows=intake.arrived,
                late_rows=intake.late_rows,
                matches=sum(len(query_columns[0]) for query_columns in columns if query_columns),
                open_runs=stored.count,
                buffered_rows=kept_rows + intake.waiting_rows,
            ),
        )

    def _open_rows(self, state: BucketState) -> pa.RecordBatch | None:
        rows = read_rows(state.open_rows, Section.OPEN_ROWS)
        if rows is not None:
            check_kept_rows(rows, self.shipped)
        return rows

    def _batch(self, rows: pa.RecordBatch | None) -> Batch:
        batches = self.shipped.empty_table().to_batches() if rows is None else [rows]
        table = pa.Table.from_batches(batches, None if batches else self.shipped)
        return batch_of(table, self.conditions)

    # --- queries with sums in the state ---

    def _stored_sequences(self, header: pa.RecordBatch | None) -> _StoredSequences:
        if header is None:
            empty = [pa.array([], self.shipped.field(name).type) for name in self.keys]
            return _StoredSequences(0, empty, [[] for _ in self.engines])
        kinds = {_key_name(i): self.shipped.field(name).type for i, name in enumerate(self.keys)}
        check_columns_are(header, kinds | {_state_name(i): pa.binary() for i in range(len(self.engines))}, _STATE)
        check(
            not any(header.column(_state_name(i)).null_count for i in range(len(self.engines))), _STATE, "a sum is NULL"
        )
        keys = [header.column(_key_name(i)) for i in range(len(self.keys))]
        states = [header.column(_state_name(i)).to_pylist() for i in range(len(self.engines))]
        return _StoredSequences(header.num_rows, keys, states)

    def _header(self, stored: _StoredSequences, known_until: int) -> bytes:
        columns = {_key_name(i): column for i, column in enumerate(stored.keys)}
        columns |= {_state_name(i): pa.array(each, pa.binary()) for i, each in enumerate(stored.states)}
        batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        return stamped(batch, known_until, self.fingerprint)

    def _advance_sums(
        self,
        before: _StoredSequences,
        released: pa.RecordBatch | None,
        over: int | None,
        columns: list[list[pa.Array] | None],
    ) -> _StoredSequences:
        if not self.engines or (released is None and not before.count):
            return before
        sequences = self._join(before, released)
        until = None if over is None else np.full(len(sequences.group), over)
        by_program: dict[Member, QueryResults] = {}
        new_states = []
        for (group, engine), states in zip(self.engines, sequences.states, strict=True):
            step = engine.advance(sequences.events, states, until)
            by_program.update(zip(group.members, step.results, strict=True))
            new_states.append(list(step.states))
        for query, results in self.worker.combined(by_program, sequences.group).items():
            if len(results.sequence):
                columns[self.by_sums[query]] = self.worker.shown(query, results, self._group_value(sequences))
        open_sequences = np.flatnonzero([any(each) for each in zip(*new_states, strict=True)])
        chosen = pa.array(open_sequences)
        keys = [column.take(chosen) for column in sequences.keys]
        return _StoredSequences(len(open_sequences), keys, [[each[i] for i in open_sequences] for each in new_states])

    def _join(self, before: _StoredSequences, released: pa.RecordBatch | None) -> _JoinedSequences:
        batch = self._batch(released)
        arrived = self.worker.scene(batch, 0)
        firsts = pa.array(arrived.sequences.rows[arrived.sequences.starts[:-1]])
        new_count = arrived.sequences.count
        keys = [
            pa.concat_arrays([batch.arrays[name].take(firsts), stored_keys])
            for name, stored_keys in zip(self.keys, before.keys, strict=True)
        ]
        # A stored sequence with new events is the new sequence of the same number.
        numbers = group_numbers(new_count + before.count, keys)
        new_index_of = {int(number): i for i, number in enumerate(numbers[:new_count])}
        new_indexes = [new_index_of.get(int(number), -1) for number in numbers[new_count:]]
        unchanged = [i for i, index in enumerate(new_indexes) if index < 0]
        chosen = pa.array([*range(new_count), *(new_count + i for i in unchanged)], pa.int64())
        keys = [column.take(chosen) for column in keys]
        states = []
        for engine_states in before.states:
            new_states = [b""] * new_count
            for i, index in enumerate(new_indexes):
                if index >= 0:
                    new_states[index] = engine_states[i]
            states.append([*new_states, *(engine_states[i] for i in unchanged)])
        starts = np.concatenate([arrived.events.starts, np.full(len(unchanged), arrived.events.starts[-1])])
        by_group = group_numbers(len(chosen), keys[: len(self.stream.group_by)])
        _, examples, group = np.unique(by_group, return_index=True, return_inverse=True)
        return _JoinedSequences(replace(arrived.events, starts=starts), keys, states, group.astype(np.int64), examples)

    def _group_value(self, sequences: _JoinedSequences) -> Callable[[str, NDArray[np.int64]], pa.Array]:
        return lambda name, groups: sequences.keys[self.keys.index(name)].take(pa.array(sequences.examples[groups]))

    # --- queries with rows in the state ---

    def _evaluate_rows(
        self, rows: pa.RecordBatch, since: int, over: int | None, columns: list[list[pa.Array] | None]
    ) -> None:
        """The results of windows that ended after `since` up to `over`; None: of all remaining windows."""
        if over is not None and not any(since < end <= over for end in self._next_ends(since, self.by_rows)):
            return
        times = microseconds_of(rows.column(self.stream.time))
        before_end = rows if over is None else rows.filter(pa.array(times < over))
        for query, query_columns in enumerate(self.rows_worker.run(self._batch(before_end)).columns):
            number = self.by_rows[query]
            ends = microseconds_of(query_columns[_window_end(self.rows_worker.plan.queries[query])])
            inside = (ends > since) if over is None else (ends > since) & (ends <= over)
            if inside.any():
                columns[number] = [column.filter(pa.array(inside)) for column in query_columns]

    def _still_wanted(self, rows: pa.RecordBatch, until: int) -> pa.RecordBatch | None:
        """Rows inside a window that isn't over."""
        starts = [_first_open(self.extents[query], until) for query in self.by_rows]
        is_open = microseconds_of(rows.column(self.stream.time)) >= min(starts)
        return rows if is_open.all() else rows.filter(pa.array(is_open))

    # --- time ---

    def _wake_at(self, until: int, is_open: bool, waiting_from: int | None) -> int | None:
        """The watermark at which the next window is over, or the first waiting row is released."""
        moments = [] if waiting_from is None else [waiting_from]
        if is_open:
            moments.append(min(self._next_ends(until, range(len(self.extents)))) - 1)
        return min(moments, default=None)

    def _next_ends(self, until: int, queries: Sequence[int]) -> list[int]:
        """For each query, the end of the first window that isn't over."""
        return [_first_open(self.extents[query], until) + self.extents[query].length for query in queries]


def _first_open(extent: Extent, until: int) -> int:
    """The start of the first window that ends after `until`."""
    return ((until - extent.length) // extent.slide + 1) * extent.slide


def _with_queries(typed: TypedEventsPlan, queries: Sequence[int]) -> TypedEventsPlan:
    """The plan with some of its queries."""
    plan = replace(typed.plan, queries=tuple(typed.plan.queries[i] for i in queries))
    return replace(typed, plan=plan, output_types=tuple(typed.output_types[i] for i in queries))


def _window_end(query: QueryPlan) -> int:
    """The output column with the end of a row's window."""
    if query.returns_matches:
        return len(query.bound.group_by) + 2  # behind the groups, the number and the window's start
    return next(i for i, (_, output) in enumerate(query.outputs) if output is WindowEdge.END)


def _needs_rows(query: QueryPlan) -> bool:
    tests = [edge for program in query.programs for edges in (program.edges, *program.absent_edges) for edge in edges]
    return query.returns_matches or any(edge.pair_test is not None for edge in tests)


def _key_name(i: int) -> str:
    return f"key{i}"


def _state_name(i: int) -> str:
    return f"state{i}"
