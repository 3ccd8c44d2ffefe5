"""The SQL text of one correlation on two batch DataFrames: what `ost.correlate(...).run()` does with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.language.correlation_parser import CorrelationText, correlation_of
from ostinato.errors import QueryError
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_definition import the_correlation
from ostinato.spark.correlations.correlation_sql import correlation_pieces, written_alike
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.sql_with_frames import ask_spark

if TYPE_CHECKING:
    from ostinato.correlations.task.correlation_task import CorrelationOptions

_FRAME = "ost_pairs0"


def correlate_dataframes(
    text: str, live: DataFrame, archive: DataFrame | None, options: CorrelationOptions, limits: Limits = Limits()
) -> DataFrame:
    """The query's answer, lazily; whatever the text's two tables are named. None: live is its own archive."""
    found = the_correlation(text)
    check_archive_is_there(text, found, archive)
    settings = session_settings(live)
    correlation = correlation_of(text, found, double_quoted_identifiers=settings.double_quoted_identifiers)
    asked = SparkCorrelation(correlation, live, live if archive is None else archive, limits, settings)
    return answer_of(text, asked.matched(options))


def check_archive_is_there(text: str, found: CorrelationText, archive: object | None) -> None:
    """Raises where the text reads two tables, and only one is given."""
    if archive is None and not written_alike(text, found.live, found.archive):
        raise QueryError(
            "INVALID_OPTION",
            "the archive side reads another table than the live side, and archive= isn't given",
            text=text,
            span=found.archive.input,
            hint="give the archive, or name one table on both sides",
        )


def answer_of(text: str, pairs: DataFrame) -> DataFrame:
    """What the text around its one correlation makes of the pairs."""
    pieces = correlation_pieces(the_correlation(text), _FRAME)
    return ask_spark(pairs.sparkSession, text, pieces, {_FRAME: pairs}, None)
