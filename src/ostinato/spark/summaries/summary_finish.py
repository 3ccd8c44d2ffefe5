"""The state of a stopped stream of summaries -> the answers that the end of input would give, as a batch."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostinato.spark.streams.stream_buckets import HEADER, WAITING
from ostinato.spark.streams.stream_checkpoint import Checkpoint, with_errors_raised
from ostinato.spark.streams.stream_packing import BUCKET
from ostinato.spark.summaries.batch_summaries import answer_fields, named_answers, stored_schema
from ostinato.spark.summaries.summary_checkpoint import pages_of
from ostinato.spark.summaries.summary_stream_definition import SummaryDefinition
from ostinato.spark.summaries.summary_stream_task import NUMBER, PAGE, PAGES, FinishSummaries
from ostinato.spark.summaries.summary_streaming import summary_task


def finished_summary(definition: SummaryDefinition, opened: Checkpoint) -> DataFrame:
    """The answers to asking rows after the last watermark. If no rows ask, one for each key with rows after it."""
    fields = answer_fields(definition.layout(), definition.empty_input(opened.spark))
    pages = pages_of(opened).groupBy(BUCKET).agg(F.collect_list(F.struct(NUMBER, PAGE)).alias(PAGES))
    waiting = opened.buckets().where(F.size(WAITING) > 0).join(pages, BUCKET, "left").select(HEADER, WAITING, PAGES)
    task = FinishSummaries(summary_task(definition))
    return named_answers(with_errors_raised(waiting, task, stored_schema(fields)), fields)
