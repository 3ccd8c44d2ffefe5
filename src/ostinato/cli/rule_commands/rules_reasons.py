"""A rule that matched nothing in the events of a test -> the reason, in a few lines: `ost.why_not` for each key."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ostinato.api.funnels import FunnelQuery
from ostinato.api.query import Query
from ostinato.api.why_not import why_not
from ostinato.cli.rule_commands.rules_folder import counted
from ostinato.errors import OstinatoError
from ostinato.event_queries.event_request import EventRequest
from ostinato.expressions.types import Settings
from ostinato.funnels.funnel import Funnel
from ostinato.rule_files.ready_rule import ReadyRule

_MOST_KEYS = 3
_HAS_MATCH = (
    "the test finds no match, but ost.why_not finds one: rows of one time may have another order there. The test "
    "orders them by all columns, as a stream of rules does, and ost.why_not by those that the query reads"
)


def reason_for(rule: ReadyRule, events: pa.Table, settings: Settings) -> str | None:
    """The attempts that came furthest in the first keys. None for an event query, which has no attempts."""
    if isinstance(rule.query, EventRequest) or not events.num_rows:
        return None
    columns = {name.lower(): name for name in events.column_names}
    keys = [columns[name.lower()] for name in rule.keys]
    found = events.group_by(keys, use_threads=False).aggregate([]).to_pylist() if keys else [{}]
    lines = [_of_key(rule, events, key, settings) for key in found[:_MOST_KEYS]]
    if len(found) > _MOST_KEYS:
        lines.append(f"… {counted(len(found) - _MOST_KEYS, 'more key')}")
    return "\n".join(lines)


def _of_key(rule: ReadyRule, events: pa.Table, key: dict[str, object], settings: Settings) -> str:
    terms: Any = {"key": key or None, "ansi": settings.ansi, "timezone": settings.timezone}
    try:
        if isinstance(rule.query, Funnel):
            funnel = rule.query
            query: Query = FunnelQuery(funnel.steps, funnel.keys, funnel.time, funnel.within, funnel.mode)
            result = why_not(query, events, **terms)
        else:
            text = rule.file.query.text
            result = why_not(text, events, **terms, keys=rule.keys, time=rule.time)
    except OstinatoError as error:
        return error.one_line()
    has_match = "matched" in result.starts.column("outcome").to_pylist()
    return f"{result.summary}\n{_HAS_MATCH}" if has_match else result.summary
