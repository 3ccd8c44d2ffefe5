"""The changes, the reports and the matches of one rule -> its line on the page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ostinato.live_console.model.recent_count import RecentCount
from ostinato.live_console.sources.open_states_reader import OpenStates
from ostinato.live_console.sources.sink_rows import SinkRow
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_columns import ERROR, LATE, MATCH, SUPPRESSED

_SECOND_CONTENT = "RULE_VERSION_EXISTS"
"""Rejects another content of a version. The first content counts."""
_MOST_VERSIONS = 8
"""The highest versions of a rule that are remembered."""


@dataclass(slots=True)
class RuleLine:
    """Everything that the page knows about one rule."""

    id: str
    versions: dict[int, RuleChange] = field(default_factory=dict)
    rejected: dict[int, str] = field(default_factory=dict)
    taken: set[int] = field(default_factory=set)
    """Versions that a stream took, and rejected no more since then."""
    suspended: dict[int, str] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """Rows by kind."""
    recent: RecentCount = field(default_factory=RecentCount)
    open: OpenStates | None = None
    seconds: float | None = None
    revision: int = 0
    """The number of its last change among those of all lines."""

    def take_change(self, change: RuleChange) -> None:
        """A version from the change log."""
        self.versions[change.version] = change
        for old in sorted(self.versions)[:-_MOST_VERSIONS]:
            del self.versions[old]

    def take_report(self, row: SinkRow) -> None:
        """A row that says what happened to a version. It overrides the reports before."""
        version = _reported_version(row)
        if version is None:
            return
        if row.kind == "rule_changed":  # another stream may take a version that an earlier one rejected
            self.rejected.pop(version, None)
            self._take(version)
        elif row.kind == "rule_rejected":
            self.taken.discard(version)
            _remember(self.rejected, version, row.message)
        elif row.kind == "rule_suspended":
            _remember(self.suspended, version, row.message)

    def take_older_report(self, row: SinkRow) -> None:
        """A report from before all others. It doesn't override them."""
        version = _reported_version(row)
        if version is None:
            return
        if row.kind == "rule_changed" and version not in self.rejected:
            self._take(version)
        elif row.kind == "rule_rejected" and version not in self.taken and version not in self.rejected:
            _remember(self.rejected, version, row.message)
        elif row.kind == "rule_suspended" and version not in self.suspended:
            _remember(self.suspended, version, row.message)

    def _take(self, version: int) -> None:
        self.taken = set(sorted({*self.taken, version})[-_MOST_VERSIONS:])

    @property
    def in_force(self) -> RuleChange | None:
        """The highest version that no stream has rejected."""
        return next((self.versions[at] for at in sorted(self.versions, reverse=True) if at not in self.rejected), None)

    @property
    def latest(self) -> RuleChange | None:
        """The highest version, rejected or not."""
        return self.versions[max(self.versions)] if self.versions else None

    def status(self) -> tuple[str, str]:
        """One of enabled, suspended, removed, rejected, seen; and the reason in words.

        A rule that stands in no change log, but has rows in the sink, is `seen`.
        """
        change = self.in_force
        if change is None:
            newest = max(self.rejected, default=None)
            return ("seen", "") if newest is None else ("rejected", self.rejected[newest])
        if not change.enabled:
            reason = change.options.reason
            return ("removed", "") if reason is None else ("suspended", reason)
        if change.version in self.suspended:
            return "suspended", self.suspended[change.version]
        if self.open is not None and self.open.status == "suspended" and self.open.version == change.version:
            return "suspended", "the stream has suspended it, at least for the keys of one bucket"
        newer = max((at for at in self.rejected if at > change.version), default=None)
        note = "" if newer is None else f"version {newer} was rejected: {self.rejected[newer]}"
        return "enabled", note

    def to_json(self, now: float) -> dict[str, Any]:
        """The line for the page. The text of the rule isn't in it: the page asks for it when someone opens the rule."""
        status, note = self.status()
        shown = self.in_force or self.latest
        return {
            "id": self.id,
            "version": None if shown is None else shown.version,
            "status": status,
            "note": note[:600],
            "hits": self.counts.get(MATCH, 0),
            "suppressed": self.counts.get(SUPPRESSED, 0),
            "errors": self.counts.get(ERROR, 0),
            "late": self.counts.get(LATE, 0),
            "per_minute": self.recent.at(now),
            "seconds": self.seconds,
            "open": None if self.open is None else self.open.keys,
            "states": [] if self.open is None else [list(state) for state in self.open.states],
            "log": bool(self.versions),
        }


def _reported_version(row: SinkRow) -> int | None:
    """None for a report that doesn't concern the first content of a version."""
    return None if row.message.startswith(_SECOND_CONTENT) else row.version


def _remember(reports: dict[int, str], version: int, message: str) -> None:
    """Of the highest versions."""
    reports[version] = message
    for old in sorted(reports)[:-_MOST_VERSIONS]:
        del reports[old]
