"""Event queries and columns -> the matches of a bounded engine, in one call or in several with a serialised state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.calls.bounds import Bounds, read_bounds
from ostinato.event_queries.language.event_binding import bind_event_query
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.plan.event_plan import EventsPlan, plan_events
from ostinato.event_queries.plan.event_types import type_events
from ostinato.expressions.evaluate import as_vector, evaluate
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.types import Settings, normalise
from ostinato.expressions.values.vectors import Vector
from ostinato.kernels.clock import VirtualClock
from ostinato.rows.loss_report import Report
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.merging.merged_plan import MergedPlan, merge
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.plan.event_programs import bounded_programs
from ostinato.workloads.plan.plan_lowering import lower_plan
from ostinato.workloads.shedding.bounded_engine import BoundedEngine

SETTINGS = Settings()
COLUMNS = {"at": pa.int64(), "kind": pa.string(), "id": pa.int64(), "v": pa.float64()}
CLOCK = VirtualClock(ns_per_event=10, ns_per_visit=10, ns_per_check=10, ns_per_birth=0)
Matches = list[set[tuple[int, ...]]]
"""By query: the rows of each match."""


@dataclass(frozen=True)
class Stream:
    """Queries over one table, whose rows are in order of time."""

    texts: tuple[str, ...]
    columns: dict[str, pa.Array]

    @property
    def count(self) -> int:
        return len(self.columns["at"])

    @cached_property
    def planned(self) -> tuple[EventsPlan, MergedPlan, PlanConditions]:
        plan = plan_events([bind_event_query(parse_event_query(text), tuple(COLUMNS)) for text in self.texts])
        types = {name: normalise(kind, SETTINGS) for name, kind in COLUMNS.items()}
        typed = type_events(plan, types.__getitem__, SETTINGS, numbers="decimal", approximate=False)
        programs = bounded_programs(typed, [f"q{i}" for i in range(len(self.texts))]).programs
        merged = merge([programs[i] for i in range(len(self.texts))])
        return plan, merged, lower_plan(merged, typed.input_types.__getitem__, typed.settings, plan.values)

    @property
    def merged(self) -> MergedPlan:
        return self.planned[1]

    def events(self, rows: np.ndarray, first_new: int = 0) -> PlanEvents:
        inputs = {Column(name): values.take(pa.array(rows)) for name, values in self.columns.items()}

        def column(expr: Expr) -> Vector:
            return as_vector(evaluate(expr, inputs.get, len(rows), SETTINGS), SETTINGS)

        plan = self.planned[0]
        return PlanEvents(
            sequence=inputs[Column("id")].to_numpy().astype(np.int64),
            order=rows.astype(np.int64),
            time=rows.astype(np.int64),
            place=rows.astype(np.int64),
            link=2 * rows.astype(np.int64),
            conditions=tuple(np.asarray(column(condition).values, np.bool_) for condition in plan.conditions),
            values=tuple(np.asarray(column(value).values) for value in plan.values),
            valid=(None,) * len(plan.values),
            column=column,
            first_new=first_new,
        )


@dataclass(frozen=True)
class Ran:
    matches: Matches
    reports: list[Report]
    partial_matches: int

    @property
    def dropped(self) -> list[int]:
        return [sum(report.patterns[q].dropped for report in self.reports) for q in range(len(self.matches))]


def run(stream: Stream, bounds: Bounds | None = None, cuts: Sequence[int] = (), **options: Any) -> Ran:
    """`cuts`: the rows at which another call begins."""
    _, merged, conditions = stream.planned
    engine = BoundedEngine(merged, conditions, bounds, **{"clock": CLOCK, **options})
    history, state = np.zeros(0, np.int64), None
    ran = Ran([set() for _ in stream.texts], [], 0)
    for first, end in zip([0, *cuts], [*cuts, stream.count], strict=True):
        rows = np.concatenate([history, np.arange(first, end)])
        step = engine.advance(stream.events(rows, len(history)), state, end == stream.count)
        for query, matches in enumerate(step.matches):
            offsets = matches.offsets
            ran.matches[query].update(
                tuple(rows[matches.rows[offsets[m] : offsets[m + 1]]].tolist()) for m in range(matches.count)
            )
        history, state = rows[step.rows_needed], step.state
        ran.reports.extend([] if step.report is None else [step.report])
    return Ran(ran.matches, ran.reports, step.partial_matches)


def recall(actual: Ran, exact: Ran, since: int = 0) -> float:
    """The recall over all queries, of matches that end at row `since` or later."""
    late = [
        sum(match[-1] >= since for match in matches)
        for matches in (set().union(*actual.matches), set().union(*exact.matches))
    ]
    return late[0] / late[1]


def latency_bound(stream: Stream, **options: Any) -> Bounds:
    return read_bounds(stream.merged.names, **options)
