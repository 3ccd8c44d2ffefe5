"""The SQL text of one correlation and two batch DataFrames -> its rows, for `ost.correlate(...).run()`."""

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
    """The query's rows, lazily. The names of the tables in the text don't matter. None: live is its own archive."""
    occurrence = the_correlation(text)
    check_archive_is_there(text, occurrence, archive)
    settings = session_settings(live)
    query = correlation_of(text, occurrence, double_quoted_identifiers=settings.double_quoted_identifiers)
    correlation = SparkCorrelation(query, live, live if archive is None else archive, limits, settings)
    return answer_of(text, correlation.matched(options))


def check_archive_is_there(text: str, occurrence: CorrelationText, archive: object | None) -> None:
    """Raises if the text reads two tables, and there is only one."""
    if archive is None and not written_alike(text, occurrence.live, occurrence.archive):
        raise QueryError(
            "INVALID_OPTION",
            "the archive side reads another table than the live side, and archive= isn't given",
            text=text,
            span=occurrence.archive.input,
            hint="give the archive, or name one table on both sides",
        )


def answer_of(text: str, pairs: DataFrame) -> DataFrame:
    """The rows of the text, in which the pairs replace its correlation."""
    pieces = correlation_pieces(the_correlation(text), _FRAME)
    return ask_spark(pairs.sparkSession, text, pieces, {_FRAME: pairs}, None)
