"""Clauses of a workload on a stream: their definition, stored beside the state, and the task of their workers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame

from ostinato.clause.language.clause_query import ClauseQuery, as_clause_query
from ostinato.clause.language.clause_render import render_clause
from ostinato.expressions.render import render_expression
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.event_queries.workload_definition import WorkloadDefinition, workload_values
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_task import BucketTask, with_decided
from ostinato.spark.workloads.clause_tasks import ClauseOutput
from ostinato.streams.step import StreamCore

if TYPE_CHECKING:
    from ostinato.workloads.plan.clauses_task import ClausesTask
    from ostinato.workloads.stream.clauses_stream import ClauseRows


@dataclass(frozen=True, slots=True)
class ClausesDefinition(WorkloadDefinition):
    """The clauses of one operator. The text of a clause is rendered, that of a SELECT is the user's."""

    kind: ClassVar[str] = "clauses"
    keeps: ClassVar[tuple[str, str]] = (
        "state that the clauses of a workload share, and no partial matches of one clause to look at",
        "ost.finish gives the matches that wait for the watermark",
    )

    input_names: tuple[str | None, ...]

    @staticmethod
    def read(values: dict[str, Any]) -> ClausesDefinition:
        return ClausesDefinition(**{**workload_values(values), "input_names": tuple(values["input_names"])})

    def state_values(self) -> object:
        """The state depends on the merged plan and on the statistics that bounds need."""
        apart = self.options.sharing == "never"
        settings = (asdict(self.settings), self.options.buckets, apart, self.request.state_needs(self.names))
        return [list(map(_identity, self.parsed())), self.names, self.shipped, *settings]

    def parsed(self) -> list[ClauseQuery]:
        """The queries, parsed again."""
        queries = map(as_clause_query, self.queries)
        return [
            replace(query, clause=replace(query.clause, input_name=name))
            for query, name in zip(queries, self.input_names, strict=True)
        ]

    def finished(self, opened: Checkpoint) -> DataFrame:
        """The rows of one query in its own columns; of several, as in a workload."""
        from ostinato.spark.workloads.clauses_streaming import finished_clauses

        return finished_clauses(self, opened)


def written(query: ClauseQuery) -> str:
    """The text to parse the query from again."""
    return render_clause(query.clause) if query.text is None else query.text


def _identity(query: ClauseQuery) -> list[Any]:
    """The query without the spaces and comments of the user's text."""
    items = [(item.name, None if item.expr is None else render_expression(item.expr)) for item in query.items]
    return [render_clause(query.clause), query.clause.input_name, items, query.columns]


@dataclass(frozen=True, slots=True)
class ClausesBucketTask(BucketTask):
    """The task of an operator with clauses."""

    task: ClausesTask
    output_rows: ClauseOutput
    conditions: int
    """Number of row conditions in the shipped bits."""

    def new_core(self) -> StreamCore[ClauseRows]:
        from ostinato.workloads.stream.clauses_stream import ClauseStreamWorker

        return ClauseStreamWorker(self.task, condition_places(self.conditions), fingerprint=self.fingerprint)

    def rows(self, results: ClauseRows) -> pa.Table:
        batches = [batch for clause, rows in enumerate(results.rows) for batch in self.output_rows.rows(clause, rows)]
        batches += [batch for report in results.reports for batch in self.output_rows.report(report)]
        return with_decided(pa.Table.from_batches(batches, self.output), results.decided_us)
