"""`ost.finish`: the state of a stopped stream -> the rows that only the end of input decides, as a batch."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame, SparkSession

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import QueryError
from ostinato.spark.checkpoints.opened import definition_of
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint
from ostinato.spark.correlations.correlation_finish import finish_correlation
from ostinato.spark.streams.stream_checkpoint import check_folder, check_session, open_checkpoint


@only_our_errors()
def finish(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int | None = None) -> DataFrame:
    """The rows that a stopped stream would still give if its input had ended. Nothing in the checkpoint changes.

    They are the rows of the clause, of the workload, the summary or the correlation: what the streaming query did with
    those has to be done to these as well. Where a query has several such operators, `operator` says which one
    is meant. Of a correlation with an archive that is no path, `ost.correlate(...).finish(checkpoint)` knows the rest.
    """
    checkpoint = check_folder(spark, checkpoint)
    if operator is None and CorrelationCheckpoint(spark, checkpoint).last() is not None:
        return finish_correlation(spark, checkpoint)
    opened = open_checkpoint(spark, checkpoint, operator)
    if not opened.is_settled:
        raise QueryError(
            "STREAM_NOT_SETTLED",
            f"the stream of {checkpoint} was stopped inside a batch, so its sink may hold more than its state knows",
            hint="start it once more with trigger(availableNow=True), let it end, then ask again",
        )
    definition = definition_of(opened)
    check_session(spark, definition.settings)
    return definition.finished(opened)
