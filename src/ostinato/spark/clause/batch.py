"""One clause on a batch DataFrame -> a lazy DataFrame of its rows.

The plan uses public operations only, so it is the same on Spark Connect:
select -> repartition by key [-> sort] -> mapInArrow -> where (raises errors of tasks) -> select; or slices
(spark/clause/sliced.py) if keys can't spread the work.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.clause.plan.slicing import declined_by_tasks
from ostinato.errors import QueryError, warn
from ostinato.rows.column_names import ERROR
from ostinato.spark.clause.clause_options import BatchOptions
from ostinato.spark.clause.clause_task import SkippingTask, SparkTask
from ostinato.spark.clause.skipping_query import SkippingQuery, with_errors_shown
from ostinato.spark.clause.sliced import matched_in_slices
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.size import estimated_bytes
from ostinato.spark.shipping.worker_check import Checked
from ostinato.streams.stream_settings import OnError


def match_batch(query: SparkQuery, options: BatchOptions, on_error: OnError = "fail") -> DataFrame:
    """The clause's rows as a DataFrame; nothing runs yet."""
    warn_without_order(query, "MATCH_RECOGNIZE")
    if on_error == "skip":
        return _matched_skipping_errors(query, options)
    is_cut = options.skew == "slice" or not query.bound.partition_by
    if is_cut and declined_by_tasks(query.plan) is None:
        matched = matched_in_slices(query)
    else:
        matched = matched_by_key(query, options)
    return query.measured(matched.where(RAISES))


def warn_without_order(query: SparkQuery, construct: str) -> None:
    if not query.bound.order_by:
        warn(f"{construct} without ORDER BY: Spark keeps no order of its own, so the result may differ between runs")


def matched_by_key(query: SparkQuery, options: BatchOptions) -> DataFrame:
    """Each task matches all rows of its keys."""
    df, sorted_by_spark = query.shipped.by_key(query.bound.partition_by), _sorts_by_spark(query, options)
    if sorted_by_spark:
        df = df.sortWithinPartitions(*query.sort_order())
    schema = query.worker_schema()
    task = SparkTask(query.typed, query.shipped.names, query.source.arrow_schema(schema), sorted_by_spark)
    return df.mapInArrow(Checked(task), schema)


def _matched_skipping_errors(query: SparkQuery, options: BatchOptions) -> DataFrame:
    """As `matched_by_key`, with expressions and measures evaluated by the tasks, and errors in a column."""
    if options.skew == "slice":
        raise QueryError(
            "INVALID_OPTION",
            'on_error="skip" and skew="slice" don\'t go together',
            hint="leave one of them out: with on_error, one task matches all rows of a key",
        )
    skipping = SkippingQuery(query)
    df, sorted_by_spark = skipping.shipped.by_key(query.bound.partition_by), _sorts_by_spark(query, options)
    if sorted_by_spark:
        df = df.sortWithinPartitions(*query.sort_order(skipping.shipped))
    schema = s.StructType([*skipping.output_fields, s.StructField(ERROR, s.StringType())])
    output = query.source.arrow_schema(schema)
    task = SkippingTask(query.plan, query.settings, query.limits, skipping.shipped.schema, output, sorted_by_spark)
    matched = df.mapInArrow(Checked(task), schema).where(RAISES)
    return query.with_plan(with_errors_shown(query.plan)).measured(matched)


def _sorts_by_spark(query: SparkQuery, options: BatchOptions) -> bool:
    if options.sort != "auto":
        return options.sort == "spark"
    size = estimated_bytes(query.df)
    if size is None or size <= options.memory_budget:  # then one task could hold all rows
        return False
    partitions = 1
    if query.bound.partition_by:
        partitions = int(str(query.df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    return size > options.memory_budget * partitions
