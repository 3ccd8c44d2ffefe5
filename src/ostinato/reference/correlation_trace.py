"""Correlation and rows of one key -> the content of DejaVu's buffer and cache after each row, by the paper's rules.

The rules are those of Sections 4.2 to 4.4 and Tables 3 and 4 of the paper. Time is discrete (Definition 1): each row is
a moment at a whole number, and the row after time t comes at t + 1 or later. Both sides have the same rows. The rules
treat a cached match as final; the definitions don't (docs/papers/dejavu.md). Only tests use the trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.clause.query.clause import MatchRecognize
from ostinato.correlations.language.correlation import Correlation
from ostinato.reference.clause_oracle import OraclePartition, admission, find_matches, sorted_partitions
from ostinato.reference.oracle_ordering import Row
from ostinato.reference.preferment import Path, Search, in_preferment_order

Times = tuple[int, int]
"""Start and end of a match or of a result."""


@dataclass(frozen=True, slots=True)
class TraceStep:
    """After one row: the times of the buffered rows, the cached matches, and the results that are now final."""

    time: int
    buffer: tuple[int, ...]
    cache: tuple[Times, ...]
    results: tuple[Times, ...]


def trace_live_first(correlation: Correlation, columns: Sequence[str], rows: Sequence[Row]) -> list[TraceStep]:
    """Table 3: live matches drive. Archive matches are cached, and rows after the last start are buffered."""
    key = _Key(correlation, columns, rows)
    cache: list[Times] = []
    ordered = _Ordered(key)
    steps = []
    for at, time in enumerate(key.times):
        cache = [entry for entry in cache if time - entry[0] <= key.distance]
        event = key.live_ending_at(at)
        if event is not None:
            first = max(event[1] - key.distance, cache[-1][0] + 1 if cache else 0)
            cache += [entry for entry in key.archive_matches(at) if entry[0] >= first]
            ordered.add([(entry[0], event[1]) for entry in cache if key.is_recent(entry, event)])
        start = cache[-1][0] + 1 if cache else time - key.distance - 1
        buffer = tuple(t for t in key.times[: at + 1] if t >= start)
        steps.append(TraceStep(time, buffer, tuple(cache), ordered.final(at)))
    return steps


def trace_archive_first(correlation: Correlation, columns: Sequence[str], rows: Sequence[Row]) -> list[TraceStep]:
    """Table 4: archive matches drive. Live matches are cached, and rows after the current start are buffered."""
    key = _Key(correlation, columns, rows)
    cache: list[Times] = []
    ordered = _Ordered(key)
    steps = []
    driving = 0  # index of the archive start that is being processed
    for at, time in enumerate(key.times):
        while driving < at and not key.may_drive(driving, at):
            driving += 1
        current = key.times[driving]
        event = key.live_ending_at(at)
        if event is not None:
            cache.append(event)
            matches = key.archive_matches(at)
            ordered.add([(entry[0], event[1]) for entry in matches if key.is_recent(entry, event)])
        cache = [entry for entry in cache if entry[0] > current]
        buffer = tuple(t for t in key.times[: at + 1] if t > current)
        steps.append(TraceStep(time, buffer, tuple(cache), ordered.final(at)))
    return steps


class _Key:
    """The rows of one key in their order; both clauses run on prefixes of them."""

    def __init__(self, correlation: Correlation, columns: Sequence[str], rows: Sequence[Row]) -> None:
        self.distance = int(correlation.region.size)
        self.live = self._only_partition(correlation.live, columns, rows)
        self.archive = self._only_partition(correlation.archive, columns, rows)
        time = correlation.live.order_by[0].column
        self.times = [int(str(row[self.live.scope.column(time)])) for row in self.live.rows]

    @staticmethod
    def _only_partition(clause: MatchRecognize, columns: Sequence[str], rows: Sequence[Row]) -> OraclePartition:
        (partition,) = sorted_partitions(clause, columns, rows)
        return partition

    def live_ending_at(self, at: int) -> Times | None:
        """The live match whose last row is this one: rows to come don't change it."""
        arrived = self.live.rows[: at + 1]
        ends = [match for match in find_matches(self.live.query, self.live.scope, arrived) if match.end == at + 1]
        return (self.times[ends[0].start], self.times[at]) if ends else None

    def archive_matches(self, at: int) -> list[Times]:
        """The archive matches as of a live match that ends at this row, by their starts."""
        matches = find_matches(self.archive.query, self.archive.scope, self.archive.rows[:at])
        return sorted((self.times[each.start], self.times[each.end - 1]) for each in matches)

    def is_recent(self, entry: Times, event: Times) -> bool:
        """Definitions 6 and 8."""
        return entry[0] < event[0] and entry[1] < event[1] and event[1] - entry[0] <= self.distance

    def may_drive(self, start: int, at: int) -> bool:
        """Whether a result can still start at the row `start` after the row `at`."""
        in_reach = self.times[at] - self.times[start] <= self.distance
        return in_reach and (self._has_match(start, at + 1) or self._is_open(start, at + 1))

    def _has_match(self, start: int, row_count: int) -> bool:
        return any(begin == self.times[start] for begin, _ in self.archive_matches(row_count))

    def _is_open(self, start: int, row_count: int) -> bool:
        """Whether a path of the archive's pattern from `start` could take a row after the first `row_count`."""
        archive = self.archive
        admits = admission(archive.query, archive.scope, archive.rows[:row_count], start, None)
        open_paths: list[Path] = []

        def admits_arrived(path: Path) -> bool:
            if start + len(path) <= row_count:
                return admits(path)
            open_paths.append(path)
            return False

        for _ in in_preferment_order(archive.query.pattern, Search(start, row_count + 1, admits_arrived)):
            pass
        return bool(open_paths)


class _Ordered:
    """Results in the order of (start, end). A result is final when no smaller start can have another result."""

    def __init__(self, key: _Key) -> None:
        self.key = key
        self.held: list[Times] = []

    def add(self, results: list[Times]) -> None:
        self.held = sorted([*self.held, *results])

    def final(self, at: int) -> tuple[Times, ...]:
        """The results that are final after a row. The next live match ends at least one unit of time later."""
        key, soonest = self.key, self.key.times[at] + 1
        alive = [
            key.times[start]
            for start in range(at + 1)
            if soonest - key.times[start] <= key.distance and key.may_drive(start, at)
        ]
        final = tuple(result for result in self.held if all(start >= result[0] for start in alive))
        self.held = self.held[len(final) :]
        return final
