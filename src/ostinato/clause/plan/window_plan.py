"""Window with a row pattern -> MatchPlan: a plan of the clause, whose matches and conditions stay in frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.windows.window_checks import check_window
from ostinato.clause.plan.match_plan import MatchPlan, make_plan
from ostinato.clause.plan.rows_around import rows_around
from ostinato.clause.query.bound_clause import BoundClause
from ostinato.clause.query.clause import Output
from ostinato.clause.query.pattern import Concat, Quantified, Variable
from ostinato.clause.query.window_pattern import BEFORE_MATCH, WindowPattern
from ostinato.expressions.syntax import Aggregate, Call, Expr, Navigation, RowClassifier, rebuild, string_literal


def plan_window(window: WindowPattern, columns: Sequence[str], *, case_sensitive: bool = False) -> MatchPlan:
    """Plans a window over the columns of its input. Raises the errors of `check_window`, `bind` and `make_plan`.

    The plan shows every row with all columns. A measure can't have the name of a column.
    """
    check_window(window)
    max_length = None if window.frame_end is None else window.frame_end + 1
    clause = replace(window.clause, output=Output.ALL_ROWS_WITH_UNMATCHED, max_length=max_length)
    bound = bind(clause, columns, case_sensitive=case_sensitive)
    if window.seek and not _is_the_same_in_all_frames(bound, window):
        bound = _seeking(bound)
    return make_plan(bound, window)


def _is_the_same_in_all_frames(bound: BoundClause, window: WindowPattern) -> bool:
    """Whether the match of a start doesn't depend on the row that seeks it.

    Then SEEK needs no search of its own: a row gets the next match that INITIAL finds (`task/window_matches.py`).
    """
    if window.frame_end is not None:
        return False
    of_match = replace(bound, clause=replace(bound.clause, output=Output.ONE_ROW))
    return rows_around(make_plan(of_match)).before == 0


def _seeking(bound: BoundClause) -> BoundClause:
    """The clause with a reluctant loop before its pattern: the earliest start in the frame is preferred."""
    loop = Quantified(Variable(BEFORE_MATCH), 0, None, greedy=False)
    pattern = Concat((loop, bound.clause.pattern))
    matched = frozenset(bound.variables)
    return replace(
        bound,
        clause=replace(bound.clause, pattern=pattern),
        variables=(*bound.variables, BEFORE_MATCH),
        conditions={name: _over_match(condition, matched) for name, condition in bound.conditions.items()},
    )


def _over_match(expr: Expr, matched: frozenset[str]) -> Expr:
    """The condition with references to all rows of the match limited to the variables of the pattern."""
    if isinstance(expr, Aggregate):
        return expr if expr.rows is not None else replace(expr, rows=matched)
    if isinstance(expr, Navigation):
        operand = _without_label_before(expr.operand) if expr.shift else expr.operand
        return replace(expr, operand=operand, rows=matched if expr.rows is None else expr.rows)
    return rebuild(expr, lambda child: _over_match(child, matched))


def _without_label_before(operand: Expr) -> Expr:
    """The operand of PREV: rows before the match have no label."""
    if isinstance(operand, RowClassifier):
        return Call("nullif", (operand, string_literal(BEFORE_MATCH)))
    return rebuild(operand, _without_label_before)
