"""What the workers of a stream of event queries need, and the core loaded where it runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.event_queries.event_options import EventOptions
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import EventQuery
from ostinato.event_queries.language.event_render import render_event_query
from ostinato.expressions.types import Settings
from ostinato.rows.packed_conditions import condition_places
from ostinato.spark.event_queries.event_tasks import EventsTask
from ostinato.spark.streams.stream_workers import ByDefinition, definition_json, digest, with_decided
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest

if TYPE_CHECKING:
    from ostinato.event_queries.plan.event_types import TypedEventsPlan
    from ostinato.event_queries.stream.trend_steps import TrendRows
    from ostinato.event_queries.stream.trend_stream import TrendStreamWorker
    from ostinato.workloads.stream.event_matches_stream import SharedStreamWorker
    from ostinato.workloads.task.shared_event_matches import SharedPlans

EVENTS = "events"
"""Tells the definition of event queries from that of a clause."""


@dataclass(frozen=True, slots=True)
class EventStreamDefinition:
    """The queries of one operator with everything that their answers depend on. Plain values only: never a pickle."""

    queries: tuple[str, ...]
    """As rendered from what was understood, with TYPE and TIME."""
    names: tuple[str, ...]
    columns: str
    """The input's columns as Spark's JSON."""
    shipped: str
    """The columns that travel and are kept, with their Arrow types."""
    settings: Settings
    options: EventOptions
    request: BoundRequest = UNBOUNDED
    carried: bool = False
    """Whether the shared matcher carries on partial matches."""

    def to_json(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return definition_json(EVENTS, {**values, "request": self.request.to_values()})

    @property
    def fingerprint(self) -> str:
        """Differs where the state of the one can't be carried on by the other."""
        kept: tuple[Any, ...] = (
            self.queries, self.shipped, asdict(self.settings), self.options.approximate, self.options.buckets,
        )  # fmt: skip
        if self.carried:  # the state has the merged plan's numbers, and what was learnt under the bounds
            kept = (*kept, self.options.sharing, self.names, self.request.state_needs(self.names))
        return digest(kept)

    def parsed(self) -> list[EventQuery]:
        return [parse_event_query(text) for text in self.queries]


def read_event_definition(values: dict[str, Any]) -> EventStreamDefinition:
    """What was kept, from its JSON without format and kind."""
    return EventStreamDefinition(
        queries=tuple(values["queries"]),
        names=tuple(values["names"]),
        columns=values["columns"],
        shipped=values["shipped"],
        settings=Settings(**values["settings"]),
        options=EventOptions(**values["options"]),
        request=BoundRequest.from_values(values["request"]) if "request" in values else UNBOUNDED,
        carried=values.get("carried", False),
    )


def rendered(queries: tuple[EventQuery, ...]) -> tuple[str, ...]:
    return tuple(render_event_query(query) for query in queries)


@dataclass(frozen=True, slots=True)
class EventStreamTask:
    """Sent to the executors with every batch. A `BucketTask`."""

    task: EventsTask
    shipped: pa.Schema
    fingerprint: str
    definition: str
    carried: bool = False

    @property
    def output(self) -> pa.Schema:
        return self.task.output

    @property
    def worker(self) -> TrendStreamWorker | SharedStreamWorker:
        """The same one for all batches that a Python worker serves."""
        return _worker(ByDefinition(self))

    def rows(self, results: TrendRows) -> pa.Table:
        """Results as they leave."""
        batches = [
            batch
            for query, columns in enumerate(results.columns)
            if columns is not None
            for batch in self.task.rows(query, columns)
        ]
        batches += [batch for report in results.reports for batch in self.task.report_rows(report)]
        return with_decided(pa.Table.from_batches(batches, self.output), results.decided_us)


@functools.lru_cache(maxsize=8)
def _worker(key: ByDefinition[EventStreamTask]) -> TrendStreamWorker | SharedStreamWorker:
    task = key.task.task
    places = condition_places(len(task.typed.plan.conditions))
    if key.task.carried:
        from ostinato.workloads.stream.event_matches_stream import SharedStreamWorker

        assert task.shared is not None
        (shared,) = task.shared.plans
        shared = shared.for_buckets(task.options.buckets)
        return SharedStreamWorker(task.typed, task.names, key.task.shipped, places, shared, task.worker_options())
    from ostinato.event_queries.stream.trend_stream import TrendStreamWorker
    from ostinato.workloads.task.shared_event_matches import shared_plans

    options = task.worker_options()

    def sharing_of(typed: TypedEventsPlan, names: Sequence[str]) -> SharedPlans:
        return shared_plans(typed, names, options.sharing, task.request, options.limits())

    return TrendStreamWorker(task.typed, task.names, key.task.shipped, places, options, sharing_of)
