"""Rules + changes -> the rules in force, the changes that were rejected, and the rules that come, change and go.

Of each rule, the highest version that isn't wrong is in force, however the changes are spread over steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ostinato.errors import OstinatoError, QueryError
from ostinato.rule_sets.compiled_rule import CompiledRule, compile_rule
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange, UnreadableChange, read_change
from ostinato.rule_sets.rule_errors import as_error_of_rule
from ostinato.rule_sets.rule_set import RuleRecord, RuleSet, digest_of

MOST_REJECTED = 8
"""The rejected versions that are known for one rule, the highest ones. An older one that arrives again is reported
again."""
MOST_RULES_WITH_REJECTED = 1_000
"""Bounds what a log of nothing but mistakes leaves in the state."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """A change that has no effect, because it is wrong."""

    rule: str | None
    version: int | None
    error: OstinatoError

    @staticmethod
    def of(change: RuleChange, error: OstinatoError) -> Rejection:
        return Rejection(change.id, change.version, error)


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of a step's changes."""

    rules: RuleSet
    rejected: tuple[Rejection, ...] = ()
    added: frozenset[str] = frozenset()
    """Rules that weren't active, and are now."""
    changed: Mapping[str, RuleChange] = field(default_factory=dict)
    """The version before, of rules that were active and go on with another version."""
    removed: Mapping[str, RuleChange] = field(default_factory=dict)
    """The version before, of rules that were in force or suspended and aren't any more."""
    removed_in_vain: frozenset[str] = frozenset()
    """Names in removals for which there was no rule."""

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
            except Exception as error:
                self._compiled[change] = as_error_of_rule(error)
        result = self._compiled[change]
        if isinstance(result, OstinatoError):
            raise result
        return result

    def apply(self, rules: RuleSet, texts: Iterable[str]) -> Applied:
        """Applies the changes of one step, whatever their order."""
        changes, unreadable = _readable(texts)
        versions, contradictions = _new_versions(rules, changes)
        decided, wrong = self._decided(versions)
        records = dict(rules.records)
        in_force = sum(record.change.enabled for record in records.values())
        added, in_vain = set[str](), set[str]()
        changed, removed = dict[str, RuleChange](), dict[str, RuleChange]()
        # Removals come first, so that a rule may take the place of another in one step.
        for change in sorted(decided, key=lambda change: (change.enabled, change.id)):
            before = records.get(change.id)
            was_in_force = before is not None and before.change.enabled
            if change.enabled and not was_in_force and in_force >= self.declared.limits.max_rules:
                wrong[change] = _too_many(in_force)
                continue
            in_force += change.enabled - was_in_force
            records[change.id] = RuleRecord(change)
            if change.enabled and before is not None and before.is_active:
                changed[change.id] = before.change
            elif change.enabled:
                added.add(change.id)
            elif before is not None and (was_in_force or before.change.options.reason is not None):
                removed[change.id] = before.change
            else:
                in_vain.add(change.id)
        rejected = [*unreadable, *contradictions, *(Rejection.of(change, error) for change, error in wrong.items())]
        rejected.sort(key=lambda each: (each.rule or "", each.version or 0))
        after = replace(rules, records=records, rejected=_rejected_versions(rules, wrong, records))
        return Applied(after, tuple(rejected), frozenset(added), changed, removed, frozenset(in_vain))

    def _decided(self, versions: Iterable[RuleChange]) -> tuple[list[RuleChange], dict[RuleChange, OstinatoError]]:
        """For each rule its highest version that isn't wrong, and the errors of those above it."""
        decided, wrong = dict[str, RuleChange](), dict[RuleChange, OstinatoError]()
        for change in versions:
            if change.id in decided:
                continue
            try:
                if change.enabled:
                    self.compiled(change)
                decided[change.id] = change
            except OstinatoError as error:
                wrong[change] = error
        return list(decided.values()), wrong


def _readable(texts: Iterable[str]) -> tuple[list[RuleChange], list[Rejection]]:
    """The changes, each once, in an order that doesn't depend on that of the texts."""
    changes, rejected = [], []
    for text in sorted(set(texts)):
        try:
            changes.append(read_change(text))
        except UnreadableChange as error:
            rejected.append(Rejection(error.rule, error.version, error))
    return sorted(set(changes), key=lambda change: (change.id, -change.version, change.to_json())), rejected


def _new_versions(rules: RuleSet, changes: Iterable[RuleChange]) -> tuple[list[RuleChange], list[Rejection]]:
    """The changes that nobody has decided about, and those that contradict a change with the same number."""
    new: list[RuleChange] = []
    contradictions = []
    known = {name: dict(versions) for name, versions in rules.rejected.items()}
    for change in changes:
        before = rules.records.get(change.id)
        versions = known.setdefault(change.id, {})
        if before is not None:
            versions[before.change.version] = digest_of(before.change)
            if change.version < before.change.version:
                continue
        if change.version not in versions:
            versions[change.version] = digest_of(change)
            new.append(change)
        elif versions[change.version] != digest_of(change):
            contradictions.append(Rejection.of(change, _exists(change)))
    return new, contradictions


def _rejected_versions(
    rules: RuleSet, wrong: Iterable[RuleChange], records: Mapping[str, RuleRecord]
) -> dict[str, dict[int, str]]:
    """The rejected versions above those in force: the highest ones of each rule."""
    versions = {name: dict(each) for name, each in rules.rejected.items()}
    for change in wrong:
        versions.setdefault(change.id, {})[change.version] = digest_of(change)
    result = {}
    for name, each in versions.items():
        above = records[name].change.version if name in records else 0
        highest = sorted((number for number in each if number > above), reverse=True)[:MOST_REJECTED]
        if highest:
            result[name] = {number: each[number] for number in highest}
    return dict(sorted(result.items())[:MOST_RULES_WITH_REJECTED])


def _too_many(in_force: int) -> QueryError:
    message = f"{in_force:,} rules are in force, and no more are allowed"
    return QueryError("TOO_MANY_RULES", message, hint="remove a rule, or raise max_rules")


def _exists(change: RuleChange) -> QueryError:
    message = f"version {change.version} of the rule '{change.id}' has another content already"
    return QueryError("RULE_VERSION_EXISTS", message, hint="write the next version")
