"""Funnel -> the MATCH_RECOGNIZE clause whose matches are the funnel's attempts, and the order of events of one time.

An attempt of the funnel view, cart, pay is

    STEP_1 GAP_1*? STEP_2 GAP_2*? STEP_3

with reluctant gaps, so that each step is the first event that can be it. GAP_1 takes no event of the first step: a
repeated first step begins a new attempt in place of the one that hasn't gone further. Attempts that WITHIN cut off are
timeouts of the clause. Without WITHIN, the end of the partition ends them. Wherever else an attempt can end, STOP_k is
the event that ends it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.query.clause import Definition, MatchRecognize, Measure, PartitionKey, SortKey, Subset
from ostinato.clause.query.pattern import Alternation, Concat, PartitionEnd, Pattern, Quantified, Variable
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Call, Case, Cast, ColumnRef, Expr, Literal, Name, Operator, Star
from ostinato.funnels.funnel import COMPLETED, LEVEL, Funnel, Mode

ORDER_COLUMN = "funnel_order"
"""The column that Ostinato adds to the events: it orders those of one time."""
_REACHED = "REACHED"


def funnel_clause(funnel: Funnel, *, double_quoted_identifiers: bool = False) -> MatchRecognize:
    """The clause as read from its text, so that errors quote the text."""
    return parse_clause(funnel_clause_text(funnel), double_quoted_identifiers=double_quoted_identifiers)


def funnel_clause_text(funnel: Funnel) -> str:
    """The text between the parentheses of MATCH_RECOGNIZE ( ... )."""
    return render_clause(_clause(funnel, completing=False))


def completing_clause(funnel: Funnel) -> MatchRecognize:
    """The clause that matches only attempts with all steps, as read from its text. The other attempts are refused."""
    return parse_clause(render_clause(_clause(funnel, completing=True)))


def step_number(variable: str) -> int | None:
    """The number of the step that a variable of the clause stands for; None for an event between two steps.

    >>> step_number("STEP_2"), step_number("GAP_2")
    (2, None)
    """
    kind, _, number = variable.partition("_")
    return int(number) if kind == "STEP" else None


def _clause(funnel: Funnel, *, completing: bool) -> MatchRecognize:
    count = len(funnel.steps)
    definitions = [each for each in _definitions(funnel) if not (completing and each.variable.startswith("STOP_"))]
    return MatchRecognize(
        Concat((Variable(_step(1)), *_after(funnel, 1, completing=completing))),
        partition_by=tuple(PartitionKey(Name(key, quoted=True)) for key in funnel.keys),
        order_by=tuple(SortKey(Name(column, quoted=True)) for column in _order(funnel)),
        measures=(
            Measure(LEVEL, Cast(_count(_REACHED), "INT")),
            Measure(COMPLETED, Operator("=", (_count(_step(count)), _number(1)))),
            *(
                Measure(step.time_column, ColumnRef((Name(_step(k)), Name(funnel.time[0], quoted=True))))
                for k, step in enumerate(funnel.steps, start=1)
            ),
        ),
        show_timeouts=funnel.within is not None and not completing,
        within=funnel.within,
        subsets=(Subset(_REACHED, tuple(_step(k) for k in range(1, count + 1))),),
        definitions=tuple(definitions),
    )


def funnel_statement(funnel: Funnel, table: str) -> str:
    """A SELECT of all attempts of the funnel, for `ost.sql`."""
    order = f"{render_expression(funnel_order(funnel))} AS {quote(ORDER_COLUMN)}"
    clause = funnel_clause_text(funnel).replace("\n", "\n    ")
    return f"SELECT *\nFROM (\n    SELECT *, {order}\n    FROM {quote(table)}\n) MATCH_RECOGNIZE (\n    {clause}\n)"


def funnel_order(funnel: Funnel) -> Expr:
    """The order of events of one time: by the first step that they can be, so that they can follow each other.

    With STRICT_INCREASE they can't. There, events that can be the second step come first: otherwise a first step of the
    same time would begin a new attempt before the second step is seen.
    """
    if funnel.mode is Mode.STRICT_INCREASE:
        return Case(None, ((_condition(funnel, 2), _number(1)),), _number(2))
    return Case(None, tuple((_condition(funnel, k), _number(k)) for k in range(1, len(funnel.steps) + 1)), None)


def _order(funnel: Funnel) -> tuple[str, ...]:
    time, *ties = funnel.time
    if funnel.mode is Mode.STRICT_INCREASE:
        return (time, ORDER_COLUMN, *ties)
    return (time, *ties, ORDER_COLUMN)


# --- pattern ----------------------------------------------------------------------------------------------------------


def _after(funnel: Funnel, k: int, *, completing: bool) -> tuple[Pattern, ...]:
    """The pattern behind step k. A completing one has no other end than the last step."""
    following: tuple[Pattern, ...] = (Variable(_step(k + 1)),)
    if k + 1 < len(funnel.steps):
        following = (*following, *_after(funnel, k + 1, completing=completing))
    ends: list[Pattern] = []
    if funnel.mode is Mode.STRICT_ORDER and not completing:
        ends.append(Variable(_stop(k)))
    if funnel.within is None and not completing:
        ends.append(PartitionEnd())
    if ends:
        following = (Alternation((Concat(following), *ends)),)
    if funnel.mode is Mode.STRICT_ORDER and k == 1:
        return following
    return (Quantified(Variable(_gap(k)), 0, None, greedy=False), *following)


def _definitions(funnel: Funnel) -> list[Definition]:
    count = len(funnel.steps)
    definitions = [Definition(_step(k), _step_condition(funnel, k)) for k in range(1, count + 1)]
    if funnel.mode is not Mode.STRICT_ORDER:
        return [*definitions, Definition(_gap(1), _is_none_of(funnel, [1]))]
    for k in range(2, count):
        reached = Operator("or", tuple(_condition(funnel, step) for step in range(1, k + 1)))
        # Without the second part, an attempt could leave out its next step and reach a STOP.
        definitions.append(Definition(_gap(k), Operator("and", (reached, _is_none_of(funnel, [k + 1])))))
    for k in range(1, count):
        definitions.append(Definition(_stop(k), _is_none_of(funnel, range(1, k + 2))))
    return definitions


def _step_condition(funnel: Funnel, k: int) -> Expr:
    condition, time = _condition(funnel, k), Name(funnel.time[0], quoted=True)
    if k == 1:
        # WITHIN leaves out events without a time. They come first, so the first step decides for all.
        has_time = Operator("not", (Operator("is null", (ColumnRef((time,)),)),))
        return condition if funnel.within is not None else Operator("and", (condition, has_time))
    if funnel.mode is Mode.STRICT_INCREASE:
        earlier = ColumnRef((Name(_step(k - 1)), time))
        return Operator("and", (condition, Operator(">", (ColumnRef((time,)), earlier))))
    return condition


def _is_none_of(funnel: Funnel, steps: Sequence[int]) -> Expr:
    """Also true where a condition is NULL."""
    tests = tuple(Operator("not", (Operator("is true", (_condition(funnel, k),)),)) for k in steps)
    return tests[0] if len(tests) == 1 else Operator("and", tests)


def _condition(funnel: Funnel, k: int) -> Expr:
    return funnel.steps[k - 1].condition


def _count(variable: str) -> Expr:
    return Call("count", (Star(Name(variable)),))


def _number(value: int) -> Expr:
    return Literal("number", str(value))


def _step(k: int) -> str:
    return f"STEP_{k}"


def _gap(k: int) -> str:
    return f"GAP_{k}"


def _stop(k: int) -> str:
    return f"STOP_{k}"
