"""`ost.summary`: a stream summary of fixed size. It takes the events of tables and DataFrames.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> orders = pa.table({"at": [1, 2, 3, 4, 5], "kind": ["A", "B", "B", "C", "B"], "price": [1, 2, 3, 4, 5]})
>>> s = ost.summary("A B* C", type="kind", order_by="at", within=10, size=4, aggregate="SUM(price)")
>>> answer = s.feed(orders).ask()
>>> answer.value, answer.count, [(event.type, event.contribution) for event in answer.kept]
(30, 4, [('A', 4), ('B', 2), ('B', 2), ('C', 4)])
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible
from ostinato.calls.options import a_text, is_number, one_of, shown, whole_number
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.workload_options import Numbers
from ostinato.expressions.intervals import parse_interval
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.rows.arrow_tables import spark_dataframe
from ostinato.streams.stream_settings import DEFAULT_BUCKETS, MOST_BUCKETS
from ostinato.summaries.language.query_automaton import query_automaton
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.summary_answer import KeptEvent, SummaryAnswer
from ostinato.summaries.summary_request import SummaryRequest
from ostinato.summaries.task.summary_input import SummaryColumns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ostinato.local.local_summaries import LiveSummary

_AGGREGATE = re.compile(r"\s*(count|sum|avg)\s*(?:\(\s*(.*?)\s*\)\s*)?", re.IGNORECASE | re.DOTALL)
_MICROSECOND = timedelta(microseconds=1)
MOST_SIZE = 10**8
"""Largest size of a summary, in events. At this size the counters alone take 4 GB."""


class _Live:
    """The mutable part of a `StreamSummary`: the events fed in this process."""

    __slots__ = ("summary",)

    def __init__(self) -> None:
        self.summary: LiveSummary | None = None


@dataclass(frozen=True, slots=True)
class StreamSummary(SummaryRequest):
    """A query for a stream summary. `feed` and `ask` run it in this process, `run` and `df.transform(s)` on Spark."""

    _live: _Live = field(default_factory=_Live, compare=False, repr=False)

    # --- in process ---

    @only_our_errors()
    def feed(self, table: Any, *, deadline: Duration | None = None) -> StreamSummary:
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
    def ask(self, key: Any = None, *, deadline: Duration | None = None) -> SummaryAnswer:
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
    def exact(self, table: Any, key: Any = None, *, deadline: Duration | None = None) -> SummaryAnswer:
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

    # --- Spark ---

    @only_our_errors()
    def run(self, df: DataFrame, at: Any = None, *, trigger_events: str | None = None) -> DataFrame:
        """Returns the answers as a lazy DataFrame. It has one row for each key and evaluation time: the key,
        `asked_at`, `value`, `count`, `seen`, `kept`.

        A batch is evaluated at its end, at the times in the list `at`, or at rows where the boolean column `at` is
        true. An answer includes events of the same time. A stream is evaluated at rows that meet the SQL condition
        `trigger_events`. Without it, a stream is evaluated at the end of every micro-batch, for keys with new events.
        """
        spark_dataframe(df, hint="summary.feed(table).ask() answers tables in this process")
        if trigger_events is not None:
            a_text("trigger_events", trigger_events, hint="trigger_events=\"kind = 'ASK'\"")
        if df.isStreaming:
            from ostinato.spark.summaries.summary_streaming import run_stream

            if at is not None:
                message = "a stream is asked by trigger events, or at the end of every micro-batch"
                raise QueryError("INVALID_OPTION", message, hint="trigger_events=\"kind = 'ASK'\"")
            return run_stream(self, df, trigger_events)
        from ostinato.spark.summaries.batch_summaries import run_batch

        if trigger_events is not None:
            hint = "at='column' of boolean, or a list of times"
            raise QueryError("INVALID_OPTION", "trigger_events are for streams", hint=hint)
        return run_batch(self, df, at)

    def __call__(self, df: DataFrame) -> DataFrame:
        """`df.transform(s)`: the answers at the end of a batch, or of every micro-batch."""
        return self.run(df)


@only_our_errors()
def summary(
    expression: str,
    *,
    type: str,
    order_by: str | Sequence[str],
    within: str | timedelta | int,
    size: int,
    aggregate: str = "COUNT",
    partition_by: str | Sequence[str] = (),
    keyed_types: Sequence[str] | None = None,
    selection: str | Selection = Selection.ANY,
    strategy: str | Strategy = Strategy.CAPPED,
    probabilities: Mapping[str, float] | None = None,
    tick: str | timedelta | float | None = None,
    unknown_types: str | UnknownTypes = UnknownTypes.SKIP,
    types: Sequence[str] = (),
    half_life: int = 2000,
    seed: int = 0,
    numbers: Numbers = "decimal",
    buckets: int = DEFAULT_BUCKETS,
) -> StreamSummary:
    """Creates a stream summary. It keeps at most `size` events, chosen so that an aggregate over all matches stays
    close to its true value.

    `expression` is a regular expression over event types (`E (H|K)* E`). The text column `type` holds these types.
    `order_by` is the time column (timestamp, date, or whole number); further columns order events of the same time.
    `within` is the longest time between the first and the last event of a match: "10 minutes", or a number if times
    are whole numbers. `aggregate` is COUNT, SUM(column) or AVG(column). All events of a match have equal values in the
    columns `partition_by`; with `keyed_types`, this holds only for events of these types. `numbers` is the form of
    counts and sums in tables and DataFrames: "decimal", "text" or "log10". The other options decide which events are
    kept: see docs/summaries.md.
    """
    window = _length("within", within, "SUMMARY_WINDOW")
    tick_us = None if tick is None else _tick(tick, window)
    kind, value = _aggregate(aggregate)
    keys, ordered = _names("partition_by", partition_by), _names("order_by", order_by)
    _check(isinstance(expression, str), f"the expression is a text, not {expression!r}")
    _check(isinstance(type, str) and bool(ordered), "type= is a column, order_by= a column or several")
    carriers = None if keyed_types is None else frozenset(_names("keyed_types", keyed_types))
    _check(carriers is None or bool(carriers), "keyed_types names no type: leave it out where all have the key")
    whole_number("size", size, most=MOST_SIZE, code_below="SUMMARY_SIZE")
    whole_number("half_life", half_life, code_below="SUMMARY_HALF_LIFE")
    whole_number("seed", seed, least=0)
    whole_number("buckets", buckets, most=MOST_BUCKETS)
    one_of("numbers", numbers, get_args(Numbers))
    query = SummaryQuery(
        expression=expression,
        window_us=int(window.amount),
        size=size,
        aggregate=kind,
        selection=_member("selection", selection, Selection),
        strategy=_member("strategy", strategy, Strategy),
        types=_names("types", types),
        probabilities=None if probabilities is None else _probabilities(probabilities),
        tick_us=tick_us,
        unknown_types=_member("unknown_types", unknown_types, UnknownTypes),
        partition_by=keys,
        keyed_types=carriers,
        half_life_events=half_life,
        seed=seed,
    )
    query_automaton(query)  # raises errors in the expression before the first event
    columns = SummaryColumns(type, ordered[0], ordered[1:], value, keys, window.counts_units)
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


def _names(argument: str, written: str | Sequence[str]) -> tuple[str, ...]:
    is_several = isinstance(written, Iterable) and not isinstance(written, str)
    _check(isinstance(written, str) or is_several, f"{argument} takes names, not {written!r}")
    names = (written,) if isinstance(written, str) else tuple(written)
    _check(all(isinstance(name, str) for name in names), f"{argument} takes names, not {written!r}")
    _check(len(set(names)) == len(names), f"{argument} names one twice: {', '.join(map(str, names))}")
    return names


E = TypeVar("E", bound=Enum)


def _member(argument: str, written: Any, kind: type[E]) -> E:
    """The member of an enumeration. `written` is the member, or its value in any case."""
    for member in kind:
        if written is member or (isinstance(written, str) and written.lower() == str(member.value).lower()):
            return member
    known = ", ".join(repr(str(member.value).lower()) for member in kind)
    raise QueryError("INVALID_OPTION", f"{argument} can't be {written!r}", hint=f"it is one of {known}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise QueryError("INVALID_OPTION", message)


__all__ = ["KeptEvent", "StreamSummary", "SummaryAnswer", "summary"]
