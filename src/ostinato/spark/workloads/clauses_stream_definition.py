"""The definition of a workload's clauses on a stream, stored beside their state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ostinato.clause.language.clause_query import ClauseQuery, as_clause_query
from ostinato.clause.language.clause_render import render_clause
from ostinato.expressions.render import render_expression
from ostinato.spark.streams.stream_definition import settings_values
from ostinato.spark.workload_rows.workload_definition import WorkloadDefinition, workload_values


@dataclass(frozen=True, slots=True)
class ClausesDefinition(WorkloadDefinition):
    """The clauses of one operator. Their texts are rendered, with PARTITION BY and ORDER BY."""

    kind: ClassVar[str] = "clauses"

    input_names: tuple[str | None, ...]

    @staticmethod
    def read(values: dict[str, Any]) -> ClausesDefinition:
        return ClausesDefinition(**{**workload_values(values), "input_names": tuple(values["input_names"])})

    def state_values(self) -> dict[str, Any]:
        """The state depends on the merged plan and on the statistics that bounds need."""
        return {
            "queries": list(map(_identity, self.parsed())),
            "names": self.names,
            "stored columns": self.shipped,
            **settings_values(self.settings),
            "buckets": self.options.buckets,
            "matched apart": self.options.sharing == "never",
            **self.request.state_needs(self.names),
        }

    def parsed(self) -> list[ClauseQuery]:
        """The queries, parsed again."""
        queries = map(as_clause_query, self.queries)
        return [
            replace(query, clause=replace(query.clause, input_name=name))
            for query, name in zip(queries, self.input_names, strict=True)
        ]


def _identity(query: ClauseQuery) -> list[Any]:
    """The query without the spaces and comments of the user's text."""
    items = [(item.name, None if item.expr is None else render_expression(item.expr)) for item in query.items]
    return [render_clause(query.clause), query.clause.input_name, items, query.columns]
