"""A compiled rule -> a warning for each of its conditions that no row can meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ostinato.errors import QueryError, Span
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Column, Expr, Literal, Navigation, walk
from ostinato.expressions.types import spark_name
from ostinato.funnels.funnel import Funnel
from ostinato.funnels.funnel_input import over_columns
from ostinato.rows.column_lookup import ColumnLookup
from ostinato.rule_files.lints.never_true import contradiction
from ostinato.rule_files.ready_rule import CompiledEvents, ReadyRule
from ostinato.rule_sets.compiled_rule import CompiledRule


@dataclass(frozen=True, slots=True)
class _Condition:
    """The condition of a variable, a step or a type. `text` is what its spans count in; None: it was generated."""

    name: str
    expr: Expr
    text: str | None


def impossible_conditions(rule: ReadyRule, compiled: CompiledRule | CompiledEvents) -> Iterator[QueryError]:
    """The warnings CONDITION_NEVER_TRUE."""
    types = compiled.local.types if isinstance(compiled, CompiledEvents) else compiled.plan.types
    settings = compiled.local.settings if isinstance(compiled, CompiledEvents) else compiled.plan.settings
    for condition in _conditions(rule, compiled):
        parts = contradiction(condition.expr, types.get, settings)
        if parts:
            yield _warning(condition, parts, {name: spark_name(kind) for name, kind in types.items()})


def _conditions(rule: ReadyRule, compiled: CompiledRule | CompiledEvents) -> Iterator[_Condition]:
    if isinstance(compiled, CompiledEvents):
        (query,) = compiled.local.typed.plan.queries
        for name, expr in query.bound.qualifies.items():
            yield _Condition(name, expr, query.bound.query.text)
    elif isinstance(rule.query, Funnel):
        lookup = ColumnLookup(list(compiled.plan.types), compiled.plan.settings.case_sensitive)
        for step in rule.query.steps:
            yield _Condition(step.name, over_columns(step.condition, lookup), None)
    else:
        bound = compiled.plan.plan.bound
        for name, expr in bound.conditions.items():
            yield _Condition(name, expr, bound.clause.text)


def _warning(condition: _Condition, parts: Sequence[Expr], types: dict[str, str]) -> QueryError:
    text, span = condition.text, _span(parts)
    words = [_words(part, text) for part in parts]
    nulls = any(isinstance(node, Literal) and node.kind == "null" for part in parts for node in walk(part))
    columns = dict.fromkeys(node.name for part in parts for node in walk(part) if isinstance(node, Column))
    hint = f"no {types[next(iter(columns))]} meets this" if columns else None
    if len(parts) > 1:
        message = f"no row can be {condition.name}: {', '.join(words[:-1])} and {words[-1]} exclude each other"
    else:
        message = f"no row can be {condition.name}: {words[0]} is never true"
        hint = "a comparison with NULL is never true: IS NULL" if nulls else hint
    return QueryError("CONDITION_NEVER_TRUE", message, text=text, span=span, hint=hint)


def _span(parts: Sequence[Expr]) -> Span | None:
    """From the first part to the last, as far as the parts have places in the text."""
    spans = [part.span for part in parts if part.span is not None]
    return Span(min(span.start for span in spans), max(span.end for span in spans)) if spans else None


def _words(part: Expr, text: str | None) -> str:
    if text is not None and part.span is not None:
        return " ".join(text[part.span.start : part.span.end].split())
    return render_expression(_readable(part))


def _readable(expr: Expr) -> Expr:
    return expr.operand if isinstance(expr, Navigation) else expr
