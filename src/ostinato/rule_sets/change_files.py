"""A folder of rule changes: one immutable JSON file for each change. Spark's file source never reads a file twice."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ostinato.calls.options import a_path
from ostinato.errors import QueryError
from ostinato.rule_sets.rule_changes import RuleChange, RuleOptions, UnreadableChange, read_change

_SUFFIX = ".json"
_OWN_NAME = re.compile(r"(?P<stem>.+)\.v(?P<version>\d{8,})\.json", re.ASCII)
_MOST_BYTES = 1 << 20
"""Longer files aren't changes."""
_LONGEST_STEM = 150
"""Of a file's name, in characters. The end of a longer name is replaced by a hash."""
_ATTEMPTS = 100
"""How often a writer without a version tries the next one while others write too."""


def write_change(
    folder: str | os.PathLike[str],
    id: str,
    text: str,
    *,
    version: int | None,
    enabled: bool,
    options: object,
) -> RuleChange:
    """Writes a change as a new file. Without a version it takes the next one. Raises RULE_VERSION_EXISTS."""
    path = Path(a_path("folder", folder))
    read_options = RuleOptions.read(options)
    for _ in range(_ATTEMPTS):
        known = versions(path, id)
        number = max(known, default=0) + 1 if version is None else version
        change = RuleChange(id, number, text, enabled, read_options)
        if number not in known and _create(path, change):
            return change
        if version is not None:
            break
    raise QueryError(
        "RULE_VERSION_EXISTS",
        f"version {number} of the rule '{id}' is already in {path}",
        hint="a change is never edited: write the next version, or leave version= out",
    )


def versions(folder: Path, id: str) -> set[int]:
    """The versions of a rule in the folder. Names of our own tell; of other files, the contents do."""
    return set(_files_of(folder, id))


@dataclass(frozen=True, slots=True)
class RuleHistory:
    """The files of one rule in a change log, as far as a writer of its next version needs them."""

    newest: int
    """The highest version, also if its file can't be read; 0 for none."""
    latest: RuleChange | None
    """The highest version that can be read."""
    with_text: RuleChange | None
    """The highest version that has a text: a suspension has none."""


def read_history(folder: Path, id: str) -> RuleHistory:
    """The files of a rule, the newest first, until one has a text. Links are left out: the console shows nothing from
    outside the folder. Raises OSError for a folder that can't be listed."""
    files = _files_of(folder, id)
    latest = None
    for number in sorted(files, reverse=True):
        if files[number].is_symlink() or not files[number].is_file():
            continue
        try:
            change = _change_in(files[number])
        except UnreadableChange:
            continue
        if change.id != id or change.version != number:  # someone has renamed the file
            continue
        latest = latest or change
        if change.text:
            return RuleHistory(max(files), latest, change)
    return RuleHistory(max(files, default=0), latest, None)


def _files_of(folder: Path, id: str) -> dict[int, Path]:
    """The first file of each version of a rule."""
    stem, files = _stem(id), dict[int, Path]()
    for file in sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else ():
        own = _OWN_NAME.fullmatch(file.name)
        if own is None:
            rule, version = _rule_in(file)
        else:
            rule, version = (id if own["stem"] == stem else None), int(own["version"])
        if rule == id and version is not None:
            files.setdefault(version, file)
    return files


@dataclass(frozen=True, slots=True)
class ChangeLog:
    """A folder of changes. `in_force` has the highest version of each rule that can be read, removals included."""

    in_force: Mapping[str, RuleChange]
    suspended: Mapping[str, RuleChange]
    """For each rule whose version in force is a suspension, the version that it suspends."""
    faults: Mapping[str, QueryError]
    """An error for each file that isn't a change, by the name of the file."""
    _latest: Mapping[str, int]
    """The highest version that a file has in its name or its content, by the rule's part of the name."""

    def next_version(self, id: str) -> int:
        return self._latest.get(_stem(id), 0) + 1


def read_log(folder: Path) -> ChangeLog:
    """The log as a stream reads it. A missing folder is an empty log.

    A version with two contents counts as unreadable: a stream keeps the one that it sees first.
    """
    changes: dict[tuple[str, int], RuleChange] = {}
    faults: dict[str, QueryError] = {}
    latest: dict[str, int] = {}
    twice: set[tuple[str, int]] = set()
    for file in sorted(folder.glob(f"*{_SUFFIX}")) if folder.is_dir() else ():
        if file.name.startswith((".", "_")):  # Spark ignores them
            continue
        if (own := _OWN_NAME.fullmatch(file.name)) is not None:
            latest[own["stem"]] = max(latest.get(own["stem"], 0), int(own["version"]))
        try:
            change = _change_in(file)
        except UnreadableChange as error:
            faults[file.name] = error
            continue
        stem, number = _stem(change.id), (change.id, change.version)
        latest[stem] = max(latest.get(stem, 0), change.version)
        if changes.setdefault(number, change) != change:
            twice.add(number)
            message = f"version {change.version} of the rule '{change.id}' has another content in another file"
            faults[file.name] = QueryError("RULE_VERSION_EXISTS", message, hint="write the next version")
    in_force = {id: changes[id, number] for id, number in sorted(changes.keys() - twice)}
    suspended = {
        id: changes[id, number]
        for id, number in sorted(changes.keys() - twice)
        if in_force[id].options.reason is not None and changes[id, number].enabled
    }
    return ChangeLog(in_force, suspended, faults, latest)


def _change_in(file: Path) -> RuleChange:
    """The change in a file. Raises UnreadableChange."""
    try:
        with file.open("rb") as content:
            return read_change(content.read(_MOST_BYTES).decode())
    except OSError as error:
        raise UnreadableChange("INVALID_RULE", f"can't read the file: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UnreadableChange("INVALID_RULE", "the file isn't UTF-8 text") from None


def _rule_in(file: Path) -> tuple[str | None, int | None]:
    """The rule and the version in a file, as far as it can be read."""
    try:
        if not file.is_file():  # a pipe would wait for a writer
            return None, None
        with file.open("rb") as content:
            change = read_change(content.read(_MOST_BYTES).decode(errors="replace"))
    except UnreadableChange as error:
        return error.rule, error.version
    except OSError:
        return None, None
    return change.id, change.version


def _create(folder: Path, change: RuleChange) -> bool:
    """Whether the file is new. Readers see it whole or not at all: it is written under a hidden name, then linked."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, prefix=".", suffix=".tmp", encoding="utf-8") as file:
        file.write(change.to_json() + "\n")
        file.flush()
        os.fsync(file.fileno())
        os.chmod(file.name, 0o644)
        try:
            os.link(file.name, folder / file_name(change.id, change.version))
        except FileExistsError:
            return False
    return True


def file_name(id: str, version: int) -> str:
    """The name of a change's file.

    >>> file_name("card/velocity", 3)
    'card%2Fvelocity.v00000003.json'
    """
    return f"{_stem(id)}.v{version:08d}{_SUFFIX}"


def _stem(id: str) -> str:
    """The part of a file's name that stands for the rule."""
    stem = quote(id, safe="")
    if stem.startswith((".", "_")):  # Spark ignores files with such names
        stem = f"%{ord(stem[0]):02X}{stem[1:]}"
    if len(stem) > _LONGEST_STEM:
        stem = f"{stem[:_LONGEST_STEM]}~{hashlib.sha256(id.encode()).hexdigest()[:16]}"
    return stem
