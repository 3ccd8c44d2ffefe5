"""Window with a row pattern and rows -> every row with its values, frame by frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ostinato.clause.query.clause import SkipKind
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.reference.clause_oracle import Match, candidates, next_start, sorted_partitions
from ostinato.reference.navigation import MatchPosition, Scope, evaluate
from ostinato.reference.oracle_ordering import Row


def window_rows(
    window: WindowPattern, columns: Sequence[str], rows: Sequence[Mapping[str, object]], *, ansi: bool = True
) -> list[dict[str, object]]:
    """Every input row with the values of the measures, by partition and in its order."""
    return [
        {**row, **values}
        for partition in sorted_partitions(window.clause, columns, rows, ansi=ansi)
        for row, values in _OracleWindow(window, partition.scope, partition.rows).rows_with_values()
    ]


@dataclass(frozen=True, slots=True)
class _OracleWindow:
    """A window over one sorted partition."""

    window: WindowPattern
    scope: Scope
    rows: Sequence[Row]

    def rows_with_values(self) -> Iterator[tuple[Row, dict[str, object]]]:
        resumes = 0
        for at, row in enumerate(self.rows):
            frame = self._frame(at)
            match = self._match(frame) if at >= resumes else None
            yield row, self._values(frame, match)
            if match is not None and at >= resumes:
                resumes = at + self._distance(match)

    def _frame(self, at: int) -> Sequence[Row]:
        """The rows that matching may see for the row. All positions count from the first of them."""
        end = len(self.rows) if self.window.frame_end is None else at + self.window.frame_end + 1
        return self.rows[at:end]

    def _match(self, frame: Sequence[Row]) -> Match | None:
        """INITIAL: the preferred match from the frame's first row. SEEK: from the first row that has one."""
        for start in range(len(frame) if self.window.seek else 1):
            labels = next(candidates(self.window.clause, self.scope, frame, start, None), None)
            if labels is not None:
                return Match(start, labels)
        return None

    def _distance(self, match: Match) -> int:
        """The distance from the current row to the next one that isn't skipped."""
        if not match.labels or self.window.clause.skip.kind is SkipKind.TO_NEXT_ROW:
            return 1
        return next_start(self.window.clause, self.scope, match)

    def _values(self, frame: Sequence[Row], match: Match | None) -> dict[str, object]:
        """The values as of the last row of the match, whatever RUNNING and FINAL say.

        Without a match, measures are NULL, and functions over the matched rows have their value over no rows.
        """
        start, labels = (0, ()) if match is None else (match.start, match.labels)
        position = MatchPosition(self.scope, frame, start, labels, len(labels), None)
        return {
            measure.name: evaluate(measure.expression, position)
            if match is not None or measure.name in self.window.frame_functions
            else None
            for measure in self.window.clause.measures
        }
