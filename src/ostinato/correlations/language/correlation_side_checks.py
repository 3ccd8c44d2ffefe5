"""Checks of one side of a correlation that need no table: its order, its mode, its output and expressions."""

from __future__ import annotations

from typing import NoReturn

from ostinato.clause.query.clause import MatchMode, MatchRecognize, Output, SkipKind
from ostinato.clause.query.pattern import PartitionEnd, PartitionStart
from ostinato.clause.query.pattern import walk as walk_pattern
from ostinato.correlations.language.correlation import Correlation
from ostinato.errors import QueryError, Span
from ostinato.expressions.syntax import Call, walk

_EQUAL_ENDS = "several matches of the live side may end at one row, and then no order of the results could be given"
_EQUAL_STARTS = "several matches of the archive side may start at one row: no order of the results could be given"
_BEFORE_REGION = "which matches the archive side has would depend on rows before the region"
_WHICH_IS_WHICH = "RECENT names the archive side first, then the live one"


def check_correlation(correlation: Correlation, *, of_live: bool) -> None:
    """Raises the first error found on one side; spans are of that side's clause."""
    clause = correlation.live if of_live else correlation.archive
    _check_order(clause)
    if of_live:
        _check_live_mode(clause)
    else:
        _check_archive_mode(clause)
    _check_output(clause)
    if not of_live:
        _check_archive(clause)


def _fail(clause: MatchRecognize, code: str, message: str, *, at: Span | None, hint: str) -> NoReturn:
    raise QueryError(code, message, text=clause.text, span=at, hint=hint)


def _check_order(clause: MatchRecognize) -> None:
    hint = "ORDER BY the time of the rows first: it says what happened before what"
    if not clause.order_by:
        _fail(clause, "CORRELATION_ORDER", "a clause of a correlation needs ORDER BY", at=None, hint=hint)
    first = clause.order_by[0]
    if first.descending or not first.puts_nulls_first:
        _fail(
            clause,
            "CORRELATION_ORDER",
            "a clause of a correlation is ordered ascending, rows without time first",
            at=first.span,
            hint=hint,
        )


def _check_live_mode(clause: MatchRecognize) -> None:
    is_standard = clause.mode is MatchMode.PREFERRED and clause.skip.kind is SkipKind.PAST_LAST_ROW
    if clause.mode is not MatchMode.INCREMENTAL and not is_standard:
        at = clause.skip.span if clause.mode is MatchMode.PREFERRED else clause.spans.mode
        hint = f"write INCREMENTAL MATCHES, or AFTER MATCH SKIP PAST LAST ROW; {_WHICH_IS_WHICH}"
        _fail(clause, "CORRELATION_MODE", _EQUAL_ENDS, at=at, hint=hint)


def _check_archive_mode(clause: MatchRecognize) -> None:
    hint = f"write MAXIMAL MATCHES, or AFTER MATCH SKIP TO NEXT ROW; {_WHICH_IS_WHICH}"
    if clause.mode in (MatchMode.ALL, MatchMode.INCREMENTAL):
        _fail(clause, "CORRELATION_MODE", _EQUAL_STARTS, at=clause.spans.mode, hint=hint)
    if clause.mode is MatchMode.PREFERRED and clause.skip.kind is not SkipKind.TO_NEXT_ROW:
        _fail(clause, "CORRELATION_MODE", _BEFORE_REGION, at=clause.skip.span or clause.spans.pattern, hint=hint)


def _check_output(clause: MatchRecognize) -> None:
    hint = "a correlation joins matches: one row each"
    if clause.output is not Output.ONE_ROW:
        message = "ALL ROWS PER MATCH can't be correlated"
        _fail(clause, "CORRELATION_NOT_SUPPORTED", message, at=clause.spans.rows_per_match, hint=hint)
    if clause.within_months is not None:
        message = "WITHIN in calendar months can't be correlated"
        days = f"WITHIN {31 * clause.within_months} DAYS"
        _fail(clause, "CORRELATION_NOT_SUPPORTED", message, at=clause.spans.within, hint=days)
    if clause.show_timeouts:
        message = "SHOW TIMEOUT MATCHES can't be correlated"
        _fail(clause, "CORRELATION_NOT_SUPPORTED", message, at=clause.spans.timeouts, hint=hint)


def _check_archive(clause: MatchRecognize) -> None:
    """The archive has no fixed bounds: it ends before each live match, and begins with the oldest row in memory."""
    hint = "the archive is seen as it was before each live match: it has no fixed first or last row"
    for node in walk_pattern(clause.pattern):
        if isinstance(node, PartitionStart | PartitionEnd):
            sign = "^" if isinstance(node, PartitionStart) else "$"
            message = f"{sign} can't be used in the archive side's PATTERN"
            _fail(clause, "CORRELATION_NOT_SUPPORTED", message, at=node.span, hint=hint)
    expressions = [measure.expression for measure in clause.measures]
    for expression in (*expressions, *(definition.condition for definition in clause.definitions)):
        for call in walk(expression):
            if isinstance(call, Call) and call.name in ("next", "match_number"):
                message = f"{call.name.upper()} can't be used on the archive side"
                _fail(clause, "CORRELATION_NOT_SUPPORTED", message, at=call.span, hint=hint)
