"""Event queries on DataFrames. Batch: project what is needed, bring groups together, count in Python, one row a result.

Queries with the same GROUP BY share one shuffle. Without GROUP BY all rows are one group: tasks share its work by the
values of SAME where results can be added up, and another task adds them up; otherwise one task has all rows.

    select -> [where something qualifies] -> repartition by group -> mapInArrow -> union -> where (raises) -> select

All of it is lazy, one job, and made of public operations only, so it is the same on Spark Connect. Streams are in
`event_streaming.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as s

from ostinato.event_queries.event_options import EventOptions
from ostinato.event_queries.event_request import EventRequest, bound_queries, with_groups
from ostinato.expressions.syntax import Column
from ostinato.rows.column_names import ERROR
from ostinato.rows.workload_layout import OutputColumn, make_layout
from ostinato.spark.event_queries.common_rows import PartRows, ShownColumn
from ostinato.spark.event_queries.event_keys import ShuffleKey, shuffle_key, stream_key
from ostinato.spark.event_queries.event_shuffle import Shuffle
from ostinato.spark.event_queries.event_streaming import stream_rows
from ostinato.spark.event_queries.event_tasks import QUERY, REPORT, EventsTask
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.shipped_rows import stored_name
from ostinato.spark.shipping.spark_input import SparkInput
from ostinato.spark.shipping.spark_types import spark_type
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
        options: EventOptions,
        request: BoundRequest = UNBOUNDED,
        *,
        for_stream: bool = False,
    ) -> None:
        """`for_stream`: queries are put together as the operators of a stream are."""
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
        found: dict[int, s.DataType] = {}
        for shuffle in self.shuffles:
            for at, number in enumerate(shuffle.numbers):
                for column, place in zip(self.columns[number], self.layout.places[number], strict=True):
                    found.setdefault(place, shuffle.spark_type(at, column))
        return [found[place] for place in range(len(self.layout.stored))]

    @functools.cached_property
    def parts(self) -> list[DataFrame]:
        """For each shuffle the rows of its queries, in the columns of the layout."""
        rows = stream_rows if self.source.df.isStreaming else batch_rows
        return [rows(shuffle, self.task(shuffle), self.schema) for shuffle in self.shuffles]

    @property
    def schema(self) -> s.StructType:
        """The columns of the layout, what was given up, the query's number and an error."""
        kinds = [s.StructField(stored_name(place), kind) for place, kind in enumerate(self.spark_types)]
        if self.reports:
            kinds.append(s.StructField(REPORT, spark_type(REPORT_TYPE)))
        return s.StructType([*kinds, s.StructField(QUERY, s.IntegerType()), s.StructField(ERROR, s.StringType())])

    def task(self, shuffle: Shuffle) -> EventsTask:
        return shuffle.task(self.layout)

    def of_query(self, number: int, parts: Sequence[DataFrame] | None = None) -> DataFrame:
        """The rows of one query, in its own columns; `parts` may hold other rows than the plan's own."""
        at = next(i for i, shuffle in enumerate(self.shuffles) if number in shuffle.numbers)
        rows = self.found((parts or self.parts)[at])
        if len(self.shuffles[at].numbers) > 1:
            rows = rows.where(F.col(QUERY) == number)
        columns = zip(self.columns[number], self.layout.places[number], strict=True)
        return rows.select(*(F.col(stored_name(place)).alias(column.name) for column, place in columns if column.name))

    def found(self, rows: DataFrame) -> DataFrame:
        """Without the rows that tell what was given up."""
        return rows.where(F.col(REPORT).isNull()) if self.reports else rows

    def part_rows(self, parts: Sequence[DataFrame] | None = None) -> list[PartRows]:
        """For each shuffle its rows, and what they show in the common table of a workload."""
        found = []
        for shuffle, rows in zip(self.shuffles, parts or self.parts, strict=True):
            positions = dict.fromkeys(position for number in shuffle.numbers for position in self.layout.places[number])
            columns = [
                ShownColumn(stored.role, stored.key, self.spark_types[i], Column(stored_name(i)), None)
                for i, stored in enumerate(self.layout.stored)
                if i in positions
            ]
            found.append(PartRows(rows, self.names, columns, self.reports))
        return found


def batch_rows(shuffle: Shuffle, task: EventsTask, schema: s.StructType) -> DataFrame:
    """The rows of a shuffle's queries; the error of a task is raised when Spark reads its row."""
    return shuffle.rows(task, schema).where(RAISES)
