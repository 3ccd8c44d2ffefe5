"""Answers of summaries as columns of numbers -> Arrow columns with the user's types, or `SummaryAnswer` objects.

    layout = AnswerLayout(source, query, form)            # source: SummaryInput; can be pickled
    answers = pool.ask_many(keys)                         # SummaryPool, KeyedSummary
    layout.columns(pool.answering, answers, asked_at)     # asked_at, value, count, seen, kept: Arrow arrays by name
    layout.objects(pool.answering, answers, key_values)   # the same as SummaryAnswer objects
    layout.schema                                         # of an output row: key columns first

Without `asked_at`, an answer is as of the last event of its key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.errors import QueryError
from ostinato.event_queries.plan.event_types import number_type
from ostinato.expressions import types as t
from ostinato.kernels.numbers import number_columns as tn
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.rows.times import times_of
from ostinato.summaries.language.summary_query import SummaryAggregate, SummaryQuery
from ostinato.summaries.summary_answer import AnsweredQuery, KeptEvent, SummaryAnswer, number_column
from ostinato.summaries.task.summary_input import SummaryInput

if TYPE_CHECKING:
    from ostinato.summaries.engine.answers import Answering, Answers, Integers, KeptEvents

ASKED_AT, VALUE, COUNT, SEEN, KEPT = "asked_at", "value", "count", "seen", "kept"
_EXACTLY = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
"""Otherwise decimals are rounded to 28 digits."""


@dataclass(frozen=True, slots=True)
class AnswerLayout:
    """The columns and types of the answers of one query over one input."""

    source: SummaryInput
    query: SummaryQuery
    form: NumberForm

    def __post_init__(self) -> None:
        for name in self.source.columns.keys:
            if name.lower() in (ASKED_AT, VALUE, COUNT, SEEN, KEPT):
                message = f"the key column '{name}' would stand beside the answer's own '{name.lower()}'"
                raise QueryError("DUPLICATE_COLUMN", message, hint="rename the column before")

    # --- types ---

    @property
    def value_type(self) -> pa.DataType:
        """The type of the aggregate."""
        kind = self.source.value_type
        if self.query.aggregate is SummaryAggregate.AVG:
            return t.DOUBLE
        return number_type(t.INT64 if kind is None else kind, self.form, approximate=False)

    @property
    def count_type(self) -> pa.DataType:
        return number_type(t.INT64, self.form, approximate=False)

    @property
    def kept_type(self) -> pa.StructType:
        """The type of a kept event. It has `value` if the aggregate reads a column."""
        kind = self.source.value_type
        value = [] if kind is None else [pa.field("value", kind)]
        fields = [pa.field("number", t.INT64), pa.field("time", self.source.time_type), pa.field("type", t.STRING)]
        return pa.struct([*fields, *value, pa.field("contribution", self.count_type)])

    @property
    def schema(self) -> pa.Schema:
        keys = [pa.field(name, self.source.type_of(name)) for name in self.source.columns.keys]
        answer = {
            ASKED_AT: self.source.time_type,
            VALUE: self.value_type,
            COUNT: self.count_type,
            SEEN: t.INT64,
            KEPT: pa.list_(pa.field("element", self.kept_type)),
        }
        return pa.schema([*keys, *(pa.field(name, kind) for name, kind in answer.items())])

    # --- columns ---

    def columns(
        self, answering: Answering, answers: Answers, asked_at_us: NDArray[np.int64] | None = None
    ) -> dict[str, pa.Array]:
        """The columns of the schema without the keys. Raises NUMBER_TOO_LARGE and NEGATIVE_LOGARITHM."""
        events = answers.events
        asked_at = times_of(events.now if asked_at_us is None else asked_at_us, self.source.time_type)
        if asked_at_us is None and not events.started.all():
            asked_at = pa.array(asked_at.to_pylist(), asked_at.type, mask=~events.started)
        structs = pa.StructArray.from_arrays(self._event_columns(answering, answers), fields=list(self.kept_type))
        return {
            ASKED_AT: asked_at,
            VALUE: self._value_column(answering, answers),
            COUNT: self._counts(answers.count),
            SEEN: pa.array(events.seen),
            KEPT: pa.ListArray.from_arrays(pa.array(events.first.astype(np.int32)), structs).cast(
                self.schema.field(KEPT).type
            ),
        }

    def _counts(self, counts: Integers) -> pa.Array:
        return number_column(counts, self.form, is_count=True)

    def _value_column(self, answering: Answering, answers: Answers) -> pa.Array:
        if self.query.aggregate is SummaryAggregate.COUNT:
            return self._counts(answers.count)
        values = answering.values(answers, self.source.scale)
        present = np.array([value is not None for value in values], np.bool_)
        if self.query.aggregate is SummaryAggregate.SUM and not self.source.float_values:
            numbers = np.array([value or 0 for value in values], object)
            return number_column(numbers, self.form, present, scale=self.source.scale)
        if self.query.aggregate is SummaryAggregate.SUM and self.form is NumberForm.LOG10:
            sizes = tn.approximate_of(np.array([value or 0.0 for value in values], np.float64))
            return tn.approximate_column(sizes, present, self.form, lambda row: "the summary")
        return pa.array(values, t.DOUBLE)

    def _event_columns(self, answering: Answering, answers: Answers) -> list[pa.Array]:
        events, kind = answers.events, self.source.value_type
        names = pa.array(answering.summary.automaton.types, t.STRING)
        columns = [
            pa.array(events.number),
            times_of(events.time, self.source.time_type),
            names.take(pa.array(events.code)),
        ]
        if kind is not None:
            columns.append(tn.value_column(events.value, events.valid, kind))
        return [*columns, self._counts(answers.contribution)]

    # --- objects ---

    def objects(self, answering: Answering, answers: Answers, keys: Sequence[Mapping[str, Any]]) -> list[SummaryAnswer]:
        """The answers as objects. `keys` are the values of the key columns."""
        events, query = answers.events, self.answered_query()
        times = times_of(events.now, self.source.time_type).to_pylist()
        values = answering.values(answers, self.source.scale)
        counts, objects = answers.count.tolist(), self._events(answering, answers)
        return [
            SummaryAnswer(
                value=self._scaled(values[at]) if self.query.aggregate is SummaryAggregate.SUM else values[at],
                count=counts[at],
                seen=int(events.seen[at]),
                kept_events=tuple(objects[events.first[at] : events.first[at + 1]]),
                asked_at=times[at] if events.started[at] else None,
                key=keys[at],
                query=query,
            )
            for at in range(len(answers))
        ]

    def answered_query(self) -> AnsweredQuery:
        """The query, as pictures and tables show it."""
        query, columns = self.query, self.source.columns
        of = "" if columns.value is None else f"({columns.value})"
        window = query.window_us if columns.counts_units else timedelta(microseconds=query.window_us)
        return AnsweredQuery(
            query.expression, query.aggregate.value + of, window, query.size, self.kept_type, self.form
        )

    def _events(self, answering: Answering, answers: Answers) -> list[KeptEvent]:
        events = answers.events
        names = answering.summary.automaton.types
        columns = zip(
            events.number.tolist(),
            times_of(events.time, self.source.time_type).to_pylist(),
            events.code.tolist(),
            self._values(events),
            answers.contribution.tolist(),
            strict=True,
        )
        return [KeptEvent(number, time, names[code], value, share) for number, time, code, value, share in columns]

    def _values(self, events: KeptEvents) -> list[Any]:
        if self.source.value_type is None:
            return [None] * len(events.time)
        values: list[Any] = tn.value_column(events.value, events.valid, self.source.value_type).to_pylist()
        return values

    def _scaled(self, value: Any) -> Any:
        is_decimal = self.source.value_type is not None and t.is_decimal(self.source.value_type)
        return Decimal(value).scaleb(-self.source.scale, _EXACTLY) if is_decimal and value is not None else value
