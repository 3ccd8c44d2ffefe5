"""Changes and suspensions of rules in one bucket -> reports, each of which becomes one output row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ostinato.errors import OstinatoError
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rules_in_force import Rejection

ReportKind = Literal["rule_rejected", "rule_changed", "rule_suspended"]


@dataclass(frozen=True, slots=True)
class Report:
    """Something to tell about a rule."""

    kind: ReportKind
    rule: str | None
    version: int | None
    message: str


def rejected(rejection: Rejection) -> Report:
    return Report("rule_rejected", rejection.rule, rejection.version, str(rejection.error))


def suspended(change: RuleChange, error: OstinatoError) -> Report:
    until = "the rule is suspended for the keys of this bucket until a new version comes"
    return Report("rule_suspended", change.id, change.version, f"{error.one_line()}; {until}")


def added(change: RuleChange, open_keys: int) -> Report:
    message = "added; it sees the rows from now on"
    if change.options.start == "kept":
        message = f"added; it starts with the rows that {_keys(open_keys)} still hold"
    return Report("rule_changed", change.id, change.version, message)


def changed(change: RuleChange, before: RuleChange, open_keys: int) -> Report:
    happened = "ended" if change.options.start == "new" else "are searched anew"
    message = f"changed from version {before.version}; open partial matches of {_keys(open_keys)} {happened}"
    return Report("rule_changed", change.id, change.version, message)


def removed(change: RuleChange, open_keys: int) -> Report:
    reason = change.options.reason
    message = "removed" if reason is None else f"suspended by a change: {reason}"
    if open_keys:
        message += f"; open partial matches of {_keys(open_keys)} ended"
        message += " as at the end of input" if change.options.at_end == "finish" else ""
    return Report("rule_changed" if reason is None else "rule_suspended", change.id, change.version, message)


def removed_in_vain(change: RuleChange) -> Report:
    message = "nothing to remove: no rule of this name is in force"
    return Report("rule_changed", change.id, change.version, message)


def _keys(count: int) -> str:
    return "1 key" if count == 1 else f"{count:,} keys"
