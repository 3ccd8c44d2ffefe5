"""A rule's text + the declaration -> a plan that a worker can search with. Raises the error of a rule that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
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
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Column, ColumnRef
from ostinato.funnels.funnel_clause import ORDER_COLUMN
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_names import PREFIX
from ostinato.rows.json_text import as_json
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_texts import read_rule
from ostinato.rule_sets.suppression import Suppression, read_suppression

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
    shown: tuple[int, ...]
    """The positions of the selected columns that are measures."""
    order: PreparedExpression | None = None
    """For a funnel: the value that orders events of one time."""
    order_text: str = ""
    """The same as text. Rules with equal texts have the same order of rows."""
    suppression: Suppression | None = None

    @property
    def is_funnel(self) -> bool:
        """Whether matches are attempts of a funnel, which may end before the last step."""
        return self.order is not None

    def slot(self, measure: str) -> str:
        """The column that matching returns for one of our own measures."""
        plan = self.plan.plan
        position = [measure.name for measure in plan.bound.measures].index(measure)
        column = plan.outer[position]
        assert isinstance(column, Column)
        return column.name

    def measures(self, output: pa.Table) -> pa.Array:
        """The measures of the clause's rows, as JSON."""
        own = [name for name in output.column_names if name not in _OWN]
        selected = self.query.select(output.select(own), self.plan.settings)
        return as_json(selected.select(list(self.shown)), self.plan.settings)


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
    most = _lower(options.max_partial_matches, limits.max_partial_matches)
    rule = CompiledRule(
        change,
        query,
        EvaluatedPlan(plan, schema, declared.settings, Limits(most)),
        _lower(options.max_state_bytes, limits.max_state_bytes),
        _lower(options.max_errors, limits.max_errors),
        _shown(query, [name for name in plan.bound.output_names if name not in _OWN], declared),
        order,
        "" if rule_query.order is None else render_expression(rule_query.order),
        None if options.suppress is None else read_suppression(options.suppress, declared.keys, declared.forget_us),
    )
    rule.measures(rule.plan.output_schema.empty_table())  # a SELECT list that can't be evaluated or written
    return rule


def _lower(of_rule: int | None, of_call: int) -> int:
    """A rule can't raise a limit of the call: its author may be a customer of the one who runs the stream."""
    return of_call if of_rule is None else min(of_rule, of_call)


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


def _shown(query: ClauseQuery, columns: Sequence[str], declared: Declaration) -> tuple[int, ...]:
    """The positions of the selected columns but the keys, which the output of rules has anyway."""
    fold = str if declared.settings.case_sensitive else str.lower
    renamed = query.renamed(columns)
    keys = {new: fold(old) for new, old in zip(renamed, columns, strict=True) if old in declared.keys}
    shown, names = [], set(map(fold, declared.keys))
    for position, (name, expr) in enumerate(query.selected(renamed)):
        if isinstance(expr, ColumnRef) and keys.get(expr.parts[0].text) == fold(name) and len(expr.parts) == 1:
            continue
        if fold(name) in names:
            message = f"two output columns are named '{name}'"
            raise QueryError("DUPLICATE_COLUMN", message, hint="SELECT ... AS another_name; keys keep their names")
        names.add(fold(name))
        shown.append(position)
    return tuple(shown)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "nothing"
