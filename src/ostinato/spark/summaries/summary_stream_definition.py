"""The definition of a summary on a stream, stored beside its state."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import types as s

from ostinato.event_queries.language.event_query import Selection
from ostinato.expressions.types import Settings
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.spark.shipping.spark_types import arrow_type
from ostinato.spark.streams.stream_definition import StreamDefinition
from ostinato.summaries.engine.summary_state_checks import VERSION
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.task.summary_answers import AnswerLayout
from ostinato.summaries.task.summary_input import SummaryColumns, SummaryInput, summary_input


@dataclass(frozen=True, slots=True)
class SummaryDefinition(StreamDefinition):
    """A summary with everything that its answers depend on."""

    kind: ClassVar[str] = "summary"
    keeps: ClassVar[tuple[str, str]] = ("summaries, and no partial matches to look at", "ost.summary_answer asks them")

    query: SummaryQuery
    roles: SummaryColumns
    """The columns of types, times, values and keys."""
    form: NumberForm
    buckets: int
    columns: str
    """The columns that the summary reads, as Spark's JSON."""
    trigger: str | None
    """The condition of rows that ask; None: every micro-batch asks."""
    settings: Settings

    @staticmethod
    def read(values: dict[str, Any]) -> SummaryDefinition:
        query_values, roles = values["query"], values["roles"]
        probabilities, keyed = query_values["probabilities"], query_values["keyed_types"]
        query = SummaryQuery(
            **{
                **query_values,
                "aggregate": SummaryAggregate(query_values["aggregate"]),
                "selection": Selection(query_values["selection"]),
                "strategy": Strategy(query_values["strategy"]),
                "unknown_types": UnknownTypes(query_values["unknown_types"]),
                "types": tuple(query_values["types"]),
                "partition_by": tuple(query_values["partition_by"]),
                "probabilities": None if probabilities is None else tuple(map(tuple, probabilities)),
                "keyed_types": None if keyed is None else frozenset(keyed),
            }
        )
        return SummaryDefinition(
            **{
                **values,
                "query": query,
                "roles": SummaryColumns(**{**roles, "ties": tuple(roles["ties"]), "keys": tuple(roles["keys"])}),
                "form": NumberForm(values["form"]),
                "settings": Settings(**values["settings"]),
            }
        )

    def state_values(self) -> dict[str, Any]:
        """All but the form of answers and the condition of asking rows. Whether rows ask at all can't change."""
        return {
            **asdict(self.query),
            **asdict(self.roles),
            "buckets": self.buckets,
            "stored columns": [f"{name} {kind.simpleString()}" for name, kind in self.spark_types.items()],
            "rows ask": self.trigger is not None,
            "time zone": self.settings.timezone,
            "format": VERSION,
        }

    @property
    def spark_types(self) -> dict[str, s.DataType]:
        """Spark's types of the columns that the summary reads."""
        return {field.name: field.dataType for field in s.StructType.fromJson(json.loads(self.columns)).fields}

    def source(self) -> SummaryInput:
        """The columns with their types at workers."""
        types = self.spark_types
        return summary_input(self.roles, list(types), lambda name: self.arrow(types[name], name), self.settings)

    def layout(self) -> AnswerLayout:
        """The columns of answers."""
        return AnswerLayout(self.source(), self.query, self.form)

    def arrow(self, kind: s.DataType, name: str) -> pa.DataType:
        return arrow_type(kind, self.settings.timezone, name)
