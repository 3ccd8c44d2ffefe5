"""The attempts of one key -> tables: one of the starts, one of the reasons."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.clause.attempts.attempt import Attempt, KeyAttempts, Part, Refusal
from ostinato.explanation.attempts_text import NamedRows, value_text

_REASONS = pa.schema(
    [
        ("start", pa.int64()),
        ("rows", pa.int64()),
        ("path", pa.string()),
        ("missing", pa.int64()),
        ("refused_row", pa.int64()),
        ("near_miss", pa.bool_()),
        ("variable", pa.string()),
        ("reason", pa.string()),
        ("condition", pa.string()),
        ("part", pa.string()),
        ("verdict", pa.string()),
        ("values", pa.map_(pa.string(), pa.string())),
        ("complete", pa.bool_()),
    ]
)


def starts_table(attempts: KeyAttempts, rows: NamedRows) -> pa.Table:
    """One row for each start row: its order columns, the outcome, the number of the match, the rows consumed.

    An order column that has the name of another column is left out.
    """
    starts = attempts.starts
    columns = {"start": pa.array(starts.row)}
    for name in dict.fromkeys(rows.order):
        if name not in rows.hidden and name not in columns:
            columns[name] = rows.rows.column(name).take(pa.array(starts.row))
    own = {
        "outcome": pa.array([outcome.value for outcome in starts.outcome], pa.string()),
        "match": pa.array(starts.match, mask=starts.match == 0),
        "rows": pa.array(starts.rows),
        "most_rows": pa.array(starts.most_rows),
        "complete": pa.array(starts.complete.astype(np.bool_)),
    }
    columns = {name: column for name, column in columns.items() if name not in own} | own
    return pa.table(columns)


def reasons_table(attempts: KeyAttempts, rows: NamedRows) -> pa.Table:
    """One row for each part of a condition that isn't TRUE, and for each reason that is no condition."""
    records = [
        _record(attempt, row, refusal, part, variable, rows)
        for attempt, row, refusal in attempts.reasons()
        if row == attempt.next_row or rows.words.tells_near_misses
        for variable in refusal.variables or (None,)
        for part in refusal.parts or (None,)
    ]
    return pa.Table.from_pylist(records, _REASONS)


def _record(
    attempt: Attempt, row: int, refusal: Refusal, part: Part | None, variable: str | None, rows: NamedRows
) -> dict[str, object]:
    return {
        "start": attempt.start,
        "rows": attempt.rows,
        "path": rows.words.path(attempt.labels),
        "missing": attempt.missing,
        "refused_row": row if row < rows.rows.num_rows else None,
        "near_miss": row != attempt.next_row,
        "variable": None if variable is None else rows.words.variable(variable),
        "reason": refusal.reason.value,
        "condition": refusal.condition,
        "part": None if part is None else part.text,
        "verdict": None if part is None else part.verdict.value,
        "values": None if part is None else [(read.text, value_text(read.value)) for read in part.reads],
        "complete": attempt.complete,
    }
