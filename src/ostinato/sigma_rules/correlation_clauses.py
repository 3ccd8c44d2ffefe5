"""A correlation and the conditions of its rules -> one MATCH_RECOGNIZE clause. docs/sigma.md defines the alerts.

An alert is a match: from the first event of the window to the event with which the condition becomes true. The earliest
first event wins, so a match ends as soon as any can. The search goes on behind the last event of the alert: its events
are used up.

    event_count       EVENT (OTHER* EVENT){n - 1}        OTHER is any row that isn't an EVENT
    value_count       the same                           an EVENT has a value that no EVENT before it has
    temporal          A_AND_B | A GAP_1* B | B GAP_2* A  two rules, named A and B here; a gap lacks the missing rule
    temporal_ordered  FIRST_RULE GAP_1* SECOND_RULE ...  GAP_k is any row that the next rule doesn't match
    all others        (FIRST REST*?)?? LAST              LAST has the condition, over all rows of the match so far
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from datetime import timedelta

from sigma.correlations import (
    CorrelationConditionAND,
    CorrelationConditionItem,
    CorrelationConditionOR,
    SigmaCorrelationCondition,
    SigmaCorrelationConditionOperator,
    SigmaCorrelationRule,
    SigmaCorrelationType,
    SigmaExtendedCorrelationCondition,
    SigmaRuleReference,
)

from ostinato.clause.query.clause import Definition, MatchRecognize, Measure, PartitionKey, SortKey
from ostinato.clause.query.pattern import Alternation, Concat, Pattern, Quantified, Variable
from ostinato.errors import QueryError
from ostinato.expressions.syntax import Call, Case, ColumnRef, Expr, Name, Operator, Star, rebuild
from ostinato.sigma_rules.field_tests import column, either, not_supported, not_true, number
from ostinato.sigma_rules.group_keys import Member

MEASURES = ("began", "ended", "events")
"""The columns of an alert: the times of its first and its last event, and the number of events that rules match."""
MOST_STATES_COUNTED = 100
"""Above this, an event count is a condition over the run. Below, the automaton counts, and shows how far it is."""
MOST_RULES_IN_ANY_ORDER = 2
"""With more rules, a pattern for each order would be long: three rules have 13 labels."""
_EVENT = "EVENT"
_MOST_COUNTED = 2**31 - 1
_LONGEST = timedelta(days=100 * 366)

_WITHOUT_FIELD = (
    SigmaCorrelationType.EVENT_COUNT,
    SigmaCorrelationType.TEMPORAL,
    SigmaCorrelationType.TEMPORAL_ORDERED,
)


@dataclass(frozen=True, slots=True)
class _Parts:
    pattern: Pattern
    definitions: tuple[Definition, ...]
    events: Expr
    """The number of a match's events that rules match."""


def alert_clause(condition: Expr, time: tuple[str, ...]) -> MatchRecognize:
    """The clause of a rule without correlation: each of its events is an alert."""
    return _clause(_event_count(condition, 1), time, (), None)


def correlation_clause(
    rule: SigmaCorrelationRule,
    members: tuple[Member, ...],
    counted_field: Expr | None,
    keys: tuple[str, ...],
    time: tuple[str, ...],
) -> MatchRecognize:
    """The clause of a correlation. `counted_field` is the field whose values a value_count counts."""
    relevant = either(tuple(member.condition for member in members))
    if counted_field is not None and rule.type in _WITHOUT_FIELD:
        raise not_supported(f"a field in the condition of {rule.type.name.lower()}", "value_count counts values")
    if rule.type is SigmaCorrelationType.EVENT_COUNT:
        parts = _event_count(relevant, _least(rule))
    elif rule.type is SigmaCorrelationType.VALUE_COUNT and counted_field is not None:
        has_value = Operator("not", (Operator("is null", (counted_field,)),))
        relevant = Operator("and", (relevant, has_value))
        parts = _value_count(relevant, counted_field, _least(rule))
    elif rule.type is SigmaCorrelationType.TEMPORAL:
        different = tuple({id(member.rule): member for member in members}.values())
        is_all = isinstance(rule.condition, SigmaCorrelationCondition) and _least(rule) == len(different)
        if is_all and len(different) == MOST_RULES_IN_ANY_ORDER:
            parts = _both(different[0], different[1], relevant)
        else:
            parts = _until(relevant, _condition_on_rules(rule, different))
    elif rule.type is SigmaCorrelationType.TEMPORAL_ORDERED:
        parts = _in_order(rule, members)
    else:
        raise not_supported(f"the correlation type {rule.type.name.lower()}")
    within = timedelta(seconds=min(rule.timespan.seconds, 10**12))
    if within > _LONGEST:
        raise not_supported(f"the timespan {rule.timespan.spec}", "the longest timespan is 100 years")
    return _clause(parts, time, keys, within)


def _clause(parts: _Parts, time: tuple[str, ...], keys: tuple[str, ...], within: timedelta | None) -> MatchRecognize:
    taken = {key.lower() for key in keys} & set(MEASURES)
    if taken:
        message = f"the group-by field '{min(taken)}' has the name of a column of the alerts"
        raise QueryError("DUPLICATE_COLUMN", message, hint="rename the field by a pipeline of pySigma, or by an alias")
    values = (Call("first", (column(time[0]),)), Call("last", (column(time[0]),)), parts.events)
    return MatchRecognize(
        parts.pattern,
        partition_by=tuple(PartitionKey(Name(key, quoted=True)) for key in keys),
        order_by=tuple(SortKey(Name(name, quoted=True)) for name in time),
        measures=tuple(Measure(name, value) for name, value in zip(MEASURES, values, strict=True)),
        within=within,
        definitions=parts.definitions,
    )


# --- patterns ---------------------------------------------------------------------------------------------------------


def _event_count(relevant: Expr, count: int) -> _Parts:
    if count > MOST_STATES_COUNTED:
        return _until(relevant, Operator(">=", (Call("count_if", (relevant,)), number(count))))
    event = Variable(_EVENT)
    definition = Definition(_EVENT, relevant)
    events = Call("count", (Star(Name(_EVENT)),))
    if count == 1:
        return _Parts(event, (definition,), events)
    following = Concat((Quantified(Variable("OTHER"), 0, None), event))
    pattern = Concat((event, Quantified(following, count - 1, count - 1)))
    return _Parts(pattern, (definition, Definition("OTHER", not_true(relevant))), events)


def _value_count(relevant: Expr, field: Expr, count: int) -> _Parts:
    """EVENT is the first event with its value, and OTHER may have the value of an EVENT so far.

    `count(DISTINCT ...)` is shorter, but the kernel goes through the whole window each time that it tests it.
    """
    if count > MOST_STATES_COUNTED:
        values = Call("count", (Case(None, ((relevant, field),), None),), distinct=True)
        return _until(relevant, Operator(">=", (values, number(count))))
    counted = _event_count(relevant, count)
    events = Call("count_if", (relevant,))
    if count == 1:
        return replace(counted, events=events)
    earlier = tuple(_is_value_of(field, steps) for steps in range(count))
    is_new = Operator("and", (relevant, not_true(either(earlier[1:]))))  # the EVENT itself is the last one
    other = Operator("or", (not_true(relevant), *earlier[:-1]))
    return _Parts(counted.pattern, (Definition(_EVENT, is_new), Definition("OTHER", other)), events)


def _is_value_of(field: Expr, steps: int) -> Expr:
    """Whether the row has the value of the last EVENT, or of one that many EVENTs before."""

    def of_event(node: Expr) -> Expr:
        if isinstance(node, ColumnRef):
            return ColumnRef((Name(_EVENT), *node.parts))
        return rebuild(node, of_event)

    return Operator("=", (field, Call("last", (of_event(field), number(steps)))))


def _both(a: Member, b: Member, relevant: Expr) -> _Parts:
    """Two rules in any order. An event that both match is preferred: alone it is an alert."""
    both, without_a, without_b = Variable(f"{a.variable}_AND_{b.variable}"), Variable("GAP_2"), Variable("GAP_1")
    first, second = Variable(a.variable), Variable(b.variable)
    orders = (
        Concat((first, Quantified(without_b, 0, None), second)),
        Concat((second, Quantified(without_a, 0, None), first)),
    )
    definitions = (
        Definition(both.name, Operator("and", (a.condition, b.condition))),
        Definition(first.name, a.condition),
        Definition(second.name, b.condition),
        Definition(without_b.name, not_true(b.condition)),
        Definition(without_a.name, not_true(a.condition)),
    )
    return _Parts(Alternation((both, *orders)), definitions, Call("count_if", (relevant,)))


def _until(relevant: Expr, condition: Expr) -> _Parts:
    """From a relevant event up to the first event at which the condition over all rows so far is true.

    The event that makes it true is relevant. Saying so keeps the search from testing the condition at other rows.
    """
    before = Concat((Variable("FIRST"), Quantified(Variable("REST"), 0, None, greedy=False)))
    pattern = Concat((Quantified(before, 0, 1, greedy=False), Variable("LAST")))
    last = Operator("and", (relevant, condition))
    definitions = (Definition("FIRST", relevant), Definition("LAST", last))
    return _Parts(pattern, definitions, Call("count_if", (relevant,)))


def _in_order(rule: SigmaCorrelationRule, members: tuple[Member, ...]) -> _Parts:
    condition = rule.condition
    if not isinstance(condition, SigmaCorrelationCondition):
        raise not_supported("a condition in words in temporal_ordered", "the rules are listed in their order")
    if _least(rule) != len(members):
        raise not_supported("a condition in temporal_ordered", "all rules have to match, in their order")
    elements: list[Pattern] = [Variable(members[0].variable)]
    definitions = [Definition(members[0].variable, members[0].condition)]
    for k, member in enumerate(members[1:], start=1):
        elements += [Quantified(Variable(f"GAP_{k}"), 0, None), Variable(member.variable)]
        definitions.append(Definition(f"GAP_{k}", not_true(member.condition)))
        definitions.append(Definition(member.variable, member.condition))
    pattern = Concat(tuple(elements)) if len(elements) > 1 else elements[0]
    relevant = either(tuple(member.condition for member in members))
    return _Parts(pattern, tuple(definitions), Call("count_if", (relevant,)))


# --- conditions -------------------------------------------------------------------------------------------------------


def _least(rule: SigmaCorrelationRule) -> int:
    """The smallest number with which the condition becomes true, for conditions that stay true from then on."""
    condition = rule.condition
    if not isinstance(condition, SigmaCorrelationCondition):
        raise not_supported("a condition in words of this correlation")
    if condition.op is SigmaCorrelationConditionOperator.GTE:
        least = math.ceil(condition.count)
    elif condition.op is SigmaCorrelationConditionOperator.GT:
        least = math.floor(condition.count) + 1
    else:
        hint = "use gte or gt: other conditions are known only when the timespan has ended"
        raise not_supported(f"the condition {condition.op.name.lower()}", hint)
    if least < 1:
        raise not_supported(f"the condition {condition.op.name.lower()} {condition.count}", "it is true without events")
    if least > _MOST_COUNTED:
        raise not_supported(f"a count of {least}", f"the largest count is {_MOST_COUNTED:,}")
    return least


def _condition_on_rules(rule: SigmaCorrelationRule, members: tuple[Member, ...]) -> Expr:
    """The condition of a temporal correlation, over the rules that events so far match."""
    if isinstance(rule.condition, SigmaExtendedCorrelationCondition):
        by_rule = {id(member.rule): _seen(member) for member in members}
        by_reference = {reference.reference: by_rule[id(reference.rule)] for reference in rule.referenced_rules}
        return _in_words(rule.condition.parsed, by_reference)
    tests = tuple(_seen(member) for member in members)
    least = _least(rule)
    if least > len(tests):
        raise not_supported(f"a condition on {least} of {len(tests)} rules", "it can't become true")
    if least == len(tests):
        return Operator("and", tests)
    ones = [Case(None, ((test, number(1)),), number(0)) for test in tests]
    total: Expr = ones[0]
    for one in ones[1:]:
        total = Operator("+", (total, one))
    return Operator(">=", (total, number(least)))


def _seen(member: Member) -> Expr:
    return Operator(">", (Call("count_if", (member.condition,)), number(0)))


def _in_words(node: CorrelationConditionItem | SigmaRuleReference, seen: dict[str, Expr]) -> Expr:
    if isinstance(node, SigmaRuleReference):
        return seen[node.reference]
    if isinstance(node, CorrelationConditionAND):
        return Operator("and", tuple(_in_words(arg, seen) for arg in node.args))
    if isinstance(node, CorrelationConditionOR):
        return Operator("or", tuple(_in_words(arg, seen) for arg in node.args))
    hint = "the absence of an event is known only when the timespan has ended"
    raise not_supported("NOT in the condition of a correlation", hint)
