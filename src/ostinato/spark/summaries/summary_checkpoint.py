"""An opened checkpoint -> the stored pages of its summaries."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostinato.spark.streams.stream_checkpoint import Checkpoint, bucket_number
from ostinato.spark.summaries.summary_stream_task import NUMBER, PAGE, PAGES


def pages_of(opened: Checkpoint) -> DataFrame:
    """One row for each page of summaries in a checkpoint: bucket, number and bytes."""
    number, page = F.col(f"user_map_key.{NUMBER}"), F.col(f"user_map_value.{PAGE}")
    return opened.variable(PAGES, by_entry=True).select(bucket_number(), number, page)
