"""Python function -> compiled kernel, kept on disk between processes wherever something can be written.

numba's own cache has three gaps that this closes. It refuses to import a cached kernel where neither the package's
folder nor HOME can be written (Spark workers often run so). It looks at the file of the kernel only, so a kernel keeps
the old code of another file's kernel that it calls. And it hands out code without bounds checks when they are asked
for. So each state of our sources has a folder of its own. The caller's numba settings are left as they are.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba

Function = Callable[..., Any]
"""A kernel's arguments have no types: numba finds out what arrives."""

_PACKAGE = Path(__file__).parent
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_BORROWING: dict[str, Any] = {**_OPTIONS, "_nrt": False}
"""Without numba's reference counting: arrays are borrowed from the caller, none may be made. Reading an array out of a
tuple costs an atomic addition otherwise, which made the search ten times slower."""
_FOLDERS_WITH_KERNELS = ("automaton", "events", "matching", "predicates", "results")
"""With the constants that kernels take from modules beside them. Beyond these, a technique's kernels take from its own
folder only: techniques don't import one another."""
_TECHNIQUES = "techniques"
_FOLDER_PREFIX = "kernels-"
_FORGET_AFTER_SECONDS = 14 * 24 * 3600


def kernel(function: Function) -> Function:
    """Compile on first call, or load from an earlier process. NumPy's rules for division; the GIL is released."""
    return _cached(function, _OPTIONS)


def borrowing_kernel(function: Function, *, cached: bool = True) -> Function:
    """A kernel that makes no array of its own: what it is given is not counted while it runs."""
    return _cached(function, _BORROWING) if cached else _uncached(function, _BORROWING)


def inline_kernel(function: Function) -> Function:
    """A small function that kernels call; only ever stored as a part of them. It makes no array.

    Always inlined: a call would copy every array of the tuples that are passed.
    """
    return _uncached(function, {**_BORROWING, "forceinline": True})


def called_kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that kernels call but don't take into their loops; stored as a part of them. It makes no array."""
    return _uncached(function, _BORROWING)


def _uncached(function: Function, options: dict[str, Any]) -> Function:
    compiled: Function = numba.njit(**options)(function)
    return compiled


def _cached(function: Function, options: dict[str, Any]) -> Function:
    folder = prepare_numba_cache(_technique(function))
    if folder is None:
        return _uncached(function, options)
    before = numba.config.CACHE_DIR
    # numba decides on the folder while it decorates: ours must not reach kernels that aren't ours.
    numba.config.CACHE_DIR = str(folder)
    try:
        compiled: Function = numba.njit(cache=True, **options)(function)
        return compiled
    except (RuntimeError, OSError):  # no locator takes this source file (a notebook, a zip): compile in each process
        return _uncached(function, options)
    finally:
        numba.config.CACHE_DIR = before


def interpreted(compiled: Function) -> Function:
    """The Python function behind a kernel, for tests that step through it."""
    behind: Function = getattr(compiled, "py_func", compiled)
    return behind


def _technique(function: Function) -> str | None:
    """The technique whose folder the function stands in."""
    try:
        parts = Path(function.__code__.co_filename).relative_to(_PACKAGE / _TECHNIQUES).parts
    except (AttributeError, ValueError):
        return None
    return parts[0]


@functools.cache
def prepare_numba_cache(technique: str | None = None) -> Path | None:
    """The folder where kernels of this state of the sources are kept; None when nothing can be written.

    The first that can be written of: NUMBA_CACHE_DIR if it is set, else this package's `__pycache__`, the user's cache
    folder, the folder for temporary files.
    """
    name = _FOLDER_PREFIX + _fingerprint(technique)
    for parent in _parents():
        folder = parent / name
        if _can_write(folder):
            _forget_old(parent, keep=folder)
            return folder
    return None


def _parents() -> Iterator[Path]:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    else:
        yield _PACKAGE / "__pycache__"
        yield Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "ostinato"
    user = os.getuid() if hasattr(os, "getuid") else 0
    temporary = Path(tempfile.gettempdir()) / f"ostinato-{user}"
    if _is_ours_alone(temporary):
        yield temporary


def _fingerprint(technique: str | None = None) -> str:
    """Stands for the sources that kernels are made of, and for the settings that change what they compile to."""
    digest = hashlib.sha256(f"{numba.__version__} {numba.config.BOUNDSCHECK} {numba.config.OPT}".encode())
    sources = [_PACKAGE / "kernel_cache.py"]
    own = () if technique is None else (f"{_TECHNIQUES}/{technique}",)
    for folder in (*_FOLDERS_WITH_KERNELS, *own):
        sources += sorted((_PACKAGE / folder).rglob("*.py"))
    for source in sources:
        digest.update(source.relative_to(_PACKAGE).as_posix().encode() + b"\0" + source.read_bytes())
    return digest.hexdigest()[:16]


def _is_ours_alone(folder: Path) -> bool:
    """Make the folder, or see that nobody else can plant code in it: all users write where it stands."""
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
        found = folder.lstat()
    except OSError:
        return False
    owner = os.getuid() if hasattr(os, "getuid") else found.st_uid
    return stat.S_ISDIR(found.st_mode) and found.st_uid == owner and not found.st_mode & 0o022


def _can_write(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        os.utime(folder)
    except OSError:
        return False
    return True


def _forget_old(parent: Path, keep: Path) -> None:
    """Remove what no process has asked for in two weeks."""
    oldest = time.time() - _FORGET_AFTER_SECONDS
    for folder in parent.glob(f"{_FOLDER_PREFIX}*"):
        try:
            if folder != keep and folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
