"""Checks of a clause that need no table: names, duplicates, combinations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from itertools import zip_longest
from typing import NoReturn

from ostinato.clause.query.clause import MatchMode, MatchRecognize, Output
from ostinato.clause.query.months import Months
from ostinato.clause.query.pattern import Exclusion, variables, walk
from ostinato.errors import QueryError, Span, did_you_mean

LONGEST_WITHIN = timedelta(days=100_000 * 365)
"""Times have 64 bits of microseconds, and a sum with WITHIN must stay a time."""


def check_clause(query: MatchRecognize) -> None:
    """Raises the first error, if there is one."""
    primary = variables(query.pattern)
    _check_subsets(query, primary)
    _check_definitions(query, primary)
    _check_skip(query, primary)
    _check_output(query)
    _check_timeouts(query)
    if query.within is not None and not query.order_by:
        message = "WITHIN needs an ORDER BY whose first column is a time"
        _fail(query, "INVALID_WITHIN", message, query.spans.within)
    days = query.within.longest_days if isinstance(query.within, Months) else (query.within or timedelta()).days
    if days >= LONGEST_WITHIN.days and query.within != LONGEST_WITHIN:
        message = f"WITHIN is {LONGEST_WITHIN.days:,} days at most"
        _fail(query, "INVALID_WITHIN", message, query.spans.within, "without WITHIN there is no limit")


def _check_subsets(query: MatchRecognize, primary: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for subset in query.subsets:
        if subset.name in seen or subset.name in primary:
            _fail(query, "DUPLICATE_SUBSET", f"the name '{subset.name}' is already taken", subset.span)
        seen.add(subset.name)
        for member, span in zip_longest(subset.members, subset.member_spans):
            if member not in primary:
                unknown_variable(query, member, primary, span)


def _check_definitions(query: MatchRecognize, primary: tuple[str, ...]) -> None:
    seen: set[str] = set()
    unions = {subset.name for subset in query.subsets}
    for definition in query.definitions:
        if definition.variable in seen:
            _fail(query, "DUPLICATE_DEFINITION", f"'{definition.variable}' is defined twice", definition.span)
        seen.add(definition.variable)
        if definition.variable in unions:
            _fail(
                query,
                "VARIABLE_NOT_IN_PATTERN",
                f"'{definition.variable}' is a union variable; only variables of PATTERN can be defined",
                definition.span,
            )
        if definition.variable not in primary:
            _fail(
                query,
                "VARIABLE_NOT_IN_PATTERN",
                f"DEFINE names '{definition.variable}', which PATTERN doesn't use",
                definition.span,
                did_you_mean(definition.variable, primary),
            )


def _check_skip(query: MatchRecognize, primary: tuple[str, ...]) -> None:
    target = query.skip.target
    variables_and_unions = (*primary, *(subset.name for subset in query.subsets))
    if target is not None and target not in variables_and_unions:
        unknown_variable(query, target, variables_and_unions, query.skip.span)


def _check_output(query: MatchRecognize) -> None:
    if query.output is Output.ALL_ROWS_WITH_UNMATCHED:
        if any(isinstance(node, Exclusion) for node in walk(query.pattern)):
            message = "{- -} and WITH UNMATCHED ROWS can't be used together"
            _fail(query, "EXCLUSION_WITH_UNMATCHED", message, query.spans.rows_per_match)
        if query.mode is not MatchMode.PREFERRED:
            _fail(
                query,
                "UNMATCHED_WITH_MODE",
                f"WITH UNMATCHED ROWS has no meaning with {query.mode.value}",
                query.spans.rows_per_match,
                "unmatched rows belong to the standard's preferred match",
            )


def _check_timeouts(query: MatchRecognize) -> None:
    if not query.show_timeouts:
        return
    words = "SHOW TIMEOUT MATCHES"
    if query.within is None:
        _fail(
            query,
            "TIMEOUT_WITHOUT_WITHIN",
            f"{words} needs WITHIN: without it no partial match runs out of time",
            query.spans.timeouts,
            "add WITHIN INTERVAL '10' MINUTE behind PATTERN ( ... )",
        )
    if query.mode is not MatchMode.PREFERRED:
        _fail(
            query,
            "TIMEOUT_WITH_MODE",
            f"{words} has no meaning with {query.mode.value}",
            query.spans.timeouts,
            "a timeout stands in the place of the standard's preferred match",
        )
    if query.output is Output.ALL_ROWS_WITH_UNMATCHED:
        _fail(
            query,
            "TIMEOUT_WITH_UNMATCHED",
            f"{words} and WITH UNMATCHED ROWS can't be used together",
            query.spans.timeouts,
            "the rows of a partial match that timed out are neither matched nor unmatched",
        )


def unknown_variable(query: MatchRecognize, name: str, names: Sequence[str], span: Span | None) -> NoReturn:
    hint = did_you_mean(name, names) or f"the variables are {', '.join(names[:20])}"
    _fail(query, "UNKNOWN_VARIABLE", f"'{name}' isn't a variable of PATTERN", span, hint)


def _fail(query: MatchRecognize, code: str, message: str, span: Span | None, hint: str | None = None) -> NoReturn:
    raise QueryError(code, message, hint=hint, text=query.text, span=span)
