"""The attempts of one key -> their picture."""

from __future__ import annotations

from ostinato.clause.attempts.attempt import Attempt, KeyAttempts
from ostinato.explanation.attempts_text import NamedRows, attempts_summary, described, reason_lines
from ostinato.pictures.attempts_svg import DrawnAttempt, draw_attempts

_MOST_DRAWN = 10


def attempts_picture(attempts: KeyAttempts, rows: NamedRows) -> str:
    """The SVG of the attempts that came furthest."""
    caption = attempts_summary(attempts, rows).split("\n", 1)[0]
    return draw_attempts([_drawn(attempt, rows) for attempt in described(attempts)[:_MOST_DRAWN]], caption)


def _drawn(attempt: Attempt, rows: NamedRows) -> DrawnAttempt:
    names = tuple(rows.words.box(run.variable) + (f"{{{run.rows}}}" if run.rows > 1 else "") for run in attempt.labels)
    refused = f"row {attempt.next_row}" if attempt.next_row < rows.rows.num_rows else None
    title = f"{rows.row(attempt.start)}: {attempt.rows:,} {'row' if attempt.rows == 1 else 'rows'}"
    return DrawnAttempt(title, names, refused, tuple(reason_lines(attempt, rows)))
