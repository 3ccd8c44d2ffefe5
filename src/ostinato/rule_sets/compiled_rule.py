"""A rule's text + the declaration -> a plan that a worker can search with. Raises the error of a rule that is wrong."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.clause.plan.match_plan import MatchPlan, make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import Measure
from ostinato.clause.stream.stream_limits import check_streamable
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import QueryError, errors_quoting
from ostinato.expressions.evaluate import PreparedExpression, prepare
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.render import quote
from ostinato.expressions.syntax import Column
from ostinato.funnels.funnel_clause import ORDER_COLUMN
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_names import PREFIX
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_texts import read_rule

BEGAN, ENDED = f"{PREFIX}began", f"{PREFIX}ended"
"""Measures that every rule gets: the times of a match's first and last row."""
MATCH_ID = f"{PREFIX}match_id"


@dataclass(frozen=True, slots=True)
class CompiledRule:
    """One version of a rule, ready to search."""

    change: RuleChange
    query: ClauseQuery
    plan: EvaluatedPlan
    max_state_bytes: int
    max_errors: int
    order: PreparedExpression | None = None
    """For a funnel: the value that orders events of one time."""

    def slot(self, measure: str) -> str:
        """The column that matching returns for one of our own measures."""
        plan = self.plan.plan
        position = [measure.name for measure in plan.bound.measures].index(measure)
        column = plan.outer[position]
        assert isinstance(column, Column)
        return column.name

    @property
    def measured_columns(self) -> tuple[str, ...]:
        """The output columns that the user's text names."""
        return tuple(name for name in self.plan.plan.bound.output_names if name not in _OWN)


_OWN = (BEGAN, ENDED, MATCH_ID)


def compile_rule(change: RuleChange, declared: Declaration) -> CompiledRule:
    """Raises QueryError for a text that doesn't parse, doesn't type, or needs more than the declaration has."""
    rule_query = read_rule(change.text, declared)
    query, order, schema = rule_query.query, None, declared.schema
    with errors_quoting(query.clause.text):
        if rule_query.order is not None:
            types = {field.name: field.type for field in schema}
            order = prepare(rule_query.order, by_column_name(types), declared.settings)
            schema = schema.append(pa.field(ORDER_COLUMN, order.type))
        own = replace(
            query.clause,
            measures=(*query.clause.measures, *_times_of(declared.time[0])),
            ids=IdColumns(match_id=MATCH_ID, rule=change.id),
        )
        plan = make_plan(bind(own, schema.names, case_sensitive=declared.settings.case_sensitive))
        if order is None:
            _check_declared(plan, declared)
        check_streamable(plan, schema.field(declared.time[0]).type)
    options, limits = change.options, declared.limits
    most = options.max_partial_matches or limits.max_partial_matches
    rule = CompiledRule(
        change,
        query,
        EvaluatedPlan(plan, schema, declared.settings, Limits(most)),
        options.max_state_bytes or limits.max_state_bytes,
        options.max_errors or limits.max_errors,
        order,
    )
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
