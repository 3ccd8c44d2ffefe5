"""A checked folder -> the operators that run it: one for all rules with the same keys and order, one for each event
query. Rules that no operator can run are problems. Nothing runs here."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from ostinato.calls.options import shown
from ostinato.errors import OstinatoError, QueryError
from ostinato.event_queries.event_request import EventRequest
from ostinato.expressions import types as t
from ostinato.rows.column_lookup import ColumnLookup
from ostinato.rule_files.applying import log_options
from ostinato.rule_files.checks import CheckedFolder
from ostinato.rule_files.problems import Problem
from ostinato.rule_files.ready_rule import ReadyRule, with_ids
from ostinato.rule_sets.rule_changes import RuleChange, RuleOptions


@dataclass(frozen=True, slots=True)
class RuleGroup:
    """Clauses and funnels that share an operator. Keys and times are columns of the input, keys in alphabetical
    order: the operator stays the same when rules come and go."""

    keys: tuple[str, ...]
    time: tuple[str, ...]
    rules: tuple[ReadyRule, ...]

    @property
    def name(self) -> str:
        """The name of the operator's folder in a checkpoint."""
        return folder_name("rules", (*self.keys, "by", *self.time), repr((self.keys, self.time)))

    def changes(self) -> tuple[RuleChange, ...]:
        """The rules as first versions, for an operator that starts with them."""
        return tuple(
            RuleChange(rule.file.id, 1, rule.file.query.text, options=log_options(rule)) for rule in self.rules
        )

    def alone(self, checked: CheckedFolder) -> CheckedFolder:
        """The folder as if it had this group only, and the rules with errors: they may belong to any group."""
        own, sound = {rule.file.id for rule in self.rules}, {rule.file.id for rule in checked.rules}
        files = tuple(file for file in checked.folder.rules if file.id in own or file.id not in sound)
        settings = replace(checked.folder.settings, keys=self.keys, time=self.time)
        return replace(checked, folder=replace(checked.folder, rules=files, settings=settings), rules=self.rules)


@dataclass(frozen=True, slots=True)
class EventQueryRun:
    """An event query, which has an operator of its own."""

    keys: tuple[str, ...]
    time: tuple[str, ...]
    rule: ReadyRule
    request: EventRequest

    @property
    def name(self) -> str:
        """The name of the operator's folder in a checkpoint."""
        return folder_name("event-query", (self.rule.file.id,), self.rule.file.id)


@dataclass(frozen=True, slots=True)
class GroupedRules:
    """The operators, and the rules that can't run."""

    groups: tuple[RuleGroup, ...]
    event_queries: tuple[EventQueryRun, ...]
    problems: tuple[Problem, ...]


def grouped(checked: CheckedFolder) -> GroupedRules:
    """The operators of the rules that are enabled. The folder was checked over the input's columns."""
    schema = checked.folder.settings.schema
    assert schema is not None
    by_order: dict[tuple[tuple[str, ...], tuple[str, ...]], list[ReadyRule]] = {}
    events, problems = list[EventQueryRun](), list[Problem]()
    for rule in checked.rules:
        if not rule.file.enabled:
            continue
        try:
            keys, time = rule_order(rule.keys, rule.time, schema)
            if isinstance(rule.query, EventRequest):
                _check_event_query(rule)
                events.append(EventQueryRun(keys, time, rule, with_ids(rule.query)))
            else:
                by_order.setdefault((keys, time), []).append(rule)
        except OstinatoError as error:
            problems.append(Problem(rule.file.path, None, error))
    groups = tuple(RuleGroup(keys, time, tuple(rules)) for (keys, time), rules in sorted(by_order.items()))
    return GroupedRules(groups, tuple(events), tuple(problems))


def rule_order(keys: Iterable[str], time: Iterable[str], schema: pa.Schema) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The input's columns for keys and times, keys in alphabetical order.

    Raises UNKNOWN_COLUMN, and UNSUPPORTED_IN_RUN if the first time is no time.

    >>> rule_order(
    ...     ["User", "device"], ["ts"], pa.schema({"ts": pa.timestamp("us"), "user": "string", "device": "int64"})
    ... )
    (('device', 'user'), ('ts',))
    """
    lookup = ColumnLookup(schema.names, False)
    times = tuple(lookup.column(name) for name in time)
    kind = schema.field(times[0]).type
    if not t.is_datetime(kind):
        message = f"the first column of time is a time, but '{times[0]}' is {t.spark_name(kind)}"
        raise QueryError("UNSUPPORTED_IN_RUN", message, hint="a column of type TIMESTAMP")
    return tuple(sorted(lookup.column(name, hint=None) for name in keys)), times


def folder_name(kind: str, words: Iterable[str], identity: str) -> str:
    """A name for people, made unique by a hash.

    >>> folder_name("event-query", ["card/velocity"], "card/velocity")
    'event-query-card-velocity-e7952099'
    """
    readable = re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")[:40]
    return f"{kind}-{readable}-{hashlib.sha256(identity.encode()).hexdigest()[:8]}"


def _check_event_query(rule: ReadyRule) -> None:
    """Raises UNSUPPORTED_IN_RUN for fields that an event query would ignore."""
    ignored = (
        "suppress" if rule.file.suppress is not None else "options" if rule.file.options != RuleOptions() else None
    )
    if ignored is not None:
        message = (
            f"the event query {shown(rule.file.id)} has the field {ignored}, which runs on Spark don't apply to it"
        )
        raise QueryError("UNSUPPORTED_IN_RUN", message, hint="leave the field out, or write the rule as a clause")
