"""The folder of a change log -> its new changes, and the problems of its files.

Streams read each file once. So a file that someone edits by hand is a problem: the page and the stream would differ.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ostinato.live_console.sources.folder_watch import FolderWatch, SeenFile, inside
from ostinato.live_console.sources.problems import Problem, missing, unreadable
from ostinato.rule_sets.rule_changes import RuleChange, UnreadableChange, read_change
from ostinato.rule_sets.rule_set import digest_of

SOURCE = "rules"
_MOST_BYTES = 1 << 20
_MOST_PROBLEMS = 50


@dataclass(frozen=True, slots=True)
class NewChanges:
    """The outcome of one look at a change log."""

    changes: tuple[RuleChange, ...] = ()
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class ChangeLogReader:
    """Reads each file of a change log once."""

    folder: Path
    _watch: FolderWatch | None = None
    _problems: dict[str, Problem] = field(default_factory=dict)
    _versions: dict[tuple[str, int], tuple[str, str]] = field(default_factory=dict)
    """The file of each version, and the digest of its content."""

    def look(self) -> NewChanges:
        """The changes of new files. Never raises: a file or a folder that can't be read is a problem."""
        try:
            if not self.folder.is_dir():
                return NewChanges(problems=(missing(SOURCE, f"folder {self.folder.name} with rules", "--log"),))
            if self._watch is None:
                self._watch = FolderWatch(self.folder, (".json",))
            listing = self._watch.look()
        except OSError as error:
            return NewChanges(problems=(unreadable(SOURCE, f"the folder {self.folder.name}", error), *self._shown()))
        changes = [change for file in listing.new if (change := self._read(file)) is not None]
        for file in listing.edited:
            self._problems[file.name] = Problem(
                SOURCE,
                "RULE_FILE_EDITED",
                f"{file.name} was edited after it was read; a running stream never reads a file twice",
                "write the next version: ost.write_rule, or Save on this page",
            )
        for name in listing.removed:
            self._problems[name] = Problem(
                SOURCE,
                "RULE_FILE_REMOVED",
                f"{name} was removed; the change stays in force in streams that have read it",
                "to remove a rule, write a version that isn't enabled",
            )
        return NewChanges(tuple(changes), tuple(self._shown()))

    def _shown(self) -> list[Problem]:
        return list(self._problems.values())[-_MOST_PROBLEMS:]

    def _read(self, file: SeenFile) -> RuleChange | None:
        try:
            with inside(self.folder, file.name).open("rb") as content:
                change = read_change(content.read(_MOST_BYTES).decode(errors="replace"))
        except UnreadableChange as error:
            problem = Problem.of(SOURCE, error)
            self._problems[file.name] = Problem(
                SOURCE, problem.code, f"{file.name}: {problem.message}", problem.hint or "correct it by a new version"
            )
            return None
        except OSError as error:
            self._problems[file.name] = unreadable(SOURCE, f"the file {file.name}", error)
            return None
        self._problems.pop(file.name, None)
        content_digest = digest_of(change)
        first, before = self._versions.setdefault((change.id, change.version), (file.name, content_digest))
        if before != content_digest:
            self._problems[file.name] = Problem(
                SOURCE,
                "RULE_VERSION_EXISTS",
                f"{file.name}: version {change.version} of '{change.id}' has another content in {first}",
                "the first one counts; write the next version",
            )
            return None
        return change
