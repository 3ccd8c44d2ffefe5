"""The state of a stopped correlation -> the rows that the end of input would give, as a batch."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from ostinato.errors import QueryError
from ostinato.spark.correlations.correlation_batch import CorrelationBatch
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint
from ostinato.spark.correlations.correlation_query import answer_of
from ostinato.spark.correlations.stream_archive import Source
from ostinato.spark.streams.stream_checkpoint import check_session


def finish_correlation(spark: SparkSession, checkpoint: str, *, archive: Source | None = None) -> DataFrame:
    """The rows that a stopped correlation would give at the end of its input. The checkpoint doesn't change.

    `archive` is the stream's archive. It isn't needed if that is a path, which the checkpoint has.
    """
    opened = CorrelationCheckpoint(spark, checkpoint)
    stored = opened.last()
    if stored is None:
        raise QueryError("NO_STATE", f"{checkpoint} holds no state of a correlation")
    if not opened.is_settled:
        raise QueryError(
            "STREAM_NOT_SETTLED",
            f"the stream of {checkpoint} was stopped inside a batch, so its output may hold more than its state knows",
            hint='start it once more with trigger={"availableNow": True}, let it end, then ask again',
        )
    definition = opened.definition(stored)
    check_session(spark, definition.settings)
    source = None if definition.archive_columns is None else archive or definition.archive_path
    if definition.archive_columns is not None and source is None:
        raise QueryError(
            "INVALID_OPTION",
            "the stream was started with an archive that is no path",
            hint="give it here as well: archive=...",
        )
    correlation = definition.plan(spark)
    batch = CorrelationBatch(definition, correlation, opened, stored.batch + 1, stored, source, finished=True)
    return answer_of(definition.query, batch.rest())
