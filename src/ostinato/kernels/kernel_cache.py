"""Python function -> compiled kernel, kept on disk between processes wherever something can be written.

numba's own cache has three gaps that this closes. It refuses to import a cached kernel where neither the package's
folder nor HOME can be written (Spark workers often run so). It looks at the file of the kernel only, so a kernel keeps
the old code of another file's kernel that it calls. And it hands out code without bounds checks when they are asked
for. So a kernel's folder stands for the state of all sources that it is made of. The caller's numba settings stay
as they are.

A stored kernel is code that runs when it is loaded. So kernels are stored only where no other user can write.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import FrameType
from typing import Any

import numba

from ostinato.errors import OstinatoWarning
from ostinato.kernels.kernel_sources import KernelSources
from ostinato.kernels.private_folders import Untrusted, current_user, make_private, user_cache

Function = Callable[..., Any]
"""A kernel's arguments have no types: numba finds out what arrives."""

_PACKAGE = Path(__file__).parents[1]
"""Inside a zip, no folder has this name."""
_SOURCES: Traversable = files("ostinato")
"""The same place, readable inside a zip as well."""
_KERNEL_SOURCES = KernelSources(_SOURCES)
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_BORROWING: dict[str, Any] = {**_OPTIONS, "_nrt": False}
"""Without numba's reference counting: arrays are borrowed from the caller, none may be made. Reading an array out of a
tuple costs an atomic addition otherwise, which made the search ten times slower."""
_FOLDER_PREFIX = "kernels-"
_WARNED: set[Path] = set()
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
    folder = prepare_numba_cache(_makers(function))
    if folder is None:
        return _uncached(function, options)
    before = numba.config.CACHE_DIR
    # numba decides on the folder while it decorates: ours must not reach kernels that aren't ours.
    numba.config.CACHE_DIR = str(folder)
    try:
        compiled: Any = numba.njit(cache=True, **options)(_on_disk(function, folder))
    except (RuntimeError, OSError):  # no locator takes this source file (a notebook): compile in each process
        return _uncached(function, options)
    finally:
        numba.config.CACHE_DIR = before
    # Where our folder fails, numba takes others that nobody has checked. NUMBA_DISABLE_JIT makes no kernel.
    is_elsewhere = compiled is not function and not Path(compiled.stats.cache_path).is_relative_to(folder)
    trusted: Function = _uncached(function, options) if is_elsewhere else compiled
    return trusted


def _on_disk(function: Function, folder: Path) -> Function:
    """The function, with a copy of its source file in the folder where the package is a zip: numba stores no others."""
    path = _within_package(function)
    if path is None or _PACKAGE.is_dir():
        return function
    copy = folder / "sources" / path
    if not copy.exists():  # once: some versions of numba take a newer file for another
        copy.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=copy.parent, delete=False) as fresh:
            fresh.write(_SOURCES.joinpath(*path.parts).read_bytes())
        Path(fresh.name).replace(copy)  # in one step: other processes may read it now
    function.__code__ = function.__code__.replace(co_filename=str(copy))
    return function


def interpreted(compiled: Function) -> Function:
    """The Python function behind a kernel, for tests that step through it."""
    behind: Function = getattr(compiled, "py_func", compiled)
    return behind


def _makers(function: Function) -> frozenset[str]:
    """The modules that make a kernel: the function's own, and those whose running code had it made. None for a function
    from outside the package, which may call any kernel of it.

    A module may hand functions of its own to another module, which builds a kernel around them.
    """
    own = _within_package(function)
    if own is None:
        return frozenset()
    paths = {own.as_posix()}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        path = _path_within_package(frame.f_code.co_filename)
        if path is not None:
            paths.add(path.as_posix())
        frame = None if frame.f_code.co_name == "<module>" else frame.f_back
    return frozenset(paths)


def _within_package(function: Function) -> Path | None:
    """Where the function's source stands in this package; None where it stands elsewhere."""
    return _path_within_package(function.__code__.co_filename) if hasattr(function, "__code__") else None


def _path_within_package(file_name: str) -> Path | None:
    try:
        return Path(file_name).relative_to(_PACKAGE)
    except ValueError:
        return None


@functools.cache
def prepare_numba_cache(makers: frozenset[str] = frozenset()) -> Path | None:
    """The folder for kernels of these modules in this state of the sources; None when nothing can be written.

    The first that can be written, and by this user alone, of: NUMBA_CACHE_DIR if it is set, else this package's
    `__pycache__`, the user's cache folder; then a folder of the user's among temporary files.
    """
    name = _FOLDER_PREFIX + _fingerprint(makers)
    for parent in _parents():
        try:
            folder = make_private(parent / name, current_user())
            _check_writable(folder)
        except Untrusted as problem:
            _warn_once(parent, problem)
        except OSError:
            continue
        else:
            _forget_old(folder.parent)
            return folder
    return None


def _warn_once(parent: Path, problem: Untrusted) -> None:
    """One warning for all kernels, whose folders lie below this one."""
    if parent in _WARNED:
        return
    _WARNED.add(parent)
    warnings.warn(
        f"compiled kernels aren't kept in {parent}, because someone could plant code there: {problem}; let no other "
        "user write it, or set NUMBA_CACHE_DIR to an absolute folder of your own (chmod 700)",
        OstinatoWarning,
        stacklevel=2,
    )


def _parents() -> Iterator[Path]:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    else:
        if _PACKAGE.is_dir():
            yield _PACKAGE / "__pycache__"
        yield user_cache()
    yield Path(tempfile.gettempdir()) / f"ostinato-{current_user() or 0}"


def _fingerprint(makers: frozenset[str]) -> str:
    """Stands for the sources of a kernel, and for the settings that change what they compile to."""
    settings = f"{numba.__version__} {numba.config.BOUNDSCHECK} {numba.config.OPT}"
    return hashlib.sha256(f"{settings} {_KERNEL_SOURCES.fingerprint(makers)}".encode()).hexdigest()[:16]


def _check_writable(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder):
        pass
    os.utime(folder)


@functools.cache
def _forget_old(parent: Path) -> None:
    """Remove what no process has asked for in two weeks. Once for a process."""
    oldest = time.time() - _FORGET_AFTER_SECONDS
    for folder in parent.glob(f"{_FOLDER_PREFIX}*"):
        try:
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
