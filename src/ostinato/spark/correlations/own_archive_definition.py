"""The definition of a correlation of a stream with its own recent history, stored beside its state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from pyspark.sql import DataFrame, SparkSession

from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.language.correlation_parser import correlation_of
from ostinato.correlations.task.correlation_task import CorrelationOptions
from ostinato.expressions.types import Settings
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_definition import the_correlation
from ostinato.spark.correlations.correlation_packing import live_packing
from ostinato.spark.shipping.shipped_rows import described
from ostinato.spark.streams.stream_definition import (
    StreamDefinition,
    check_same_columns,
    columns_as_json,
    settings_values,
)


@dataclass(frozen=True, slots=True)
class OwnArchiveDefinition(StreamDefinition):
    """A correlation with everything that its result depends on."""

    kind: ClassVar[str] = "correlation"
    keeps: ClassVar[tuple[str, str]] = (
        "rows of the recent past and matches among them, and no partial matches to look at",
        "ost.finish_stream gives the results that the end of input would give",
    )

    query: str
    columns: str
    shipped: str
    """The shipped columns, which the state stores, with their Arrow types."""
    sides: dict[str, str]
    """Both clauses, and the conditions that join them, by the names that messages use."""
    options: CorrelationOptions
    limits: Limits
    buckets: int
    settings: Settings

    @staticmethod
    def of(
        query: str, correlation: SparkCorrelation, options: CorrelationOptions, buckets: int
    ) -> OwnArchiveDefinition:
        return OwnArchiveDefinition(
            query=query,
            columns=columns_as_json(correlation.live.df.schema),
            shipped=described(live_packing(correlation).schema),
            sides=_sides(correlation),
            options=options,
            limits=correlation.live.limits,
            buckets=buckets,
            settings=correlation.live.settings,
        )

    @staticmethod
    def read(values: dict[str, Any]) -> OwnArchiveDefinition:
        return OwnArchiveDefinition(
            **{
                **values,
                "options": CorrelationOptions(**values["options"]),
                "limits": Limits(**values["limits"]),
                "settings": Settings(**values["settings"]),
            }
        )

    def state_values(self) -> dict[str, Any]:
        """The SELECT list, the limits and other options of matching may change between two runs."""
        return {
            **self.sides,
            "stored columns": self.shipped,
            "buckets": self.buckets,
            "has recent_rows": self.options.recent_rows is not None,
            "searches archive starts once": self.options.searches_once,
            **settings_values(self.settings),
        }

    def plan(self, spark: SparkSession) -> SparkCorrelation:
        """The plan over an empty input with the same columns."""
        correlation = own_archive_plan(self.query, self.empty_input(spark), self.limits, self.settings)
        check_same_columns(described(live_packing(correlation).schema), self)
        return correlation


def own_archive_plan(query: str, live: DataFrame, limits: Limits, settings: Settings) -> SparkCorrelation:
    """The plan of a correlation whose live rows are also its archive."""
    occurrence = the_correlation(query)
    quotes = settings.double_quoted_identifiers
    correlation = correlation_of(query, occurrence, double_quoted_identifiers=quotes)
    return SparkCorrelation(correlation, live, live, limits, settings)


def _sides(correlation: SparkCorrelation) -> dict[str, str]:
    plan, region = correlation.plan, correlation.correlation.region
    return {
        "live clause": render_clause(plan.live.bound.clause),
        "archive clause": render_clause(plan.archive.bound.clause),
        "keys": ", ".join(f"{live} = {archive}" for live, archive in plan.keys),
        "distance": f"{region.size} ({region.kind})",
        "equal measures": ", ".join(f"{equality.live} = {equality.archive}" for equality in plan.equalities),
    }
