"""Event queries and rows -> the matches of the shared matcher, in one call or in several, and those of the oracle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tests.event_queries.enumeration.event_matching import SETTINGS, by_oracle
from tests.laws.event_strategies import COLUMNS, bind
from tests.laws.trend_programs import Prepared, Row, prepared

from ostinato.event_queries.plan.event_plan import plan_events
from ostinato.event_queries.plan.event_program import NO_WINDOW
from ostinato.event_queries.plan.event_types import type_events
from ostinato.expressions.evaluate import as_vector, evaluate
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.types import normalise
from ostinato.expressions.values.vectors import Vector
from ostinato.workloads.matcher.ledger import KeepMasks
from ostinato.workloads.matcher.matcher_run import MatcherRun
from ostinato.workloads.matcher.matcher_state import MatcherState
from ostinato.workloads.matcher.materialise import PatternMatches
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.matcher.shared_matcher import SharedMatcher, one_class_per_node
from ostinato.workloads.merging.merged_plan import MergedPlan, merge
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.plan.event_programs import bounded_programs
from ostinato.workloads.plan.plan_lowering import lower_plan

Match = tuple[tuple[int, str], ...]
"""(index of the input row, variable) for each event of the match."""
WindowMatches = list[tuple[int, int | None, Match]]
"""Sequence, window and match, sorted."""
MaskSource = Callable[[MatcherRun], KeepMasks | None]


@dataclass(frozen=True)
class Workload:
    """Queries of one stream that the shared matcher supports, over one table."""

    texts: tuple[str, ...]
    ready: tuple[Prepared, ...]
    """The input of the oracle for each query."""
    merged: MergedPlan
    conditions: PlanConditions | None

    @cached_property
    def events(self) -> PlanEvents:
        """All rows in order of time."""
        flat = [(s, event) for s, sequence in enumerate(self.ready[0].sequences) for event in sequence]
        events = replace(self.ready[0], plan=plan_events([one.bound for one in self.ready])).all_events()
        order, link = zip(*self._numbers(), strict=True) if flat else ((), ())
        rows = sorted(range(len(flat)), key=lambda i: flat[i][1].time_us)
        table = {Column(name): pa.array([flat[i][1].row[name] for i in rows], kind) for name, kind in COLUMNS.items()}

        def column(expr: Expr) -> Vector:
            return as_vector(evaluate(expr, table.get, len(rows), SETTINGS), SETTINGS)

        return PlanEvents(
            sequence=np.array([flat[i][0] for i in rows], np.int64),
            order=np.array(order, np.int64)[rows],
            time=events.time[rows],
            place=events.place[rows],
            link=np.array(link, np.int64)[rows],
            conditions=tuple(mask[rows] for mask in events.conditions),
            values=tuple(values[rows] for values in events.values),
            valid=tuple(None if valid is None else valid[rows] for valid in events.valid),
            column=column,
        )

    @cached_property
    def inputs(self) -> list[int]:
        """The index in the input of each row of `events`."""
        flat = [event for sequence in self.ready[0].sequences for event in sequence]
        return [event.index for event in sorted(flat, key=lambda event: event.time_us)]

    def _numbers(self) -> list[tuple[int, int]]:
        """Order and link of all events, sequence by sequence. Events of the same time have no neighbours."""
        numbers = []
        for sequence in self.ready[0].sequences:
            times = [event.time_us for event in sequence]
            link = 0
            for i, time in enumerate(times):
                is_next = times.count(time) == 1 and (i == 0 or times.count(times[i - 1]) == 1)
                link += 1 if is_next else 2
                numbers.append((len(set(times[:i]) - {time}), link))
        return numbers

    def expected(self, query: int) -> WindowMatches:
        """The matches of the oracle."""
        return sorted(
            ((sequence, window, match) for (sequence, window), matches in by_oracle(self.ready[query]).items()
             for match in matches), key=str,
        )  # fmt: skip

    def listed(self, query: int, matches: PatternMatches, rows: NDArray[np.int64]) -> WindowMatches:
        """The matches of a call of the matcher. `rows` are the rows of the call as indices of `events`."""
        names = self.ready[query].program.automaton.labels
        result: WindowMatches = []
        for m in range(matches.count):
            indices = range(matches.offsets[m], matches.offsets[m + 1])
            pairs = tuple((self.inputs[rows[matches.rows[i]]], names[matches.labels[i]]) for i in indices)
            sequence = int(self.events.sequence[rows[matches.rows[indices[0]]]])
            window = int(matches.window[m])
            result.append((sequence, None if window == NO_WINDOW else window, pairs))
        return result


def workloads(texts: Sequence[str], rows: Sequence[Row], **options: bool) -> list[Workload]:
    """The queries that the shared matcher supports, by stream. `options` are those of `merge`."""
    plan = plan_events([bind(text) for text in texts])
    types = {name: normalise(kind, SETTINGS) for name, kind in COLUMNS.items()}
    typed = type_events(plan, types.__getitem__, SETTINGS, numbers="decimal", approximate=False)
    programs = bounded_programs(typed, [f"q{i}" for i in range(len(texts))]).programs
    result = []
    for stream in range(len(plan.streams)):
        queries = [i for i in plan.queries_of(stream) if i in programs]
        if not queries:
            continue
        # The conditions of a plan depend on its queries.
        bound_queries = [bind(texts[i]) for i in queries]
        typed = type_events(
            plan_events(bound_queries), types.__getitem__, SETTINGS, numbers="decimal", approximate=False
        )
        programs = bounded_programs(typed, [f"q{i}" for i in queries]).programs
        merged = merge([programs[i] for i in range(len(queries))], **options)
        conditions = lower_plan(merged, typed.input_types.__getitem__, typed.settings, typed.plan.values)
        ready = tuple(prepared(bound, rows) for bound in bound_queries)
        result.append(Workload(tuple(texts[i] for i in queries), ready, merged, conditions))
    return result


def in_calls(
    work: Workload,
    cuts: Sequence[int],
    keep_masks_of: MaskSource = lambda run: None,
    watch: Callable[[MatcherRun], None] = lambda run: None,
    **options: Any,
) -> list[WindowMatches]:
    """The matches of each query if calls start at `cuts`. Between calls, the state is serialised."""
    matcher = SharedMatcher(work.merged, work.conditions, **options)
    buckets = one_class_per_node(work.merged, work.conditions)
    count = len(work.events.time)
    matches_by_query: list[WindowMatches] = [[] for _ in work.texts]
    kept_rows, data = np.zeros(0, np.int64), b""
    for call, (first, end) in enumerate(zip([0, *cuts], [*cuts, count], strict=True)):
        rows = np.concatenate((kept_rows, np.arange(first, end)))
        state = MatcherState.from_bytes(data) if call else None
        run = matcher.begin(renumbered(work.events, rows, len(kept_rows), call), state, buckets)
        for until in range(len(kept_rows), len(rows) + 1):
            run.advance(until, keep_masks_of(run))
            watch(run)
        matches, state = run.finish()
        for query, matches_of_query in enumerate(matches):
            matches_by_query[query] += work.listed(query, matches_of_query, rows)
        kept_rows, data = rows[state.rows_needed], state.to_bytes()
    return [sorted(matches_of_query, key=str) for matches_of_query in matches_by_query]


def renumbered(events: PlanEvents, rows: NDArray[np.int64], kept_rows: int, call: int) -> PlanEvents:
    """Some rows of the events. Every call has other numbers for sequences, orders and links."""

    def column(expr: Expr) -> Vector:
        assert events.column is not None
        return events.column(expr).take(rows)

    used, sequence = np.unique(events.sequence[rows], return_inverse=True)
    return PlanEvents(
        sequence=(len(used) - 1 - sequence if call % 2 else sequence).astype(np.int64),
        order=events.order[rows] + 7 * call,
        time=events.time[rows],
        place=events.place[rows],
        link=events.link[rows] - 5 * call,
        conditions=tuple(mask[rows] for mask in events.conditions),
        values=tuple(values[rows] for values in events.values),
        valid=tuple(None if valid is None else valid[rows] for valid in events.valid),
        column=column,
        first_new=kept_rows,
    )
