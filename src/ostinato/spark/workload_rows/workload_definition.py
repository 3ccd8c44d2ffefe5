"""The definition that streams of event queries and streams of a workload's clauses have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.types import Settings
from ostinato.spark.streams.stream_definition import StreamDefinition
from ostinato.workloads.bound_request import BoundRequest


@dataclass(frozen=True, slots=True)
class WorkloadDefinition(StreamDefinition):
    """The queries of one operator with everything that their results depend on."""

    queries: tuple[str, ...]
    """The texts of the queries, from which they can be parsed again."""
    names: tuple[str, ...]
    columns: str
    shipped: str
    """The shipped columns, which the state stores, with their Arrow types."""
    settings: Settings
    options: WorkloadOptions
    request: BoundRequest


def workload_values(values: dict[str, Any]) -> dict[str, Any]:
    """The stored values with those of a WorkloadDefinition as objects."""
    return {
        **values,
        "queries": tuple(values["queries"]),
        "names": tuple(values["names"]),
        "settings": Settings(**values["settings"]),
        "options": WorkloadOptions(**values["options"]),
        "request": BoundRequest.from_values(values["request"]),
    }
