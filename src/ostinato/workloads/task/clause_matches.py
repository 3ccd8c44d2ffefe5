"""Matches of a clause as the shared matcher gives them -> the Matches that the clause's own engine would give.

The matcher names only the rows it looked at, in the order in which they completed matches. Here the rows between get
their variables, and matches come by start, then in the order of preference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.rows.matches import Matches, ranges
from ostinato.workloads.plan.clause_groups import ClauseProgram
from ostinato.workloads.plan.row_graph import NOTHING, Turn

Ints = NDArray[np.int64]
_NO_LABELS, _NO_FLAGS = np.empty(0, np.int32), np.empty(0, np.bool_)
ROWS_AT_ONCE = 1 << 24
_FAR = 1 << 62
"""Above the place of every choice in front of the skipping one."""


@dataclass(frozen=True, slots=True)
class FoundRows:
    """Match m looked at `rows[offsets[m]:offsets[m + 1]]` (in the order of matching), bound to these labels."""

    offsets: Ints
    rows: Ints
    labels: Ints

    def some(self, matches: slice) -> FoundRows:
        """Matches that come one after the other."""
        offsets = self.offsets[matches.start : matches.stop + 1]
        inside = slice(offsets[0], offsets[-1])
        return FoundRows(offsets - offsets[0], self.rows[inside], self.labels[inside])


class ClauseMatches:
    """What is known about one clause beforehand, as arrays."""

    def __init__(self, clause: ClauseProgram, plan: MatchPlan) -> None:
        graph, states, variables = clause.graph, plan.nfa.states, plan.bound.variables
        self.needs_path = plan.needs_path
        self.nodes = len(graph.nodes)
        self.variable = np.array([variables.index(states[node.state].variable) for node in graph.nodes], np.int32)
        self.excluded = np.array([states[node.state].excluded for node in graph.nodes], np.bool_)
        ways = sorted(graph.ways, key=lambda way: (way.source, way.target))
        self.way_codes = np.array([self._code(way.source, way.target) for way in ways], np.int64)
        self.gap_variable = np.array(
            [-1 if way.gap == NOTHING else variables.index(states[way.gap].variable) for way in ways], np.int32
        )
        self.gap_excluded = np.array([way.gap != NOTHING and states[way.gap].excluded for way in ways], np.bool_)
        self.direct = _turns([way.direct for way in ways])
        self.inside = _turns([way.inside or way.direct for way in ways])
        ends = dict(graph.ends)
        self.end = _turns([ends.get(node, Turn(False, 0)) for node in range(self.nodes)])
        self.width = 1 + max((turn.rank for way in ways for turn in (way.direct, way.inside) if turn), default=0)
        self.width = max(self.width, 1 + int(self.end[1].max(initial=0)))

    def _code(self, source: Ints | int, target: Ints | int) -> Ints | int:
        return (source + 1) * self.nodes + target

    def whole(self, found: FoundRows, key_at: Ints, most_rows: int = ROWS_AT_ONCE) -> Iterator[Matches]:
        """The matches with all of their rows, those in order as `preferred` gives them, about `most_rows` at a time;
        key k owns rows `key_at[k]:key_at[k + 1]`."""
        start = found.rows[found.offsets[:-1]]
        length = found.rows[found.offsets[1:] - 1] - start + 1
        key = np.searchsorted(key_at, start, side="right") - 1
        number = np.arange(len(start), dtype=np.int64) - np.searchsorted(key, key, side="left") + 1
        for part in _parts(length, most_rows if self.needs_path else len(start) + int(length.sum())):
            path_at, label, excluded = np.zeros(len(length[part]), np.int64), _NO_LABELS, _NO_FLAGS
            if self.needs_path:
                path_at = np.cumsum(length[part]) - length[part]
                label, excluded = self._path(found.some(part))
            bounds = key_at[key[part]], key_at[key[part] + 1]
            yield Matches(start[part], length[part], number[part], path_at, label, excluded, *bounds)

    def _steps(self, found: FoundRows) -> tuple[Ints, Ints]:
        """For each row of a match the way that led to it, and how many rows were skipped there."""
        source = np.empty_like(found.labels)
        skipped = np.empty_like(found.rows)
        source[1:] = found.labels[:-1]
        skipped[1:] = found.rows[1:] - found.rows[:-1] - 1
        source[found.offsets[:-1]] = NOTHING
        skipped[found.offsets[:-1]] = 0
        return np.searchsorted(self.way_codes, self._code(source, found.labels)), skipped

    def preferred(self, found: FoundRows) -> FoundRows:
        """By start, then in order of preference."""
        way, skipped = self._steps(found)
        behind, rank = (np.where(skipped > 0, self.inside[i][way], self.direct[i][way]) for i in (0, 1))
        last = found.labels[found.offsets[1:] - 1]
        length = np.diff(found.offsets)
        ends = np.cumsum(length + 1) - 1
        turns = np.empty(len(found.rows) + len(length), np.int64)
        is_end = np.zeros(len(turns), np.bool_)
        is_end[ends] = True
        turns[~is_end] = self._place(behind, rank, skipped)
        turns[ends] = self._place(self.end[0][last], self.end[1][last], np.zeros_like(last))
        order = preference_order(found.rows[found.offsets[:-1]], ends - length, turns)
        rows = ranges(found.offsets[:-1][order], length[order])
        offsets = np.concatenate(([0], np.cumsum(length[order]))).astype(np.int64)
        return FoundRows(offsets, found.rows[rows], found.labels[rows])

    def _place(self, behind: Ints, rank: Ints, skipped: Ints) -> Ints:
        """Where the search would meet a choice: those in front of the skipping one the sooner the fewer rows are
        skipped, those behind it the later."""
        deep = skipped * self.width
        return np.where(behind == 0, deep, _FAR - deep) + rank

    def _path(self, found: FoundRows) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        way, skipped = self._steps(found)
        own = np.cumsum(skipped + 1) - 1
        label = np.repeat(self.gap_variable[way], skipped + 1)
        excluded = np.repeat(self.gap_excluded[way], skipped + 1)
        label[own] = self.variable[found.labels]
        excluded[own] = self.excluded[found.labels]
        return label, excluded


def _parts(length: Ints, most_rows: int) -> Iterator[slice]:
    """Matches cut into parts of at least one, and of about so many rows."""
    ends = np.cumsum(length)
    first = 0
    while True:
        before = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, before + most_rows, side="right")), first + 1)
        yield slice(first, min(end, len(length)))
        if end >= len(length):
            return
        first = end


def _turns(turns: list[Turn]) -> tuple[Ints, Ints]:
    behind = np.array([turn.behind for turn in turns], np.int64)
    return behind, np.array([turn.rank for turn in turns], np.int64)


def preference_order(start: Ints, turn_at: Ints, turns: Ints) -> Ints:
    """The order by start, then turn by turn; those of match m begin at `turn_at[m]`, and none is a prefix of another's.

    >>> preference_order(np.array([5, 5, 2]), np.array([0, 2, 3]), np.array([1, 7, 0, 4]))
    array([2, 1, 0])
    """
    by_start = np.argsort(start, kind="stable")
    place = np.empty(len(start), np.int64)
    place[by_start] = _first_of_equals(start[by_start])
    undecided = by_start
    depth = 0
    while True:  # `place` is where the matches that are still equal begin
        shared = np.bincount(place[undecided], minlength=len(place)) > 1
        undecided = undecided[shared[place[undecided]]]
        if not len(undecided):
            break
        turn = turns[turn_at[undecided] + depth]
        order = np.lexsort((turn, place[undecided]))
        undecided, turn = undecided[order], turn[order]
        begins = place[undecided]
        first_turn = _first_of_equals(begins, turn)
        place[undecided] = begins + first_turn - _first_of_equals(begins)
        depth += 1
    result = np.empty(len(start), np.int64)
    result[place] = np.arange(len(start))
    return result


def _first_of_equals(*columns: Ints) -> Ints:
    """For each place of sorted columns where the run of equal values begins that it lies in."""
    count = len(columns[0])
    changes = np.zeros(count, np.bool_)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.maximum.accumulate(np.where(changes, np.arange(count), 0))
