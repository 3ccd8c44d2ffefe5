"""Checks of a clause that need no table: names, duplicates, combinations."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NoReturn

from ostinato.clause.query.clause import MatchMode, MatchRecognize, Output
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
        _fail(query, "INVALID_WITHIN", "WITHIN needs an ORDER BY whose first column is a time")
    if query.within is not None and query.within > LONGEST_WITHIN:
        message = f"WITHIN is {LONGEST_WITHIN.days:,} days at most"
        _fail(query, "INVALID_WITHIN", message, name="WITHIN", hint="without WITHIN there is no limit")


def _check_subsets(query: MatchRecognize, primary: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for subset in query.subsets:
        if subset.name in seen or subset.name in primary:
            _fail(query, "DUPLICATE_SUBSET", f"the name '{subset.name}' is already taken", name=subset.name)
        seen.add(subset.name)
        for member in subset.members:
            if member not in primary:
                unknown_variable(query, member, primary)


def _check_definitions(query: MatchRecognize, primary: tuple[str, ...]) -> None:
    seen: set[str] = set()
    unions = {subset.name for subset in query.subsets}
    for definition in query.definitions:
        if definition.variable in seen:
            _fail(query, "DUPLICATE_DEFINITION", f"'{definition.variable}' is defined twice", name=definition.variable)
        seen.add(definition.variable)
        if definition.variable in unions:
            _fail(
                query,
                "VARIABLE_NOT_IN_PATTERN",
                f"'{definition.variable}' is a union variable; only variables of PATTERN can be defined",
                name=definition.variable,
            )
        if definition.variable not in primary:
            _fail(
                query,
                "VARIABLE_NOT_IN_PATTERN",
                f"DEFINE names '{definition.variable}', which PATTERN doesn't use",
                name=definition.variable,
                hint=did_you_mean(definition.variable, primary),
            )


def _check_skip(query: MatchRecognize, primary: tuple[str, ...]) -> None:
    target = query.skip.target
    variables_and_unions = (*primary, *(subset.name for subset in query.subsets))
    if target is not None and target not in variables_and_unions:
        unknown_variable(query, target, variables_and_unions, span=query.skip.span)


def _check_output(query: MatchRecognize) -> None:
    if query.output is Output.ONE_ROW and not query.partition_by and not query.measures:
        _fail(
            query,
            "NO_OUTPUT_COLUMNS",
            "ONE ROW PER MATCH without PARTITION BY and MEASURES has no column to show",
            hint="add MEASURES, or ALL ROWS PER MATCH",
        )
    if query.output is Output.ALL_ROWS_WITH_UNMATCHED:
        if any(isinstance(node, Exclusion) for node in walk(query.pattern)):
            _fail(query, "EXCLUSION_WITH_UNMATCHED", "{- -} and WITH UNMATCHED ROWS can't be used together")
        if query.mode is not MatchMode.PREFERRED:
            _fail(
                query,
                "UNMATCHED_WITH_MODE",
                f"WITH UNMATCHED ROWS has no meaning with {query.mode.value}",
                hint="unmatched rows belong to the standard's preferred match",
            )
    names = [key.column.text.lower() for key in query.partition_by]
    if len(set(names)) < len(names):
        _fail(query, "DUPLICATE_COLUMN", "PARTITION BY names a column twice")
    for measure in query.measures:
        if measure.name.lower() in names:
            _fail(query, "DUPLICATE_COLUMN", f"two output columns are named '{measure.name}'", name=measure.name)
        names.append(measure.name.lower())


def _check_timeouts(query: MatchRecognize) -> None:
    if not query.show_timeouts:
        return
    words = "SHOW TIMEOUT MATCHES"
    if query.within is None:
        _fail(
            query,
            "TIMEOUT_WITHOUT_WITHIN",
            f"{words} needs WITHIN: without it no partial match runs out of time",
            name=words,
            hint="add WITHIN INTERVAL '10' MINUTE behind PATTERN ( ... )",
        )
    if query.mode is not MatchMode.PREFERRED:
        _fail(
            query,
            "TIMEOUT_WITH_MODE",
            f"{words} has no meaning with {query.mode.value}",
            name=words,
            hint="a timeout stands in the place of the standard's preferred match",
        )
    if query.output is Output.ALL_ROWS_WITH_UNMATCHED:
        _fail(
            query,
            "TIMEOUT_WITH_UNMATCHED",
            f"{words} and WITH UNMATCHED ROWS can't be used together",
            name=words,
            hint="the rows of a partial match that timed out are neither matched nor unmatched",
        )


def unknown_variable(query: MatchRecognize, name: str, names: Sequence[str], *, span: Span | None = None) -> NoReturn:
    _fail(
        query,
        "UNKNOWN_VARIABLE",
        f"'{name}' isn't a variable of PATTERN",
        span=span,
        name=name,
        hint=did_you_mean(name, names) or f"the variables are {', '.join(names[:20])}",
    )


def _fail(
    query: MatchRecognize, code: str, message: str, *, span: Span | None = None, name: str = "", hint: str | None = None
) -> NoReturn:
    raise QueryError(code, message, hint=hint, text=query.text, span=span or last_mention(query.text, name))


def last_mention(text: str | None, name: str) -> Span | None:
    """The last occurrence of the name in the text: for nodes that have no span."""
    at = text.lower().rfind(name.lower()) if text and name else -1
    return Span(at, at + len(name)) if at >= 0 else None
