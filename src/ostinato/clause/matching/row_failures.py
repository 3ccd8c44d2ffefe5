"""Conditions over several rows that can't be evaluated at a row. A query that goes on without them notes them here."""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.errors import MatchError


@dataclass(slots=True)
class RowFailures:
    """The failures in one window of rows. Rows are numbered in the order of matching."""

    neighbours: dict[int, tuple[int, MatchError]] = field(default_factory=dict)
    """Rows at which a condition over rows at fixed distances failed: the rows ahead that it reads, and the error."""
    attempts: dict[int, tuple[int, MatchError]] = field(default_factory=dict)
    """Rows at which a condition over the run failed: the first start whose attempt reached the row, and the error."""

    def note_neighbours(self, row: int, ahead: int, error: MatchError) -> None:
        self.neighbours.setdefault(row, (ahead, error))

    def note_attempt(self, row: int, start: int, error: MatchError) -> None:
        self.attempts.setdefault(row, (start, error))

    @property
    def rows(self) -> list[int]:
        """Each row that failed, in order."""
        return sorted({*self.neighbours, *self.attempts})

    def by_row(self) -> dict[int, MatchError]:
        """Each row that failed, in order, with one error."""
        noted = {**self.attempts, **self.neighbours}
        return {row: noted[row][1] for row in self.rows}
