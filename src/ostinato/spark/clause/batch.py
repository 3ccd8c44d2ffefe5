"""One clause on a batch DataFrame: project what is needed, bring keys together, match in Python, put measures around.

The plan is lazy and made of public operations only, so it is the same on Spark Connect:
select -> repartition by key [-> sort] -> mapInArrow -> where (raises what a row reported) -> select; or slices
(spark/clause/sliced.py) where keys aren't what the work can be shared by.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from pyspark.sql import DataFrame

from ostinato.calls.options import one_of, whole_number
from ostinato.clause.plan.slicing import declined_by_tasks
from ostinato.errors import warn
from ostinato.spark.clause.clause_task import SparkTask
from ostinato.spark.clause.sliced import matched_in_slices
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.size import estimated_bytes
from ostinato.spark.shipping.worker_check import Checked

SortBy = Literal["auto", "worker", "spark"]
Skew = Literal["hash", "slice"]
MEMORY_BUDGET_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """`sort`: who brings the rows of a key into order. `memory_budget`: bytes of a task above which Spark does.

    `skew`: whether each key is one task's ("hash"), or the rows of all keys are cut into ranges ("slice").
    """

    sort: SortBy = "auto"
    memory_budget: int = MEMORY_BUDGET_BYTES
    skew: Skew = "hash"

    def __post_init__(self) -> None:
        one_of("sort", self.sort, get_args(SortBy))
        whole_number("memory_budget", self.memory_budget)
        one_of("skew", self.skew, get_args(Skew))


def match_batch(query: SparkQuery, options: BatchOptions) -> DataFrame:
    """The clause's rows as a DataFrame; nothing runs yet."""
    if not query.bound.order_by:
        warn("MATCH_RECOGNIZE without ORDER BY: Spark keeps no order of its own, so the result may differ between runs")
    is_cut = options.skew == "slice" or not query.bound.partition_by
    if is_cut and declined_by_tasks(query.plan) is None:
        found = matched_in_slices(query)
    else:
        found = _matched_by_key(query, sorted_by_spark=_sorts_by_spark(query, options))
    return query.measured(found.where(RAISES))


def _matched_by_key(query: SparkQuery, *, sorted_by_spark: bool) -> DataFrame:
    """Each key is matched by one task, many keys by each."""
    keys = query.bound.partition_by
    df = query.shipped.selected()
    df = df.repartition(*(query.shipped.column(name) for name in keys)) if keys else df.repartition(1)
    if sorted_by_spark:
        df = df.sortWithinPartitions(*query.sort_order())
    schema = query.worker_schema()
    task = SparkTask(query.typed, query.shipped.names, query.source.arrow_schema(schema), sorted_by_spark)
    return df.mapInArrow(Checked(task), schema)


def _sorts_by_spark(query: SparkQuery, options: BatchOptions) -> bool:
    if options.sort != "auto":
        return options.sort == "spark"
    partitions = 1
    if query.bound.partition_by:
        partitions = int(str(query.df.sparkSession.conf.get("spark.sql.shuffle.partitions")))
    size = estimated_bytes(query.df)
    return size is not None and size > options.memory_budget * partitions
