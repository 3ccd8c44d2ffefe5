"""What only the end of input decides: the state of a stopped correlation -> the rest of its answer, as a batch."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from ostinato.errors import QueryError
from ostinato.spark.correlations.correlation_batch import CorrelationBatch
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint
from ostinato.spark.correlations.correlation_query import answer_of
from ostinato.spark.correlations.stream_archive import Source
from ostinato.spark.streams.stream_checkpoint import check_session


def finish_correlation(spark: SparkSession, checkpoint: str, *, archive: Source | None = None) -> DataFrame:
    """The rows that a stopped correlation would still give if its input had ended. Nothing in the checkpoint changes.

    `archive` is the table that the stream was started with, unless that was a path, which is known.
    """
    opened = CorrelationCheckpoint(spark, checkpoint)
    kept = opened.last()
    if kept is None:
        raise QueryError("NO_STATE", f"{checkpoint} holds no state of a correlation")
    if not opened.is_settled:
        raise QueryError(
            "STREAM_NOT_SETTLED",
            f"the stream of {checkpoint} was stopped inside a batch, so its output may hold more than its state knows",
            hint='start it once more with trigger={"availableNow": True}, let it end, then ask again',
        )
    definition = opened.definition(kept)
    check_session(spark, definition.settings)
    source = None if definition.archive_columns is None else archive or definition.archive_path
    if definition.archive_columns is not None and source is None:
        raise QueryError(
            "INVALID_OPTION",
            "the stream was started with an archive that is no path",
            hint="give it here as well: archive=...",
        )
    asked = definition.plan(spark)
    batch = CorrelationBatch(definition, asked, opened, kept.batch + 1, kept, source, finished=True)
    return answer_of(definition.query, batch.rest())
