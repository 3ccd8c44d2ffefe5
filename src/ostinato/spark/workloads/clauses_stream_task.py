"""What the workers of a stream of clauses need, what is kept beside their state, and the core loaded where it runs."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.query.clause_query import ClauseQuery, as_clause_query
from ostinato.event_queries.event_options import EventOptions
from ostinato.expressions.render import render_expression
from ostinato.expressions.types import Settings
from ostinato.spark.clause.clause_task import condition_places
from ostinato.spark.streams.stream_workers import ByDefinition, definition_json, digest, with_decided
from ostinato.spark.workloads.clause_tasks import ClauseOutput
from ostinato.workloads.bound_request import BoundRequest

if TYPE_CHECKING:
    from ostinato.workloads.stream.clauses_stream import ClauseRows, ClauseStreamWorker
    from ostinato.workloads.task.clauses_worker import ClausesTask

CLAUSES = "clauses"
"""Tells the definition of clauses that run together from that of one clause."""


@dataclass(frozen=True, slots=True)
class ClauseStreamDefinition:
    """The clauses of one operator with everything that their answers depend on. Plain values only: never a pickle."""

    queries: tuple[str, ...]
    """A clause as rendered from what was understood; a SELECT as it was written."""
    input_names: tuple[str | None, ...]
    names: tuple[str, ...]
    columns: str
    """The input's columns as Spark's JSON."""
    shipped: str
    """The columns that travel and are kept, with their Arrow types."""
    settings: Settings
    options: EventOptions
    request: BoundRequest

    def to_json(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return definition_json(CLAUSES, {**values, "request": self.request.to_values()})

    @property
    def fingerprint(self) -> str:
        """Differs where the state of the one can't be carried on by the other: it has the merged plan's numbers, and
        what was learnt under the bounds."""
        asked = [_told(query) for query in self.parsed()]
        apart = self.options.sharing == "never"
        settings = (asdict(self.settings), self.options.buckets, apart, self.request.state_needs(self.names))
        kept = (asked, self.names, self.shipped, *settings)
        return digest(kept)

    def parsed(self) -> list[ClauseQuery]:
        """The queries as they were asked."""
        found = map(as_clause_query, self.queries)
        return [
            replace(query, clause=replace(query.clause, input_name=name))
            for query, name in zip(found, self.input_names, strict=True)
        ]


def read_clause_definition(values: dict[str, Any]) -> ClauseStreamDefinition:
    """What was kept, from its JSON without format and kind."""
    return ClauseStreamDefinition(
        queries=tuple(values["queries"]),
        input_names=tuple(values["input_names"]),
        names=tuple(values["names"]),
        columns=values["columns"],
        shipped=values["shipped"],
        settings=Settings(**values["settings"]),
        options=EventOptions(**values["options"]),
        request=BoundRequest.from_values(values["request"]),
    )


def written(query: ClauseQuery) -> str:
    """The text from which the query can be read again."""
    return render_clause(query.clause) if query.text is None else query.text


def _told(query: ClauseQuery) -> list[Any]:
    """What the query asks: spaces and comments of the user's text make no other query."""
    items = [(item.name, None if item.expr is None else render_expression(item.expr)) for item in query.items]
    return [render_clause(query.clause), query.clause.input_name, items, query.columns]


@dataclass(frozen=True, slots=True)
class ClauseStreamTask:
    """Sent to the executors with every batch. A `BucketTask`."""

    task: ClausesTask
    given: ClauseOutput
    """How rows leave, with when they were decided."""
    shipped: pa.Schema
    conditions: int
    """How many row conditions are packed in what is shipped."""
    fingerprint: str
    definition: str

    @property
    def output(self) -> pa.Schema:
        return self.given.schema

    @property
    def worker(self) -> ClauseStreamWorker:
        """The same one for all batches that a Python worker serves."""
        return _worker(ByDefinition(self))

    def rows(self, results: ClauseRows) -> pa.Table:
        """Results as they leave."""
        batches = [batch for clause, rows in enumerate(results.rows) for batch in self.given.rows(clause, rows)]
        batches += [batch for report in results.reports for batch in self.given.report(report)]
        return with_decided(pa.Table.from_batches(batches, self.output), results.decided_us)


@functools.lru_cache(maxsize=8)
def _worker(key: ByDefinition[ClauseStreamTask]) -> ClauseStreamWorker:
    from ostinato.workloads.stream.clauses_stream import ClauseStreamWorker

    return ClauseStreamWorker(key.task.task, condition_places(key.task.conditions))
