"""Modules that make a kernel -> the sources that the kernel is compiled from.

A kernel contains the code of the functions that it calls and the values of the constants that it names. Both come from
the modules that make it, or from modules that these import at their top level, directly or through others.
"""

from __future__ import annotations

import hashlib
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator
from importlib.resources.abc import Traversable
from typing import NamedTuple

_IMPORT = re.compile(rb"^(?:from (ostinato[\w.]*) import (\([^)]*\)|[^\n]*)|import (ostinato[\w.]*))", re.MULTILINE)
_NAME = re.compile(rb"\w+")


UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error)
"""Errors that reading a file of the package raises: the file is missing, or it is damaged inside of a zip."""


class _Module(NamedTuple):
    digest: bytes
    imports: frozenset[str]


class KernelSources:
    """The modules of a package by their paths within it, each read once.

    >>> from importlib.resources import files
    >>> behind = KernelSources(files("ostinato")).behind(["clause/matching/interpreted_search.py"])
    >>> (
    ...     "clause/matching/search.py" in behind,
    ...     "expressions/run_conditions/interpreter.py" in behind,
    ...     "cli/run.py" in behind,
    ... )
    (True, True, False)
    """

    def __init__(self, root: Traversable, apart_from: Collection[str] = ()) -> None:
        """`apart_from` are modules that become no part of any kernel, and what only they import doesn't either."""
        self._root = root
        self._apart_from = apart_from
        self._modules: dict[str, _Module | None] = {}

    def fingerprint(self, makers: Iterable[str]) -> str:
        """Hash of all modules behind the makers. Without makers: of all modules of the package."""
        digest = hashlib.sha256()
        for path in sorted(self.behind(makers or self._all_modules())):
            module = self._module(path)
            assert module is not None, path
            digest.update(path.encode() + b"\0" + module.digest)
        return digest.hexdigest()

    def behind(self, makers: Iterable[str]) -> set[str]:
        """The makers, and all modules that they import directly or through others."""
        reached: set[str] = set()
        waiting = list(makers)
        while waiting:
            path = waiting.pop()
            module = self._module(path)
            if module is not None and path not in reached and path not in self._apart_from:
                reached.add(path)
                waiting += module.imports
        return reached

    def _module(self, path: str) -> _Module | None:
        """None where the package has no such file."""
        if path not in self._modules:
            try:
                text = self._root.joinpath(*path.split("/")).read_bytes()
            except UNREADABLE:
                self._modules[path] = None
            else:
                self._modules[path] = _Module(hashlib.sha256(text).digest(), frozenset(_imported_paths(text)))
        return self._modules[path]

    def _all_modules(self) -> list[str]:
        return [path for path in _files(self._root, "") if path.endswith(".py")]


def _imported_paths(text: bytes) -> Iterator[str]:
    """Possible paths of the modules that a text imports. A name imported from a package may be a module of it."""
    for package, names, module in _IMPORT.findall(text):
        base = "/".join((package or module).decode().split(".")[1:])
        if base:
            yield from (f"{base}.py", f"{base}/__init__.py")
        for name in _NAME.findall(names):
            yield f"{base}/{name.decode()}.py".lstrip("/")


def _files(folder: Traversable, path: str) -> Iterator[str]:
    for child in folder.iterdir():
        if child.is_dir():
            yield from _files(child, f"{path}{child.name}/")
        else:
            yield f"{path}{child.name}"
