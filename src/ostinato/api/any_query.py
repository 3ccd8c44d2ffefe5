"""A query of any kind, as text or as an object -> the query object that runs it."""

from __future__ import annotations

from typing import Any

from ostinato.api.clause_builder import PatternQuery
from ostinato.api.clauses import MatchRecognizeQuery, match_recognize
from ostinato.api.event_builder import EventBuilder
from ostinato.api.events import EventsQuery, events
from ostinato.api.query import ColumnNames, Query
from ostinato.api.windows import WindowsQuery
from ostinato.clause.language.windows.windowed_statement import is_window_statement
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.event_queries.language.event_binding import TypeArgument
from ostinato.event_queries.language.event_parser import is_event_text
from ostinato.event_queries.language.event_query import EventQuery
from ostinato.expressions.parameters import Args

QuerySource = str | MatchRecognize | EventQuery | Query
"""The text of a clause or of an event query, a parsed one, or a query object of any kind."""


def as_query(
    query: QuerySource,
    *,
    keys: ColumnNames = None,
    time: ColumnNames = None,
    type: TypeArgument = None,
    args: Args = None,
    **options: Any,
) -> Query:
    """The query with these columns and options. Raises INVALID_OPTION for those that its kind doesn't have."""
    if isinstance(query, str) and not is_event_text(query) and is_window_statement(query):
        return _windows(query, args, {"keys": keys, "time": time, "type": type, **options})
    if isinstance(query, str):
        query = events(query) if is_event_text(query) else MatchRecognizeQuery(query)
    if isinstance(query, EventQuery | EventBuilder | EventsQuery):
        _refuse_args(args, "event query")
        return events(query, keys=keys, time=time, type=type, **options)
    if isinstance(query, MatchRecognize | PatternQuery | MatchRecognizeQuery):
        if type is not None:
            hint = "DEFINE has the conditions of a clause; an event query is PATTERN SEQ(A, B) RETURN COUNT(*)"
            raise QueryError("INVALID_OPTION", "type= is for event queries", hint=hint)
        return match_recognize(query, keys=keys, time=time, args=args, **options)
    if not isinstance(query, Query):
        raise QueryError(
            "NOT_A_QUERY",
            f"expected a query, got {query.__class__.__name__}",
            hint="the text of a clause or of an event query, or an object such as ost.pattern(...)",
        )
    _refuse_args(args, query.__class__.__name__)
    given = {"keys": keys, "time": time, "type": type, **options}
    names = [name for name, value in given.items() if value is not None]
    if names:
        kind = query.__class__.__name__
        hint = f"give {names[0]}= where the {kind} is made"
        raise QueryError("INVALID_OPTION", f"a {kind} has its own {', '.join(names)}", hint=hint)
    return query


def _windows(text: str, args: Args, options: dict[str, Any]) -> Query:
    limits = Limits() if (limit := options.pop("max_partial_matches", None)) is None else Limits(limit)
    refused = [name for name, value in options.items() if value is not None]
    if refused:
        hint = "leave it out: the windows of a statement name their columns themselves"
        raise QueryError("INVALID_OPTION", f"{refused[0]}= isn't for row patterns in windows", hint=hint)
    return WindowsQuery(text, limits, args)


def _refuse_args(args: Args, kind: str) -> None:
    if args is not None:
        hint = "args= fills the parameters :name and ? of a MATCH_RECOGNIZE clause"
        raise QueryError("INVALID_OPTION", f"the text of this {kind} has no parameters", hint=hint)
