"""The installed package -> a zip that Spark can send to its workers.

The package may itself be a folder or inside a zip. Its compiled kernels are files of the package, so they go along.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from operator import itemgetter
from pathlib import Path

from ostinato.calls.options import shown
from ostinato.errors import QueryError

PACKAGE = "ostinato"
_LEFT_OUT = frozenset({"__pycache__"})
"""Byte code contains the path of the machine that compiled it, and Python writes it again."""
_OLDEST_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip can store. With one time for all files, equal packages give equal archives."""
_PLAIN_FILE = 0o100644


def write_archive(path: Path) -> Path:
    """Writes the package to a zip file and returns its path. An existing file is replaced in one step.

    Equal packages give equal bytes, on every machine.
    """
    if path.suffix.lower() != ".zip":
        raise QueryError(
            "INVALID_OPTION",
            f"the archive can't be {shown(path.name)}",
            hint="its name ends in .zip: Spark puts no other file of this kind on the path of its workers",
        )
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".archive-") as folder:
        unfinished = Path(folder) / path.name
        with zipfile.ZipFile(unfinished, "w") as archive:
            for name, file in sorted(_package_files(files(PACKAGE), PACKAGE), key=itemgetter(0)):
                archive.writestr(_entry(name), file.read_bytes(), zipfile.ZIP_DEFLATED)
        return unfinished.replace(path)


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _OLDEST_TIME)
    entry.external_attr = _PLAIN_FILE << 16
    return entry


def _package_files(folder: Traversable, name: str) -> Iterator[tuple[str, Traversable]]:
    """The files below the folder, each with its name in the archive."""
    for entry in folder.iterdir():
        if entry.name in _LEFT_OUT or entry.name.startswith("."):
            continue
        if entry.is_dir():
            yield from _package_files(entry, f"{name}/{entry.name}")
        else:
            yield f"{name}/{entry.name}", entry
