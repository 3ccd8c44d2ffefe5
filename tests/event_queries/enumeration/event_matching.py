"""A bound event query and rows -> the matches of the kernel, and those of the oracle."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
from tests.laws.trend_programs import Prepared

from ostinato.event_queries.enumeration.event_matches import EventMatches, find_event_matches
from ostinato.event_queries.enumeration.match_conditions import lower_run_conditions
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.event_queries.plan.event_program import NO_WINDOW
from ostinato.expressions.evaluate import as_vector, evaluate
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.types import Settings, normalise
from ostinato.expressions.typing import type_of
from ostinato.expressions.values.vectors import Vector
from ostinato.reference.trend_matches import by_window

SETTINGS = Settings()
NO_LIMITS = MatchLimits()
MatchesByWindow = dict[tuple[int, int | None], list[tuple[tuple[int, str], ...]]]
"""By sequence and window: matches in order, each as pairs of (index of the input row, variable)."""


def kernel_matches(
    ready: Prepared, columns: Mapping[str, pa.DataType], limits: MatchLimits = NO_LIMITS
) -> EventMatches:
    """The matches of the kernel. `columns` has the types of the input columns."""
    types = {name: normalise(kind, SETTINGS) for name, kind in columns.items()}
    rows = [event.row for sequence in ready.sequences for event in sequence]
    arrays = {Column(name): pa.array([row[name] for row in rows], kind) for name, kind in columns.items()}

    def operand_type(expr: Expr) -> pa.DataType:
        return type_of(expr, lambda node: types[node.name] if isinstance(node, Column) else None, SETTINGS)

    def column(expr: Expr) -> Vector:
        return as_vector(evaluate(expr, arrays.get, len(rows), SETTINGS), SETTINGS)

    conditions = lower_run_conditions(ready.plan.queries[0].run, ready.program.automaton, operand_type, SETTINGS)
    return find_event_matches(ready.program, ready.all_events(), limits, conditions, column)


def listed(ready: Prepared, matches: EventMatches) -> MatchesByWindow:
    """Matches of the kernel as input rows and names of variables."""
    flat = [event.index for sequence in ready.sequences for event in sequence]
    names = ready.program.automaton.labels
    result: MatchesByWindow = {}
    for m, (sequence, window) in enumerate(zip(matches.sequence().tolist(), matches.window().tolist(), strict=True)):
        indices = range(matches.offsets[m], matches.offsets[m + 1])
        pairs = tuple((flat[matches.rows[i]], names[matches.labels[i]]) for i in indices)
        result.setdefault((sequence, None if window == NO_WINDOW else window), []).append(pairs)
    return result


def by_oracle(ready: Prepared) -> MatchesByWindow:
    """The oracle's matches by first time, last time, and then event by event: variable, then row."""
    position_of = {
        event.index: (s, i) for s, sequence in enumerate(ready.sequences) for i, event in enumerate(sequence)
    }
    names = ready.program.automaton.labels
    result: MatchesByWindow = {}
    for scenes in by_window(ready.bound, ready.rows):
        for scene in scenes:
            runs = scene.matches(ready.bound.query.pattern)
            runs.sort(
                key=lambda run: (
                    run[0][0].time_us,
                    run[-1][0].time_us,
                    [(names.index(variable), position_of[event.index]) for event, variable in run],
                )
            )
            if runs:
                sequence, _ = position_of[runs[0][0][0].index]
                result[sequence, scene.window] = [tuple((event.index, name) for event, name in run) for run in runs]
    return result
