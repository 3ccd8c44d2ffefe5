"""The folder of a sink -> its new rows, a bounded number at a time, and the problems of its files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ostinato.live_console.sources.committed_files import CommittedFiles
from ostinato.live_console.sources.folder_watch import FolderWatch, regular_file
from ostinato.live_console.sources.problems import Problem, missing, unreadable
from ostinato.live_console.sources.sink_rows import ENDINGS, FileRows, SinkRow, read_reports, read_sink_file

SOURCE = "matches"
_FIRST_FILES = 500
"""The files that are read at the start, the newest ones."""
_LONGEST_LOOK_SECONDS = 0.5
"""The time after which a look stops reading files. The next look goes on."""
_ATTEMPTS = 120
"""How often a file that can't be read is tried again: it may be half written."""
_OLDER_FILES = 20_000
"""Older files, the newest of them, that are searched for reports about rules."""


@dataclass(frozen=True, slots=True)
class NewRows:
    """The outcome of one look at a sink."""

    files: tuple[FileRows, ...] = ()
    problems: tuple[Problem, ...] = ()
    skipped_files: int = 0
    """Older files that the console hasn't read since its start."""
    waiting_files: int = 0
    """Files that the next looks will read."""
    older_reports: tuple[SinkRow, ...] = ()
    """Reports about rules from files older than all that were read before, the newest report first."""
    is_backlog: bool = False
    """Whether the files were there when the console started."""


@dataclass(slots=True)
class MatchReader:
    """Reads each file of a sink once: Parquet or JSON lines, also in folders of partitions."""

    folder: Path
    most_rows: int
    clock: Callable[[], float] = time.monotonic
    keys: tuple[str, ...] = ()
    """Columns that are keys even if they are partition columns."""
    _watch: FolderWatch | None = None
    _committed: CommittedFiles | None = None
    _waiting: list[str] = field(default_factory=list)
    _broken: dict[str, tuple[int, Problem]] = field(default_factory=dict)
    _skipped: int = 0
    _older: list[str] = field(default_factory=list)
    _unread_older: int = 0
    _has_looked: bool = False
    _is_backlog: bool = True

    def look(self) -> NewRows:
        """The rows of new files. Never raises: a file or a folder that can't be read is a problem."""
        problems = []
        try:
            if not self.folder.is_dir():
                self._is_backlog = False
                return NewRows(problems=(missing(SOURCE, f"folder {self.folder.name} with matches", "--matches"),))
            for name in self._new_names():  # those before an error stay
                self._waiting.append(name)
        except Exception as error:
            problems.append(unreadable(SOURCE, f"the folder {self.folder.name}", error))
        if self._waiting and not self._has_looked:
            self._has_looked = True
            self._skipped = max(0, len(self._waiting) - _FIRST_FILES)
            self._older = self._waiting[: self._skipped][-_OLDER_FILES:]
            del self._waiting[: self._skipped]
        until = self.clock() + _LONGEST_LOOK_SECONDS
        files = self._read_files(until)
        older_reports = self._search_older_files(until)
        if self._unread_older:
            problems.append(self._problem_of_older())
        problems += [problem for _, problem in self._broken.values()]
        was_backlog, self._is_backlog = self._is_backlog, self._is_backlog and bool(self._waiting)
        return NewRows(
            tuple(files), tuple(problems[:20]), self._skipped, len(self._waiting), tuple(older_reports), was_backlog
        )

    def _new_names(self) -> Iterable[str]:
        """Spark's own log of a sink counts, if there is one: other files are left over from failed tasks."""
        if self._committed is None:
            self._committed = CommittedFiles(self.folder)
        if self._committed.has_log:
            if self._watch is not None:
                self._committed.leave_out(self._watch.names)
                self._watch = None
            return self._committed.new_names()
        if self._watch is None:
            self._watch = FolderWatch(self.folder, ENDINGS, depth=4)
        listing = self._watch.look()
        for file in listing.edited:  # it has grown: perhaps it is complete now
            if file.name in self._broken:
                self._broken[file.name] = 0, self._broken[file.name][1]
        for name in listing.removed:
            self._broken.pop(name, None)
        return [file.name for file in listing.new]

    def _search_older_files(self, until: float) -> list[SinkRow]:
        """Only once the newest files are read: the page shows their rows first."""
        reports: list[SinkRow] = []
        while self._older and not self._waiting and self.clock() < until:
            name = self._older.pop()
            try:
                reports += reversed(read_reports(regular_file(self.folder, name), name, self.keys))
            except Exception:
                self._unread_older += 1
        return reports

    def _problem_of_older(self) -> Problem:
        message = f"older files of {self.folder.name} can't be searched for reports about rules: {self._unread_older}"
        return Problem(SOURCE, "SOURCE_NOT_READABLE", message, "a rejected or suspended rule may be shown as enabled")

    def _read_files(self, until: float) -> list[FileRows]:
        files: list[FileRows] = []
        for name in [name for name, (attempts, _) in self._broken.items() if attempts < _ATTEMPTS][:20]:
            self._read(name, files)
        while self._waiting and self.clock() < until:
            self._read(self._waiting.pop(0), files)
        return files

    def _read(self, name: str, files: list[FileRows]) -> None:
        attempts, _ = self._broken.get(name, (0, None))
        try:
            files.append(read_sink_file(regular_file(self.folder, name), name, self.most_rows, self.keys))
            self._broken.pop(name, None)
        except Exception as error:  # a file may hold anything, and the other ones count
            self._broken[name] = attempts + 1, unreadable(SOURCE, f"the file {name}", error)
