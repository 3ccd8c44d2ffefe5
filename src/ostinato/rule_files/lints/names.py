"""A clause -> warnings about its names: a union that nothing uses, a variable without a condition, a name that shadows.

No types are needed; the columns are those of the schema, if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.query.pattern import Variable, variables, walk
from ostinato.errors import QueryError, did_you_mean
from ostinato.expressions import syntax
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Star

_DIGITS = re.compile(r"\d+")


def name_warnings(clause: MatchRecognize, columns: Sequence[str]) -> Iterator[QueryError]:
    """The warnings UNUSED_VARIABLE, VARIABLE_WITHOUT_CONDITION and SHADOWED_NAME."""
    yield from _unused_unions(clause)
    yield from _without_condition(clause)
    yield from _shadowed(clause, {column.lower() for column in columns})


def _unused_unions(clause: MatchRecognize) -> Iterator[QueryError]:
    used = {clause.skip.target}
    for expression in _expressions(clause):
        for node in syntax.walk(expression):
            used |= _qualifiers(node)
    for subset in clause.subsets:
        if subset.name not in used:
            message = f"SUBSET {subset.name} isn't used in MEASURES, DEFINE or AFTER MATCH SKIP"
            hint = f"leave it out, or use it: LAST({subset.name}.column)"
            yield QueryError("UNUSED_VARIABLE", message, hint=hint)


def _expressions(clause: MatchRecognize) -> Iterator[Expr]:
    yield from (measure.expression for measure in clause.measures)
    yield from (definition.condition for definition in clause.definitions)


def _qualifiers(node: Expr) -> set[str | None]:
    """The variables that a node of an expression may name."""
    match node:
        case ColumnRef(parts=(first, _, *_)):
            return {first.folded}
        case Star(qualifier=name) if name is not None:
            return {name.folded}
        case Call(name="classifier", args=(ColumnRef(parts=(name,)),)):
            return {name.folded}
        case _:
            return set()


def _without_condition(clause: MatchRecognize) -> Iterator[QueryError]:
    """A variable without a condition takes every row. A name that is nearly a defined one is probably misspelled."""
    defined = [definition.variable for definition in clause.definitions]
    spans = {node.name: node.span for node in reversed([*walk(clause.pattern)]) if isinstance(node, Variable)}
    for name in variables(clause.pattern):
        near = [other for other in defined if _DIGITS.sub("", other) != _DIGITS.sub("", name) and len(name) > 2]
        hint = did_you_mean(name, near)
        if name not in defined and hint is not None:
            message = f"DEFINE has no condition for {name}, so every row can be {name}"
            yield QueryError("VARIABLE_WITHOUT_CONDITION", message, text=clause.text, span=spans[name], hint=hint)


def _shadowed(clause: MatchRecognize, columns: set[str]) -> Iterator[QueryError]:
    for name in variables(clause.pattern):
        if name.lower() in columns:
            message = f"the variable {name} has the name of a column: {name}.x is a column of its rows, no field"
            yield QueryError("SHADOWED_NAME", message, hint=f"{name}_ROW")
    for measure in clause.measures:
        if measure.name.lower() in columns and not _is_of_column(measure.expression, measure.name):
            message = f"the measure '{measure.name}' has the name of a column, and another value"
            span = measure.expression.span
            yield QueryError("SHADOWED_NAME", message, text=clause.text, span=span, hint="give it another name")


def _is_of_column(expression: Expr, name: str) -> bool:
    """Whether a measure is a value of the column with its name: `LAST(price) AS price`, `A.price AS price`."""
    match expression:
        case ColumnRef(parts=parts):
            return parts[-1].text.lower() == name.lower()
        case Call(name="first" | "last" | "prev" | "next", args=(operand, *_)):
            return _is_of_column(operand, name)
        case _:
            return False
