"""Correlation and rows of both sides -> its results, from the definitions alone (DejaVu, Definitions 6 to 9).

The archive of a live match is all rows that ended before the match did. The archive's clause runs on those rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from ostinato.clause.query.clause import MatchRecognize
from ostinato.correlations.language.correlation import CORRELATION_END, CORRELATION_START, Correlation
from ostinato.errors import MatchError, QueryError
from ostinato.expressions.syntax import ColumnRef, Expr, Name, rebuild
from ostinato.reference.clause_oracle import Match, OraclePartition, find_matches, sorted_partitions
from ostinato.reference.navigation import MatchPosition, Scope, evaluate
from ostinato.reference.oracle_ordering import Row, as_moment, compare
from ostinato.reference.preferment import Label

OutputRow = dict[str, object]


def correlate_rows(
    correlation: Correlation,
    live_columns: Sequence[str],
    live_rows: Sequence[Row],
    archive_columns: Sequence[str],
    archive_rows: Sequence[Row],
    *,
    ansi: bool = True,
) -> list[OutputRow]:
    """The results, each a row of the correlation's own columns and of both matches' columns under their aliases.

    Keys come in the order of the live side's; within a key results are ordered by start, then end.
    """
    live = _Side(correlation.live, tuple(live_columns), ansi, _has_ends(correlation.live, live_columns, live_rows))
    archive_ends = _has_ends(correlation.archive, archive_columns, archive_rows)
    archive = _Side(correlation.archive, tuple(archive_columns), ansi, archive_ends)
    histories = list(archive.partitions(archive_rows))
    rows: list[OutputRow] = []
    for partition in live.partitions(live_rows):
        for history in histories:
            if _same_key(correlation, live, partition.rows[0], archive, history.rows[0]):
                results = list(_results_of_key(correlation, live, partition, archive, history.rows))
                rows += [result.row for result in sorted(results, key=lambda result: result.order)]
    return rows


@dataclass(frozen=True, slots=True)
class _TimedMatch:
    """A match with its number and its start and end times."""

    match: Match
    number: int
    start: Any
    end: Any


@dataclass(frozen=True, slots=True)
class _Result:
    order: tuple[Any, ...]
    row: OutputRow


@dataclass(frozen=True, slots=True)
class _Side:
    """One clause over one table. `has_ends`: the second order column holds the end times of events."""

    clause: MatchRecognize
    columns: tuple[str, ...]
    ansi: bool
    has_ends: bool

    def partitions(self, rows: Sequence[Row]) -> Iterator[OraclePartition]:
        return sorted_partitions(self.clause, self.columns, rows, ansi=self.ansi)

    def start(self, row: Row) -> Any:
        """The start time of the row's event; None without a time."""
        return row[_order_column(self.clause, self.columns, 0)]

    def end(self, row: Row) -> Any:
        """The end time of the row's event."""
        start = self.start(row)
        if start is None or not self.has_ends:
            return start
        end: Any = row[_order_column(self.clause, self.columns, 1)]
        if end is None or compare(end, start) < 0:
            raise MatchError("INTERVAL_ENDS_FIRST", f"an event ends at {end}, before its start at {start}")
        return end

    def matches(self, partition: OraclePartition) -> Iterator[_TimedMatch]:
        """The matches that have a time. An empty match has none, nor has a match with a row without a time."""
        for number, match in enumerate(find_matches(partition.query, partition.scope, partition.rows), start=1):
            rows = partition.rows[match.start : match.end]
            ends = [self.end(row) for row in rows]
            if rows and None not in ends:
                yield _TimedMatch(match, number, self.start(rows[0]), max(ends))


def _results_of_key(
    correlation: Correlation, live: _Side, partition: OraclePartition, archive: _Side, history: Sequence[Row]
) -> Iterator[_Result]:
    timed = [(archive.end(row), row) for row in history]
    for event in live.matches(partition):
        past = [row for end, row in timed if end is not None and compare(end, event.end) < 0]
        for past_partition in archive.partitions(past):  # at most one
            for earlier in archive.matches(past_partition):
                if compare(earlier.start, event.start) >= 0 or not _is_recent(correlation, event, earlier, len(past)):
                    continue
                (live_row,) = partition.rows_of_match(event.match, event.number)
                (archive_row,) = past_partition.rows_of_match(earlier.match, earlier.number)
                row: OutputRow = {
                    CORRELATION_START: earlier.start,
                    CORRELATION_END: event.end,
                    correlation.live_alias: live_row,
                    correlation.archive_alias: archive_row,
                }
                if correlation.condition is None or _holds(correlation, row, live.ansi):
                    yield _Result((earlier.start, event.end, earlier.match.start, event.match.end), row)


def _is_recent(correlation: Correlation, event: _TimedMatch, earlier: _TimedMatch, past_rows: int) -> bool:
    region = correlation.region
    if region.kind == "rows":
        return past_rows - earlier.match.start <= region.size
    if region.kind == "time":
        return as_moment(event.end) - as_moment(earlier.start) <= timedelta(microseconds=region.size)
    return bool(event.end - earlier.start <= region.size)


def _order_column(clause: MatchRecognize, columns: Sequence[str], key: int) -> str:
    return Scope(tuple(columns), {}, True).column(clause.order_by[key].column)


def _has_ends(clause: MatchRecognize, columns: Sequence[str], rows: Sequence[Row]) -> bool:
    """Whether the first two order columns hold dates or timestamps."""
    if len(clause.order_by) < 2:
        return False
    names = [_order_column(clause, columns, key) for key in (0, 1)]
    return all(any(isinstance(row[name], date) for row in rows) for name in names)


def _same_key(correlation: Correlation, live: _Side, one: Row, archive: _Side, other: Row) -> bool:
    """Compares as `=` does: NULL equals nothing."""
    for live_name, archive_name in correlation.keys:
        left = one[Scope(live.columns, {}, True).column(Name(live_name))]
        right = other[Scope(archive.columns, {}, True).column(Name(archive_name))]
        if left is None or right is None or compare(left, right) != 0:
            return False
    return True


def _holds(correlation: Correlation, row: OutputRow, ansi: bool) -> bool:
    """Evaluates the join predicate on a row whose columns are the two matches."""
    assert correlation.condition is not None
    scope = Scope(tuple(row), {}, ansi)
    condition = _qualified(correlation.condition, correlation, row)
    return evaluate(condition, MatchPosition(scope, [row], 0, (Label("PAIR"),), 1, None)) is True


def _qualified(expr: Expr, correlation: Correlation, row: OutputRow) -> Expr:
    """Adds the alias to references that have none."""
    if not isinstance(expr, ColumnRef):
        return rebuild(expr, lambda child: _qualified(child, correlation, row))
    first = expr.parts[0].text.lower()
    if first in (name.lower() for name in row):
        return expr
    for alias in (correlation.live_alias, correlation.archive_alias):
        columns = row[alias]
        assert isinstance(columns, Mapping)
        if first in (str(name).lower() for name in columns):
            return ColumnRef((Name(alias), *expr.parts))
    raise QueryError("UNKNOWN_COLUMN", f"there is no column '{expr.parts[0].text}'")
