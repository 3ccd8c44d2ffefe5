"""Letters for rows: the attempts of `A B+ C` over the rows of "ABBX"."""

from __future__ import annotations

from datetime import datetime, timedelta

import pyarrow as pa
from tests.reference.letters import kinds

from ostinato.clause.attempts.attempt import KeyAttempts, Refusal
from ostinato.clause.attempts.attempt_engine import AttemptOptions
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_attempts import Positions, clause_attempts


def letters(text: str) -> pa.Table:
    """A row for each letter, a minute apart, with its number `n`."""
    return pa.table(
        {
            "n": pa.array(range(len(text)), pa.int64()),
            "kind": pa.array(text, pa.string()),
            "at": [datetime(2024, 1, 1) + timedelta(minutes=minute) for minute in range(len(text))],
        }
    )


def attempts(
    pattern: str,
    text: str,
    *,
    after: str = "",
    define: str | None = None,
    rows: Positions = None,
    max_attempts: int = 100,
    max_trials: int | None = None,
) -> KeyAttempts:
    """The attempts of a pattern; each variable wants its own letter, unless `define` says otherwise."""
    define = kinds(pattern) if define is None else define
    clause = parse_clause(f"ORDER BY at, n MEASURES 1 AS m {after} PATTERN ({pattern}) {define}")
    options = AttemptOptions(max_attempts, max_trials)
    return clause_attempts(clause, letters(text), key=None, rows=rows, options=options).attempts


def outcomes(found: KeyAttempts) -> str:
    """A letter for each start: m matched, i inside a match, otherwise the number of rows consumed."""
    return "".join(
        {"matched": "m", "inside a match": "i"}.get(outcome.value, str(rows))
        for outcome, rows in zip(found.starts.outcome, found.starts.rows.tolist(), strict=True)
    )


def reasons(found: KeyAttempts, start: int) -> list[str]:
    """The reasons against the next row of a start, each with its variables."""
    (attempt,) = (each for each in found.attempts if each.start == start)
    return [f"{each.reason.value} {' '.join(each.variables)}".strip() for each in attempt.refusals]


def parts(refusal: Refusal) -> list[str]:
    """The parts that aren't TRUE, with the values that they read."""
    return [
        f"{part.text} {part.verdict.value} {[(read.text, read.value) for read in part.reads]}" for part in refusal.parts
    ]
