"""The events of a stream by sequence <-> in order of arrival, as the shared matcher takes them.

In: a `Scene` (events by sequence, then time). Out: `PlanEvents` (all sequences interleaved by time), and the matches of
the matcher as `EventMatches` over the scene's rows, in the order in which the enumerator gives them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.event_queries.enumeration.event_matches import EventMatches
from ostinato.event_queries.enumeration.event_scopes import Ranges
from ostinato.event_queries.plan.event_program import Events
from ostinato.event_queries.task.match_columns import Scene
from ostinato.expressions.syntax import Expr
from ostinato.expressions.values.value_order import OrderKey, sortable
from ostinato.expressions.values.vectors import Vector
from ostinato.rows.matches import ranges
from ostinato.workloads.matcher.materialise import PatternMatches
from ostinato.workloads.matcher.plan_events import PlanEvents

_ROW_BITS = 40
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class EventNumbers:
    """Numbers of events that a stream continues from one call to the next, in the order of the scene."""

    place: Rows
    """Number of the event within its group."""
    link: Rows
    """Consecutive if events are neighbours: of one sequence, nothing between them, both alone at their times."""


def numbers_of(events: Events) -> EventNumbers:
    """The numbers of events without a history."""
    return EventNumbers(events.place, links(events, np.ones(len(events.time), np.bool_)))


def links(events: Events, is_new: Mask) -> Rows:
    """Numbers from 0 for the new events of each sequence, which follow the old ones. Events of equal time differ by
    two."""
    count = len(events.time)
    if not count:
        return np.zeros(0, np.int64)
    starts = _sequence_starts(events)
    tied = _tied(events.time, starts)
    begins = is_new & (starts | np.concatenate(([False], ~is_new[:-1])))
    steps = np.where(tied | np.concatenate(([False], tied[:-1])), 2, 1)
    steps[begins] = np.where(tied[begins], 1, 0)
    steps[~is_new] = 0
    totals = np.cumsum(steps)
    at_begin = np.where(begins, totals - steps, 0)
    first: Rows = np.maximum.accumulate(np.where(begins, np.arange(count), 0))
    return np.asarray(totals - at_begin[first], np.int64)


def next_link(events: Events, numbers: EventNumbers, is_new: Mask) -> Rows:
    """[sequence] link of a next event that is alone at its time; 0 if no event is new."""
    last = events.starts[1:] - 1
    tied = _tied(events.time, _sequence_starts(events))
    following = numbers.link[last] + np.where(tied[last], 2, 1)
    return np.asarray(np.where(is_new[last], following, 0), np.int64)


def _sequence_starts(events: Events) -> Mask:
    starts = np.zeros(len(events.time), np.bool_)
    starts[events.starts[:-1]] = True
    return starts


def _tied(time: Rows, starts: Mask) -> Mask:
    """The events that share their time with another of their sequence."""
    as_before = np.concatenate(([False], (time[1:] == time[:-1]) & ~starts[1:]))
    return np.asarray(as_before | np.concatenate((as_before[1:], [False])))


@dataclass(frozen=True, slots=True)
class Arrival:
    """A scene's events in the order in which they arrive: the i-th is row `rows[i]` of the scene."""

    scene: Scene
    rows: Rows
    history: int
    """Number of events from earlier calls, which come first."""

    def plan_events(self, numbers: EventNumbers) -> PlanEvents:
        events, rows = self.scene.events, self.rows
        sequence = np.repeat(np.arange(len(events.starts) - 1), np.diff(events.starts))

        def column(expr: Expr) -> Vector:
            return self.scene.vector(expr).take(rows)

        return PlanEvents(
            sequence=sequence[rows],
            order=_time_ranks(events)[rows],
            time=events.time[rows],
            place=numbers.place[rows],
            link=numbers.link[rows],
            conditions=tuple(mask[rows] for mask in events.conditions),
            values=tuple(values[rows] for values in events.values),
            valid=tuple(None if valid is None else valid[rows] for valid in events.valid),
            column=column,
            first_new=self.history,
        )

    def matches(self, of_pattern: PatternMatches) -> EventMatches:
        """The matches over the scene's rows, in the order of `find_event_matches`."""
        events = self.scene.events
        rows = self.rows[of_pattern.rows]
        start, lengths = of_pattern.offsets[:-1], np.diff(of_pattern.offsets)
        first, last = rows[start], rows[of_pattern.offsets[1:] - 1]
        sequence = np.searchsorted(events.starts, first, side="right") - 1
        codes = of_pattern.labels.astype(np.int64) << _ROW_BITS | rows
        keys = (sequence, of_pattern.window, events.time[first], events.time[last])
        order = enumeration_order(keys, start, lengths, codes)
        indexes = ranges(start[order], lengths[order])
        return EventMatches(
            offsets=np.concatenate(([0], np.cumsum(lengths[order]))),
            rows=rows[indexes].astype(np.int32),
            labels=of_pattern.labels[indexes].astype(np.uint8),
            scopes=Ranges(first[order], last[order] + 1, sequence[order], of_pattern.window[order]),
            match_counts=np.ones(len(order), np.int64),
        )


def arrive(scene: Scene, keys: Sequence[str], history: int = 0) -> Arrival:
    """Orders events by time, then by the values of `keys`, which tell sequences apart. So the result doesn't depend on
    how a stream was cut.

    The first `history` rows of the scene's batch came with earlier calls, and keep their order.
    """
    events, batch_row = scene.events, scene.sequences.rows
    new = batch_row >= history
    sequence = np.repeat(_sequence_ranks(scene, keys), np.diff(events.starts))
    order = np.lexsort((np.where(new, sequence, batch_row), np.where(new, events.time, 0), new))
    return Arrival(scene, order, int(len(order) - new.sum()))


def _sequence_ranks(scene: Scene, keys: Sequence[str]) -> Rows:
    """[sequence] rank by the keys' values."""
    firsts = pa.array(scene.sequences.rows[scene.events.starts[:-1]])
    columns = [scene.batch.arrays[name].take(firsts) for name in keys]
    sorted_by = [column for key in columns for column in sortable(OrderKey(key))]
    ranks = np.zeros(len(firsts), np.int64)
    if sorted_by:
        ranks[np.lexsort(sorted_by[::-1])] = np.arange(len(firsts))
    return ranks


def _time_ranks(events: Events) -> Rows:
    """[event] rank of its time within its sequence."""
    starts = _sequence_starts(events)
    is_later = np.zeros(len(events.time), np.int64)
    is_later[1:] = events.time[1:] != events.time[:-1]
    ranks = np.cumsum(np.where(starts, 0, is_later))
    sequence = np.repeat(events.starts[:-1], np.diff(events.starts))
    return np.asarray(ranks - ranks[sequence], np.int64)


def enumeration_order(keys: tuple[Rows, ...], start: Rows, length: Rows, codes: Rows) -> Rows:
    """Sorts matches by `keys`, the first key first, and matches with equal keys by their codes.

    Match m has the codes from `start[m]` on, `length[m]` of them. Each round compares one more code of the matches that
    are still tied. Few matches agree in their ends and in many codes.
    """
    order = np.lexsort(keys[::-1])
    tied = np.zeros(len(order), np.bool_)  # a match that ties with the one before it in the order
    tied[1:] = np.logical_and.reduce([key[order[1:]] == key[order[:-1]] for key in keys]) if len(order) else ()
    depth = 0
    while tied.any():
        indexes = np.flatnonzero(tied | np.concatenate((tied[1:], [False])))
        block = np.cumsum(~tied[indexes])
        matches = order[indexes]
        within = depth < length[matches]
        code = np.where(within, codes[np.where(within, start[matches] + depth, 0)], -1)
        again = np.lexsort((code, block))
        order[indexes] = matches[again]
        equal = np.zeros(len(indexes), np.bool_)
        equal[1:] = (block[again][1:] == block[again][:-1]) & (code[again][1:] == code[again][:-1])
        tied[indexes] = equal
        depth += 1
        if not within.any():  # the same match twice: nothing tells them apart
            break
    return order
