"""Event queries on DataFrames -> lazy DataFrames of their rows.

Queries with the same GROUP BY share one shuffle. Without GROUP BY all rows are one group. If its results can be added
up, tasks share its work by the values of SAME, and another task adds up; otherwise one task has all rows.

    select -> [where something qualifies] -> repartition by group -> mapInArrow -> union -> where (raises) -> select

The plan is one job of public operations only, so it is the same on Spark Connect. Streams are in `event_streaming.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.event_queries.event_request import EventRequest, bound_queries, with_groups
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.syntax import Column
from ostinato.rows.column_names import ERROR
from ostinato.rows.workload_layout import OutputColumn, make_layout
from ostinato.spark.event_queries.event_keys import ShuffleKey, shuffle_key, stream_key
from ostinato.spark.event_queries.event_shuffle import Shuffle
from ostinato.spark.event_queries.event_streaming import stream_rows
from ostinato.spark.event_queries.event_tasks import EventsTask
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.shipped_rows import stored_name
from ostinato.spark.shipping.spark_input import SparkInput
from ostinato.spark.shipping.spark_types import spark_type
from ostinato.spark.workload_rows.common_rows import OperatorRows, ShownColumn
from ostinato.spark.workload_rows.query_rows import QUERY, REPORT
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest
from ostinato.workloads.report_rows import REPORT_TYPE


def events_dataframe(query: EventRequest, df: DataFrame) -> DataFrame:
    """The rows of one event query; nothing runs yet."""
    return SparkEvents([query], ("",), df, query.options, for_stream=df.isStreaming).of_query(0)


class SparkEvents:
    """Queries on one DataFrame."""

    def __init__(
        self,
        queries: Sequence[EventRequest],
        names: Sequence[str],
        df: DataFrame,
        options: WorkloadOptions,
        request: BoundRequest = UNBOUNDED,
        *,
        for_stream: bool = False,
    ) -> None:
        """`for_stream`: groups the queries as the operators of a stream do."""
        self.names = names
        source = SparkInput.of(df)
        bounds = with_groups(bound_queries(queries, df.columns, source.settings))
        self.reports = not request.is_empty
        is_bounded = request.bounds(names).bounded
        by_key: dict[ShuffleKey, list[int]] = {}
        for number, bound in enumerate(bounds):
            key = stream_key(bound, is_bounded=is_bounded[number]) if for_stream else shuffle_key(bound)
            by_key.setdefault(key, []).append(number)
        self.shuffles = [
            Shuffle(source, [bounds[number] for number in numbers], tuple(numbers), names, key, options, request)
            for key, numbers in by_key.items()
        ]
        self.columns: list[list[OutputColumn]] = [[]] * len(bounds)
        for shuffle in self.shuffles:
            for number, columns in zip(shuffle.numbers, shuffle.columns, strict=True):
                self.columns[number] = columns
        self.layout = make_layout(self.columns)
        self.source = source
        self.spark_types = self._spark_types()

    def _spark_types(self) -> list[s.DataType]:
        types: dict[int, s.DataType] = {}
        for shuffle in self.shuffles:
            for query, number in enumerate(shuffle.numbers):
                for column, position in zip(self.columns[number], self.layout.column_numbers[number], strict=True):
                    types.setdefault(position, shuffle.spark_type(query, column))
        return [types[position] for position in range(len(self.layout.stored))]

    @functools.cached_property
    def shuffle_rows(self) -> list[DataFrame]:
        """For each shuffle, the rows of its queries in the columns of the layout."""
        rows = stream_rows if self.source.df.isStreaming else batch_rows
        return [rows(shuffle, self.task(shuffle), self.schema) for shuffle in self.shuffles]

    @property
    def schema(self) -> s.StructType:
        """The columns of the layout, a report if there are bounds, the query's number and an error."""
        kinds = [s.StructField(stored_name(i), kind) for i, kind in enumerate(self.spark_types)]
        if self.reports:
            kinds.append(s.StructField(REPORT, spark_type(REPORT_TYPE)))
        return s.StructType([*kinds, s.StructField(QUERY, s.IntegerType()), s.StructField(ERROR, s.StringType())])

    def task(self, shuffle: Shuffle) -> EventsTask:
        return shuffle.task(self.layout)

    def of_query(self, number: int, shuffle_rows: Sequence[DataFrame] | None = None) -> DataFrame:
        """The rows of one query in its own columns. `shuffle_rows` replaces the rows of the plan."""
        which = next(i for i, shuffle in enumerate(self.shuffles) if number in shuffle.numbers)
        rows = (shuffle_rows or self.shuffle_rows)[which]
        rows = rows.where(F.col(REPORT).isNull()) if self.reports else rows
        if len(self.shuffles[which].numbers) > 1:
            rows = rows.where(F.col(QUERY) == number)
        columns = zip(self.columns[number], self.layout.column_numbers[number], strict=True)
        return rows.select(*(F.col(stored_name(i)).alias(column.name) for column, i in columns if column.name))

    def operator_rows(self, shuffle_rows: Sequence[DataFrame] | None = None) -> list[OperatorRows]:
        """For each shuffle, its rows and their columns in the common table of a workload."""
        operators = []
        for shuffle, rows in zip(self.shuffles, shuffle_rows or self.shuffle_rows, strict=True):
            positions = dict.fromkeys(
                position for number in shuffle.numbers for position in self.layout.column_numbers[number]
            )
            columns = [
                ShownColumn(stored.role, stored.key, self.spark_types[i], Column(stored_name(i)), None)
                for i, stored in enumerate(self.layout.stored)
                if i in positions
            ]
            operators.append(OperatorRows(rows, self.names, columns, self.reports))
        return operators


def batch_rows(shuffle: Shuffle, task: EventsTask, schema: s.StructType) -> DataFrame:
    """The rows of a shuffle's queries. Raises the error of a task when Spark reads its row."""
    return shuffle.rows(task, schema).where(RAISES)
