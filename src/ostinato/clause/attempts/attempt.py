"""The attempts of one key as values. No engine here."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby

import numpy as np
from numpy.typing import NDArray


class Outcome(enum.Enum):
    """The end of an attempt. The values stand in tables."""

    MATCHED = "matched"
    """A match starts at the row."""
    INSIDE = "inside a match"
    """AFTER MATCH SKIP leaves the row out, because an earlier match goes beyond it."""
    REFUSED = "refused"


class Reason(enum.Enum):
    """The reason why an attempt couldn't go on. The values stand in tables."""

    CONDITION = "condition"
    END_OF_ROWS = "end of rows"
    WITHIN = "WITHIN"
    NO_TIME = "no time"
    """With WITHIN, a row whose time is NULL is in no match."""
    MAXLENGTH = "MAXLENGTH"
    ROWS_FOLLOW = "rows follow"
    """`$`: the match is complete, but it must end at the last row."""


class Verdict(enum.Enum):
    """The value of a part of a condition that isn't TRUE."""

    FALSE = "FALSE"
    NULL = "NULL"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Read:
    """A column, navigation or aggregate as written, and its value for the refused row."""

    text: str
    value: object


@dataclass(frozen=True, slots=True)
class Part:
    """An operand of the condition's AND that isn't TRUE; the whole condition if it has no AND."""

    text: str
    verdict: Verdict
    reads: tuple[Read, ...]
    error: str | None = None
    """The message of an ERROR."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason against the next row. A CONDITION has one variable; other reasons have all variables."""

    reason: Reason
    variables: tuple[str, ...]
    condition: str | None = None
    """The text of the variable's condition in DEFINE."""
    parts: tuple[Part, ...] = ()
    excess: timedelta | None = None
    """The time by which the next row lies behind WITHIN."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """The last consumed row at which a variable that is nearer to a match than the attempt's end was refused."""

    row: int
    refusals: tuple[Refusal, ...]


@dataclass(frozen=True, slots=True)
class LabelRun:
    """Consecutive rows that were consumed as one variable."""

    variable: str
    rows: int


def label_runs(labels: Sequence[str]) -> tuple[LabelRun, ...]:
    """The labels in runs.

    >>> label_runs("AAB")
    (LabelRun(variable='A', rows=2), LabelRun(variable='B', rows=1))
    """
    return tuple(LabelRun(variable, sum(1 for _ in group)) for variable, group in groupby(labels))


@dataclass(frozen=True, slots=True)
class Attempt:
    """A start that gave no match: the rows consumed at most, and the reasons against the next row."""

    start: int
    """The position of the start row in the order of the key, from 0 on."""
    rows: int
    labels: tuple[LabelRun, ...]
    """The labels of these rows. Of several ways to consume them, the one that is nearest to a match; of those, the
    preferred one."""
    missing: int | None
    """The least number of further rows that would complete the match; None if no rows can."""
    refusals: tuple[Refusal, ...]
    near_miss: NearMiss | None = None
    """Only if no condition refused the next row: what refused a match on the way there."""
    complete: bool = True
    """Whether the search tried everything. If not, the attempt may come further."""

    @property
    def next_row(self) -> int:
        """The position of the row that was refused; the number of rows if all were consumed."""
        return self.start + self.rows


@dataclass(frozen=True, slots=True)
class Starts:
    """The start rows that were asked for, an entry each."""

    row: NDArray[np.int64]
    outcome: tuple[Outcome, ...]
    rows: NDArray[np.int64]
    """The rows consumed: of the match, of the attempt; 0 inside a match."""
    match: NDArray[np.int64]
    """The number of the match that starts here or contains the row; 0 if there is none."""
    most_rows: NDArray[np.int64]
    """The rows that the start can consume at most; `rows` where the search tried everything."""
    complete: NDArray[np.bool_]
    """Whether it did."""

    def count(self, outcome: Outcome) -> int:
        """The number of starts that ended so."""
        return self.outcome.count(outcome)


@dataclass(frozen=True, slots=True)
class KeyAttempts:
    """All starts, and the attempts that came furthest, the furthest first."""

    starts: Starts
    attempts: tuple[Attempt, ...]
    trials: int | None
    """The number of partial matches that the search tried. None: no condition reads the run, and nothing is tried."""

    @property
    def complete(self) -> bool:
        """Whether the search of every start tried everything."""
        return bool(self.starts.complete.all())

    def reasons(self) -> Iterator[tuple[Attempt, int, Refusal]]:
        """Each refusal with its attempt and the row that it refused, those of near misses last."""
        for attempt in self.attempts:
            yield from ((attempt, attempt.next_row, refusal) for refusal in attempt.refusals)
            if attempt.near_miss is not None:
                yield from ((attempt, attempt.near_miss.row, refusal) for refusal in attempt.near_miss.refusals)
