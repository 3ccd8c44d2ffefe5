"""The text of a rule -> the query that it is, of a declared kind, as a clause."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ostinato.calls.options import a_text, known_names
from ostinato.clause.language.clause_parser import DefaultColumns
from ostinato.clause.language.clause_query import ClauseQuery, as_clause_query
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_parser import is_event_text
from ostinato.expressions.syntax import Expr
from ostinato.funnels.funnel import Funnel, read_mode, read_steps, read_within
from ostinato.funnels.funnel_clause import funnel_clause, funnel_order
from ostinato.funnels.funnel_input import input_time, over_columns
from ostinato.rows.column_lookup import ColumnLookup
from ostinato.rule_sets.declaration import Declaration

_FUNNEL_FIELDS = ("steps", "type", "within", "mode")


@dataclass(frozen=True, slots=True)
class RuleQuery:
    """A rule's query."""

    query: ClauseQuery
    order: Expr | None = None
    """For a funnel: the value that orders events of one time, over the declared columns."""


def read_rule(text: str, declared: Declaration) -> RuleQuery:
    """Raises RULE_OF_OTHER_KIND for a kind that wasn't declared, and the errors of the text."""
    kind = kind_of_text(text)
    if kind not in declared.kinds:
        declared_kinds = " and ".join(f"a {name}" for name in declared.kinds)
        hint = (
            "run it alone: df.transform(ost.events(...))"
            if kind == "event query"
            else f'ost.rules(..., kinds="{kind}")'
        )
        raise QueryError(
            "RULE_OF_OTHER_KIND", f"this rule is {_ARTICLES[kind]}, and this stream takes {declared_kinds}", hint=hint
        )
    if kind == "clause":
        query = as_clause_query(text, DefaultColumns(declared.keys, declared.time))
        return RuleQuery(query.under(declared.settings))
    funnel = read_funnel(text, declared.keys, declared.time)
    names, case_sensitive = declared.schema.names, declared.settings.case_sensitive
    input_time(funnel, names, case_sensitive)
    order = over_columns(funnel_order(funnel), ColumnLookup(names, case_sensitive))
    return RuleQuery(ClauseQuery(funnel_clause(funnel)).under(declared.settings), order)


_ARTICLES = {"clause": "a clause", "funnel": "a funnel", "event query": "an event query"}


def kind_of_text(text: str) -> Literal["clause", "funnel", "event query"]:
    """The kind of query that a rule's text is."""
    if text.lstrip().startswith("{"):
        return "funnel"
    return "event query" if is_event_text(text) else "clause"


def read_funnel(text: str, keys: tuple[str, ...], time: tuple[str, ...]) -> Funnel:
    """A funnel as JSON. Its keys and times are those of the stream."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise QueryError("INVALID_RULE", f"the text of a funnel isn't JSON: {error}", hint=_FUNNEL_HINT) from None
    known_names(values, _FUNNEL_FIELDS)
    kind = None if values.get("type") is None else a_text("type", values["type"])
    return Funnel(
        read_steps(_steps(values.get("steps")), kind, keys),
        keys,
        time,
        read_within(values.get("within")),
        read_mode(values.get("mode", "any")),
    )


_FUNNEL_HINT = '{"steps": ["view", "cart", "pay"], "type": "event", "within": "1 hour"}'


def _steps(steps: Any) -> Any:
    """Several types of one step are a list in JSON, and a tuple in `ost.funnel`."""
    if isinstance(steps, Mapping) or not isinstance(steps, list):
        return steps
    return [tuple(step) if isinstance(step, list) else step for step in steps]
