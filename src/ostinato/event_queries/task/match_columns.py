"""The matches of a query -> output columns: keys, numbers, times, and an array of events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.event_queries.enumeration.event_matches import EventMatches, find_event_matches
from ostinato.event_queries.enumeration.match_conditions import MatchConditions
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.event_queries.language.event_query import BoundEventQuery
from ostinato.event_queries.plan.event_plan import QueryPlan
from ostinato.event_queries.plan.event_program import BoundKind, Events
from ostinato.event_queries.task.event_match_ids import IdentifiedEvents, event_match_ids
from ostinato.event_queries.task.sequences import Sequences
from ostinato.expressions.syntax import Expr
from ostinato.expressions.values.vectors import Vector
from ostinato.rows.batches import Batch
from ostinato.rows.matches import ranges
from ostinato.rows.ordering import tie_columns
from ostinato.rows.times import microseconds_of, times_of
from ostinato.rows.workload_layout import OutputColumn, Role

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scene:
    """The events of one stream, with the batch and the sequences that they come from."""

    batch: Batch
    sequences: Sequences
    events: Events
    vector: Callable[[Expr], Vector]
    """The values of an expression over one event, for all events in order."""

    def group_value(self, column: str, groups: Rows) -> pa.Array:
        """The values of a GROUP BY column for groups."""
        return self.batch.arrays[column].take(pa.array(self.sequences.examples[groups]))


def tie_breakers(batch: Batch, bound: BoundEventQuery) -> list[pa.Array]:
    """The columns that order events of one group at the same time."""
    names = [name for name in bound.columns if name not in (bound.time, *bound.group_by)]
    return [batch.arrays[name] for name in names if name in batch.arrays]


def match_columns(
    plan: QueryPlan,
    columns: list[OutputColumn],
    scene: Scene,
    limits: MatchLimits,
    conditions: MatchConditions | None,
) -> list[pa.Array]:
    """The output columns of a RETURN MATCHES query, as `columns` lists them."""
    matches = find_event_matches(plan.programs[0], scene.events, limits, conditions, scene.vector)
    return shown_matches(plan, columns, scene, matches, limits.limit)


def shown_matches(
    plan: QueryPlan,
    columns: list[OutputColumn],
    scene: Scene,
    matches: EventMatches,
    limit: int | None = None,
    *,
    numbered: bool = True,
) -> list[pa.Array]:
    """The output columns of matches in the form of `find_event_matches`.

    Without `numbered` the match numbers are NULL: another call may give matches of the same group and window.
    """
    group = scene.sequences.group[matches.sequence()]
    order = _order(matches, scene, plan.bound, group, limit)
    shown = _Shown(plan, scene, matches, order, group if order is None else group[order], numbered)
    return [shown.column(column) for column in columns]


def _order(matches: EventMatches, scene: Scene, bound: BoundEventQuery, group: Rows, limit: int | None) -> Rows | None:
    """The order of matches by group, window, first and last time, then event by event; None if they are in order.

    Matches of one sequence come in this order. LIMIT applies to a group and window, which may have matches of several
    sequences. These have no event in common, so their first events decide.
    """
    if not matches.count:
        return None
    first, last = matches.rows[matches.offsets[:-1]], matches.rows[matches.offsets[1:] - 1]
    window, time = matches.window(), scene.events.time
    keys: list[NDArray[Any]] = [group, window, time[first], time[last], matches.labels[matches.offsets[:-1]]]
    order = np.lexsort(keys[::-1])
    tied = _ties_of_sequences(keys, matches.sequence(), order)
    if len(tied):
        rank = np.zeros(matches.count, np.int64)
        rank[tied] = _row_ranks(scene, bound, first[tied])
        order = np.lexsort([rank, *keys[::-1]])
    if limit is not None:
        order = order[_numbers(_changes(group[order], window[order]), len(order)) <= limit]
    return None if len(order) == matches.count and bool((order[1:] > order[:-1]).all()) else order


def _ties_of_sequences(keys: Sequence[NDArray[Any]], sequence: Rows, order: Rows) -> Rows:
    """The matches that equal others in all keys; empty if all such matches belong to one sequence."""
    tied = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys])
    if not (tied & (sequence[order[1:]] != sequence[order[:-1]])).any():
        return order[:0]
    return order[np.concatenate((tied, [False])) | np.concatenate(([False], tied))]


def _row_ranks(scene: Scene, bound: BoundEventQuery, events: NDArray[np.int32]) -> Rows:
    """Ranks of events of the same time, in the order of their group."""
    distinct, which = np.unique(events, return_inverse=True)
    columns = tie_columns(tie_breakers(scene.batch, bound), scene.sequences.rows[distinct])
    ranks = np.empty(len(distinct), np.int64)
    ranks[np.lexsort(columns[::-1])] = np.arange(len(distinct))
    return ranks[which]


def _changes(group: Rows, window: Rows) -> NDArray[np.bool_]:
    """For all rows but the first, whether a group or a window of a group starts there."""
    return np.asarray((group[1:] != group[:-1]) | (window[1:] != window[:-1]))


def _numbers(is_new: NDArray[np.bool_], count: int) -> Rows:
    """1, 2, ... for each run of rows. `is_new` says for all rows but the first whether a run starts there."""
    starts = np.concatenate(([0], np.flatnonzero(is_new) + 1))
    numbers: Rows = np.arange(1, count + 1) - np.repeat(starts, np.diff(starts, append=count))
    return numbers


class _Shown:
    """The matches in their order, as columns."""

    def __init__(
        self,
        plan: QueryPlan,
        scene: Scene,
        matches: EventMatches,
        order: Rows | None,
        group: Rows,
        numbered: bool,
    ) -> None:
        self.plan, self.scene, self.group, self.numbered = plan, scene, group, numbered
        self.window = matches.window() if order is None else matches.window()[order]
        if order is None:
            self.offsets, rows, self.labels = matches.offsets, matches.rows, matches.labels
        else:
            lengths = np.diff(matches.offsets)[order]
            self.offsets = np.concatenate(([0], np.cumsum(lengths)))
            indexes = ranges(matches.offsets[:-1][order], lengths)
            rows, self.labels = matches.rows[indexes], matches.labels[indexes]
        self.rows = scene.sequences.rows[rows]
        """The events' rows in the input."""

    def column(self, column: OutputColumn) -> pa.Array:
        array = self._column(column)
        return array if array.type == column.type else array.cast(column.type)

    def _column(self, column: OutputColumn) -> pa.Array:
        match column.role:
            case Role.GROUP:
                return self.scene.group_value(column.key, self.group)
            case Role.MATCH_NUMBER if not self.numbered:
                return pa.nulls(len(self.group), pa.int64())
            case Role.MATCH_NUMBER:
                return pa.array(_numbers(_changes(self.group, self.window), len(self.group)), pa.int64())
            case Role.WINDOW_START:
                return times_of(self.window, column.type)
            case Role.WINDOW_END:
                return times_of(self.window + self.plan.programs[0].extent.length, column.type)
            case Role.MATCH_START:
                return self._taken(self.plan.bound.time, self.rows[self.offsets[:-1]])
            case Role.MATCH_END:
                return self._taken(self.plan.bound.time, self.rows[self.offsets[1:] - 1])
            case Role.EVENTS:
                return self._events(column.type)
            case Role.MATCH_ID:
                return self._ids()
            case _:
                raise AssertionError(f"a match has no {column.role}")

    def _ids(self) -> pa.Array:
        bound, program = self.plan.bound, self.plan.programs[0]
        has_windows = program.extent.kind is BoundKind.WINDOWS
        return event_match_ids(
            IdentifiedEvents(
                self.offsets,
                [self.scene.group_value(name, self.group) for name in bound.group_by],
                self.window if has_windows else None,
                self.labels,
                program.automaton.labels,
                microseconds_of(self._taken(bound.time, self.rows)),
                [self._taken(name, self.rows) for name in bound.columns],
            )
        )

    def _taken(self, name: str, rows: NDArray[Any]) -> pa.Array:
        return self.scene.batch.arrays[name].take(pa.array(rows))

    def _events(self, kind: pa.DataType) -> pa.Array:
        struct = kind.value_type
        names = pa.array(self.plan.programs[0].automaton.labels, pa.string())
        values = [names.take(pa.array(self.labels))]
        values += [self._taken(name, self.rows) for name in self.plan.bound.columns]
        fields = [struct.field(i) for i in range(struct.num_fields)]
        events = pa.StructArray.from_arrays(values, fields=fields)
        return pa.ListArray.from_arrays(pa.array(self.offsets.astype(np.int32)), events, type=kind)
