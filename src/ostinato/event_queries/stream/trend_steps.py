"""The output of a step of a stream of event queries."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.clause.stream.clause_stream import Counts
from ostinato.event_queries.language.event_render import render_event_query
from ostinato.event_queries.plan.event_types import TypedEventsPlan
from ostinato.streams.bucket_state import BucketState

if TYPE_CHECKING:
    from ostinato.workloads.shedding.report import Report


@dataclass(frozen=True, slots=True)
class TrendRows:
    """For each query of the plan, its output columns (None if it has no rows) and their decision times."""

    columns: tuple[list[pa.Array] | None, ...]
    decided_us: int
    """Decision time of the rows; it is later than the step's watermark."""
    reports: tuple[Report, ...] = ()
    """Under a latency bound: a report on dropped state."""


@dataclass(frozen=True, slots=True)
class TrendStep:
    """The output of one `advance`."""

    results: TrendRows
    state: BucketState
    wake_at_us: int | None
    counts: Counts


def fingerprint_of(
    typed: TypedEventsPlan, conditions: Sequence[tuple[str, int]], engines: Sequence[tuple[Any, bool]] = ()
) -> str:
    """A fingerprint of the queries: states of other queries are refused.

    `engines` are the engines with state: the programs of each, and whether they share.
    """
    plan, settings = typed.plan, typed.settings
    inputs = [(item.name, str(typed.input_types[item.expr])) for item in plan.inputs]
    queries = [render_event_query(query.bound.query) for query in plan.queries]
    identity = (queries, plan.streams, inputs, tuple(conditions), typed.approximate, str(typed.form), tuple(engines))
    return hashlib.sha256(repr((identity, settings.ansi, settings.timezone)).encode()).hexdigest()
