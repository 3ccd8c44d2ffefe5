"""A folder that grows -> the names of its new and its changed files, without reading any file twice.

Nothing outside the folder is read: symbolic links are left out. Neither are hidden names, nor names with `_` in front,
which Spark and others use for files of their own.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_DEEPEST = 4
"""Partitions of a sink are folders inside folders."""


@dataclass(frozen=True, slots=True)
class SeenFile:
    """A file as the last listing had it."""

    name: str
    """The path inside the folder, with `/`."""
    size: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class Listing:
    """The differences from the listing before, the oldest file first."""

    new: tuple[SeenFile, ...] = ()
    edited: tuple[SeenFile, ...] = ()
    removed: tuple[str, ...] = ()


@dataclass(slots=True)
class FolderWatch:
    """Looks at a folder again and again. It remembers names, sizes and times, about 200 bytes for each file."""

    folder: Path
    endings: tuple[str, ...]
    depth: int = 0
    """How many levels of folders to enter."""
    _seen: dict[str, SeenFile] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The files of the last listing."""
        return frozenset(self._seen)

    def look(self) -> Listing:
        """The files that are new or edited since the last call. Raises OSError if the folder can't be listed."""
        files = {file.name: file for file in self._files(self.folder, "", min(self.depth, _DEEPEST))}
        before, self._seen = self._seen, files
        new = [file for name, file in files.items() if name not in before]
        edited = [file for name, file in files.items() if name in before and before[name] != file]
        removed = tuple(sorted(name for name in before if name not in files))
        return Listing(tuple(sorted(new, key=_age)), tuple(sorted(edited, key=_age)), removed)

    def _files(self, folder: Path, prefix: str, depth: int) -> Iterator[SeenFile]:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith((".", "_")):
                    continue
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if depth:
                            yield from self._files(Path(entry.path), f"{prefix}{entry.name}/", depth - 1)
                    elif entry.is_file(follow_symlinks=False) and entry.name.endswith(self.endings):
                        about = entry.stat(follow_symlinks=False)
                        yield SeenFile(f"{prefix}{entry.name}", about.st_size, about.st_mtime_ns)
                except FileNotFoundError:  # removed while it was listed
                    continue


def _age(file: SeenFile) -> tuple[int, str]:
    return file.changed_ns, file.name


def inside(folder: Path, name: str) -> Path:
    """The file of this name inside the folder. Raises PermissionError for a name that leads out of it, also by a link.

    >>> inside(Path("/sink"), "../secret")
    Traceback (most recent call last):
    ...
    PermissionError: [Errno 1] outside the folder: '../secret'
    """
    root = folder.resolve()
    path = (root / name).resolve()
    if not path.is_relative_to(root) or path == root:
        raise PermissionError(1, "outside the folder", name)
    return path


def regular_file(folder: Path, name: str) -> Path:
    """The file of this name inside the folder, as `inside` gives it. Raises OSError for anything but a regular file:
    reading a pipe would wait for ever.

    >>> regular_file(Path("/"), "dev/null")
    Traceback (most recent call last):
    ...
    OSError: [Errno 22] no regular file: 'dev/null'
    """
    path = inside(folder, name)
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "no regular file", name)
    return path
