"""What a step of a stream of event queries gives, whichever way it runs."""

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
    """For each query of the plan its output columns (None: it gives no rows), and when they could be known."""

    columns: tuple[list[pa.Array] | None, ...]
    decided_us: int
    """Later than the watermark of the step."""
    reports: tuple[Report, ...] = ()
    """Under a bound: what was given up."""


@dataclass(frozen=True, slots=True)
class TrendStep:
    """What comes of one `advance`."""

    results: TrendRows
    state: BucketState
    wake_at_us: int | None
    counts: Counts


def fingerprint_of(
    typed: TypedEventsPlan, conditions: Sequence[tuple[str, int]], engines: Sequence[tuple[Any, bool]] = ()
) -> str:
    """Tells apart queries whose states mean different things.

    `engines` are those whose states are carried on: the programs of each, and whether they share.
    """
    plan, settings = typed.plan, typed.settings
    inputs = [(item.name, str(typed.input_types[item.expr])) for item in plan.inputs]
    queries = [render_event_query(query.bound.query) for query in plan.queries]
    asked = (queries, plan.streams, inputs, tuple(conditions), typed.approximate, str(typed.form), tuple(engines))
    return hashlib.sha256(repr((asked, settings.ansi, settings.timezone)).encode()).hexdigest()
