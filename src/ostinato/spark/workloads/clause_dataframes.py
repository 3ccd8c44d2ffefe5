"""The MATCH_RECOGNIZE queries of a workload on a DataFrame: on a batch one pass over the rows for all of them.

    select -> repartition by key -> mapInArrow -> where (raises) -> select

Clauses with the same PARTITION BY share one shuffle and one pass in Python; measures are put around by Spark. All of it
is lazy and made of public operations only, so it is the same on Spark Connect. Streams are in `clauses_streaming.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.query.clause_query import ClauseQuery
from ostinato.event_queries.event_options import EventOptions
from ostinato.rows.column_names import ERROR
from ostinato.spark.event_queries.common_rows import PartRows
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.row_errors import RAISES
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.workloads.clause_parts import ClausePart, ClauseWorkload, TogetherPart
from ostinato.spark.workloads.clause_tasks import ClauseOutput, WholeKeysTask
from ostinato.spark.workloads.clauses_streaming import stream_parts
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest


class SparkClauses:
    """Queries on one DataFrame."""

    def __init__(
        self,
        queries: Sequence[ClauseQuery],
        names: Sequence[str],
        df: DataFrame,
        options: EventOptions,
        request: BoundRequest = UNBOUNDED,
    ) -> None:
        """Raises BOUND_NOT_SUPPORTED for a query that has a bound and can't be shed, and for a streaming DataFrame what
        a clause on a stream deserves."""
        own = request.for_queries(names)
        asked = ClauseWorkload(tuple(queries), tuple(names), df, session_settings(df), options, own)
        self.parts: list[ClausePart] = stream_parts(asked) if df.isStreaming else _batch_parts(asked)

    def of_query(self, number: int) -> DataFrame:
        """The rows of one query, in its own columns."""
        part = next(part for part in self.parts if number in part.numbers)
        return part.of_query(part.numbers.index(number))

    def part_rows(self) -> list[PartRows]:
        """For each operator its rows, and what they show in the common table of a workload."""
        return [part.part_rows() for part in self.parts]


def _batch_parts(asked: ClauseWorkload) -> list[ClausePart]:
    """One for each PARTITION BY."""
    plans = asked.plans()
    by_key: dict[tuple[str, ...], list[int]] = {}
    for number, plan in enumerate(plans):
        by_key.setdefault(tuple(sorted(plan.bound.partition_by)), []).append(number)
    return [_BatchPart(asked, tuple(numbers), [plans[at] for at in numbers]) for numbers in by_key.values()]


class _BatchPart(TogetherPart):
    """The queries of one shuffle of a batch."""

    def __init__(self, asked: ClauseWorkload, numbers: tuple[int, ...], plans: Sequence[MatchPlan]) -> None:
        super().__init__(asked, numbers, plans)
        self.task = self._task()

    @functools.cached_property
    def rows(self) -> DataFrame:
        """What the tasks give; the error of one is raised when Spark reads its row."""
        keys = self.travelling.bound.partition_by
        df = self.travelling.shipped.selected()
        df = df.repartition(*(self.travelling.shipped.column(name) for name in keys)) if keys else df.repartition(1)
        return df.mapInArrow(Checked(self.task), self.schema).where(RAISES)

    @property
    def schema(self) -> s.StructType:
        return s.StructType([*self.fields, s.StructField(ERROR, s.StringType())])

    def _task(self) -> WholeKeysTask:
        output = ClauseOutput(self.names, self.numbers, self.columns, self.travelling.source.arrow_schema(self.schema))
        return WholeKeysTask(
            self.clauses_task(),
            output,
            self.travelling.shipped.names,
            len(self.shared.row_conditions),
        )
