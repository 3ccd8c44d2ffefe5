"""Checks of a window with a row pattern that need no table: the constructs of the clause that a window doesn't have."""

from __future__ import annotations

from typing import NoReturn

from ostinato.calls.id_columns import NO_IDS
from ostinato.clause.language.clause_checks import check_clause
from ostinato.clause.query.clause import MatchMode, Output
from ostinato.clause.query.pattern import PartitionEnd, PartitionStart, walk
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import QueryError, Span
from ostinato.expressions.syntax import Call
from ostinato.expressions.syntax import walk as walk_expression

LARGEST_FRAME = 2**31 - 2
"""A frame has this many rows and the current one, so its length is a bound that PATTERN could name, too."""


def check_window(window: WindowPattern) -> None:
    """Raises the first error, if there is one: those of the clause, then UNSUPPORTED_IN_WINDOW."""
    check_clause(window.clause)
    _check_pattern(window)
    _check_output(window)
    _check_extensions(window)
    _check_match_number(window)
    if not window.clause.definitions:
        message = "a window with a row pattern needs DEFINE"
        _fail(window, "SYNTAX_ERROR", message, window.clause.spans.pattern, "a variable without a condition: A AS TRUE")
    if window.frame_end is not None and not 0 <= window.frame_end <= LARGEST_FRAME:
        message = f"a frame ends from 0 to {LARGEST_FRAME:,} rows after the current one, not {window.frame_end:,}"
        _refuse(window, message, None, "UNBOUNDED FOLLOWING has no limit")


def _check_pattern(window: WindowPattern) -> None:
    for node in walk(window.clause.pattern):
        if isinstance(node, PartitionStart | PartitionEnd):
            sign = "^" if isinstance(node, PartitionStart) else "$"
            message = f"'{sign}' isn't allowed in the PATTERN of a window: a match starts in the frame of a row"
            _refuse(window, message, node.span, "leave it out, or use MATCH_RECOGNIZE in FROM")


def _check_output(window: WindowPattern) -> None:
    clause = window.clause
    if clause.output is not Output.ONE_ROW or clause.spans.rows_per_match is not None:
        message = "a window has no ROWS PER MATCH: it gives one row for each input row"
        _refuse(window, message, clause.spans.rows_per_match, "leave it out")
    if clause.show_timeouts:
        _refuse(window, "SHOW TIMEOUT MATCHES isn't allowed in a window", clause.spans.timeouts)


def _check_extensions(window: WindowPattern) -> None:
    clause = window.clause
    if clause.mode is not MatchMode.PREFERRED:
        message = f"{clause.mode.value} isn't allowed in a window: a row has one match at most"
        _refuse(window, message, clause.spans.mode, "AFTER MATCH SKIP TO NEXT ROW finds the match of every row")
    if clause.within is not None:
        message = "WITHIN isn't allowed in a window"
        _refuse(window, message, clause.spans.within, "end the frame, or compare with FIRST(time) in DEFINE")
    if clause.max_length is not None:
        message = "MAXLENGTH isn't allowed in a window: its frame limits the length of a match"
        hint = f"write ROWS BETWEEN CURRENT ROW AND {clause.max_length - 1} FOLLOWING"
        _refuse(window, message, clause.spans.pattern, hint)
    if clause.ids != NO_IDS:
        _refuse(window, "ids of matches and runs aren't available in a window", None)


def _check_match_number(window: WindowPattern) -> None:
    clause = window.clause
    expressions = [definition.condition for definition in clause.definitions]
    expressions += [measure.expression for measure in clause.measures]
    for expression in expressions:
        for node in walk_expression(expression):
            if isinstance(node, Call) and node.name == "match_number":
                message = "MATCH_NUMBER() isn't allowed in a window: its matches aren't numbered"
                _refuse(window, message, node.span, "it belongs to MATCH_RECOGNIZE in FROM")


def _refuse(window: WindowPattern, message: str, span: Span | None, hint: str | None = None) -> NoReturn:
    _fail(window, "UNSUPPORTED_IN_WINDOW", message, span, hint)


def _fail(window: WindowPattern, code: str, message: str, span: Span | None, hint: str | None = None) -> NoReturn:
    raise QueryError(code, message, hint=hint, text=window.clause.text, span=span)
