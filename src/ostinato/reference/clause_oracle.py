"""MATCH_RECOGNIZE query and rows -> output rows, by trying every path that the standard's definitions allow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from ostinato.clause.query.clause import MatchMode, MatchRecognize, Output, SkipKind
from ostinato.clause.query.months import Months
from ostinato.clause.query.pattern import variables
from ostinato.errors import MatchError, QueryError
from ostinato.expressions.syntax import Call, Expr, walk
from ostinato.reference.navigation import MatchPosition, Scope, evaluate, value_at
from ostinato.reference.oracle_calendar import plus_months
from ostinato.reference.oracle_ordering import Row, as_moment, partitions, sort_rows
from ostinato.reference.preferment import Path, Search, in_preferment_order
from ostinato.rows.column_names import KEY


@dataclass(frozen=True, slots=True)
class Match:
    """A match: the position of its first row in the partition, and a label for every row."""

    start: int
    labels: Path

    @property
    def end(self) -> int:
        """The position after its last row."""
        return self.start + len(self.labels)


def match_rows(
    query: MatchRecognize,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    *,
    ansi: bool = True,
    timezone: str = "UTC",
) -> list[dict[str, object]]:
    """The output rows of the clause, as parsed, over rows in their order of arrival.

    Every row holds every column. Partitions come in the order of their keys, matches in the order of their numbers,
    columns in the standard's order. `timezone` is the session's, in which WITHIN counts the months of timestamps.
    """
    partitions = sorted_partitions(query, columns, rows, ansi=ansi, timezone=timezone)
    return [row for partition in partitions for row in partition.output_rows()]


def sorted_partitions(
    query: MatchRecognize,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, object]],
    *,
    ansi: bool = True,
    timezone: str = "UTC",
) -> Iterator[OraclePartition]:
    """The partitions in the order of their keys, each sorted."""
    columns, rows = _with_computed_keys(query, columns, rows, ansi)
    names = {name: frozenset({name}) for name in variables(query.pattern)}
    names |= {subset.name: frozenset(subset.members) for subset in query.subsets}
    time = query.order_by[0].column if query.order_by else None
    scope = Scope(tuple(columns), names, ansi, query.input_name, time, timezone)
    partition_columns = [scope.column(key.column) for key in query.partition_by]
    keys = [(scope.column(key.column), key.descending, key.puts_nulls_first) for key in query.order_by]
    key_names = {*partition_columns, *(name for name, _, _ in keys)}
    others = [name for name in columns if name not in key_names]
    for members in partitions(rows, partition_columns):
        yield OraclePartition(query, scope, sort_rows(members, keys, others))


def _with_computed_keys(
    query: MatchRecognize, columns: Sequence[str], rows: Sequence[Row], ansi: bool
) -> tuple[Sequence[str], Sequence[Row]]:
    """Adds the values of keys that are expressions as columns."""
    keys = {key.column.text: key.expression for key in query.keys if key.expression}
    scope = Scope(tuple(columns), {}, ansi, query.input_name)

    def computed(row: Row) -> dict[str, object]:
        alone = MatchPosition(scope, [row], 0, (), 0, None)
        return {name: value_at(expression, 0, alone) for name, expression in keys.items()}

    return [*columns, *keys], [{**row, **computed(row)} for row in rows]


# --- finding matches --------------------------------------------------------------------------------------------------


def candidates(
    query: MatchRecognize, scope: Scope, rows: Sequence[Row], start: int, number: int | None
) -> Iterator[Path]:
    """Every match that starts at the row, the preferred one first; `number` is the number of the match."""
    return in_preferment_order(query.pattern, Search(start, len(rows), admission(query, scope, rows, start, number)))


def admission(
    query: MatchRecognize, scope: Scope, rows: Sequence[Row], start: int, number: int | None
) -> Callable[[Path], bool]:
    """The test for `Search.admits`: whether the last row of a path from `start` on may have its label."""
    conditions = {definition.variable: definition.condition for definition in query.definitions}

    def admits(path: Path) -> bool:
        if query.max_length is not None and len(path) > query.max_length:
            return False
        if query.within is not None and not within_window(query, scope, rows[start], rows[start + len(path) - 1]):
            return False
        condition = conditions.get(path[-1].variable)
        if condition is None:
            return True
        return evaluate(condition, MatchPosition(scope, rows, start, path, len(path), number)) is True

    return admits


def within_window(query: MatchRecognize, scope: Scope, first: Row, last: Row) -> bool:
    """Whether the first sort keys of the two rows differ by at most WITHIN. False if one of them is NULL."""
    assert query.within is not None
    begin, end = time_of(query, scope, first), time_of(query, scope, last)
    if begin is None or end is None:
        return False
    if isinstance(query.within, Months):
        return _within_months(query.within.count, begin, end, scope.timezone)
    if isinstance(begin, date) and isinstance(end, date):
        return abs(as_moment(end) - as_moment(begin)) <= query.within  # negative if the order is descending
    if isinstance(begin, timedelta) and isinstance(end, timedelta):
        return abs(end - begin) <= query.within
    raise NotImplementedError("WITHIN over anything but dates, timestamps and intervals")


def _within_months(months: int, begin: object, end: object, timezone: str) -> bool:
    """Whether `end` lies no further from `begin` than the calendar months, before or after it."""
    assert isinstance(begin, date) and isinstance(end, date)
    first, last = as_moment(begin), as_moment(end)
    if last >= first:
        return last <= as_moment(plus_months(begin, months, timezone))
    return last >= as_moment(plus_months(begin, -months, timezone))


def time_of(query: MatchRecognize, scope: Scope, row: Row) -> object:
    """The first sort key, which WITHIN measures."""
    return row[scope.column(query.order_by[0].column)]


def _preferred(query: MatchRecognize, scope: Scope, rows: Sequence[Row]) -> Iterator[Match]:
    """The standard's matches: the preferred one from a row, then the next from the row that AFTER MATCH SKIP names.

    With SHOW TIMEOUTS, a row that starts no match yields the partial match that timed out there.
    """
    start, number = 0, 1
    while start < len(rows):
        labels = next(candidates(query, scope, rows, start, number), None)
        if labels is None:
            partial = _timed_out(query, scope, rows, start, number) if query.show_timeouts else None
            if partial is not None:
                yield Match(start, partial)
                number += 1
            start += 1
            continue
        match = Match(start, labels)
        yield match
        number += 1
        start = next_start(query, scope, match)


def _timed_out(query: MatchRecognize, scope: Scope, rows: Sequence[Row], start: int, number: int) -> Path | None:
    """The first path in preferment order that is still open when WITHIN ends. No match starts at the row `start`.

    An open path has a label for every row of the window and could take one more row.
    """
    later = range(start, len(rows))
    end = next((at for at in later if not within_window(query, scope, rows[start], rows[at])), len(rows))
    if end < len(rows) and time_of(query, scope, rows[end]) is None:
        return None  # no path takes a row without a time, so all paths end there and none times out
    if query.max_length is not None and end - start >= query.max_length:
        return None
    admits = admission(query, scope, rows, start, number)
    open_paths: list[Path] = []

    def admits_in_window(path: Path) -> bool:
        if start + len(path) <= end:
            return admits(path)
        open_paths.append(path[:-1])
        return False

    # The window and one more row: `$` must not hold at the end of the window.
    complete = list(in_preferment_order(query.pattern, Search(start, end + 1, admits_in_window)))
    assert not complete, "a row that starts a match shows no timeout"
    return open_paths[0] if open_paths else None


def next_start(query: MatchRecognize, scope: Scope, match: Match) -> int:
    """The next start row. After an empty match it is always the next row."""
    if not match.labels or query.skip.kind is SkipKind.TO_NEXT_ROW:
        return match.start + 1
    if query.skip.kind is SkipKind.PAST_LAST_ROW:
        return match.end
    assert query.skip.target is not None
    wanted = scope.variables[query.skip.target]
    rows = [match.start + i for i, label in enumerate(match.labels) if label.variable in wanted]
    if not rows:
        raise MatchError(
            "SKIP_TARGET_MISSING", f"no row of the match is '{query.skip.target}', to which it should skip"
        )
    target = rows[0] if query.skip.kind is SkipKind.TO_FIRST else rows[-1]
    if target == match.start:
        raise MatchError(
            "SKIP_TO_FIRST_ROW", f"'{query.skip.target}' is the first row of the match: skipping to it never ends"
        )
    return target


def _every(query: MatchRecognize, scope: Scope, rows: Sequence[Row]) -> list[Match]:
    """Every match that has a row, from every row and in every labeling, each once."""
    if any(_uses_match_number(definition.condition) for definition in query.definitions):
        raise NotImplementedError("MATCH_NUMBER() in DEFINE where matches aren't found one after the other")
    matches: list[Match] = []
    for start in range(len(rows)):
        distinct = dict.fromkeys(candidates(query, scope, rows, start, None))
        matches.extend(Match(start, labels) for labels in distinct if labels)
    return matches


def _uses_match_number(condition: Expr) -> bool:
    return any(isinstance(node, Call) and node.name == "match_number" for node in walk(condition))


def find_matches(query: MatchRecognize, scope: Scope, rows: Sequence[Row]) -> list[Match]:
    """The matches of one sorted partition, in the order of their numbers, which start with 1."""
    match query.mode:
        case MatchMode.PREFERRED:
            return list(_preferred(query, scope, rows))
        case MatchMode.ALL:
            return _every(query, scope, rows)
        case MatchMode.MAXIMAL:
            longest: dict[int, Match] = {}
            for candidate in _every(query, scope, rows):
                if candidate.start not in longest or candidate.end > longest[candidate.start].end:
                    longest[candidate.start] = candidate
            return list(longest.values())
        case MatchMode.INCREMENTAL:
            earliest: dict[int, Match] = {}
            for candidate in _every(query, scope, rows):  # ordered by first row, so the first with an end is longest
                earliest.setdefault(candidate.end, candidate)
            return sorted(earliest.values(), key=lambda candidate: candidate.end)  # in the order of a stream


# --- output rows ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OraclePartition:
    """One sorted partition, and the output rows of its matches."""

    query: MatchRecognize
    scope: Scope
    rows: Sequence[Row]

    def output_rows(self) -> Iterator[dict[str, object]]:
        """The rows of the matches in their order and, where the clause shows them, unmatched rows in between."""
        matches = list(enumerate(find_matches(self.query, self.scope, self.rows), start=1))
        covered = 0
        for start in range(len(self.rows)):
            here = [(number, match) for number, match in matches if match.start == start]
            for number, match in here:
                yield from self.rows_of_match(match, number)
                covered = max(covered, match.end)
            unmatched = not here and start >= covered
            if unmatched and self.query.output is Output.ALL_ROWS_WITH_UNMATCHED:
                yield self._arranged(self.rows[start], {measure.name: None for measure in self.query.measures})

    def rows_of_match(self, match: Match, number: int) -> Iterator[dict[str, object]]:
        """The output rows of one match."""
        if self.query.output is Output.ONE_ROW:
            measures = self._measures(match, len(match.labels), number)
            keys = {name: self.rows[match.start][name] for name in self._partition_columns()}
            yield {name: value for name, value in keys.items() if self._is_shown(name)} | measures
        elif not match.labels:
            if self.query.output is not Output.ALL_ROWS_OMIT_EMPTY:
                yield self._arranged(self._keys_only(self.rows[match.start]), self._measures(match, 0, number))
        else:
            for offset, label in enumerate(match.labels):
                if not label.excluded:
                    measures = self._measures(match, offset + 1, number)
                    yield self._arranged(self.rows[match.start + offset], measures)

    def _measures(self, match: Match, row_count: int, number: int) -> dict[str, object]:
        position = MatchPosition(self.scope, self.rows, match.start, match.labels, row_count, number)
        return {measure.name: evaluate(measure.expression, position) for measure in self.query.measures}

    def _partition_columns(self) -> list[str]:
        return [self.scope.column(key.column) for key in self.query.partition_by]

    def _key_columns(self) -> list[str]:
        ordered = [self.scope.column(key.column) for key in self.query.order_by]
        return list(dict.fromkeys(self._partition_columns() + ordered))

    def _keys_only(self, row: Row) -> Row:
        """The row of an empty match: it starts here but contains no row, so it has values only for the keys."""
        keys = self._key_columns()
        return {name: row[name] if name in keys else None for name in self.scope.columns}

    def _arranged(self, row: Row, measures: dict[str, object]) -> dict[str, object]:
        """Partition columns, order columns, measures, then the remaining columns."""
        if not {name.lower() for name in measures}.isdisjoint(name.lower() for name in self.scope.columns):
            raise QueryError("DUPLICATE_COLUMN", "a measure has the name of a column")
        keys = self._key_columns()
        rest = {name: row[name] for name in self.scope.columns if name not in keys}
        return {name: row[name] for name in keys if self._is_shown(name)} | measures | rest

    def _is_shown(self, name: str) -> bool:
        """Whether outputs have the column: a key that is an expression is shown under a name of the user's only."""
        return not name.startswith(KEY)
