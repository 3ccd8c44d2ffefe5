"""Failure code of the search kernel -> the error that a user sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.clause.matching import search_arrays as s
from ostinato.errors import MatchError
from ostinato.expressions.run_conditions.opcodes import DIVIDE_BY_ZERO, OVERFLOW

if TYPE_CHECKING:
    from ostinato.clause.matching.match_engine import Task


def failure_of(task: Task, failure: int, row: int) -> MatchError:
    """The error for a failure code of the kernel."""
    if failure in (s.TOO_MANY_PARTIAL_MATCHES, s.TOO_MANY_IN_KEY):
        from_row = failure == s.TOO_MANY_PARTIAL_MATCHES
        most = task.max_partial_matches * (1 if from_row else s.PER_KEY)
        error = MatchError(
            "TOO_MANY_PARTIAL_MATCHES",
            f"more than {most:,} partial matches were tried {'from one row' if from_row else 'in one key'}",
            hint="bound the pattern with WITHIN or MAXLENGTH, tighten DEFINE, or raise max_partial_matches",
        )
    elif failure == s.TOO_MANY_IN_ALL:
        error = MatchError(
            "TOO_MANY_PARTIAL_MATCHES",
            f"more than {task.max_in_all:,} partial matches were tried in one bucket in one micro-batch",
            hint="bound the pattern with WITHIN or MAXLENGTH, tighten DEFINE, or raise max_partial_matches",
        )
    elif failure == s.RESULT_TOO_LARGE:
        error = MatchError(
            "RESULT_TOO_LARGE",
            f"the matches found in one task hold more than {s.LARGEST_PATH:,} rows",
            hint="bound the pattern with WITHIN or MAXLENGTH, or skip past the last row",
        )
    elif failure in (s.SKIP_TO_FIRST_ROW, s.SKIP_TARGET_MISSING):
        error = _skip_error(task, failure)
    else:
        error = condition_failure(s.CONDITION_FAILED - failure, "DEFINE")
    error.row = row
    return error


def condition_failure(status: int, clause: str) -> MatchError:
    """The error for a status of the interpreter; `clause` names the clause that holds the condition."""
    if status == DIVIDE_BY_ZERO:
        return MatchError("DIVIDE_BY_ZERO", f"division by zero in {clause}", hint="guard it with NULLIF(divisor, 0)")
    assert status == OVERFLOW
    return MatchError("ARITHMETIC_OVERFLOW", f"a number in {clause} grew too large", hint="cast to DOUBLE there")


def _skip_error(task: Task, failure: int) -> MatchError:
    target = task.skip.target
    if failure == s.SKIP_TO_FIRST_ROW:
        return MatchError(
            "SKIP_TO_FIRST_ROW",
            f"AFTER MATCH {task.skip.kind.value} {target} leads to the first row of the match: "
            "the search would loop for ever",
        )
    return MatchError(
        "SKIP_TARGET_MISSING", f"AFTER MATCH {task.skip.kind.value} {target}: no row of the match is {target}"
    )
