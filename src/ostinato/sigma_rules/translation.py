"""All rules of one call, translated together: correlations refer to other rules, and computed columns share names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationCondition, SigmaCorrelationRule
from sigma.filters import SigmaFilter
from sigma.rule import SigmaRule, SigmaRuleBase

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_render import render_clause, render_variable
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import OstinatoError, QueryError, unknown_option
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Expr
from ostinato.sigma_rules.correlation_clauses import alert_clause, correlation_clause
from ostinato.sigma_rules.event_conditions import LOGSOURCE_FIELDS, columns_of, distinct_names, event_condition
from ostinato.sigma_rules.field_tests import column, not_supported
from ostinato.sigma_rules.group_keys import ColumnNames, GroupKeys, Member, aliased_field, group_keys, rule_name
from ostinato.sigma_rules.pysigma_calls import pysigma_errors
from ostinato.sigma_rules.sigma_documents import Document
from ostinato.sigma_rules.translated_rule import Problem, TranslatedRule

if TYPE_CHECKING:
    from sigma.processing.pipeline import ProcessingPipeline

T = TypeVar("T")
_MOST_CHARACTERS = 65_536
"""The most that a rule of `ost.rules` may have."""


class Translation:
    """Conditions of the rules on single events, then the clauses that are made of them."""

    def __init__(
        self,
        collection: SigmaCollection,
        time: tuple[str, ...],
        logsource: Mapping[str, str],
        pipeline: ProcessingPipeline | None,
    ) -> None:
        self._collection = collection
        self._time = time
        self._pipeline = pipeline
        self._conditions: dict[int, Expr | Problem] = {}
        self._references: dict[int, Problem | None] = {}
        for rule in collection.rules:
            if isinstance(rule, SigmaRule):
                self._conditions[id(rule)] = attempt(partial(self._condition, rule, logsource))
        for rule in collection.rules:
            if isinstance(rule, SigmaCorrelationRule):
                self._references[id(rule)] = attempt(partial(self._resolve, rule))
        self._names = ColumnNames({name.lower() for name in self._all_columns()})

    def of(self, documents: Iterable[Document]) -> tuple[TranslatedRule, ...]:
        """The rules of documents that raise alerts, and those with problems."""
        used = self._used_by_correlations()
        return tuple(
            self._translated(document)
            for document in documents
            if not isinstance(document.rule, SigmaFilter) and id(document.rule) not in used
        )

    # --- before the clauses -------------------------------------------------------------------------------------------

    def _condition(self, rule: SigmaRule, logsource: Mapping[str, str]) -> Expr:
        with pysigma_errors():
            if self._pipeline is not None:
                self._pipeline.apply(rule)
        return event_condition(rule, logsource)

    def _resolve(self, rule: SigmaCorrelationRule) -> None:
        with pysigma_errors():
            rule.resolve_rule_references(self._collection)
            if self._pipeline is not None:
                self._pipeline.apply(rule)

    def _used_by_correlations(self) -> set[int]:
        """Rules on single events that raise no alerts themselves."""
        return {
            id(reference.rule)
            for rule in self._collection.rules
            if isinstance(rule, SigmaCorrelationRule) and self._references[id(rule)] is None and not rule.generate
            for reference in rule.referenced_rules
            if isinstance(reference.rule, SigmaRule)
        }

    def _all_columns(self) -> tuple[str, ...]:
        """All columns of the input that some rule names, but not aliases."""
        conditions = [condition for condition in self._conditions.values() if not isinstance(condition, Problem)]
        names = [*self._time, *columns_of(conditions)]
        for rule in self._collection.rules:
            if isinstance(rule, SigmaCorrelationRule):
                names += [key for key in rule.group_by or () if key not in rule.aliases.aliases]
                names += [str(field) for alias in rule.aliases for field in alias.mapping.values()]
        return distinct_names(names)

    # --- one rule -----------------------------------------------------------------------------------------------------

    def _translated(self, document: Document) -> TranslatedRule:
        rule = document.rule
        if rule is None:
            problems = (document.problem,) if document.problem is not None else ()
            return TranslatedRule(document.id, document.title, problems=problems, source=document.source)
        described = TranslatedRule(
            id=document.id,
            title=document.title,
            description=rule.description or "",
            severity=None if rule.level is None else str(rule.level),
            tags=tuple(str(tag) for tag in rule.tags),
            owner=rule.author or "",
            time=self._time,
            source=document.source,
        )
        if isinstance(rule, SigmaCorrelationRule):
            found = attempt(partial(self._correlation, rule, described))
        else:
            found = attempt(partial(self._alert, rule, described))
        return replace(described, problems=(found,)) if isinstance(found, Problem) else found

    def _alert(self, rule: SigmaRuleBase, described: TranslatedRule) -> TranslatedRule:
        condition = self._conditions[id(rule)]
        if isinstance(condition, Problem):
            return replace(described, problems=(condition,))
        return self._with_clause(described, alert_clause(condition, self._time), GroupKeys((), {}))

    def _correlation(self, rule: SigmaCorrelationRule, described: TranslatedRule) -> TranslatedRule:
        unresolved = self._references[id(rule)]
        if unresolved is not None:
            return replace(described, problems=(unresolved,))
        members = self._members(rule)
        grouped = group_keys(rule, members, self._collection, self._names)
        clause = correlation_clause(rule, members, self._counted_field(rule, members), grouped.keys, self._time)
        return self._with_clause(described, clause, grouped)

    def _members(self, rule: SigmaCorrelationRule) -> tuple[Member, ...]:
        rules = [reference.rule for reference in rule.referenced_rules]
        if not rules:
            raise QueryError("SIGMA_INVALID", "the correlation names no rules")
        variables = variable_names([rule_name(one) for one in rules])
        return tuple(
            Member(one, variable, self._member_condition(one)) for one, variable in zip(rules, variables, strict=True)
        )

    def _member_condition(self, rule: SigmaRuleBase) -> Expr:
        if isinstance(rule, SigmaCorrelationRule):
            raise not_supported(f"a correlation of correlations, here of '{rule_name(rule)}',")
        condition = self._conditions[id(rule)]
        if isinstance(condition, Problem):
            message = f"in the rule '{rule_name(rule)}': {condition.message}"
            raise QueryError(condition.code, message, hint=condition.hint)
        return condition

    def _counted_field(self, rule: SigmaCorrelationRule, members: tuple[Member, ...]) -> Expr | None:
        fields = rule.condition.fieldref if isinstance(rule.condition, SigmaCorrelationCondition) else None
        if fields is None:
            return None
        names = [fields] if isinstance(fields, str) else fields
        if len(names) != 1:
            hint = "add a column that combines the fields"
            raise not_supported(f"a count over {len(names)} fields", hint)
        value = aliased_field(rule, names[0], members, self._collection)
        return column(value) if isinstance(value, str) else value

    def _with_clause(self, described: TranslatedRule, clause: MatchRecognize, grouped: GroupKeys) -> TranslatedRule:
        computed = {name: render_expression(value) for name, value in grouped.computed.items()}
        read = columns_of([*(d.condition for d in clause.definitions), *(m.expression for m in clause.measures)])
        needed = distinct_names(
            [
                *(key for key in grouped.keys if key not in computed),
                *self._time,
                *columns_of(grouped.computed.values()),
                *read,
            ]
        )
        query = clause_text(clause)
        if len(query) > _MOST_CHARACTERS:
            raise not_supported(f"a rule whose clause has {len(query):,} characters", "split the rule, or its lists")
        # The text is what runs: it has to be readable, and its names have to be right.
        by_key = f"PARTITION BY {', '.join(map(quote, grouped.keys))}" if grouped.keys else ""
        in_order = f"ORDER BY {', '.join(map(quote, self._time))}"
        bind(parse_clause(f"{by_key}\n{in_order}\n{query}"), (*needed, *computed))
        return replace(described, keys=grouped.keys, columns=needed, computed_columns=computed, query=query)


def clause_text(clause: MatchRecognize) -> str:
    """The clause without PARTITION BY and ORDER BY, each definition on a line of its own."""
    head = render_clause(replace(clause, partition_by=(), order_by=(), definitions=()))
    defined = (f"    {render_variable(d.variable)} AS {render_expression(d.condition)}" for d in clause.definitions)
    return head + "\nDEFINE\n" + ",\n".join(defined)


def attempt(work: Callable[[], T]) -> T | Problem:
    """The result, or the problem that the work met."""
    try:
        return work()
    except OstinatoError as error:
        return Problem.of(error)
    except RecursionError:
        return Problem("TOO_DEEP", "the rule nests too deeply")


def variable_names(names: Iterable[str]) -> tuple[str, ...]:
    """Names of rules as names of variables, each of them once.

    >>> variable_names(["failed_login", "Password changed", "failed_login", "4625"])
    ('FAILED_LOGIN', 'PASSWORD_CHANGED', 'FAILED_LOGIN_2', 'RULE_4625')
    """
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_") or "RULE"
        base = f"RULE_{plain}" if plain[0].isdigit() or plain.startswith("GAP_") else plain  # GAP_1 is a gap
        variable, number = base, 1
        while variable in found:
            number += 1
            variable = f"{base}_{number}"
        found.append(variable)
    return tuple(found)


def checked_time(time: str | Iterable[str]) -> tuple[str, ...]:
    """The option as a tuple of names."""
    names = (time,) if isinstance(time, str) else tuple(time)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise QueryError("INVALID_OPTION", "time is the name of a column, or a list of names")
    return names


def checked_logsource(logsource: Mapping[str, str]) -> Mapping[str, str]:
    """The option, if it names parts of the log source."""
    for part in logsource:
        if part not in LOGSOURCE_FIELDS:
            raise unknown_option(part, LOGSOURCE_FIELDS)
    return logsource
