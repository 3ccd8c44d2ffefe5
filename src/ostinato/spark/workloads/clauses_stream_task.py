"""Clauses of a workload on a stream: their definition, kept beside the state, and the task that their workers run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame

from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.query.clause_query import ClauseQuery, as_clause_query
from ostinato.event_queries.event_options import EventOptions
from ostinato.expressions.render import render_expression
from ostinato.expressions.types import Settings
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_definition import StreamDefinition
from ostinato.spark.streams.stream_task import BucketTask, with_decided
from ostinato.spark.workloads.clause_tasks import ClauseOutput
from ostinato.streams.step import StreamCore
from ostinato.workloads.bound_request import BoundRequest

if TYPE_CHECKING:
    from ostinato.workloads.stream.clauses_stream import ClauseRows
    from ostinato.workloads.task.clauses_worker import ClausesTask


@dataclass(frozen=True, slots=True)
class ClausesDefinition(StreamDefinition):
    """The clauses of one operator with everything that their answers depend on."""

    kind: ClassVar[str] = "clauses"
    keeps: ClassVar[tuple[str, str]] = (
        "what the clauses of a workload share, and no runs of one clause to look at",
        "ost.finish gives the matches that wait for the watermark",
    )

    queries: tuple[str, ...]
    """A clause as rendered from what was understood; a SELECT as it was written."""
    input_names: tuple[str | None, ...]
    names: tuple[str, ...]
    columns: str
    shipped: str
    """The columns that travel and are kept, with their Arrow types."""
    settings: Settings
    options: EventOptions
    request: BoundRequest

    @staticmethod
    def read(values: dict[str, Any]) -> ClausesDefinition:
        return ClausesDefinition(
            **{
                **values,
                "queries": tuple(values["queries"]),
                "input_names": tuple(values["input_names"]),
                "names": tuple(values["names"]),
                "settings": Settings(**values["settings"]),
                "options": EventOptions(**values["options"]),
                "request": BoundRequest.from_values(values["request"]),
            }
        )

    def state_values(self) -> object:
        """The state has the merged plan's numbers, and what was learnt under the bounds."""
        apart = self.options.sharing == "never"
        settings = (asdict(self.settings), self.options.buckets, apart, self.request.state_needs(self.names))
        return [list(map(_told, self.parsed())), self.names, self.shipped, *settings]

    def parsed(self) -> list[ClauseQuery]:
        """The queries as they were asked."""
        queries = map(as_clause_query, self.queries)
        return [
            replace(query, clause=replace(query.clause, input_name=name))
            for query, name in zip(queries, self.input_names, strict=True)
        ]

    def finished(self, opened: Checkpoint) -> DataFrame:
        """The rows of one query in its own columns; of several as a workload gives them."""
        from ostinato.spark.workloads.clauses_streaming import finished_clauses

        return finished_clauses(self, opened)


def written(query: ClauseQuery) -> str:
    """The text from which the query can be read again."""
    return render_clause(query.clause) if query.text is None else query.text


def _told(query: ClauseQuery) -> list[Any]:
    """What the query asks: spaces and comments of the user's text make no other query."""
    items = [(item.name, None if item.expr is None else render_expression(item.expr)) for item in query.items]
    return [render_clause(query.clause), query.clause.input_name, items, query.columns]


@dataclass(frozen=True, slots=True)
class ClausesBucketTask(BucketTask):
    """Sent to the executors with every batch."""

    task: ClausesTask
    given: ClauseOutput
    """How rows leave."""
    conditions: int
    """How many row conditions are packed in what is shipped."""

    def new_core(self) -> StreamCore[ClauseRows]:
        from ostinato.workloads.stream.clauses_stream import ClauseStreamWorker

        return ClauseStreamWorker(self.task, condition_places(self.conditions), fingerprint=self.fingerprint)

    def rows(self, results: ClauseRows) -> pa.Table:
        batches = [batch for clause, rows in enumerate(results.rows) for batch in self.given.rows(clause, rows)]
        batches += [batch for report in results.reports for batch in self.given.report(report)]
        return with_decided(pa.Table.from_batches(batches, self.output), results.decided_us)
