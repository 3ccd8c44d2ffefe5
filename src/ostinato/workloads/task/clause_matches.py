"""Matches of a clause from the shared matcher -> the Matches that the clause's own engine would give.

The matcher gives only the rows that it visited, in the order in which matches were completed. This module labels the
skipped rows with their variables, and sorts matches by start, then by preference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.rows.matches import Matches, ranges
from ostinato.workloads.plan.clause_groups import ClauseProgram
from ostinato.workloads.plan.row_graph import NOTHING, ChoiceRank

Ints = NDArray[np.int64]
_NO_LABELS, _NO_FLAGS = np.empty(0, np.int32), np.empty(0, np.bool_)
ROWS_AT_ONCE = 1 << 24
_FAR = 1 << 62
"""Larger than the sort key of every choice before the one that skips."""


@dataclass(frozen=True, slots=True)
class MatchRows:
    """Visited rows of matches: match m has `rows[offsets[m]:offsets[m + 1]]` (in the order of matching). `labels` are
    those of the rows."""

    offsets: Ints
    rows: Ints
    labels: Ints

    def some(self, matches: slice) -> MatchRows:
        """A range of matches."""
        offsets = self.offsets[matches.start : matches.stop + 1]
        inside = slice(offsets[0], offsets[-1])
        return MatchRows(offsets - offsets[0], self.rows[inside], self.labels[inside])


class _RankArrays(NamedTuple):
    """The fields of `ChoiceRank`, for many choices."""

    after_skip: Ints
    rank: Ints


class ClauseMatches:
    """The graph of one clause, as arrays."""

    def __init__(self, clause: ClauseProgram, plan: MatchPlan) -> None:
        graph, states, variables = clause.graph, plan.nfa.states, plan.bound.variables
        self.needs_path = plan.needs_path
        self.nodes = len(graph.nodes)
        self.variable = np.array([variables.index(states[node.state].variable) for node in graph.nodes], np.int32)
        self.excluded = np.array([states[node.state].excluded for node in graph.nodes], np.bool_)
        steps = sorted(graph.steps, key=lambda step: (step.source, step.target))
        self.step_codes = np.array([self._code(step.source, step.target) for step in steps], np.int64)
        self.gap_variable = np.array(
            [-1 if step.gap == NOTHING else variables.index(states[step.gap].variable) for step in steps], np.int32
        )
        self.gap_excluded = np.array([step.gap != NOTHING and states[step.gap].excluded for step in steps], np.bool_)
        self.direct = _rank_arrays([step.direct for step in steps])
        self.inside = _rank_arrays([step.inside or step.direct for step in steps])
        ends = dict(graph.ends)
        self.end = _rank_arrays([ends.get(node, ChoiceRank(False, 0)) for node in range(self.nodes)])
        ranks = (self.direct.rank, self.inside.rank, self.end.rank)
        self.width = 1 + max(int(rank.max(initial=0)) for rank in ranks)

    def _code(self, source: Ints | int, target: Ints | int) -> Ints | int:
        return (source + 1) * self.nodes + target

    def with_all_rows(self, visited: MatchRows, key_at: Ints, most_rows: int = ROWS_AT_ONCE) -> Iterator[Matches]:
        """The matches with all of their rows, in the order of `preferred`, about `most_rows` rows at a time. Key k has
        the rows `key_at[k]:key_at[k + 1]`."""
        start = visited.rows[visited.offsets[:-1]]
        length = visited.rows[visited.offsets[1:] - 1] - start + 1
        key = np.searchsorted(key_at, start, side="right") - 1
        number = np.arange(len(start), dtype=np.int64) - np.searchsorted(key, key, side="left") + 1
        for chunk in _slices(length, most_rows if self.needs_path else len(start) + int(length.sum())):
            path_at, label, excluded = np.zeros(len(length[chunk]), np.int64), _NO_LABELS, _NO_FLAGS
            if self.needs_path:
                path_at = np.cumsum(length[chunk]) - length[chunk]
                label, excluded = self._path(visited.some(chunk))
            bounds = key_at[key[chunk]], key_at[key[chunk] + 1]
            yield Matches(start[chunk], length[chunk], number[chunk], path_at, label, excluded, *bounds)

    def _steps(self, visited: MatchRows) -> tuple[Ints, Ints]:
        """(the step that led to each row of a match, the number of rows that it skipped)."""
        source = np.empty_like(visited.labels)
        skipped = np.empty_like(visited.rows)
        source[1:] = visited.labels[:-1]
        skipped[1:] = visited.rows[1:] - visited.rows[:-1] - 1
        source[visited.offsets[:-1]] = NOTHING
        skipped[visited.offsets[:-1]] = 0
        return np.searchsorted(self.step_codes, self._code(source, visited.labels)), skipped

    def preferred(self, visited: MatchRows) -> MatchRows:
        """The matches sorted by start, then by preference."""
        step, skipped = self._steps(visited)
        after_skip = np.where(skipped > 0, self.inside.after_skip[step], self.direct.after_skip[step])
        rank = np.where(skipped > 0, self.inside.rank[step], self.direct.rank[step])
        last = visited.labels[visited.offsets[1:] - 1]
        length = np.diff(visited.offsets)
        ends = np.cumsum(length + 1) - 1
        sort_keys = np.empty(len(visited.rows) + len(length), np.int64)
        is_end = np.zeros(len(sort_keys), np.bool_)
        is_end[ends] = True
        sort_keys[~is_end] = self._sort_key(after_skip, rank, skipped)
        sort_keys[ends] = self._sort_key(self.end.after_skip[last], self.end.rank[last], np.zeros_like(last))
        order = preference_order(visited.rows[visited.offsets[:-1]], ends - length, sort_keys)
        rows = ranges(visited.offsets[:-1][order], length[order])
        offsets = np.concatenate(([0], np.cumsum(length[order]))).astype(np.int64)
        return MatchRows(offsets, visited.rows[rows], visited.labels[rows])

    def _sort_key(self, after_skip: Ints, rank: Ints, skipped: Ints) -> Ints:
        """Sort key in the order of the search. With fewer skipped rows, choices before the one that skips come sooner,
        and choices after it come later."""
        depth = skipped * self.width
        return np.where(after_skip == 0, depth, _FAR - depth) + rank

    def _path(self, visited: MatchRows) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        step, skipped = self._steps(visited)
        own = np.cumsum(skipped + 1) - 1
        label = np.repeat(self.gap_variable[step], skipped + 1)
        excluded = np.repeat(self.gap_excluded[step], skipped + 1)
        label[own] = self.variable[visited.labels]
        excluded[own] = self.excluded[visited.labels]
        return label, excluded


def _slices(length: Ints, most_rows: int) -> Iterator[slice]:
    """Slices of at least one match, with about `most_rows` rows each."""
    ends = np.cumsum(length)
    first = 0
    while True:
        before = int(ends[first - 1]) if first else 0
        end = max(int(np.searchsorted(ends, before + most_rows, side="right")), first + 1)
        yield slice(first, min(end, len(length)))
        if end >= len(length):
            return
        first = end


def _rank_arrays(choices: list[ChoiceRank]) -> _RankArrays:
    return _RankArrays(
        np.array([choice.after_skip for choice in choices], np.int64),
        np.array([choice.rank for choice in choices], np.int64),
    )


def preference_order(start: Ints, key_at: Ints, sort_keys: Ints) -> Ints:
    """Sorts by start, then key by key. The keys of match m begin at `key_at[m]`. The keys of one match are never a
    prefix of another's.

    >>> preference_order(np.array([5, 5, 2]), np.array([0, 2, 3]), np.array([1, 7, 0, 4]))
    array([2, 1, 0])
    """
    by_start = np.argsort(start, kind="stable")
    rank = np.empty(len(start), np.int64)
    rank[by_start] = _first_of_equals(start[by_start])
    undecided = by_start
    depth = 0
    while True:  # `rank` is the first index of the matches that are still equal
        shared = np.bincount(rank[undecided], minlength=len(rank)) > 1
        undecided = undecided[shared[rank[undecided]]]
        if not len(undecided):
            break
        sort_key = sort_keys[key_at[undecided] + depth]
        order = np.lexsort((sort_key, rank[undecided]))
        undecided, sort_key = undecided[order], sort_key[order]
        begins = rank[undecided]
        rank[undecided] = begins + _first_of_equals(begins, sort_key) - _first_of_equals(begins)
        depth += 1
    result = np.empty(len(start), np.int64)
    result[rank] = np.arange(len(start))
    return result


def _first_of_equals(*columns: Ints) -> Ints:
    """For each index of sorted columns the first index with the same values."""
    count = len(columns[0])
    changes = np.zeros(count, np.bool_)
    changes[:1] = True
    for column in columns:
        changes[1:] |= column[1:] != column[:-1]
    return np.maximum.accumulate(np.where(changes, np.arange(count), 0))
