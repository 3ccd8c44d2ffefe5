"""A folder of rule changes: one immutable JSON file for each change. Spark's file source never reads a file twice."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
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
    stem, found = _stem(id), set()
    for file in folder.glob(f"*{_SUFFIX}") if folder.is_dir() else ():
        own = _OWN_NAME.fullmatch(file.name)
        if own is None:
            rule, version = _rule_in(file)
        else:
            rule, version = (id if own["stem"] == stem else None), int(own["version"])
        if rule == id and version is not None:
            found.add(version)
    return found


def _rule_in(file: Path) -> tuple[str | None, int | None]:
    """The rule and the version in a file, as far as it can be read."""
    try:
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
