"""A bound event query and rows -> the input of a trend engine, and the results that the oracle expects of it.

No types and no Arrow here: conditions and values are evaluated row by row, as the oracle evaluates them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.language.event_query import AdjacentCondition, BoundEventQuery
from ostinato.event_queries.plan.event_plan import EventsPlan, plan_events
from ostinato.event_queries.plan.event_program import (
    NO_VALUE,
    NO_WINDOW,
    EngineStep,
    Events,
    PairTest,
    Program,
    QueryResults,
    Slot,
    SlotKind,
    TrendEngine,
)
from ostinato.expressions.syntax import Expr
from ostinato.kernels.numbers.python_numbers import Extended
from ostinato.reference.trend_matches import Event, Run, by_window, time_us
from ostinato.reference.trend_values import adjacent_holds, at_row

Row = Mapping[str, Any]
ResultsByWindow = dict[tuple[int, int | None], tuple[Any, ...]]
"""By sequence and window: the count, then the values of the slots; None for no value."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query with its input. `sequences` has the events in order. `plan` is the plan of the query's workload."""

    bound: BoundEventQuery
    plan: EventsPlan
    rows: Sequence[Row]
    sequences: tuple[tuple[Event, ...], ...]
    query: int = 0

    @property
    def program(self) -> Program:
        return self.plan.queries[self.query].programs[0]

    def events_between(self, cuts: Sequence[tuple[int, int]]) -> Events:
        """The events of each sequence in a range of indices."""
        chosen = [sequence[first:end] for sequence, (first, end) in zip(self.sequences, cuts, strict=True)]
        flat = [event for sequence in chosen for event in sequence]
        columns = [_column(value, self.rows, [event.row for event in flat]) for value in self.plan.values]
        return Events(
            starts=np.cumsum([0, *map(len, chosen)]).astype(np.int64),
            time=np.array([event.time_us for event in flat], np.int64),
            place=np.array([event.position for event in flat], np.int64),
            conditions=tuple(
                np.array([at_row(condition, event.row) is True for event in flat], bool)
                for condition in self.plan.conditions
            ),
            values=tuple(values for values, _ in columns),
            valid=tuple(valid for _, valid in columns),
            pair_tests=tuple(self._pair_test(test, flat, cuts) for test in self.plan.pair_tests),
        )

    def all_events(self) -> Events:
        return self.events_between([(0, len(sequence)) for sequence in self.sequences])

    def _pair_test(self, test: Expr, flat: Sequence[Event], cuts: Sequence[tuple[int, int]]) -> PairTest:
        condition = AdjacentCondition("", "", test)

        def event(row: int) -> Event:
            if row >= 0:
                return flat[row]
            back, sequence = divmod(-1 - row, len(cuts))
            return self.sequences[sequence][cuts[sequence][0] - 1 - back]

        def passes(earlier: NDArray[np.int64], later: NDArray[np.int64]) -> NDArray[np.bool_]:
            result = np.zeros(len(earlier), bool)
            for i, (before, after) in enumerate(zip(earlier.tolist(), later.tolist(), strict=True)):
                result[i] = adjacent_holds(condition, event(before).row, event(after).row)
            return result

        return passes

    def expected(self) -> ResultsByWindow:
        """The oracle's results."""
        sequence_of = {event.index: s for s, sequence in enumerate(self.sequences) for event in sequence}
        results: ResultsByWindow = {}
        for scenes in by_window(self.bound, self.rows):
            for scene in scenes:
                runs = scene.matches(self.bound.query.pattern)
                if runs:
                    slots = (self._aggregate(slot, runs) for slot in self.program.slots)
                    results[sequence_of[runs[0][0][0].index], scene.window] = (len(runs), *slots)
        return results

    def _aggregate(self, slot: Slot, runs: Sequence[Run]) -> Any:
        names = {self.program.automaton.labels[label] for label in slot.labels}
        rows = [event.row for run in runs for event, variable in run if variable in names]
        if slot.value == NO_VALUE:
            return len(rows)
        values = [value for row in rows if (value := at_row(self.plan.values[slot.value], row)) is not None]
        if slot.kind is SlotKind.COUNT:
            return len(values)
        if not values:
            return None
        if slot.kind is SlotKind.SUM:
            return _sum(values)
        choose = min if slot.kind is SlotKind.MIN else max
        return choose(map(_plain, values), key=lambda v: (isnan(v), v))


def prepared(bound: BoundEventQuery, rows: Sequence[Row]) -> Prepared:
    (query,) = prepared_workload([bound], rows)
    return query


def prepared_workload(bounds: Sequence[BoundEventQuery], rows: Sequence[Row]) -> list[Prepared]:
    """Queries with the same GROUP BY and SAME, planned as one workload."""
    plan = plan_events(bounds)
    assert len(plan.streams) == 1
    unbounded = replace(bounds[0], query=replace(bounds[0].query, bound=None))
    sequences = tuple(tuple(scene.events) for scenes in by_window(unbounded, rows) for scene in scenes)
    return [Prepared(bound, plan, rows, sequences, query) for query, bound in enumerate(bounds)]


def _column(value: Expr, rows: Sequence[Row], chosen: Sequence[Row]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    real = any(isinstance(at_row(value, row), float) for row in rows)
    values = [_plain(at_row(value, row)) for row in chosen]
    numbers = np.array([0 if each is None else each for each in values], np.float64 if real else np.int64)
    return numbers, np.array([each is not None for each in values], bool)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        raise NotImplementedError("decimals have a scale of their own")
    return time_us(value) if isinstance(value, date) else value


def _sum(values: Sequence[Any]) -> Any:
    if all(isinstance(value, int) for value in values):
        return sum(values)
    special = {value for value in values if not isfinite(value)}
    if special:
        return nan if len(special) > 1 or any(map(isnan, special)) else inf * special.pop()
    return Fraction(sum(map(Fraction, values)))


def results_by_window(results: QueryResults) -> ResultsByWindow:
    """An engine's results in the form of `Prepared.expected`."""
    rows: ResultsByWindow = {}
    for i in range(len(results.sequence)):
        window = int(results.window[i])
        slots = [
            _number(column, i)
            if present[i]
            else (0 if isinstance(column, np.ndarray) and column.dtype == object else None)
            for column, present in zip(results.slots, results.present, strict=True)
        ]
        rows[int(results.sequence[i]), None if window == NO_WINDOW else window] = (_number(results.count, i), *slots)
    return rows


def _number(column: Any, i: int) -> Any:
    if not isinstance(column, Extended):
        return column[i] if column.dtype == object else column[i].item()
    mantissa = float(column.mantissa[i])
    return Fraction(mantissa) * Fraction(2) ** int(column.exponent[i]) if isfinite(mantissa) else mantissa


def differing(prepared: Prepared, results: ResultsByWindow) -> str | None:
    """Describes the wrong results of an engine; None if there are none. A missing COUNT or SUM equals 0 here."""
    expected = prepared.expected()
    if expected.keys() != results.keys():
        return f"rows {sorted(results, key=str)} instead of {sorted(expected, key=str)}"
    for key, row in expected.items():
        for i, (one, other) in enumerate(zip(row, results[key], strict=True)):
            if not _alike(one, other):
                return f"{key} column {i}: {other} instead of {one}"
    return None


def _alike(one: Any, other: Any) -> bool:
    if one is None or other is None:
        return one is other or (one or 0) == (other or 0) == 0
    if isinstance(one, float) and isinstance(other, float) and isnan(one) and isnan(other):
        return True
    if one == other:
        return True
    if any(isinstance(each, float) and not isfinite(each) for each in (one, other)):
        return False
    return abs(Fraction(one) - Fraction(other)) <= Fraction(1, 10**12) * max(abs(Fraction(one)), Fraction(1, 10**9))


def at_once(engine: TrendEngine, prepared: Prepared) -> list[ResultsByWindow]:
    """The results of each program of the engine, with all events in one call."""
    step = engine.advance(prepared.all_events(), [b""] * len(prepared.sequences), None)
    assert set(step.states) <= {b""}
    return [results_by_window(results) for results in step.results]


def in_steps(engine: TrendEngine, prepared: Prepared, moments: Sequence[int]) -> list[ResultsByWindow]:
    """The results of each program of the engine, with the events in several calls.

    The first calls end at the moments (times), and the last call has all other events. All programs of the engine
    measure windows like the prepared one, by time or by number of events.
    """
    by_place = prepared.program.extent.by_place
    done = [0] * len(prepared.sequences)
    states: Sequence[bytes] = [b""] * len(prepared.sequences)
    all_results: list[ResultsByWindow] = []
    for moment in (*moments, None):
        ends = [len(s) if moment is None else sum(e.time_us <= moment for e in s) for s in prepared.sequences]
        until = None
        if moment is not None and by_place:
            # All events of the group up to the moment have been counted.
            until = np.array([_first_open_position(s, end) for s, end in zip(prepared.sequences, ends, strict=True)])
        elif moment is not None:
            until = np.full(len(done), moment + 1)
        step: EngineStep = engine.advance(prepared.events_between(list(zip(done, ends, strict=True))), states, until)
        all_results = all_results or [{} for _ in step.results]
        for known, results in zip(all_results, step.results, strict=True):
            new = results_by_window(results)
            assert known.keys().isdisjoint(new), "a window has two results"
            known.update(new)
        done, states = ends, step.states
    assert set(states) <= {b""}
    return all_results


def _first_open_position(sequence: Sequence[Event], end: int) -> int:
    return sequence[end - 1].position + 1 if end else 0
