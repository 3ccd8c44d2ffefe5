"""`ost.summary`: a stream summary of fixed size. It takes the events of tables and DataFrames.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> orders = pa.table({"at": [1, 2, 3, 4, 5], "kind": ["A", "B", "B", "C", "B"], "price": [1, 2, 3, 4, 5]})
>>> s = ost.summary("A B* C", type="kind", time="at", within=10, size=4, aggregate="SUM(price)")
>>> answer = s.feed(orders).ask()
>>> answer.value, answer.count, [(event.type, event.contribution) for event in answer.kept_events]
(30, 4, [('A', 4), ('B', 2), ('B', 2), ('C', 4)])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.api.plot_object import Plot
from ostinato.api.query import LocalCall, Query
from ostinato.api.results import Result, RunReport
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import a_text, column_names, is_number, member_of, one_of, shown, whole_number
from ostinato.calls.shown_objects import short_repr
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.workload_options import Numbers
from ostinato.expressions.intervals import parse_interval
from ostinato.expressions.render import quote
from ostinato.expressions.types import Settings
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.rows.arrow_tables import as_table, is_spark_dataframe, spark_dataframe
from ostinato.rows.table_kinds import like
from ostinato.streams.stream_settings import DEFAULT_BUCKETS, MOST_BUCKETS
from ostinato.summaries.language.query_automaton import query_automaton
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.summary_answer import AnsweredQuery, KeptEvent, SummaryAnswer
from ostinato.summaries.summary_options import ALL_TYPES, CAPPED, EventTypes, Eviction
from ostinato.summaries.summary_request import SummaryRequest
from ostinato.summaries.task.summary_input import SummaryColumns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.local.local_summaries import LiveSummary
    from ostinato.rows.table_kinds import TableLike

T = TypeVar("T")

_AGGREGATE = re.compile(r"\s*(count|sum|avg)\s*(?:\(\s*(.*?)\s*\)\s*)?", re.IGNORECASE | re.DOTALL)
_MICROSECOND = timedelta(microseconds=1)
MOST_SIZE = 10**8
"""Largest size of a summary, in events. At this size the counters alone take 4 GB."""


class _Live:
    """The mutable part of a `StreamSummary`: the events fed in this process."""

    __slots__ = ("summary",)

    def __init__(self) -> None:
        self.summary: LiveSummary | None = None


@dataclass(frozen=True, slots=True, repr=False)
class SummaryResult(Result[T]):
    """The answers of a summary, a row for each key and evaluation time: the key, `asked_at`, `value`, `count`, `seen`,
    `kept`. `report.table` says how many of the events of each key the answer rests on."""

    @only_our_errors()
    def plot(self, row: int = 0) -> Plot:
        """Draws the kept events of one answer, by default of the first. On Spark this runs the summary."""
        whole_number("row", row, least=0)
        rows = self.table.limit(row + 1).toArrow() if is_spark_dataframe(self.table) else self.table  # type: ignore[attr-defined]
        answers = as_table(rows, Settings())
        if row >= answers.num_rows:
            raise QueryError("INVALID_OPTION", f"row is below {answers.num_rows:,}, the number of answers, not {row}")
        answer = answer_of_row(self._summary, answers.slice(row, 1).to_pylist()[0])
        return Plot(repr(answer), answer.svg())

    @property
    def _summary(self) -> StreamSummary:
        assert isinstance(self.query, StreamSummary)
        return self.query


@dataclass(frozen=True, slots=True, repr=False)
class StreamSummary(SummaryRequest, Query):
    """A query for a stream summary. `run` answers a table or a DataFrame. `feed` and `ask` go on with more events."""

    _live: _Live = field(default_factory=_Live, compare=False, repr=False)

    # --- in process ---

    @only_our_errors()
    def feed(self, table: TableLike, *, deadline: Duration | None = None) -> StreamSummary:
        """Takes the events of a pyarrow Table, a pandas DataFrame or record batches. Returns the summary itself.

        The rows of one call may be in any order. No event may be older than earlier events of its key. A call that
        takes longer than `deadline` ("10 seconds") raises DEADLINE_PASSED. If the deadline or Ctrl-C interrupts the
        call after it took events, the summary can't be used any more: later calls raise SUMMARY_INTERRUPTED.
        """
        interruptible(lambda: self._feed(table), deadline)
        return self

    def _feed(self, table: Any) -> None:
        from ostinato.local.local_summaries import LiveSummary, arrow_of

        arrow = arrow_of(table)
        if self._live.summary is None:
            self._live.summary = LiveSummary.of_schema(self, arrow.schema)
        self._live.summary.feed(arrow)

    @only_our_errors()
    def ask(self, key: object = None, *, deadline: Duration | None = None) -> SummaryAnswer:
        """Returns the answer after the last event of the key. `key` is a value, a tuple of values, or a dict by column.

        A key without events has an empty answer. Matches without an event of `keyed_types` belong to no key: see
        `ask_shared`.
        """
        return interruptible(lambda: self._summary(key).ask(key), deadline)

    @only_our_errors()
    def ask_shared(self, *, deadline: Duration | None = None) -> SummaryAnswer:
        """With `keyed_types`: returns the answer over matches that have no event with a key."""
        return interruptible(lambda: self._summary().ask_shared(), deadline)

    @only_our_errors()
    def ask_all(self, *, deadline: Duration | None = None) -> pa.Table:
        """Returns one row for each key, as on Spark: the key, `asked_at`, `value`, `count`, `seen`, `kept`."""
        return interruptible(lambda: self._summary().ask_all(), deadline)

    @only_our_errors()
    def exact(self, table: TableLike, key: object = None, *, deadline: Duration | None = None) -> SummaryAnswer:
        """Returns the exact answer over all events of a table. The summary itself doesn't change."""
        from ostinato.local.local_summaries import LiveSummary, arrow_of

        def answer() -> SummaryAnswer:
            arrow = arrow_of(table)
            return LiveSummary.of_schema(self, arrow.schema).exact(arrow, key)

        return interruptible(answer, deadline)

    @only_our_errors()
    def to_bytes(self) -> bytes:
        """Returns the state of the summary, for `restore`."""
        from ostinato.local.local_summaries import NEVER_FED

        return NEVER_FED if self._live.summary is None else self._live.summary.to_bytes()

    @only_our_errors()
    def restore(self, data: bytes) -> StreamSummary:
        """Replaces the state by the bytes of an equal summary. Returns the summary itself."""
        from ostinato.local.local_summaries import LiveSummary

        try:
            stored = bytes(memoryview(data))
        except TypeError:
            hint = "data = summary.to_bytes()"
            raise QueryError("INVALID_OPTION", f"restore takes bytes, not {shown(data)}", hint=hint) from None
        self._live.summary = LiveSummary.from_bytes(self, stored)
        return self

    def _summary(self, key: Any = None) -> LiveSummary:
        from ostinato.local.local_summaries import LiveSummary

        return LiveSummary.of_nothing(self, key) if self._live.summary is None else self._live.summary

    # --- a whole table, or Spark ---

    @only_our_errors()
    def run(
        self,
        data: T,
        *,
        at: str | Iterable[object] | None = None,
        trigger_events: str | None = None,
        deadline: Duration | None = None,
    ) -> SummaryResult[T]:
        """Returns the answers over a table of any kind that `ost.match` takes, or over a Spark DataFrame.

        A table or a batch is evaluated at its end, at the times in the list `at`, or at rows where the boolean column
        `at` is true. An answer includes events of the same time. A stream is evaluated at rows that meet the SQL
        condition `trigger_events`. Without it, a stream is evaluated at the end of every micro-batch, for keys with new
        events. Events fed before don't count. The result of a DataFrame is lazy.
        """
        if trigger_events is not None:
            a_text("trigger_events", trigger_events, hint="trigger_events=\"kind = 'ASK'\"")
        if is_spark_dataframe(data):
            refuse_deadline(deadline)
            return self._on_spark(data, at, trigger_events)
        if trigger_events is not None:
            raise QueryError("INVALID_OPTION", "trigger_events are for streams", hint=_AT_HINT)
        answers = interruptible(lambda: self._answers(data, at), deadline)
        report = RunReport(_events_text(answers), like(data, _event_counts(answers)))
        return SummaryResult(self, like(data, answers), report, data)

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the answers at the end of a batch, or of every micro-batch: `run(df).table`."""
        spark_dataframe(df, hint="ost.match(summary, table) answers it in this process")
        return self.run(df).table

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the answers at the end of a table."""
        call.settings_of_one_thread()
        return self._answers(table, None)

    def _answers(self, table: Any, at: Any) -> pa.Table:
        from ostinato.local.local_summaries import summary_answers_of

        return summary_answers_of(self, table, at)

    def _on_spark(self, df: Any, at: Any, trigger_events: str | None) -> SummaryResult[Any]:
        if df.isStreaming:
            from ostinato.spark.summaries.summary_streaming import run_stream

            if at is not None:
                message = "a stream is asked by trigger events, or at the end of every micro-batch"
                raise QueryError("INVALID_OPTION", message, hint="trigger_events=\"kind = 'ASK'\"")
            rows = run_stream(self, df, trigger_events)
        else:
            from ostinato.spark.summaries.batch_summaries import run_batch

            if trigger_events is not None:
                raise QueryError("INVALID_OPTION", "trigger_events are for streams", hint=_AT_HINT)
            rows = run_batch(self, df, at)
        counts = rows.selectExpr(*map(quote, self.columns.keys), "asked_at", "seen", "size(kept) AS kept")
        report = RunReport("report.table counts the events of each key, once it runs", counts)
        return SummaryResult(self, rows, report, df)

    def __repr__(self) -> str:
        return short_repr(self, f"{self.query.expression}, size={self.query.size}")


def answer_of_row(summary: SummaryRequest, row: Mapping[str, Any]) -> SummaryAnswer:
    """The answer of one row of a result, for its picture. Raises INVALID_OPTION for logarithms."""
    if summary.form is NumberForm.LOG10:
        hint = 'numbers="decimal" or numbers="text"'
        raise QueryError("INVALID_OPTION", 'a picture shows counts, and numbers="log10" keeps logarithms', hint=hint)
    query, columns = summary.query, summary.columns
    window = query.window_us if columns.counts_units else timedelta(microseconds=query.window_us)
    aggregate = query.aggregate.value + ("" if columns.value is None else f"({columns.value})")
    kept = [KeptEvent(**{"value": None, **event, "contribution": int(event["contribution"])}) for event in row["kept"]]
    return SummaryAnswer(
        value=int(row["count"]) if query.aggregate is SummaryAggregate.COUNT else row["value"],
        count=int(row["count"]),
        seen=row["seen"],
        kept_events=tuple(kept),
        asked_at=row["asked_at"],
        key={name: row[name] for name in columns.keys},
        query=AnsweredQuery(query.expression, aggregate, window, query.size, pa.struct([]), summary.form),
    )


_AT_HINT = "at='column' of boolean, or a list of times"


def _events_text(answers: pa.Table) -> str:
    counts = _event_counts(answers)
    seen, kept = (sum(counts[name].to_pylist()) for name in ("seen", "kept"))
    return f"{answers.num_rows:,} answers; they rest on {kept:,} of {seen:,} events"


def _event_counts(answers: pa.Table) -> pa.Table:
    """The answers with the number of kept events in place of the events."""
    keys = [name for name in answers.column_names if name not in ("asked_at", "value", "count", "seen", "kept")]
    counts = answers.select([*keys, "asked_at", "seen"])
    return counts.append_column("kept", pc.list_value_length(answers["kept"]).cast(pa.int64()))


@only_our_errors()
def summary(
    expression: str,
    *,
    type: str,
    time: str | Sequence[str],
    within: str | timedelta | int,
    size: int,
    keys: str | Sequence[str] = (),
    aggregate: str = "COUNT",
    selection: str | Selection = Selection.ANY,
    event_types: EventTypes = ALL_TYPES,
    eviction: Eviction = CAPPED,
    numbers: Numbers = "decimal",
    buckets: int = DEFAULT_BUCKETS,
) -> StreamSummary:
    """Creates a stream summary. It keeps at most `size` events, chosen so that an aggregate over all matches stays
    close to its true value.

    `expression` is a regular expression over event types (`E (H|K)* E`). The text column `type` holds these types.
    `time` is the time column (timestamp, date, or whole number); further columns order events of the same time.
    `within` is the longest time between the first and the last event of a match: "10 minutes", or a number if times
    are whole numbers. `aggregate` is COUNT, SUM(column) or AVG(column). All events of a match have equal values in the
    columns `keys`; with `EventTypes(keyed=...)`, this holds only for events of these types. `numbers` is the form of
    counts and sums in tables and DataFrames: "decimal", "text" or "log10". `event_types` and `eviction` decide which
    events are kept: see docs/summaries.md.

    >>> import pyarrow as pa
    >>> orders = pa.table({"at": [1, 2, 3], "kind": ["A", "B", "C"]})
    >>> summary("A B* C", type="kind", time="at", within=10, size=4).feed(orders).ask().value
    2
    """
    window = _length("within", within, "SUMMARY_WINDOW")
    kind, value = _aggregate(aggregate)
    key_names, ordered = column_names("keys", keys), column_names("time", time)
    _check(isinstance(expression, str), f"the expression is a text, not {expression!r}")
    _check(isinstance(type, str) and bool(ordered), "type= is a column, time= a column or several")
    _check(isinstance(event_types, EventTypes), f"event_types is an ost.EventTypes(...), not {shown(event_types)}")
    _check(isinstance(eviction, Eviction), f"eviction is an ost.Eviction(...), not {shown(eviction)}")
    whole_number("size", size, most=MOST_SIZE, code_below="SUMMARY_SIZE")
    whole_number("buckets", buckets, most=MOST_BUCKETS)
    one_of("numbers", numbers, get_args(Numbers))
    probabilities = eviction.probabilities
    query = SummaryQuery(
        expression=expression,
        window_us=int(window.amount),
        size=size,
        aggregate=kind,
        selection=member_of("selection", selection, Selection),
        strategy=member_of("strategy", eviction.strategy, Strategy),
        types=column_names("declared", event_types.declared),
        probabilities=None if probabilities is None else _probabilities(probabilities),
        tick_us=None if eviction.tick is None else _tick(eviction.tick, window),
        unknown_types=member_of("unknown", event_types.unknown, UnknownTypes),
        partition_by=key_names,
        keyed_types=None if event_types.keyed is None else frozenset(event_types.keyed),
        half_life_events=eviction.half_life,
        seed=eviction.seed,
    )
    query_automaton(query)  # raises errors in the expression before the first event
    columns = SummaryColumns(type, ordered[0], ordered[1:], value, key_names, window.counts_units)
    return StreamSummary(query, columns, NumberForm(numbers), buckets)


# --- arguments -> checked values --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Length:
    amount: float
    """Microseconds, or units of the time column."""
    counts_units: bool


def _length(name: str, written: Any, code: str) -> _Length:
    if isinstance(written, timedelta):
        return _Length(written // _MICROSECOND, False)
    if _is_whole(written) or (name == "tick" and is_number(written)):
        return _Length(written, True)
    length = parse_interval(written) if isinstance(written, str) else None
    if length is None:
        hint = f'{name}="10 minutes", or a number where times are whole numbers'
        raise QueryError(code, f"{name} is a length of time, not {written!r}", hint=hint)
    return _Length(length // _MICROSECOND, False)


def _tick(written: Any, window: _Length) -> float:
    tick = _length("tick", written, "SUMMARY_TICK")
    if tick.counts_units != window.counts_units:
        raise QueryError("SUMMARY_TICK", "within and tick are both lengths of time, or both numbers")
    return float(tick.amount)


def _aggregate(written: str) -> tuple[SummaryAggregate, str | None]:
    """`SUM(price)` -> SUM, price."""
    parts = _AGGREGATE.fullmatch(written) if isinstance(written, str) else None
    if parts is not None:
        kind, column = SummaryAggregate(parts[1].upper()), parts[2]
        if kind is SummaryAggregate.COUNT and column in (None, "", "*"):
            return kind, None
        if kind is not SummaryAggregate.COUNT and column and column != "*":
            return kind, column[1:-1] if len(column) > 2 and column[0] == column[-1] == "`" else column
    hint = "COUNT, SUM(column) or AVG(column)"
    raise QueryError("SUMMARY_AGGREGATE", f"a summary can't answer {written!r}", hint=hint)


def _probabilities(written: Any) -> tuple[tuple[str, float], ...]:
    """Probabilities by type, sorted by name. Their order in the argument has no effect."""
    is_mapping = isinstance(written, Mapping)
    if not is_mapping or not all(isinstance(name, str) and is_number(share) for name, share in written.items()):
        hint = 'probabilities={"A": 0.7, "B": 0.3}'
        raise QueryError("SUMMARY_PROBABILITIES", f"a type has a number as probability, not {written!r}", hint=hint)
    return tuple(sorted((name, float(share)) for name, share in written.items()))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise QueryError("INVALID_OPTION", message)


__all__ = ["KeptEvent", "StreamSummary", "SummaryAnswer", "SummaryResult", "summary"]
