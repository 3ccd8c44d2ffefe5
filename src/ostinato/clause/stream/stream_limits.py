"""Plan -> whether a stream can run it, and whether its state is bounded. Checked before any row is read."""

from __future__ import annotations

import pyarrow as pa

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.slicing import slicing_of
from ostinato.clause.query.clause import MatchMode, Output
from ostinato.errors import QueryError, Span
from ostinato.expressions import types as t
from ostinato.expressions.syntax import MatchIdentity


def check_streamable(plan: MatchPlan, time_type: pa.DataType | None) -> None:
    """Raises STREAM_NOT_SUPPORTED for a clause whose order a stream can't have. All others can run on a stream.

    `time_type` is the type of the first ORDER BY column, if there is one. Rows whose time is NULL are late, wherever
    ORDER BY would put them.
    """
    clause = plan.bound.clause
    if not plan.bound.order_by:
        raise _refusal(
            plan,
            "a stream needs ORDER BY, because its rows arrive in any order",
            hint="order by the watermark column first",
        )
    _check_within(plan)
    first = plan.bound.order_by[0]
    if time_type is not None and not t.is_datetime(time_type):
        raise _refusal(
            plan,
            f"the first ORDER BY column of a stream is its time, but '{first.column}' is {t.spark_name(time_type)}",
            span=first.key.span,
            hint="order by the watermark column first, then by others",
        )
    if first.key.descending:
        raise _refusal(
            plan,
            f"a stream can't be read backwards: the last row by '{first.column}' is known at its end",
            span=first.key.span,
            hint=f"ORDER BY {first.column} ascending, and turn the pattern round"
            if clause.within is None
            else f"ORDER BY {first.column} ascending",
        )


def _check_within(plan: MatchPlan) -> None:
    clause = plan.bound.clause
    if clause.within_months is not None:
        raise _refusal(
            plan,
            "WITHIN in calendar months runs on batches only: a timer of a stream needs a fixed length of time",
            span=clause.spans.within,
            hint=f"WITHIN {31 * clause.within_months} DAYS",
        )


def check_early(plan: MatchPlan) -> None:
    """Raises for a clause whose preliminary rows have no run id, or share it with others."""
    clause = plan.bound.clause
    if clause.ids.run_id is None:
        raise QueryError("INVALID_OPTION", 'emit="early" needs the option run_id', hint='run_id="run"')
    if clause.output is not Output.ONE_ROW:
        raise _refusal(plan, 'emit="early" has one row for each run', hint="ONE ROW PER MATCH")
    if clause.mode in (MatchMode.ALL, MatchMode.INCREMENTAL):
        message = f'emit="early" has one row for each run, and {clause.mode.value} may begin several at one row'
        raise _refusal(plan, message, hint="leave the mode out, or use MAXIMAL MATCHES")


def early_after_history() -> QueryError:
    """The error for an archive before a stream with preliminary rows."""
    return QueryError(
        "INVALID_OPTION",
        'emit="early" can\'t follow history: nobody would be told of the preliminary rows of the archive',
        hint='leave history out, or use emit="final"',
    )


def not_with_on_error(other: str) -> QueryError:
    """The error for on_error="skip" with another option."""
    return QueryError("INVALID_OPTION", f'on_error="skip" and {other} don\'t go together', hint="leave one of them out")


def run_slot(plan: MatchPlan) -> int:
    """The slot with the run id."""
    return next(i for i, slot in enumerate(plan.slots) if isinstance(slot, MatchIdentity) and slot.kind == "run")


def _refusal(plan: MatchPlan, message: str, *, hint: str, span: Span | None = None) -> QueryError:
    return QueryError("STREAM_NOT_SUPPORTED", message, hint=hint, text=plan.bound.clause.text, span=span)


def why_unbounded(plan: MatchPlan) -> str | None:
    """The reason why the stored rows of a key may grow without bound; None if they can't."""
    shared = slicing_of(plan).shared
    if shared.rows is not None or shared.within_us is not None:
        return None
    return "the length of a match is unbounded, so its rows may stay in the state for ever"
