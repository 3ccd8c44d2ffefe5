"""A rule's text + the declaration -> a plan that a worker can search with. Raises the error of a rule that is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import DefaultColumns
from ostinato.clause.language.clause_query import ClauseQuery, as_clause_query
from ostinato.clause.plan.match_plan import MatchPlan, make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import Measure
from ostinato.clause.stream.stream_limits import check_streamable
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import QueryError, errors_quoting
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.render import quote
from ostinato.expressions.syntax import Column
from ostinato.rows.column_names import PREFIX
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange

BEGAN, ENDED = f"{PREFIX}began", f"{PREFIX}ended"
"""Measures that every rule gets: the times of a match's first and last row."""


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """One version of a rule, ready to search."""

    change: RuleChange
    query: ClauseQuery
    plan: EvaluatedPlan
    max_state_bytes: int

    @property
    def time_slots(self) -> tuple[str, str]:
        """The columns that matching returns for the times of a match's first and last row."""
        began, ended = self.plan.plan.outer[-2:]
        assert isinstance(began, Column)
        assert isinstance(ended, Column)
        return began.name, ended.name

    @property
    def measured_columns(self) -> tuple[str, ...]:
        """The output columns that the user's text names."""
        return tuple(name for name in self.plan.plan.bound.output_names if name not in (BEGAN, ENDED))


def compile_rule(change: RuleChange, declared: Declaration) -> CompiledRule:
    """Raises QueryError for a text that doesn't parse, doesn't type, or needs more than the declaration has."""
    query = as_clause_query(change.text, DefaultColumns(declared.keys, declared.time))
    with errors_quoting(query.clause.text):
        clause = replace(query.clause, measures=(*query.clause.measures, *_times_of(declared.time[0])))
        plan = make_plan(
            bind(clause, declared.schema.names, case_sensitive=declared.settings.case_sensitive),
        )
        _check_declared(plan, declared)
        check_streamable(plan, declared.schema.field(declared.time[0]).type)
    options, limits = change.options, declared.limits
    most = options.max_partial_matches or limits.max_partial_matches
    evaluated = EvaluatedPlan(plan, declared.schema, declared.settings, Limits(most))
    rule = CompiledRule(change, query, evaluated, options.max_state_bytes or limits.max_state_bytes)
    _check_selected(rule)
    return rule


def _times_of(time: str) -> tuple[Measure, Measure]:
    column = quote(time)
    return (
        Measure(BEGAN, parse_expression(f"FINAL FIRST({column})")),
        Measure(ENDED, parse_expression(f"FINAL LAST({column})")),
    )


def _check_declared(plan: MatchPlan, declared: Declaration) -> None:
    bound, text = plan.bound, plan.bound.clause.text
    if set(bound.partition_by) != set(declared.keys):
        raise QueryError(
            "RULE_NEEDS_OTHER_KEYS",
            f"the rule is partitioned by {_listed(bound.partition_by)}, and this stream by {_listed(declared.keys)}",
            text=text,
            span=next((key.span for key in bound.clause.partition_by), None),
            hint="leave PARTITION BY out, or start a second ost.rules with other keys",
        )
    order = tuple(key.column for key in bound.order_by)
    is_plain = all(not key.key.descending and key.key.puts_nulls_first for key in bound.order_by)
    if order != declared.time or not is_plain:
        raise QueryError(
            "RULE_NEEDS_OTHER_ORDER",
            f"the rule is ordered by {_listed(order)}{'' if is_plain else ' in another direction'},"
            f" and this stream by {_listed(declared.time)}",
            text=text,
            span=next((key.key.span for key in bound.order_by), None),
            hint="leave ORDER BY out, or start a second ost.rules with another time=",
        )


def _check_selected(rule: CompiledRule) -> None:
    """Raises for a SELECT list that can't be evaluated: it is run once over no rows."""
    no_rows = rule.plan.output_schema.empty_table().select(list(rule.measured_columns))
    rule.query.select(no_rows, rule.plan.settings)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "nothing"
