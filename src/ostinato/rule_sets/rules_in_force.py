"""The rules of a bucket: rules in force + changes -> rules in force + reports. As bytes, for the state.

Each bucket has its own copy. All buckets get the same changes, so the copies only differ in suspended rules.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ostinato.errors import OstinatoError, QueryError
from ostinato.rule_sets.compiled_rule import CompiledRule, compile_rule
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange, UnreadableChange, read_change
from ostinato.streams.stored_state import Section, check, reading, seal, unseal

RULES_IN_STATE = "the rules in the state of this stream"


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """The record that a bucket keeps of one rule."""

    change: RuleChange
    """The version in force. A removed rule, and one that was never accepted, is recorded as disabled."""
    seen: int
    """The highest version that arrived. It is higher than the version in force if that version was rejected."""
    suspended: bool = False

    @property
    def is_active(self) -> bool:
        return self.change.enabled and not self.suspended


Records = Mapping[str, RuleRecord]


ReportKind = Literal["rule_rejected", "rule_changed", "rule_suspended"]


@dataclass(frozen=True, slots=True)
class Report:
    """Something to tell about a rule, as one output row."""

    kind: ReportKind
    rule: str | None
    version: int | None
    message: str


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of a step's changes."""

    records: Records
    rejected: tuple[Report, ...] = ()
    added: frozenset[str] = frozenset()
    changed: Mapping[str, RuleChange] = field(default_factory=dict)
    """The version before, of rules that were active and go on with another version."""
    removed: Mapping[str, RuleChange] = field(default_factory=dict)
    """The version that was in force, of rules that were active and aren't any more."""

    @property
    def touches_runs(self) -> bool:
        """Whether stored rows must be looked at."""
        return bool(self.added or self.changed or self.removed)


class RuleBook:
    """Compiles rules of one declaration, each version once."""

    def __init__(self, declared: Declaration) -> None:
        self.declared = declared
        self._compiled: dict[RuleChange, CompiledRule | OstinatoError] = {}

    def compiled(self, change: RuleChange) -> CompiledRule:
        """Raises the error of a rule that is wrong."""
        if change not in self._compiled:
            if len(self._compiled) > 4 * self.declared.limits.max_rules:
                self._compiled.clear()  # versions that aren't in force any more
            try:
                self._compiled[change] = compile_rule(change, self.declared)
            except OstinatoError as error:
                self._compiled[change] = error
        result = self._compiled[change]
        if isinstance(result, OstinatoError):
            raise result
        return result

    def apply(self, records: Records, texts: Sequence[str]) -> Applied:
        """Applies the changes of one step, whatever their order."""
        changes, rejected = self._readable(texts)
        records, added = dict(records), set[str]()
        changed, removed = dict[str, RuleChange](), dict[str, RuleChange]()
        winners = dict[str, RuleChange]()
        in_force = {name for name, record in records.items() if record.change.enabled}
        for change in sorted(changes, key=lambda change: (change.id, -change.version, change.to_json())):
            if change.id in winners:
                rejected += _other_content(winners[change.id], change)
                continue
            winners[change.id] = change
            before = records.get(change.id)
            if before is not None and change.version <= before.seen:
                rejected += _other_content(before.change, change)
                continue
            was_active = before is not None and before.is_active
            if not change.enabled:
                if before is not None and was_active:
                    removed[change.id] = before.change
                records[change.id] = RuleRecord(change, change.version)
                in_force.discard(change.id)
                continue
            try:
                self._accept(change, len(in_force) - (change.id in in_force))
            except OstinatoError as error:
                rejected.append(Report("rule_rejected", change.id, change.version, str(error)))
                still = replace(change, enabled=False, text="") if before is None else before.change
                suspended = before is not None and before.suspended
                records[change.id] = RuleRecord(still, change.version, suspended)
                continue
            records[change.id] = RuleRecord(change, change.version)
            in_force.add(change.id)
            if before is not None and was_active:
                changed[change.id] = before.change
            else:
                added.add(change.id)
        return Applied(records, tuple(rejected), frozenset(added), changed, removed)

    @staticmethod
    def _readable(texts: Sequence[str]) -> tuple[list[RuleChange], list[Report]]:
        changes, rejected = [], []
        for text in sorted(texts):
            try:
                changes.append(read_change(text))
            except UnreadableChange as error:
                rejected.append(Report("rule_rejected", error.rule, error.version, str(error)))
        return changes, rejected

    def _accept(self, change: RuleChange, others: int) -> None:
        if others >= self.declared.limits.max_rules:
            raise QueryError(
                "TOO_MANY_RULES",
                f"{others:,} rules are in force, and {self.declared.limits.max_rules:,} is the most",
                hint="remove a rule, or raise max_rules",
            )
        self.compiled(change)


def _other_content(known: RuleChange, change: RuleChange) -> list[Report]:
    """A version that arrives again is ignored. The same version with another content is rejected."""
    if change.version != known.version or change == known:
        return []
    message = f"RULE_VERSION_EXISTS: version {change.version} of the rule '{change.id}' has another content already"
    return [Report("rule_rejected", change.id, change.version, message)]


def records_to_bytes(records: Records) -> bytes:
    """Equal rules have equal bytes."""
    values = [
        {"change": json.loads(record.change.to_json()), "seen": record.seen, "suspended": record.suspended}
        for _, record in sorted(records.items())
    ]
    return seal(json.dumps(values, sort_keys=True).encode(), Section.RULES)


def records_from_bytes(data: bytes) -> dict[str, RuleRecord]:
    """Raises STATE_FORMAT for bytes that aren't rules."""
    body = unseal(data, Section.RULES, RULES_IN_STATE)
    with reading(RULES_IN_STATE):
        values = json.loads(bytes(body))
        entries = [
            RuleRecord(read_change(json.dumps(value["change"])), int(value["seen"]), bool(value["suspended"]))
            for value in values
        ]
    check(len({record.change.id for record in entries}) == len(entries), RULES_IN_STATE, "a rule is there twice")
    return {record.change.id: record for record in entries}


def active_rules(book: RuleBook, records: Records) -> Iterable[CompiledRule]:
    """The rules to search with, by name."""
    return [book.compiled(record.change) for _, record in sorted(records.items()) if record.is_active]
