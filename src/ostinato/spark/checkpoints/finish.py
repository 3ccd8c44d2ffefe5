"""`ost.finish_stream`: the checkpoint of a stopped stream -> the rows that the end of input would give, as a batch."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame, SparkSession

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import shown
from ostinato.errors import QueryError
from ostinato.rows.arrow_tables import is_spark_dataframe
from ostinato.spark.checkpoints.opened import definition_of, finished_rows
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint
from ostinato.spark.correlations.correlation_finish import finish_correlation
from ostinato.spark.streams.stream_checkpoint import check_folder, check_session, open_checkpoint


@only_our_errors()
def finish_stream(
    spark: SparkSession,
    checkpoint: str | os.PathLike[str],
    *,
    operator: int | None = None,
    arriving: DataFrame | None = None,
) -> DataFrame:
    """The rows that a stopped stream would give at the end of its input. The checkpoint doesn't change.

    They are the rows of the clause, the workload, the summary or the correlation: apply the rest of the streaming query
    to them as well. If a query has several such operators, `operator` selects one. `arriving` are rows that reach a
    clause before the end: the last rows of the clause before it, with the steps between the two applied. For a
    correlation whose archive isn't a path, use `ost.correlate(...).finish(spark, checkpoint)`.

    >>> last_rows = finish_stream(spark, "checkpoints/dips")  # doctest: +SKIP
    """
    checkpoint = check_folder(spark, checkpoint)
    if arriving is not None and not is_spark_dataframe(arriving):
        raise QueryError("INVALID_OPTION", f"arriving= is a DataFrame, not {shown(arriving)}")
    if operator is None and arriving is None and CorrelationCheckpoint(spark, checkpoint).last() is not None:
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
    return finished_rows(definition, opened, arriving)
