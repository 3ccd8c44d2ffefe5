"""A checked folder + a change log -> the changes that bring the log to the state of the folder, and writing them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path

from ostinato.calls.options import shown
from ostinato.errors import EnvironmentFault, OstinatoError, QueryError
from ostinato.rule_files.checks import CheckedFolder
from ostinato.rule_files.problems import Problem
from ostinato.rule_files.ready_rule import ReadyRule
from ostinato.rule_sets.change_files import ChangeLog, write_change
from ostinato.rule_sets.rule_changes import RuleChange, RuleOptions


class Action(Enum):
    """The effect of a plan on a rule, with its sign."""

    ADD = "+"
    CHANGE = "~"
    REMOVE = "-"
    KEEP = "="
    LEAVE = "!"


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """One line of a plan. `change` is written, unless it is None."""

    id: str
    action: Action
    words: str
    change: RuleChange | None = None

    def __str__(self) -> str:
        return f"{self.action.value} {self.id}: {self.words}"


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """The lines in the order of ids, and the problems of rules that can't be written."""

    lines: tuple[PlannedChange, ...]
    problems: tuple[Problem, ...] = ()


def plan_changes(checked: CheckedFolder, log: ChangeLog, *, remove_missing: bool = False) -> ChangePlan:
    """Compares text, options and `enabled` of each rule with the version in the log that is in force.

    A rule with an error is left as it is in the log. Nothing is removed while a file can't be read, because it may be
    the file of any rule.
    """
    lines, problems = [], []
    log_keys, log_time = order_of_log(checked)
    for rule in checked.rules:
        try:
            _check_for_log(rule, log_keys, log_time)
            lines.append(_planned(rule, log))
        except OstinatoError as error:
            problems.append(Problem(rule.file.path, None, error))
            lines.append(PlannedChange(rule.file.id, Action.LEAVE, f"not written: {error.code}"))
    in_folder = {rule.id for rule in checked.folder.rules}
    sound = {rule.file.id for rule in checked.rules}
    for id in sorted(in_folder - sound):
        lines.append(PlannedChange(id, Action.LEAVE, "not written, because its file or rules.yaml has an error"))
    for id, change in log.in_force.items():
        if id not in in_folder and change.enabled:
            lines.append(_missing(change, log, checked, remove_missing))
    return ChangePlan(tuple(sorted(lines, key=lambda line: line.id)), tuple(problems))


def write_changes(plan: ChangePlan, folder: Path) -> dict[str, OstinatoError]:
    """Writes the changes of a plan. Returns an error for each rule that couldn't be written; the others are.

    The errors are RULE_VERSION_EXISTS, if somebody else has written meanwhile, and LOG_NOT_WRITABLE.
    """
    failed: dict[str, OstinatoError] = {}
    for change in (line.change for line in plan.lines if line.change is not None):
        options = change.options.to_values()
        try:
            write_change(
                folder, change.id, change.text, version=change.version, enabled=change.enabled, options=options
            )
        except QueryError as error:
            failed[change.id] = error
        except OSError as error:
            message = f"can't write a change of the rule {shown(change.id)} to {folder}: {error.strerror}"
            failed[change.id] = EnvironmentFault("LOG_NOT_WRITABLE", message)
    return failed


def log_options(rule: ReadyRule) -> RuleOptions:
    """The options that the change log gets."""
    return replace(rule.file.options, suppress=rule.file.suppress)


def order_of_log(checked: CheckedFolder) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """The keys and the time that all rules of a log share: those of the folder, or of its first rule that is on."""
    shared = checked.folder.settings
    first = next((rule for rule in checked.rules if rule.can_stream and rule.file.enabled), None)
    return (
        shared.keys if shared.keys is not None or first is None else first.keys,
        shared.time if shared.time is not None or first is None else first.time,
    )


def _check_for_log(rule: ReadyRule, keys: tuple[str, ...] | None, time: tuple[str, ...] | None) -> None:
    """One operator runs all rules of a log, and it has one set of keys and one order."""
    if not rule.can_stream or not rule.file.enabled:
        return
    hint = "write rules with other keys or another time to a log of their own, from a folder of their own"
    if _folded(rule.keys, sorted) != _folded(keys or (), sorted):
        message = f"the rule has the keys {_listed(rule.keys)}, and the other rules of this log {_listed(keys or ())}"
        raise QueryError("RULE_NEEDS_OTHER_KEYS", message, hint=hint)
    if _folded(rule.time) != _folded(time or ()):
        message = (
            f"the rule is ordered by {_listed(rule.time)}, and the other rules of this log by {_listed(time or ())}"
        )
        raise QueryError("RULE_NEEDS_OTHER_ORDER", message, hint=hint)


def _folded(names: Iterable[str], order: Callable[[Iterable[str]], Iterable[str]] = tuple) -> tuple[str, ...]:
    """The names without their case: names of columns are compared so."""
    return tuple(order(name.lower() for name in names))


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "none"


def _planned(rule: ReadyRule, log: ChangeLog) -> PlannedChange:
    file, before = rule.file, log.in_force.get(rule.file.id)
    version = log.next_version(file.id)
    if not rule.can_stream:
        return PlannedChange(file.id, Action.LEAVE, "not written: an event query runs as a stream of its own")
    if not file.enabled:
        if before is None or not before.enabled:
            return PlannedChange(file.id, Action.KEEP, "off")
        change = RuleChange(file.id, version, file.query.text, False, file.options)
        return PlannedChange(file.id, Action.CHANGE, f"switched off (v{before.version} -> v{version})", change)
    change = RuleChange(file.id, version, file.query.text, True, log_options(rule))
    if before is None:
        return PlannedChange(file.id, Action.ADD, f"new (v{version})", change)
    is_same = (before.text, before.options) == (change.text, change.options)
    if before.enabled and is_same:
        return PlannedChange(file.id, Action.KEEP, f"unchanged (v{before.version})")
    if before.options.reason is not None:
        return _of_suspended(change, before, log)
    words = "changed" if before.enabled else "switched on"
    return PlannedChange(file.id, Action.CHANGE, f"{words} (v{before.version} -> v{version})", change)


def _of_suspended(change: RuleChange, before: RuleChange, log: ChangeLog) -> PlannedChange:
    """Somebody suspended the rule. Only another text or other options end this."""
    ended = log.suspended.get(change.id)
    if ended is not None and (ended.text, ended.options) == (change.text, change.options):
        words = f"suspended (v{before.version}: {before.options.reason}); change the rule to end this"
        return PlannedChange(change.id, Action.KEEP, words)
    words = f"changed, ends its suspension (v{before.version} -> v{change.version})"
    return PlannedChange(change.id, Action.CHANGE, words, change)


def _missing(change: RuleChange, log: ChangeLog, checked: CheckedFolder, remove: bool) -> PlannedChange:
    if not remove:
        words = f"not in the folder, stays in the log (v{change.version}); --remove-missing removes it"
        return PlannedChange(change.id, Action.LEAVE, words)
    if checked.folder.broken:
        words = f"not removed, because {checked.folder.broken[0]} can't be read: it may be this rule"
        return PlannedChange(change.id, Action.LEAVE, words)
    version = log.next_version(change.id)
    removal = RuleChange(change.id, version, "", False, RuleOptions(at_end=change.options.at_end))
    return PlannedChange(change.id, Action.REMOVE, f"removed (v{change.version} -> v{version})", removal)
