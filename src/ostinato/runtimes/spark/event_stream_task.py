"""What the workers of a stream of event queries need, and the core loaded where it runs."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.language.event_query import parse_event_query
from ostinato.language.event_render import render_event_query
from ostinato.planning.plan import DECIDED
from ostinato.predicates.types import Settings
from ostinato.query.event_query import EventQuery
from ostinato.runtimes.event_queries import EventOptions
from ostinato.runtimes.spark.event_tasks import EventsTask
from ostinato.runtimes.spark.stream_workers import ByDefinition
from ostinato.runtimes.spark.task import condition_places

if TYPE_CHECKING:
    from ostinato.runtimes.task.trend_stream import TrendRows, TrendStreamWorker

FORMAT = 1
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

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, "kind": EVENTS, **asdict(self)}, sort_keys=True)

    @property
    def fingerprint(self) -> str:
        """Differs where the state of the one can't be carried on by the other."""
        kept = (self.queries, self.shipped, asdict(self.settings), self.options.approximate, self.options.buckets)
        return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:32]

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

    @property
    def output(self) -> pa.Schema:
        return self.task.output

    @property
    def worker(self) -> TrendStreamWorker:
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
        table = pa.Table.from_batches(batches, self.output)
        place = self.output.get_field_index(DECIDED)
        decided = pa.repeat(pa.scalar(max(results.decided_us, 0), pa.int64()), table.num_rows)
        field = self.output.field(place)
        return table.set_column(place, field, decided.cast(field.type))


@functools.lru_cache(maxsize=8)
def _worker(key: ByDefinition[EventStreamTask]) -> TrendStreamWorker:
    from ostinato.runtimes.task.trend_stream import TrendStreamWorker

    task = key.task.task
    places = condition_places(len(task.typed.plan.conditions))
    return TrendStreamWorker(task.typed, task.names, key.task.shipped, places, task.worker_options())
