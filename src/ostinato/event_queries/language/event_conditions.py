"""Conditions of an event query -> conditions over one event, two adjacent events or a whole match.

A condition is parsed into an expression over `Navigation`s and `Aggregate`s, each with its variables. These decide its
kind. NEXT and PREV make it a condition between adjacent events. A single variable makes it a condition over that
variable's events. Any other condition is one over the match. Between parsing and sorting, `shift` marks NEXT and PREV,
and `final` marks FIRST and LAST.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NoReturn

from ostinato.event_queries.language.event_names import EventNames
from ostinato.event_queries.language.event_parser import flat
from ostinato.event_queries.language.event_query import AdjacentCondition, RunCondition, TypeDefinition
from ostinato.event_queries.language.event_terms import EVERY_EVENT, TermReader, one_event
from ostinato.expressions.syntax import Aggregate, Anchor, Expr, Navigation, rebuild, walk

_NAVIGATED = "FIRST, LAST and aggregates"


@dataclass(frozen=True, slots=True)
class SortedConditions:
    """WHERE, sorted: conditions by variable, between neighbours, and over matches."""

    local: dict[str, list[Expr]] = field(default_factory=dict)
    adjacent: list[AdjacentCondition] = field(default_factory=list)
    run: list[RunCondition] = field(default_factory=list)


class ConditionBinder:
    def __init__(self, names: EventNames) -> None:
        self.names = names
        self.terms = TermReader(names)

    def bind_all(self, where: Sequence[Expr]) -> SortedConditions:
        sorted_conditions = SortedConditions()
        for written in where:
            for conjunct in flat(written):
                self._sort(self.terms.read(conjunct), sorted_conditions)
        return sorted_conditions

    def type_test(self, definition: TypeDefinition) -> Expr:
        """`TYPE Slow AS speed < 10`: a condition over the columns of one event."""
        read = self.terms.read(definition.condition)
        if _aggregates(read) or any(term.rows is not EVERY_EVENT or term.shift or term.final for term in _terms(read)):
            self.names.fail(
                "TYPE_NOT_LOCAL",
                f"the condition of type '{definition.type}' reads more than the event itself",
                definition.condition.span,
                "write plain columns, no variables, NEXT, PREV or aggregates",
            )
        return one_event(read)

    # --- the kind of a condition ---

    def _sort(self, read: Expr, conditions: SortedConditions) -> None:
        terms = _terms(read)
        row_sets = {term.rows for term in terms}
        navigated = _aggregates(read) or any(term.final for term in terms)
        if any(term.shift for term in terms):
            self._adjacent(read, terms, conditions)
        elif not navigated and (not row_sets or row_sets == {EVERY_EVENT}):
            self._local(read, self.names.variables, conditions)
        elif EVERY_EVENT in row_sets:
            self.names.fail(
                "MIXED_VARIABLES",
                "some columns have a variable and some have none",
                next(term.span for term in terms if term.rows is EVERY_EVENT),
                "a column without a variable stands for every event; name its variable: t.speed",
            )
        elif not navigated and len(row_sets) == 1:
            self._local(read, terms[0].rows or (), conditions)
        else:
            self._run(read, conditions)

    def _local(self, read: Expr, variables: Iterable[str], conditions: SortedConditions) -> None:
        for variable in variables:
            conditions.local.setdefault(variable, []).append(one_event(read))

    # --- NEXT and PREV ---

    def _adjacent(self, read: Expr, terms: list[Navigation], conditions: SortedConditions) -> None:
        shifts = {term.shift for term in terms if term.shift}
        if len(shifts) > 1:
            self._not_adjacent(read, "one condition can't have both NEXT and PREV", "write two conditions")
        navigated = _aggregates(read) or any(term.final for term in terms)
        if navigated or len({term.rows for term in terms}) > 1:
            self._not_adjacent(
                read,
                "NEXT(t) and PREV(t) are compared with t alone",
                f"no other variable, no column without one, and no {_NAVIGATED} beside it",
            )
        later = max(shifts) > 0  # NEXT: the shifted term is the later event

        def pair(node: Expr) -> Expr:
            if isinstance(node, Navigation):
                is_later = later if node.shift else not later
                return Navigation(node.operand, None, Anchor.LAST, skip=0 if is_later else 1, span=node.span)
            return rebuild(node, pair)

        rows = terms[0].rows or frozenset()
        condition = pair(read)
        for group in (self.names.variables, self.names.absent):
            members = [variable for variable in group if variable in rows]
            pairs = itertools.product(members, members)
            conditions.adjacent.extend(AdjacentCondition(before, after, condition) for before, after in pairs)

    def _not_adjacent(self, read: Expr, message: str, hint: str) -> NoReturn:
        self.names.fail("NOT_ADJACENT", message, read.span, hint)

    # --- over a match ---

    def _run(self, read: Expr, conditions: SortedConditions) -> None:
        for chosen in self._choices(read):
            terms = _terms(chosen)
            variables = frozenset[str]().union(*(node.rows or () for node in _readers(chosen)))
            if len(variables) == 1 and not _aggregates(chosen) and not any(term.final for term in terms):
                self._local(chosen, variables, conditions)  # A.x < a.x, where a is one of several of type A
                continue
            each = self._each(chosen, terms)
            conditions.run.append(RunCondition(_plain(chosen), variables, each))

    def _choices(self, read: Expr) -> list[Expr]:
        """The condition for each choice of variables, where it names types that have several."""
        bound = set(self.names.variables)
        options: dict[frozenset[str], list[str]] = {}
        for node in _readers(read):
            rows = node.rows or frozenset()
            members = [variable for variable in self.names.variables if variable in rows]
            if not members:
                self._absent(rows, node)
            is_aggregated = isinstance(node, Aggregate) or node.final
            if is_aggregated and len(rows & bound) > 1:
                self.names.fail(
                    "SEVERAL_VARIABLES",
                    f"{', '.join(members)} are of one type; {_NAVIGATED} of a condition take one variable",
                    node.span,
                    "write the variable instead of the type",
                )
            options[rows] = members
        results = []
        for choice in itertools.product(*options.values()):
            results.append(_chosen(read, dict(zip(options, choice, strict=True))))
        return results

    def _absent(self, rows: frozenset[str], node: Navigation | Aggregate) -> NoReturn:
        name = ", ".join(sorted(rows))
        self.names.fail(
            "VARIABLE_UNDER_NOT",
            f"'{name}' stands under NOT: no match binds it",
            node.span,
            "compare it with constants or with its neighbours (NEXT, PREV), or use SAME[...]",
        )

    def _each(self, chosen: Expr, terms: list[Navigation]) -> str | None:
        """The only variable of several events that the condition names without NEXT, PREV, FIRST or LAST."""
        plain = dict.fromkeys(next(iter(term.rows or ("",))) for term in terms if not term.final)
        repeating = [variable for variable in plain if variable in self.names.repeating]
        if len(repeating) > 1:
            self.names.fail(
                "SEVERAL_KLEENE_VARIABLES",
                f"{' and '.join(repeating)} may each bind several events, and a condition ranges over one of them",
                chosen.span,
                f"use FIRST({repeating[1]}.x), LAST({repeating[1]}.x) or an aggregate for the other",
            )
        if not repeating:
            return None
        for term in terms:
            if term.final and term.anchor is Anchor.LAST and repeating[0] in (term.rows or ()):
                self.names.fail(
                    "SEVERAL_KLEENE_VARIABLES",
                    f"a condition can't name both each event of {repeating[0]} and the last one",
                    term.span,
                    "FIRST and aggregates are allowed beside each event",
                )
        return repeating[0]


def _terms(read: Expr) -> list[Navigation]:
    return [node for node in walk(read) if isinstance(node, Navigation)]


def _aggregates(read: Expr) -> list[Aggregate]:
    return [node for node in walk(read) if isinstance(node, Aggregate)]


def _readers(read: Expr) -> list[Navigation | Aggregate]:
    return [*_terms(read), *_aggregates(read)]


def _chosen(read: Expr, choice: dict[frozenset[str], str]) -> Expr:
    if isinstance(read, Navigation | Aggregate):
        return replace(read, rows=frozenset((choice[read.rows or frozenset()],)))
    return rebuild(read, lambda part: _chosen(part, choice))


def _plain(chosen: Expr) -> Expr:
    """Removes the mark of FIRST and LAST, which isn't needed after sorting."""
    if isinstance(chosen, Navigation):
        return replace(chosen, final=False)
    return rebuild(chosen, _plain)
