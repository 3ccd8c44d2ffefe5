"""The attempts of one key -> words: a summary of a few lines, and the text of the furthest attempts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

import numpy as np
import pyarrow as pa

from ostinato.calls.shown_objects import shortened
from ostinato.clause.attempts.attempt import Attempt, KeyAttempts, Outcome, Part, Reason, Refusal, Verdict
from ostinato.explanation.pattern_words import ClauseWords

_LONGEST_VALUE = 60
_MOST_STARTS = 50


@dataclass(frozen=True, slots=True)
class NamedRows:
    """The rows of the key in the order of matching, and the words for them and for the pattern."""

    rows: pa.Table
    order: tuple[str, ...]
    """The columns that name a row."""
    key: Mapping[str, object]
    words: ClauseWords = field(default_factory=ClauseWords)
    hidden: frozenset[str] = frozenset()
    """Columns that the call added itself."""

    def row(self, position: int) -> str:
        """A row by its position and its order columns."""
        names = [name for name in dict.fromkeys(self.order) if name not in self.hidden]
        values = (f"{name} = {value_text(self.rows.column(name)[position].as_py())}" for name in names)
        words = ", ".join(values)
        return f"row {position}" + (f" ({words})" if words else "")


def value_text(value: object) -> str:
    """A value as SQL writes it, in one line.

    >>> value_text(None), value_text(True), value_text("a'b"), value_text([1, "x\\n"])
    ('NULL', 'TRUE', '"a\\'b"', "[1, 'x\\\\n']")
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return shortened(repr(value), _LONGEST_VALUE)
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return shortened(f"[{', '.join(map(value_text, value))}]", _LONGEST_VALUE)
    return shortened(str(value), _LONGEST_VALUE)


def attempts_text(attempts: KeyAttempts, rows: NamedRows, *, lists_starts: bool) -> str:
    """The whole text. `lists_starts`: each start that matched or lies inside a match has a line, too."""
    lines = list(_counts(attempts, rows))
    if lists_starts:
        lines += _answered_starts(attempts, rows)
    shown = described(attempts)
    for attempt in shown:
        lines += ["", *attempt_lines(attempt, rows)]
    left_out = attempts.starts.count(Outcome.REFUSED) - len(shown)
    if left_out and shown:
        lines += [
            "",
            f"… {left_out:,} more {_plural(left_out, 'start', 'starts')} without a match{_first_rows(attempts)}",
        ]
    if not attempts.complete:
        lines += ["", _incomplete(attempts)]
    return "\n".join(lines)


def attempts_summary(attempts: KeyAttempts, rows: NamedRows) -> str:
    """A few lines: the counts, and the attempt that came furthest."""
    lines = list(_counts(attempts, rows))
    if attempts.attempts:
        lines += attempt_lines(attempts.attempts[0], rows)
    return "\n".join(lines)


def attempt_lines(attempt: Attempt, rows: NamedRows) -> Iterator[str]:
    """One attempt: the consumed rows, then each reason against the next row."""
    next_row = rows.row(attempt.next_row) if attempt.next_row < rows.rows.num_rows else None
    if not attempt.rows:
        yield f"{rows.row(attempt.start)}: {'no match starts here' if attempt.complete else 'no row was consumed yet'}"
    else:
        count = f"{attempt.rows:,} {_plural(attempt.rows, 'row', 'rows')}"
        consumed = rows.words.path(attempt.labels)
        end = "then the rows end" if next_row is None else f"then {next_row} is refused"
        yield f"{rows.row(attempt.start)}: {count} as {consumed}, {end}"
    yield from _indented(reason_lines(attempt, rows))
    if attempt.missing:
        fewest = f"{attempt.missing:,} more {_plural(attempt.missing, 'row', 'rows')}"
        yield f"  a match needs at least {fewest}"
    if not attempt.complete:
        yield "  the search of this start stopped early: the attempt may come further"


def reason_lines(attempt: Attempt, rows: NamedRows) -> Iterator[str]:
    """The reasons against the next row, then the near miss."""
    for refusal in attempt.refusals:
        yield from refusal_lines(refusal, rows)
    if not attempt.refusals and attempt.complete:
        yield "the pattern allows no further row here"
    if attempt.near_miss is not None and rows.words.tells_near_misses:
        yield f"nearest miss, at {rows.row(attempt.near_miss.row)}:"
        for refusal in attempt.near_miss.refusals:
            yield from _indented(refusal_lines(refusal, rows))


def refusal_lines(refusal: Refusal, rows: NamedRows) -> Iterator[str]:
    """The reason in a line. The parts of a condition follow, if it has several."""
    if refusal.reason is not Reason.CONDITION:
        yield bound_text(refusal, rows)
        return
    name = rows.words.variable(refusal.variables[0])
    if len(refusal.parts) == 1 and refusal.parts[0].text == refusal.condition:
        yield f"{name}: {part_text(refusal.parts[0])}"
        return
    yield f"{name}: {refusal.condition}"
    yield from _indented(part_text(part) for part in refusal.parts)


def part_text(part: Part) -> str:
    """A part of a condition, its value, and the values that it reads."""
    verdict = f"fails ({part.error})" if part.verdict is Verdict.ERROR else f"is {part.verdict.value}"
    values = ", ".join(f"{read.text} = {value_text(read.value)}" for read in part.reads)
    return f"{part.text} {verdict}" + (
        f": {values}" if values and values != f"{part.text} = {part.verdict.value}" else ""
    )


def bound_text(refusal: Refusal, rows: NamedRows) -> str:
    """A reason that is no condition."""
    wanted = rows.words.expected(refusal.variables) if refusal.variables else ""
    match refusal.reason:
        case Reason.END_OF_ROWS:
            return f"no row is left for {wanted}"
        case Reason.WITHIN:
            return f"WITHIN has passed by {_duration(refusal.excess)}, before {wanted}"
        case Reason.NO_TIME:
            return f"its time is NULL, so WITHIN lets no match have this row; the pattern wants {wanted}"
        case Reason.MAXLENGTH:
            return f"MAXLENGTH is reached, before {wanted}"
        case _:
            return "the match would be complete, but $ wants it to end at the last row, and rows follow"


# --- counts -----------------------------------------------------------------------------------------------------------


def _counts(attempts: KeyAttempts, rows: NamedRows) -> Iterator[str]:
    starts = attempts.starts
    key = ", ".join(f"{name} = {value_text(value)}" for name, value in rows.key.items())
    total = len(starts.row)
    matched, inside, refused = (starts.count(outcome) for outcome in Outcome)
    pieces = [f"{matched:,} {_plural(matched, 'starts a match', 'start a match')}"]
    if inside:
        pieces.append(f"{inside:,} {_plural(inside, 'lies', 'lie')} inside a match")
    pieces.append(f"{refused:,} {_plural(refused, 'starts', 'start')} none")
    yield f"{key + ': ' if key else ''}of {total:,} {_plural(total, 'start row', 'start rows')}, {', '.join(pieces)}"


def _answered_starts(attempts: KeyAttempts, rows: NamedRows) -> list[str]:
    starts = attempts.starts
    lines = []
    for at, outcome in enumerate(starts.outcome):
        if outcome is Outcome.REFUSED:
            continue
        match = int(starts.match[at])
        verb = f"match {match} starts here" if outcome is Outcome.MATCHED else f"it lies inside match {match}"
        lines.append(f"{rows.row(int(starts.row[at]))}: {verb}")
    more = len(lines) - _MOST_STARTS
    return lines if more <= 0 else [*lines[:_MOST_STARTS], f"… {more:,} more"]


def described(attempts: KeyAttempts) -> Sequence[Attempt]:
    """The attempts to describe: those that consumed a row; if there is none, the first one."""
    further = [attempt for attempt in attempts.attempts if attempt.rows]
    return further or attempts.attempts[:1]


def _first_rows(attempts: KeyAttempts) -> str:
    """The number of starts whose own row is refused, as far as they were searched."""
    starts = attempts.starts
    is_refused = np.array([outcome is Outcome.REFUSED for outcome in starts.outcome], np.bool_)
    at_once = int((is_refused & starts.complete & (starts.rows == 0)).sum())
    return f"; {at_once:,} in total {_plural(at_once, 'is', 'are')} refused at the start row" if at_once else ""


def _incomplete(attempts: KeyAttempts) -> str:
    open_starts = ~attempts.starts.complete
    count, most = int(open_starts.sum()), int(attempts.starts.most_rows[open_starts].max())
    return (
        f"The search stopped after {attempts.trials or 0:,} trials: {count:,} {_plural(count, 'start', 'starts')} may"
        f" come further, to at most {most:,} rows. A higher max_trials= searches more."
    )


def _duration(excess: timedelta | None) -> str:
    return str(excess or timedelta())


def _plural(count: int, one: str, several: str) -> str:
    return one if count == 1 else several


def _indented(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
