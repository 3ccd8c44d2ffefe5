"""MATCH_RECOGNIZE query and rows -> how far each start comes, by trying every path that the pattern allows.

It has no automaton. After a path, the pattern is enumerated once more to see the labels that may follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ostinato.clause.query.clause import MatchMode, MatchRecognize
from ostinato.errors import MatchError
from ostinato.expressions.syntax import Expr, Operator
from ostinato.reference.clause_oracle import (
    OraclePartition,
    admission,
    find_matches,
    next_start,
    sorted_partitions,
    time_of,
    within_window,
)
from ostinato.reference.navigation import MatchPosition, evaluate
from ostinato.reference.preferment import Label, Path, Search, in_preferment_order

MOST_PATHS = 3_000
"""More partial matches of one start aren't enumerated: NotImplementedError."""
MOST_MISSING = 3
"""The oracle tells so many missing rows from each other."""


@dataclass(frozen=True, slots=True)
class OracleMiss:
    """A row, and the refused variables with the parts of their conditions that aren't TRUE."""

    row: int
    verdicts: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class OracleAttempt:
    """One start. Only a refused one has the fields after `rows`."""

    outcome: str
    """matched, inside a match, or refused."""
    match: int
    """The number of the match that starts here or leaves the row out, or 0."""
    rows: int
    missing: int | None = None
    """The least number of rows that would complete a match; None: more than MOST_MISSING."""
    nearest: frozenset[tuple[str, ...]] = frozenset()
    """The labels of the longest paths that lack so few rows."""
    reasons: frozenset[str] = frozenset()
    """The reasons that are no condition: end of rows, WITHIN, no time, MAXLENGTH, rows follow."""
    next_variables: frozenset[str] = frozenset()
    """The variables that the pattern allows for the next row."""
    verdicts: Mapping[str, frozenset[tuple[str, ...]]] | None = None
    """For each of these variables: for each longest path, the parts of its condition that aren't TRUE, as FALSE, NULL
    or error. None if the next row was refused for another reason."""
    misses: Mapping[tuple[str, ...], OracleMiss | None] | None = None
    """For each of `nearest`, if no condition refused the next row: the last row of the path at which a variable that
    needs fewer rows was refused. None if too many rows are missing."""


def attempts(
    query: MatchRecognize, columns: Sequence[str], rows: Sequence[Mapping[str, object]]
) -> list[list[OracleAttempt]]:
    """The attempts of each partition, one for each of its rows in order."""
    quiet = replace(query, show_timeouts=False)
    return [list(_of_partition(each)) for each in sorted_partitions(quiet, columns, rows)]


def _of_partition(partition: OraclePartition) -> Iterator[OracleAttempt]:
    query, scope, rows = partition.query, partition.scope, partition.rows
    if query.mode is not MatchMode.PREFERRED:
        query = replace(query, mode=MatchMode.MAXIMAL)
    matches = list(enumerate(find_matches(query, scope, rows), start=1))
    for start in range(len(rows)):
        for number, match in matches:
            if match.start == start:
                yield OracleAttempt("matched", number, len(match.labels))
                break
            if query.mode is MatchMode.PREFERRED and match.start < start < next_start(query, scope, match):
                yield OracleAttempt("inside a match", number, 0)
                break
        else:
            before = sum(match.start < start for _, match in matches)
            yield _refused(replace(partition, query=query), start, before + 1)


def _refused(partition: OraclePartition, start: int, number: int) -> OracleAttempt:
    longest = _longest_paths(partition, start, number)
    length = len(longest[0])
    missing = {path: _missing(partition, start, path) for path in longest}
    least = min((value for value in missing.values() if value is not None), default=None)
    following = {path: _next_labels(partition, start, path) for path in longest}
    names = frozenset(label.variable for labels in following.values() for label in labels)
    reasons = {"rows follow"} if length and _is_complete_at_end(partition, start, longest) else set()
    bound = _bound(partition, start, start + length) if names else None
    if bound is not None:
        reasons.add(bound)
    nearest = {_variables(path): path for path in longest if missing[path] == least}
    misses = None
    if least is not None and (bound is not None or not names):
        misses = {labels: _last_miss(partition, start, number, path, least) for labels, path in nearest.items()}
    return OracleAttempt(
        "refused",
        0,
        length,
        least,
        frozenset(nearest),
        frozenset(reasons),
        names,
        None if bound is not None else _verdicts(partition, start, number, following),
        misses,
    )


def _variables(path: Path) -> tuple[str, ...]:
    return tuple(label.variable for label in path)


def _last_miss(partition: OraclePartition, start: int, number: int, path: Path, least: int) -> OracleMiss | None:
    for at in reversed(range(len(path))):
        refused = {}
        for label in _next_labels(partition, start, path[:at]):
            missing = _missing(partition, start, (*path[:at], label))
            parts = _label_verdicts(partition, start, number, path[:at], label)
            if missing is not None and missing < least and parts:
                refused[label.variable] = parts
        if refused:
            return OracleMiss(start + at, refused)
    return None


def _longest_paths(partition: OraclePartition, start: int, number: int) -> list[Path]:
    """The longest paths whose rows may all have their labels; the empty path if there is none."""
    query, scope, rows = partition.query, partition.scope, partition.rows
    admits = admission(query, scope, rows, start, number)
    found: dict[Path, bool] = {}

    def tried(path: Path) -> bool:
        if path not in found:
            if len(found) >= MOST_PATHS:
                raise NotImplementedError("too many partial matches")
            try:
                found[path] = admits(path)
            except MatchError:
                found[path] = False
        return found[path]

    for _ in in_preferment_order(query.pattern, Search(start, len(rows), tried)):
        pass
    good = [path for path, holds in found.items() if holds]
    most = max(map(len, good), default=0)
    return [path for path in good if len(path) == most] or [()]


def _next_labels(partition: OraclePartition, start: int, path: Path) -> list[Label]:
    """The labels that the pattern allows behind the path, if there is another row."""
    labels: dict[Label, None] = {}

    def admits(longer: Path) -> bool:
        if len(longer) <= len(path):
            return longer == path[: len(longer)]
        labels.setdefault(longer[-1])
        return False

    size = max(len(partition.rows), start + len(path) + 1)
    for _ in in_preferment_order(partition.query.pattern, Search(start, size, admits)):
        pass
    return list(labels)


def _missing(partition: OraclePartition, start: int, path: Path) -> int | None:
    for more in range(MOST_MISSING + 1):
        wanted = len(path) + more
        search = Search(start, start + wanted, lambda longer: longer[: len(path)] == path[: len(longer)])
        for number, match in enumerate(in_preferment_order(partition.query.pattern, search)):
            if len(match) == wanted:
                return more
            if number > MOST_PATHS:
                raise NotImplementedError("too many paths")
    return None


def _is_complete_at_end(partition: OraclePartition, start: int, paths: Iterable[Path]) -> bool:
    """Whether a match would be complete if its last row were the last one of the partition."""
    return any(start + len(path) < len(partition.rows) and _missing(partition, start, path) == 0 for path in paths)


def _bound(partition: OraclePartition, start: int, row: int) -> str | None:
    query, scope, rows = partition.query, partition.scope, partition.rows
    if row >= len(rows):
        return "end of rows"
    if query.max_length is not None and row - start >= query.max_length:
        return "MAXLENGTH"
    if query.within is not None and time_of(query, scope, rows[row]) is None:
        return "no time"
    if query.within is not None and not within_window(query, scope, rows[start], rows[row]):
        return "WITHIN"
    return None


def _verdicts(
    partition: OraclePartition, start: int, number: int, following: Mapping[Path, Sequence[Label]]
) -> dict[str, frozenset[tuple[str, ...]]]:
    verdicts: dict[str, set[tuple[str, ...]]] = {}
    for path, labels in following.items():
        for label in labels:
            parts = _label_verdicts(partition, start, number, path, label)
            verdicts.setdefault(label.variable, set()).add(parts)
    return {variable: frozenset(sets) for variable, sets in verdicts.items()}


def _label_verdicts(partition: OraclePartition, start: int, number: int, path: Path, label: Label) -> tuple[str, ...]:
    conditions = {definition.variable: definition.condition for definition in partition.query.definitions}
    if label.variable not in conditions:
        return ()
    longer = (*path, label)
    position = MatchPosition(partition.scope, partition.rows, start, longer, len(longer), number)
    return tuple(_not_true(_operands(conditions[label.variable]), position))


def _operands(condition: Expr) -> list[Expr]:
    if isinstance(condition, Operator) and condition.op == "and":
        return [part for arg in condition.args for part in _operands(arg)]
    return [condition]


def _not_true(parts: Sequence[Expr], position: MatchPosition) -> Iterator[str]:
    guarded = False
    for part in parts:
        try:
            value = evaluate(part, position)
        except MatchError:
            if not guarded:
                guarded = True
                yield "error"
            continue
        if value is not True:
            guarded = True
            yield "NULL" if value is None else "FALSE"
