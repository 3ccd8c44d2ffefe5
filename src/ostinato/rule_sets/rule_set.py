"""The rules of a bucket between two steps, and these rules as bytes for the state.

Each bucket has its own copy. All buckets get the same changes, so the copies only differ in suspended rules.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from ostinato.rule_sets.rule_changes import RuleChange, read_change
from ostinato.streams.stored_state import Section, check, reading, seal, unseal

RULES_IN_STATE = "the rules in the state of this stream"


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """The record that a bucket keeps of one rule."""

    change: RuleChange
    """The version in force, or the removal that ended the rule."""
    suspended: bool = False

    @property
    def is_active(self) -> bool:
        return self.change.enabled and not self.suspended


Records = Mapping[str, RuleRecord]


@dataclass(frozen=True, slots=True)
class RuleSet:
    """All rules that a bucket knows."""

    records: Records = field(default_factory=dict)
    rejected: Mapping[str, Mapping[int, str]] = field(default_factory=dict)
    """For each rule its rejected versions above the one in force, with a digest of each: they are reported once."""
    table: str = ""
    """The static table of rules that was applied last, as a digest."""
    declared: str = ""
    """A digest of the static table and of what may change at a restart: limits, kinds, the treatment of late rows. The
    definition that the bucket stores has them, for `ost.finish_stream`."""


def digest_of(change: RuleChange) -> str:
    """Tells contents of one version apart."""
    return digest(change.to_json().encode(errors="replace"))


def digest(content: bytes) -> str:
    """16 hex digits."""
    return hashlib.sha256(content).hexdigest()[:16]


def rules_to_bytes(rules: RuleSet) -> bytes:
    """Equal rules have equal bytes."""
    records = [
        {"change": json.loads(record.change.to_json()), "suspended": record.suspended}
        for _, record in sorted(rules.records.items())
    ]
    rejected = {name: {str(version): text for version, text in each.items()} for name, each in rules.rejected.items()}
    values = {"records": records, "rejected": rejected, "table": rules.table, "declared": rules.declared}
    return seal(json.dumps(values, sort_keys=True).encode(), Section.RULES)


def rules_from_bytes(data: bytes) -> RuleSet:
    """Raises STATE_FORMAT for bytes that aren't rules."""
    body = unseal(data, Section.RULES, RULES_IN_STATE)
    with reading(RULES_IN_STATE):
        values = json.loads(bytes(body))
        entries = [
            RuleRecord(read_change(json.dumps(value["change"])), bool(value["suspended"]))
            for value in values["records"]
        ]
        rejected = {
            str(name): {int(version): str(text) for version, text in each.items()}
            for name, each in values["rejected"].items()
        }
        table, declared = str(values["table"]), str(values.get("declared", ""))
    check(len({record.change.id for record in entries}) == len(entries), RULES_IN_STATE, "a rule is there twice")
    return RuleSet({record.change.id: record for record in entries}, rejected, table, declared)
