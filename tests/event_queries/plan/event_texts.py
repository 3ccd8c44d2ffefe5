"""Event queries for tests: text -> bound query or plan, over common columns."""

from __future__ import annotations

import pyarrow as pa

from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_query import BoundEventQuery
from ostinato.event_queries.plan.event_plan import EventsPlan, plan_events
from ostinato.event_queries.plan.event_types import TypedEventsPlan, type_events
from ostinato.expressions.types import Settings

TYPES = {
    "kind": pa.string(),
    "ts": pa.timestamp("us"),
    "day": pa.date32(),
    "n": pa.int64(),
    "x": pa.int64(),
    "small": pa.int16(),
    "f": pa.float64(),
    "price": pa.decimal128(10, 2),
    "wide": pa.decimal128(30, 2),
    "name": pa.string(),
    "district": pa.string(),
    "driver": pa.string(),
}


def bound(text: str, time: str = "ts") -> BoundEventQuery:
    return bind_event_query(parse_event_query(text), tuple(TYPES), type="kind", time=time)


def planned(*texts: str, time: str = "ts") -> EventsPlan:
    return plan_events([bound(text, time) for text in texts])


def typed(*texts: str, time: str = "ts", numbers: str = "decimal", approximate: bool = False) -> TypedEventsPlan:
    plan = planned(*texts, time=time)
    return type_events(plan, TYPES.__getitem__, Settings(), numbers=numbers, approximate=approximate)
