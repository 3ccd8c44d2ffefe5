"""The definition of a clause on a stream, stored beside its state."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from ostinato.calls.id_columns import NO_IDS, IdColumns
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.spark.clause.spark_plan import SparkQuery, plan_query, with_key_columns
from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_definition import (
    StreamDefinition,
    check_same_columns,
    columns_as_json,
    settings_values,
)
from ostinato.streams.stream_settings import StreamSettings

_OF_OUTPUT = ("late", "decision_time", "on_change", "on_error")
"""Options of a stream that its state doesn't depend on."""


@dataclass(frozen=True, slots=True)
class ClauseDefinition(StreamDefinition):
    """One clause with everything that its result depends on."""

    kind: ClassVar[str] = "clause"

    clause: str
    """Rendered from the parsed clause, so spaces and comments of the user's text don't matter."""
    input_name: str | None
    columns: str
    """The input's columns as Spark's JSON, to resolve names."""
    shipped: str
    """The shipped columns, which the state stores, with their Arrow types."""
    settings: Settings
    limits: Limits
    stream: StreamSettings
    ids: IdColumns = NO_IDS
    has_history: bool = False

    @staticmethod
    def of(query: SparkQuery, stream: StreamSettings, *, has_history: bool = False) -> ClauseDefinition:
        clause = query.bound.clause
        return ClauseDefinition(
            clause=render_clause(clause),
            input_name=clause.input_name,
            columns=columns_as_json(query.df.schema),
            shipped=described(query.shipped.schema),
            settings=query.settings,
            limits=query.limits,
            stream=stream,
            ids=clause.ids,
            has_history=has_history,
        )

    @staticmethod
    def read(values: dict[str, Any]) -> ClauseDefinition:
        settings, limits = Settings(**values["settings"]), Limits(**values["limits"])
        stream = StreamSettings(**values["stream"])
        parts = {"settings": settings, "limits": limits, "stream": stream, "ids": IdColumns(**values["ids"])}
        return ClauseDefinition(**{**values, **parts})

    def state_values(self) -> dict[str, Any]:
        """All but limits, columns that the clause doesn't use, and options that only change the output."""
        options = {name: value for name, value in asdict(self.stream).items() if name not in _OF_OUTPUT}
        return {
            "clause": self.clause,
            "name of the input": self.input_name,
            "stored columns": self.shipped,
            "ids of matches": self.ids != NO_IDS,
            **settings_values(self.settings),
            **options,
            "history": self.has_history,
        }

    def that_keeps(self) -> ClauseDefinition:
        """The same, for reading states of earlier definitions, which it went on with."""
        # States of such streams can't be carried over.
        stays = self.stream.emit == "early" or self.stream.on_error == "skip"
        return self if stays else replace(self, stream=replace(self.stream, on_change="keep"))

    def query(self, spark: SparkSession, rows: DataFrame | None = None) -> SparkQuery:
        """The plan over these rows, or over an empty input with the same columns."""
        clause = replace(parse_clause(self.clause, input_name=self.input_name), ids=self.ids)
        columns, shows_order = self.empty_input(spark), self.stream.shows_late
        query = plan_query(clause, columns, self.limits, self.settings, shows_order=shows_order)
        check_same_columns(described(query.shipped.schema), self)
        if rows is None:
            return query
        rows = with_key_columns(clause, rows, self.settings)
        missing = set(columns.columns) - set(rows.columns)
        if missing:
            raise QueryError("UNKNOWN_COLUMN", f"arriving= lacks columns of the stream: {', '.join(sorted(missing))}")
        chosen = rows.select(columns.columns)
        fed = plan_query(clause, chosen, self.limits, self.settings, shows_order=shows_order)
        if fed.shipped.schema != query.shipped.schema:
            found = described(fed.shipped.schema)
            raise QueryError("TYPE_MISMATCH", f"the stream stores {self.shipped}, and arriving= has {found}")
        return fed
