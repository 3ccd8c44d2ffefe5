"""The detection of a Sigma rule -> the condition that an event meets, as an expression of Spark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sigma.conditions import (
    ConditionAND,
    ConditionFieldEqualsValueExpression,
    ConditionNOT,
    ConditionOR,
    ConditionValueExpression,
)
from sigma.rule import SigmaRule

from ostinato.expressions.syntax import Call, ColumnRef, Expr, Operator, walk
from ostinato.sigma_rules.field_tests import column, either, field_test, not_supported, not_true, text
from ostinato.sigma_rules.pysigma_calls import pysigma_errors

LOGSOURCE_FIELDS = ("category", "product", "service")


def event_condition(rule: SigmaRule, logsource: Mapping[str, str]) -> Expr:
    """The condition of the rule's events. Several conditions in a list are alternatives.

    `logsource` has the columns that hold an event's category, product and service. A part of the log source without a
    column isn't tested.
    """
    if "timeframe" in rule.detection.detections:
        raise not_supported("a timeframe in a detection", "write a correlation rule with a timespan")
    with pysigma_errors():
        parsed = [condition.parsed for condition in rule.detection.parsed_condition]
    detected = either(tuple(_translated(node) for node in parsed))
    origin = tuple(
        Operator("=", (Call("lower", (column(logsource[part]),)), Call("lower", (text(value),))))
        for part in LOGSOURCE_FIELDS
        if part in logsource and (value := getattr(rule.logsource, part)) is not None
    )
    return Operator("and", (*origin, detected)) if origin else detected


def _translated(node: object) -> Expr:
    match node:
        case ConditionAND(args=args):
            return Operator("and", tuple(_translated(arg) for arg in args))
        case ConditionOR(args=args):
            return either(tuple(_translated(arg) for arg in args))
        case ConditionNOT(args=args):
            return not_true(_translated(args[0]))
        case ConditionFieldEqualsValueExpression(field=field, value=value):
            return field_test(field, value)
        case ConditionValueExpression():
            raise not_supported("a keyword, which has no field,", "name the field that holds the text")
    raise not_supported("an empty condition")


def columns_of(expressions: Iterable[Expr]) -> tuple[str, ...]:
    """The columns that expressions read, each of them once: names don't depend on case."""
    names = (node.parts[0].text for expr in expressions for node in walk(expr) if isinstance(node, ColumnRef))
    return distinct_names(names)


def distinct_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names in the order of their first use.

    >>> distinct_names(["User", "ip", "user"])
    ('User', 'ip')
    """
    first: dict[str, str] = {}
    for name in names:
        first.setdefault(name.lower(), name)
    return tuple(first.values())
