"""What a stream was asked, as JSON beside its state: enough to plan it again without the program that started it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import SparkSession
from pyspark.sql import types as s

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import MatchError
from ostinato.expressions.types import Settings
from ostinato.spark.clause.spark_plan import SparkQuery, plan_query
from ostinato.spark.event_queries.event_stream_task import EVENTS, EventStreamDefinition, read_event_definition
from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_workers import FORMAT, check_format, digest
from ostinato.spark.workloads.clauses_stream_task import CLAUSES, ClauseStreamDefinition, read_clause_definition
from ostinato.streams.stored_state import reading
from ostinato.streams.stream_settings import StreamSettings

if TYPE_CHECKING:
    from ostinato.spark.summaries.summary_stream_task import SummaryStreamDefinition

SUMMARY = "summary"
"""Tells the definition of a summary from those of other operators."""


@dataclass(frozen=True, slots=True)
class StreamDefinition:
    """The clause with everything that its answer depends on. Plain values only: never a pickle."""

    clause: str
    """As rendered from what was understood: spaces and comments of the user's text make no other query."""
    input_name: str | None
    columns: str
    """The input's columns as Spark's JSON: names are resolved among them."""
    shipped: str
    """The columns that travel and are kept, with their Arrow types."""
    settings: Settings
    limits: Limits
    stream: StreamSettings

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, **asdict(self)}, sort_keys=True)

    @property
    def fingerprint(self) -> str:
        """Differs where the state of the one can't be carried on by the other.

        Limits, what becomes of late rows, and columns that the clause doesn't use may change between runs.
        """
        values = asdict(self)
        del values["limits"], values["columns"], values["stream"]["late"]
        return digest(values)

    def query(self, spark: SparkSession) -> SparkQuery:
        """The same plan again, over an input of the same columns that has no rows."""
        empty = spark.createDataFrame([], s.StructType.fromJson(json.loads(self.columns)))
        clause = parse_clause(self.clause, input_name=self.input_name)
        query = plan_query(clause, empty, self.limits, self.settings)
        shipped = described(query.shipped.schema)
        if shipped != self.shipped:
            raise MatchError(
                "STATE_OF_OTHER_QUERY",
                f"the kept rows have the columns {self.shipped}, but this version would keep {shipped}",
                hint="use the versions of Spark and Ostinato that the stream ran with",
            )
        return query


Definition: TypeAlias = "StreamDefinition | EventStreamDefinition | ClauseStreamDefinition | SummaryStreamDefinition"
"""What any of our operators was asked."""


def define(query: SparkQuery, stream: StreamSettings) -> StreamDefinition:
    """What is being asked, to be kept."""
    clause = query.bound.clause
    columns = s.StructType([s.StructField(field.name, field.dataType) for field in query.df.schema.fields])
    return StreamDefinition(
        clause=render_clause(clause),
        input_name=clause.input_name,
        columns=columns.json(),
        shipped=described(query.shipped.schema),
        settings=query.settings,
        limits=query.limits,
        stream=stream,
    )


def read_definition(text: str) -> Definition:
    """What was kept; raises STATE_FORMAT where it can't be read."""
    with reading("the definition of this stream"):
        return _read_definition(json.loads(text))


def _read_definition(values: dict[str, Any]) -> Definition:
    form = values.pop("format", None)
    check_format(form, FORMAT)
    kind = values.pop("kind", None)
    if kind == EVENTS:
        return read_event_definition(values)
    if kind == CLAUSES:
        return read_clause_definition(values)
    if kind == SUMMARY:
        from ostinato.spark.summaries.summary_stream_task import read_summary_definition  # loads kernels

        return read_summary_definition(values)
    return StreamDefinition(
        **{
            **values,
            "settings": Settings(**values["settings"]),
            "limits": Limits(**values["limits"]),
            "stream": StreamSettings(**values["stream"]),
        }
    )
