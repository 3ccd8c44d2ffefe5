"""The definition of event queries on a stream, stored beside their state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ostinato.spark.streams.stream_definition import settings_values
from ostinato.spark.workload_rows.workload_definition import WorkloadDefinition, workload_values


@dataclass(frozen=True, slots=True)
class EventsDefinition(WorkloadDefinition):
    """The event queries of one operator. Their texts are rendered, with TYPE and TIME."""

    kind: ClassVar[str] = "events"
    keeps: ClassVar[tuple[str, str]] = (
        "sums over event queries, and no partial matches to look at",
        "ost.finish_stream gives the rows of windows that are still open",
    )

    carried: bool
    """Whether the shared matcher carries partial matches from batch to batch."""
    engines: str
    """The engine of each program. Each engine has its own form of state."""

    @staticmethod
    def read(values: dict[str, Any]) -> EventsDefinition:
        return EventsDefinition(**workload_values(values))

    def state_values(self) -> dict[str, Any]:
        common = {
            "queries": self.queries,
            "stored columns": self.shipped,
            **settings_values(self.settings),
            "approximate": self.options.approximate,
            "buckets": self.options.buckets,
            "engines": self.engines,
        }
        if not self.carried:
            return common
        # The state depends on the merged plan and on the statistics that bounds need.
        return {
            **common,
            "sharing": self.options.sharing,
            "names": self.names,
            **self.request.state_needs(self.names),
        }
