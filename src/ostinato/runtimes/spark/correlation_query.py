"""The SQL text of one correlation on two batch DataFrames: what `ost.correlate(...).run()` does with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from ostinato.language.correlation import correlation_of
from ostinato.planning.typed import Limits
from ostinato.runtimes.spark.correlation import SparkCorrelation
from ostinato.runtimes.spark.correlation_definition import the_correlation
from ostinato.runtimes.spark.correlation_sql import correlation_pieces
from ostinato.runtimes.spark.query import session_settings
from ostinato.runtimes.spark.statement import ask_spark

if TYPE_CHECKING:
    from ostinato.runtimes.task.correlation_task import CorrelationOptions

_FRAME = "ost_pairs0"


def correlate_dataframes(
    text: str, live: DataFrame, archive: DataFrame | None, options: CorrelationOptions, limits: Limits = Limits()
) -> DataFrame:
    """The query's answer, lazily; the names of the text's two tables don't matter. None: live is its own archive."""
    found = the_correlation(text)
    settings = session_settings(live)
    correlation = correlation_of(text, found, double_quoted_identifiers=settings.double_quoted_identifiers)
    asked = SparkCorrelation(correlation, live, live if archive is None else archive, limits, settings)
    return answer_of(text, asked.matched(options))


def answer_of(text: str, pairs: DataFrame) -> DataFrame:
    """What the text around its one correlation makes of the pairs."""
    pieces = correlation_pieces(the_correlation(text), _FRAME)
    return ask_spark(pairs.sparkSession, text, pieces, {_FRAME: pairs}, None)
