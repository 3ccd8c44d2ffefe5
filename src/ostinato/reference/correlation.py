"""Correlation and rows of both sides -> its results, from the definitions alone (DejaVu, Definitions 6 to 9).

For each live match the archive holds the rows that ended before the match did. The archive's clause runs on exactly
those rows.
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
from ostinato.reference.navigation import MatchPosition, Scope, evaluate
from ostinato.reference.oracle import Match, OraclePartition, find_matches, layouts
from ostinato.reference.ordering import Row, as_moment, compare
from ostinato.reference.preferment import Label

Shown = dict[str, object]


def correlate_rows(
    correlation: Correlation,
    live_columns: Sequence[str],
    live_rows: Sequence[Row],
    archive_columns: Sequence[str],
    archive_rows: Sequence[Row],
    *,
    ansi: bool = True,
) -> list[Shown]:
    """The results, each a row of the correlation's own columns and of both matches' columns under their aliases.

    Keys come in the order of the live side's; within a key results are ordered by start, then end.
    """
    live = _Side(correlation.live, tuple(live_columns), ansi, _has_ends(correlation.live, live_columns, live_rows))
    archive_ends = _has_ends(correlation.archive, archive_columns, archive_rows)
    archive = _Side(correlation.archive, tuple(archive_columns), ansi, archive_ends)
    histories = list(archive.partitions(archive_rows))
    results: list[Shown] = []
    for partition in live.partitions(live_rows):
        for history in histories:
            if _same_key(correlation, live, partition.rows[0], archive, history.rows[0]):
                of_key = list(_of_key(correlation, live, partition, archive, history.rows))
                results += [each.shown for each in sorted(of_key, key=lambda each: each.order)]
    return results


@dataclass(frozen=True, slots=True)
class _Timed:
    """A match with its time, and its number."""

    match: Match
    number: int
    start: Any
    end: Any


@dataclass(frozen=True, slots=True)
class _Result:
    order: tuple[Any, ...]
    shown: Shown


@dataclass(frozen=True, slots=True)
class _Side:
    """One clause over one table. `has_ends`: the second order column is when events end."""

    clause: MatchRecognize
    columns: tuple[str, ...]
    ansi: bool
    has_ends: bool

    def partitions(self, rows: Sequence[Row]) -> Iterator[OraclePartition]:
        return layouts(self.clause, self.columns, rows, ansi=self.ansi)

    def start(self, row: Row) -> Any:
        """When the row's event starts; None without a time."""
        return row[_order_column(self.clause, self.columns, 0)]

    def end(self, row: Row) -> Any:
        """When it ends."""
        start = self.start(row)
        if start is None or not self.has_ends:
            return start
        end: Any = row[_order_column(self.clause, self.columns, 1)]
        if end is None or compare(end, start) < 0:
            raise MatchError("INTERVAL_ENDS_FIRST", f"an event ends at {end}, before its start at {start}")
        return end

    def matches(self, layout: OraclePartition) -> Iterator[_Timed]:
        """The matches that have a time. An empty match has none, nor has a match with a row without a time."""
        for number, match in enumerate(find_matches(layout.query, layout.scope, layout.rows), start=1):
            rows = layout.rows[match.start : match.end]
            ends = [self.end(row) for row in rows]
            if rows and None not in ends:
                yield _Timed(match, number, self.start(rows[0]), max(ends))


def _of_key(
    correlation: Correlation, live: _Side, partition: OraclePartition, archive: _Side, history: Sequence[Row]
) -> Iterator[_Result]:
    timed = [(archive.end(row), row) for row in history]
    for event in live.matches(partition):
        known = [row for end, row in timed if end is not None and compare(end, event.end) < 0]
        for layout in archive.partitions(known):  # one, or none where nothing is known
            for earlier in archive.matches(layout):
                if compare(earlier.start, event.start) >= 0 or not _is_recent(correlation, event, earlier, len(known)):
                    continue
                (live_row,) = partition.of_match(event.match, event.number)
                (archive_row,) = layout.of_match(earlier.match, earlier.number)
                shown = {
                    CORRELATION_START: earlier.start,
                    CORRELATION_END: event.end,
                    correlation.live_alias: live_row,
                    correlation.archive_alias: archive_row,
                }
                if correlation.condition is None or _holds(correlation, shown, live.ansi):
                    yield _Result((earlier.start, event.end, earlier.match.start, event.match.end), shown)


def _is_recent(correlation: Correlation, event: _Timed, earlier: _Timed, known: int) -> bool:
    region = correlation.region
    if region.kind == "rows":
        return known - earlier.match.start <= region.size
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


def _holds(correlation: Correlation, shown: Shown, ansi: bool) -> bool:
    """Evaluates the join predicate on a row whose columns are the two matches."""
    assert correlation.condition is not None
    scope = Scope(tuple(shown), {}, ansi)
    condition = _qualified(correlation.condition, correlation, shown)
    return evaluate(condition, MatchPosition(scope, [shown], 0, (Label("PAIR"),), 1, None)) is True


def _qualified(expr: Expr, correlation: Correlation, shown: Shown) -> Expr:
    """Adds the alias to references that leave it out."""
    if not isinstance(expr, ColumnRef):
        return rebuild(expr, lambda child: _qualified(child, correlation, shown))
    first = expr.parts[0].text.lower()
    if first in (name.lower() for name in shown):
        return expr
    for alias in (correlation.live_alias, correlation.archive_alias):
        columns = shown[alias]
        assert isinstance(columns, Mapping)
        if first in (str(name).lower() for name in columns):
            return ColumnRef((Name(alias), *expr.parts))
    raise QueryError("UNKNOWN_COLUMN", f"there is no column '{expr.parts[0].text}'")
