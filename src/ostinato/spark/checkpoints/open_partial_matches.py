"""`ost.state`: a running or stopped stream's checkpoint -> its open partial matches, one row for each key with one."""

from __future__ import annotations

import os

from pyspark.sql import DataFrame, SparkSession

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.spark.checkpoints.opened import definition_of
from ostinato.spark.streams.stream_checkpoint import check_folder, open_checkpoint


@only_our_errors()
def state(spark: SparkSession, checkpoint: str | os.PathLike[str], *, operator: int | None = None) -> DataFrame:
    """Partition keys, `waiting_since` (the time of the first row), `rows` so far, and the variables that may come
    `next`, as of the last committed batch.

    Conditions over the run so far are taken as fulfilled, so `next` may name more than can really follow. Rows that
    still wait for the watermark aren't counted. Where a query has several clauses, `operator` says which is meant.
    """
    opened = open_checkpoint(spark, check_folder(spark, checkpoint), operator)
    return definition_of(opened).open_partial_matches(opened)
