"""A rule that matched nothing in the events of a test -> the reason, in a few lines: `ost.why_not` for each key."""

from __future__ import annotations

import pyarrow as pa

from ostinato.api.funnels import FunnelQuery
from ostinato.api.query import Query
from ostinato.api.why_not import why_not
from ostinato.cli.rules_folder import counted
from ostinato.errors import OstinatoError
from ostinato.event_queries.event_request import EventRequest
from ostinato.funnels.funnel import Funnel
from ostinato.rule_files.ready_rule import ReadyRule

_MOST_KEYS = 3


def reason_for(rule: ReadyRule, events: pa.Table) -> str | None:
    """The attempts that came furthest in the first keys. None for an event query, which has no attempts."""
    if isinstance(rule.query, EventRequest) or not events.num_rows:
        return None
    columns = {name.lower(): name for name in events.column_names}
    keys = [columns[name.lower()] for name in rule.keys]
    found = events.group_by(keys, use_threads=False).aggregate([]).to_pylist() if keys else [{}]
    lines = [_of_key(rule, events, key) for key in found[:_MOST_KEYS]]
    if len(found) > _MOST_KEYS:
        lines.append(f"… {counted(len(found) - _MOST_KEYS, 'more key')}")
    return "\n".join(lines)


def _of_key(rule: ReadyRule, events: pa.Table, key: dict[str, object]) -> str:
    try:
        if isinstance(rule.query, Funnel):
            funnel = rule.query
            query: Query = FunnelQuery(funnel.steps, funnel.keys, funnel.time, funnel.within, funnel.mode)
            result = why_not(query, events, key=key or None)
        else:
            text = rule.file.query.text
            result = why_not(text, events, key=key or None, keys=rule.keys, time=rule.time)
    except OstinatoError as error:
        return error.one_line()
    return result.summary
