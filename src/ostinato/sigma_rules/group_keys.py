"""The group-by of a correlation -> the columns of PARTITION BY, and those of them that the input must compute.

An alias is a key whose field has another name in each rule. PARTITION BY takes columns, so the input gets a column
with the name of the alias: the field of the first rule that the event matches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sigma.collection import SigmaCollection
from sigma.correlations import SigmaCorrelationRule
from sigma.exceptions import SigmaRuleNotFoundError
from sigma.rule import SigmaRuleBase

from ostinato.errors import QueryError
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Case, Expr
from ostinato.sigma_rules.event_conditions import distinct_names
from ostinato.sigma_rules.field_tests import column


@dataclass(frozen=True, slots=True)
class Member:
    """A rule that a correlation refers to, with the name that its variable gets."""

    rule: SigmaRuleBase
    variable: str
    condition: Expr


@dataclass(slots=True)
class ColumnNames:
    """The names of computed columns, unique among all rules that are read together."""

    taken: set[str]
    """Lower-case names of fields and other columns."""
    computed: dict[str, str] = field(default_factory=dict)
    """Lower-case name of a computed column -> its SQL."""

    def name_for(self, alias: str, sql: str) -> str:
        """The alias, with a number behind it if another column has this name. One SQL has one name.

        >>> names = ColumnNames({"user"})
        >>> names.name_for("user", "CASE ..."), names.name_for("user", "CASE ...")
        ('user_2', 'user_2')
        """
        name, number = alias, 1
        while name.lower() in self.taken or self.computed.get(name.lower(), sql) != sql:
            number += 1
            name = f"{alias}_{number}"
        self.computed[name.lower()] = sql
        return name


@dataclass(frozen=True, slots=True)
class GroupKeys:
    keys: tuple[str, ...]
    computed: dict[str, Expr]


def group_keys(
    rule: SigmaCorrelationRule, members: Iterable[Member], collection: SigmaCollection, names: ColumnNames
) -> GroupKeys:
    """The keys of a correlation, with the expressions of its aliases."""
    members = tuple(members)
    keys: list[str] = []
    computed: dict[str, Expr] = {}
    for key in rule.group_by or ():
        value = aliased_field(rule, key, members, collection)
        if isinstance(value, str):
            keys.append(value)
            continue
        name = names.name_for(key, render_expression(value))
        computed[name] = value
        keys.append(name)
    return GroupKeys(distinct_names(keys), computed)


def aliased_field(
    rule: SigmaCorrelationRule, name: str, members: tuple[Member, ...], collection: SigmaCollection
) -> str | Expr:
    """The column that a field or an alias stands for; for an alias of several columns, the expression."""
    alias = rule.aliases.aliases.get(name)
    if alias is None:
        return name
    fields: dict[int, str] = {}
    for reference, field_name in alias.mapping.items():
        try:
            fields[id(collection[reference.reference])] = str(field_name)
        except SigmaRuleNotFoundError:
            message = f"the alias '{name}' names the rule '{reference.reference}', which isn't among the rules"
            raise QueryError("SIGMA_RULE_MISSING", message) from None
    for member in members:
        if id(member.rule) not in fields:
            message = f"the alias '{name}' has no field for the rule '{rule_name(member.rule)}'"
            raise QueryError("SIGMA_INVALID", message, hint="an alias names a field for each rule of the correlation")
    if len({fields[id(member.rule)].lower() for member in members}) == 1:
        return fields[id(members[0].rule)]
    branches = tuple((member.condition, column(fields[id(member.rule)])) for member in members)
    return Case(None, branches, None)


def rule_name(rule: SigmaRuleBase) -> str:
    """The name by which messages and variables speak of a Sigma rule."""
    return rule.name or rule.title or str(rule.id)
