"""RuleFile -> ReadyRule: its query is parsed, and its keys and times are known. Then, over a schema, what runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.clause.language.clause_parser import DefaultColumns
from ostinato.clause.language.clause_query import ClauseQuery, as_clause_query
from ostinato.errors import QueryError, Span, errors_quoting
from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.expressions.types import Settings
from ostinato.funnels.funnel import Funnel
from ostinato.rows.column_lookup import ColumnLookup
from ostinato.rule_files.rule_file import FolderSettings, QueryKind, RuleFile
from ostinato.rule_sets.compiled_rule import MATCH_ID, CompiledRule, compile_rule
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_texts import kind_of_text, read_funnel
from ostinato.rule_sets.suppression import Suppression, read_suppression

if TYPE_CHECKING:
    from ostinato.local.local_events import LocalEvents


@dataclass(frozen=True, slots=True)
class ReadyRule:
    """A rule whose text is parsed. Names and types of columns aren't checked."""

    file: RuleFile
    kind: QueryKind
    query: ClauseQuery | Funnel | EventRequest
    keys: tuple[str, ...]
    time: tuple[str, ...]
    suppression: Suppression | None
    compiled: CompiledRule | CompiledEvents | None = field(default=None, compare=False, repr=False)
    """The rule compiled over the schema of its folder; None without a schema."""

    @property
    def can_stream(self) -> bool:
        """Whether a stream of rules takes the rule."""
        return self.kind != "event query"


def parse_rule(rule: RuleFile, shared: FolderSettings) -> ReadyRule:
    """Raises the errors of the text, and those for keys and times that don't agree."""
    text = rule.query.text
    keys = shared.keys if rule.keys is None else rule.keys
    time = shared.time if rule.time is None else rule.time
    kind = kind_of_text(text)
    with errors_quoting(text):
        query, keys, time = _PARSERS[kind](text, keys, time)
    if not time:
        message = "nothing names the column with the times"
        raise QueryError("TIME_COLUMN_MISSING", message, hint="time: ts, in the rule or in rules.yaml")
    suppression = None if rule.suppress is None else read_suppression(rule.suppress, keys)
    return ReadyRule(rule, kind, query, keys, time, suppression)


_Names = tuple[str, ...]
_Parsed = tuple[ClauseQuery | Funnel | EventRequest, _Names, _Names]


def _clause(text: str, keys: _Names | None, time: _Names | None) -> _Parsed:
    query = as_clause_query(text, DefaultColumns(keys or (), time or ("",)))  # a missing time is told of below
    clause = query.clause
    own_keys = {key.column.text: key.span for key in clause.partition_by if key.span is not None}
    own_time = {key.column.text: key.span for key in clause.order_by if key.span is not None}
    keys = _agreed_keys(tuple(own_keys), keys, next(iter(own_keys.values()), None), clause.text)
    time = _agreed_time(tuple(own_time), time, next(iter(own_time.values()), None), clause.text)
    return query, keys, time


def _event_query(text: str, keys: _Names | None, time: _Names | None) -> _Parsed:
    query = parse_event_query(text)
    if query.types is None:
        message = "the query doesn't say how to tell an event's type"
        raise QueryError("TYPE_COLUMN_MISSING", message, hint="write it into the query, before PATTERN: TYPE kind")
    keys = _agreed_keys(tuple(name.text for name in query.group_by), keys, None, text)
    if time is not None and len(time) > 1:
        message = f"an event query is ordered by one column, and the rule by {_listed(time)}"
        raise QueryError("RULE_NEEDS_OTHER_ORDER", message, hint=f"give this rule its own time: {time[0]}")
    time = _agreed_time(() if query.time is None else (query.time.text,), time, None, text)
    return EventRequest(query, time=time[0] if time else None, keys=keys), keys, time


def _funnel(text: str, keys: _Names | None, time: _Names | None) -> _Parsed:
    if not keys:
        raise QueryError("INVALID_OPTION", "a funnel needs keys: each key has its own way", hint="keys: user")
    return read_funnel(text, keys, time or ("",)), keys, time or ()


_PARSERS = {"clause": _clause, "funnel": _funnel, "event query": _event_query}


def _agreed_keys(own: _Names, declared: _Names | None, span: Span | None, text: str | None) -> _Names:
    """The keys of the text, or those of the fields. Raises RULE_NEEDS_OTHER_KEYS if both are there and differ."""
    if declared is None or not own:
        return own if declared is None else declared
    if {name.lower() for name in own} != {name.lower() for name in declared}:
        message = f"the query has the keys {_listed(own)}, and the rule {_listed(declared)}"
        hint = "leave PARTITION BY or GROUP BY out, or give this rule its own keys:"
        raise QueryError("RULE_NEEDS_OTHER_KEYS", message, text=text, span=span, hint=hint)
    return declared


def _agreed_time(own: _Names, declared: _Names | None, span: Span | None, text: str | None) -> _Names:
    """The same for times. Raises RULE_NEEDS_OTHER_ORDER."""
    if declared is None or not own:
        return own if declared is None else declared
    if [name.lower() for name in own] != [name.lower() for name in declared]:
        message = f"the query is ordered by {_listed(own)}, and the rule by {_listed(declared)}"
        hint = "leave ORDER BY or TIME out, or give this rule its own time:"
        raise QueryError("RULE_NEEDS_OTHER_ORDER", message, text=text, span=span, hint=hint)
    return declared


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names) or "none"


# --- over a schema ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CompiledEvents:
    """An event query over one schema."""

    local: LocalEvents
    returns_matches: bool


def compile_over(rule: ReadyRule, schema: pa.Schema, settings: Settings) -> CompiledRule | CompiledEvents:
    """The rule compiled over a schema. Raises the errors of unknown columns and of types."""
    lookup = ColumnLookup(schema.names, settings.case_sensitive)
    keys = tuple(lookup.column(name, hint=None) for name in rule.keys)
    time = tuple(lookup.column(name) for name in rule.time)
    if isinstance(rule.query, EventRequest):
        from ostinato.local.local_events import LocalEvents  # takes 0.3 s, which clauses don't need

        request = with_ids(rule.query)
        local = LocalEvents([request], ("",), schema, request.options, settings)
        return CompiledEvents(local, request.returns_matches)
    declared = Declaration(keys, time, schema, settings, kinds=("clause", "funnel"))
    return compile_rule(RuleChange(rule.file.id, 1, rule.file.query.text, options=rule.file.options), declared)


def with_ids(request: EventRequest) -> EventRequest:
    """The request with a column of ids, if it returns matches. Clauses and funnels get theirs in `compile_rule`."""
    return replace(request, options=replace(request.options, match_id=MATCH_ID)) if request.returns_matches else request
