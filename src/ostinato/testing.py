"""A stream without Spark, to test your own patterns: rows and watermarks set by hand in, output rows out.

A `StreamTester` does what a streaming query does between two micro-batches: rows wait for the watermark, are matched in
order, and matches come out as soon as nothing can change them. Here an order that isn't paid within ten minutes:

>>> from datetime import datetime
>>> stream = StreamTester(
...     '''
...     PARTITION BY order_id ORDER BY at
...     MEASURES PLACED.at AS placed_at, PAID.at AS paid_at
...     ONE ROW PER MATCH SHOW TIMEOUT MATCHES
...     PATTERN (PLACED PAID) WITHIN INTERVAL '10' MINUTE
...     DEFINE PLACED AS event = 'placed', PAID AS event = 'paid' ''',
...     {"order_id": "bigint", "at": "timestamp_ntz", "event": "string"},
... )
>>> def at(minute):
...     return datetime(2024, 1, 1, 12, minute)
>>> stream.feed(
...     [
...         {"order_id": 1, "at": at(3), "event": "paid"},  # rows may come in any order
...         {"order_id": 1, "at": at(0), "event": "placed"},
...         {"order_id": 2, "at": at(1), "event": "placed"},
...     ]
... )
[]

Nothing is decided yet: an earlier row may still come. The watermark says that none will.

>>> stream.advance_watermark(at(5))
[{'order_id': 1, 'placed_at': datetime.datetime(2024, 1, 1, 12, 0), 'paid_at': datetime.datetime(2024, 1, 1, 12, 3)}]
>>> stream.open_runs
1
>>> stream.advance_watermark(at(11))
[{'order_id': 2, 'placed_at': datetime.datetime(2024, 1, 1, 12, 1), 'paid_at': None}]

Rows behind the watermark are late. `finish` returns the matches that only the end of the input decides.

>>> stream.feed([{"order_id": 3, "at": at(7), "event": "placed"}, {"order_id": 4, "at": at(20), "event": "placed"}])
[]
>>> stream.late_rows
1
>>> stream.finish()
[{'order_id': 4, 'placed_at': datetime.datetime(2024, 1, 1, 12, 20), 'paid_at': None}]
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_query import as_clause_query
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.plan.match_plan import make_plan, slot_name
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.stream.appending_stream import stream_worker
from ostinato.clause.stream.clause_stream import StreamWorker
from ostinato.clause.stream.early_stream import EarlyStream
from ostinato.clause.stream.skipping_stream import SkippingStream, shipped_table
from ostinato.clause.stream.stream_limits import (
    check_early,
    check_streamable,
    early_after_history,
    not_with_on_error,
    run_slot,
)
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import QueryError, did_you_mean, errors_quoting
from ostinato.expressions import types as t
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_settings import local_settings
from ostinato.rows.arrow_tables import as_table
from ostinato.rows.batches import OutputRows, one_array
from ostinato.rows.column_names import DECIDED, LATE, MATCHED, STATUS
from ostinato.rows.packed_conditions import condition_places
from ostinato.rows.times import microseconds_of
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.history import ROWS_PER_STEP, history_steps
from ostinato.streams.step import Step, fingerprint_of
from ostinato.streams.stream_settings import LATE_COLUMN, STATUS_COLUMN, WITHDRAWN, OnError, StreamSettings

Moment = datetime | date | str | int
"""A point in time; as text in the form 2024-01-31 12:00:00, as a number in microseconds since 1970."""


class StreamTester:
    """One query over one stream, in this process, with a watermark that is set by hand.

    `query` is any query that `ost.match` takes. `columns` are the columns of the input: a pyarrow schema, or Spark's
    names of types by column. With `late="show"` the output has late rows too, a column `late` that
    marks them, and the ORDER BY columns. `eager`
    is for streams whose rows arrive in order: rows are matched as they come. `decision_time` names a further output
    column, the time at which the row was decided. `forget_keys_after="30 days"` forgets keys that are silent
    for longer. `match_id` and `run_id` name columns with ids, as in `ost.match`. `emit="early"` also shows preliminary
    rows, and a column `status`. With `on_error="skip"`, rows that can't be evaluated are output rows with a column
    `error`.
    """

    @only_our_errors()
    def __init__(
        self,
        query: Any,
        columns: pa.Schema | Mapping[str, str | pa.DataType],
        *,
        late: Literal["drop", "show"] = "drop",
        eager: bool = False,
        decision_time: str | None = None,
        forget_keys_after: str | None = None,
        match_id: str | None = None,
        run_id: str | None = None,
        emit: Literal["final", "early"] = "final",
        on_error: OnError = "fail",
        max_partial_matches: int = Limits().max_partial_matches,
        ansi: bool = True,
        timezone: str = "UTC",
    ) -> None:
        stream_settings = StreamSettings(
            late,
            eager,
            decision_time=decision_time,
            forget_keys_after=forget_keys_after,
            emit=emit,
            on_error=on_error,
        )
        self._settings = local_settings(ansi, timezone)
        self._query = as_clause_query(query)
        if (match_id, run_id) != (None, None):
            self._query = self._query.with_ids(IdColumns(match_id, run_id))
        self._schema = _schema(columns, self._settings)
        clause = self._query.clause
        plan = make_plan(bind(clause, self._schema.names, shows_order=stream_settings.shows_late))
        order = plan.bound.order_by
        self._time_type = self._schema.field(order[0].column).type if order else None
        check_streamable(plan, self._time_type)
        self._local = EvaluatedPlan(plan, self._schema, self._settings, Limits(max_partial_matches))
        fingerprint = fingerprint_of(
            [render_clause(clause), str(self._schema), ansi, timezone, eager, forget_keys_after, plan.has_ids, emit]
        )
        conditions = condition_places(len(plan.row_conditions))
        self.worker = stream_worker(self._local.typed, conditions, stream_settings, fingerprint)
        self._core: StreamWorker | EarlyStream | SkippingStream = self.worker
        self._skipping: SkippingStream | None = None
        if on_error == "skip":
            self._core = self._skipping = SkippingStream(self._local, stream_settings, fingerprint)
            self.worker = self._skipping.stream
        elif emit == "early":
            check_early(plan)
            self._core = EarlyStream(self.worker)
        self._decision_time = decision_time
        self._state = EMPTY
        self.watermark_us = NO_TIME
        """The watermark in microseconds; before it is set, NO_TIME."""
        self.wake_at_us: int | None = None
        """The watermark at which a timer fires even if no row comes; None: there is no timer."""
        self._finished = False
        self._outputs: list[pa.Table] = []
        self.rows = 0
        """Rows fed so far."""
        self.late_rows = 0
        """Late rows among them."""
        self.open_runs = 0
        """Keys with an open match, which later rows decide."""
        self.buffered_rows = 0
        """Rows in the state: they wait for the watermark, or an open match may need them."""
        self.forgotten_keys = 0
        """Keys that left the state because they were silent for too long."""

    @only_our_errors()
    def load_history(self, rows: Any, *, rows_per_step: int = ROWS_PER_STEP) -> list[dict[str, Any]]:
        """Starts the stream after earlier rows, as `history=` does on Spark. Call it before anything else.

        Returns the output rows that the archive alone decides. They aren't rows of the stream. Rows up to the latest
        time of the archive are late from now on. The results don't depend on `rows_per_step`.
        """
        if self._state != EMPTY:
            raise QueryError("STREAM_STARTED", "history is for a stream that has had no step yet")
        if isinstance(self._core, EarlyStream):
            raise early_after_history()
        if self._skipping is not None:
            raise not_with_on_error("history")
        time = self.worker.gate.time_column
        table = self._table(rows)
        table = table.filter(table[time].is_valid()).sort_by(time)
        if not table.num_rows:
            return []
        latest_us = int(microseconds_of(one_array(table[time]))[-1])
        with errors_quoting(self._query.clause.text):
            steps = [*history_steps(self.worker, [self._shipped(table)], time, latest_us, rows_per_step)]
        self._remember(steps[-1])
        return [row for step in steps if step.results.count for row in self._output(step.results).to_pylist()]

    @only_our_errors()
    def feed(self, rows: Any, *, watermark: Moment | None = None) -> list[dict[str, Any]]:
        """Feeds rows: dicts, or a table as for `ost.match`. Returns the new output rows.

        With a watermark, both arrive in one step, as in a micro-batch. Rows behind the previous watermark are late.
        """
        return self._step(self._table(rows), watermark)

    @only_our_errors()
    def advance_watermark(self, to: Moment) -> list[dict[str, Any]]:
        """From now on rows of this time or an earlier one are late. Returns the output rows that this decides."""
        return self._step(None, to)

    @only_our_errors()
    def finish(self) -> list[dict[str, Any]]:
        """No rows will follow. Returns the output rows that only the end decides."""
        rows = self._step(None, None, finished=True)
        self._finished = True
        return rows

    @property
    def results(self) -> pa.Table:
        """All output rows so far."""
        none = self._core.no_results(self._shipped(self._schema.empty_table()))
        return pa.concat_tables([self._output(none), *self._outputs])

    @property
    def state(self) -> BucketState:
        """The state between two steps, as bytes."""
        return self._state

    # --- steps ---

    def _step(
        self, table: pa.Table | None, watermark: Moment | None, *, finished: bool = False
    ) -> list[dict[str, Any]]:
        if self._finished:
            raise QueryError("STREAM_FINISHED", "the stream has ended: it takes neither rows nor watermarks any more")
        if watermark is not None:
            self._set_watermark(watermark)
        with errors_quoting(self._query.clause.text):
            arrived = table if table is None or self._skipping is not None else self._shipped(table)
            step = self._core.advance(self._state, arrived, self.watermark_us, finished=finished)
        self.rows += step.counts.rows
        self.late_rows += step.counts.late_rows
        self.forgotten_keys += step.counts.forgotten_keys
        self._remember(step)
        if not step.results.count:
            return []
        output = self._output(step.results)
        self._outputs.append(output)
        rows: list[dict[str, Any]] = output.to_pylist()
        return rows

    def _remember(self, step: Step[OutputRows]) -> None:
        self._state = step.state
        self.wake_at_us = step.wake_at_us
        self.open_runs, self.buffered_rows = step.counts.open_runs, step.counts.buffered_rows

    def _set_watermark(self, to: Moment) -> None:
        moment = _moment(to, self._time_type)
        if moment < self.watermark_us:
            raise QueryError(
                "INVALID_WATERMARK", f"a watermark never goes back: {to!r} is before the one that was set last"
            )
        self.watermark_us = moment

    # --- input ---

    def _table(self, rows: Any) -> pa.Table:
        if isinstance(rows, list | tuple) and all(isinstance(row, Mapping) for row in rows):
            rows = self._from_dicts(rows)
        table = as_table(rows, self._settings)
        for name in self._schema.names:
            if name not in table.column_names:
                raise QueryError(
                    "UNKNOWN_COLUMN",
                    f"the rows have no column '{name}'",
                    hint=did_you_mean(name, table.column_names),
                )
        return table.select(self._schema.names).cast(self._schema)

    def _from_dicts(self, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """A column that a row leaves out is NULL. A column that the stream doesn't have is refused."""
        plain = [dict(row) for row in rows]
        for name in dict.fromkeys(name for row in plain for name in row):
            if name not in self._schema.names:
                raise QueryError(
                    "UNKNOWN_COLUMN",
                    f"the stream has no column '{name}'",
                    hint=did_you_mean(name, self._schema.names),
                )
        try:
            return pa.Table.from_pylist(plain, schema=self._schema)
        except (pa.ArrowException, TypeError) as error:
            raise QueryError("NOT_A_TABLE", f"a value doesn't fit the type of its column: {error}") from None

    def _shipped(self, table: pa.Table) -> pa.Table:
        """The columns that a Spark plan would ship."""
        columns = {name: one_array(table.column(name)) for name in table.column_names}
        return shipped_table(self._local.plan, self._local.batch(columns, table.num_rows))

    # --- output ---

    def _output(self, output_rows: OutputRows) -> pa.Table:
        """Computes the measures. A late row shows only its own columns, a withdrawn row its keys and its run id."""
        if self._skipping is not None:
            return self._with_stream_columns(self._skipping.plan.table(output_rows), output_rows)
        arrays = output_rows.arrays
        late, status = arrays.get(LATE), arrays.get(STATUS)
        shown = [arrays[MATCHED]] if MATCHED in arrays else []
        shown += [pc.invert(late)] if late is not None else []
        shown += [pc.not_equal(status, WITHDRAWN)] if status is not None else []
        if shown:  # the others are shown as unmatched rows are
            matched = functools.reduce(pc.and_, shown)
            output_rows = OutputRows(output_rows.count, {**arrays, MATCHED: matched})
        table = self._local.measured(output_rows)
        if status is not None:
            name, plan = self._query.clause.ids.run_id, self._local.plan
            table = table.set_column(table.column_names.index(name), name, arrays[slot_name(run_slot(plan))])
        return self._with_stream_columns(table, output_rows)

    def _with_stream_columns(self, table: pa.Table, rows: OutputRows) -> pa.Table:
        """The columns that the query selects, and those that a stream adds."""
        table = self._query.select(table, self._settings)
        added = {LATE_COLUMN: LATE, STATUS_COLUMN: STATUS}
        further = {name: rows.arrays[column] for name, column in added.items() if column in rows.arrays}
        if self._decision_time is not None:
            further[self._decision_time] = rows.arrays[DECIDED]
        for name, column in further.items():
            if name in table.column_names:
                raise QueryError("DUPLICATE_COLUMN", f"two output columns are named '{name}'")
            table = table.append_column(name, column)
        return table


def _schema(columns: pa.Schema | Mapping[str, str | pa.DataType], settings: t.Settings) -> pa.Schema:
    if isinstance(columns, pa.Schema):
        columns = {field.name: field.type for field in columns}
    fields = []
    for name, kind in columns.items():
        arrow_type = t.parse_type(kind, settings) if isinstance(kind, str) else kind
        if arrow_type is None:
            raise QueryError("UNSUPPORTED_TYPE", f"column '{name}': {kind!r} isn't a type that Ostinato knows")
        fields.append(pa.field(name, t.normalise(arrow_type, settings)))
    return pa.schema(fields)


def _moment(value: Moment, kind: pa.DataType) -> int:
    """Microseconds since 1970, in the form of the time column."""
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    elif not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    timestamp = kind if pa.types.is_timestamp(kind) else pa.timestamp("us")
    return int(pa.scalar(value, timestamp).cast(pa.int64()).as_py())


__all__ = ["Moment", "StreamTester"]
