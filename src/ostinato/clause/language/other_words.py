"""Functions of other engines that mean a standard one -> the standard one, as syntax."""

from __future__ import annotations

from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.expressions.syntax import Anchor, Call, Case, ColumnRef, Expr, Literal, Name, Navigation, Operator, Star

SHIFTS = {"lag": "prev", "lead": "next"}
OTHER_WORDS = frozenset({*SHIFTS, "match_sequence_number", "match_rowtime"})


def in_standard_words(call: Call, clause: MatchRecognize, *, in_define: bool) -> Expr:
    """The call in words of the standard. Raises UNSUPPORTED_FUNCTION if no word of the standard means the same."""
    if call.name in SHIFTS:
        return _shift(call, clause, in_define=in_define)
    if call.args or call.distinct or call.semantics:
        message = f"{call.name.upper()} takes no argument, no DISTINCT, RUNNING or FINAL"
        raise QueryError("INVALID_ARGUMENTS", message, text=clause.text, span=call.span)
    if in_define:
        hint = "count(*) counts the rows so far" if call.name == "match_sequence_number" else "name the column"
        raise _refused(call, clause, "is for MEASURES: the match isn't known yet", hint)
    return _sequence_number(call) if call.name == "match_sequence_number" else _row_time(call, clause)


def is_around_current_row(navigation: Navigation) -> bool:
    """Whether a navigation counts from the current row, not from a row of a variable."""
    return navigation.rows is None and navigation.anchor is Anchor.LAST and navigation.skip == 0


def _shift(call: Call, clause: MatchRecognize, *, in_define: bool) -> Call:
    """LAG(x, n) is PREV(x, n) in a condition. Among measures, it could mean the rows of the match only."""
    standard = SHIFTS[call.name]
    if not in_define:
        hint = f"write {standard.upper()}(column, offset): it may leave the match"
        raise _refused(call, clause, "isn't supported in MEASURES", hint)
    if len(call.args) > 2:
        hint = f"write coalesce({standard.upper()}(x, n), default): it replaces NULL values of x, too"
        raise _refused(call, clause, "has no default here", hint)
    return Call(standard, call.args, call.distinct, call.semantics, call.span)


def _sequence_number(call: Call) -> Expr:
    """The number of the row in its match, from 1; NULL for an empty match."""
    count = Call("count", (Star(span=call.span),), span=call.span)
    is_row = Operator(">", (count, Literal("number", "0")), call.span)
    return Case(None, ((is_row, count),), None, call.span)


def _row_time(call: Call, clause: MatchRecognize) -> Expr:
    """The first column of ORDER BY at the last row of the match."""
    if not clause.order_by:
        message = "MATCH_ROWTIME() is the first column of ORDER BY, and the clause has none"
        raise QueryError("INVALID_NAVIGATION", message, text=clause.text, span=call.span)
    column = ColumnRef((Name(clause.order_by[0].column.text, quoted=True),), call.span)
    return Call("last", (column,), semantics="final", span=call.span)


def _refused(call: Call, clause: MatchRecognize, why: str, hint: str) -> QueryError:
    return QueryError("UNSUPPORTED_FUNCTION", f"{call.name.upper()} {why}", text=clause.text, span=call.span, hint=hint)
