"""Python function -> compiled kernel, stored on disk for later processes where the disk can be written.

numba's own cache has three gaps:
- It refuses to load a kernel where neither the package's folder nor HOME can be written. Spark workers often run so.
- It checks only the file of the kernel. If a function in another file changes, the kernel keeps its old code.
- It ignores bounds checks: a process that asks for them gets code without them.

Therefore the name of a kernel's folder contains a fingerprint of all sources that the kernel is made of, and of the
settings. The caller's numba settings don't change.

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

AnyFunction = Callable[..., Any]
"""Any Python function. Kernels declare no argument types: numba infers them at the call."""

_PACKAGE = Path(__file__).parents[1]
"""The package's folder. If the package is a zip, this path isn't a folder."""
_SOURCES: Traversable = files("ostinato")
"""The package's sources, also readable inside a zip."""
_KERNEL_SOURCES = KernelSources(_SOURCES)
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_BORROWING: dict[str, Any] = {**_OPTIONS, "_nrt": False}
"""Without numba's reference counting: a kernel borrows arrays from its caller and can't make any. With it, reading an
array out of a tuple costs an atomic addition, which made the search ten times slower."""
_FOLDER_PREFIX = "kernels-"
_WARNED: set[Path] = set()
_FORGET_AFTER_SECONDS = 14 * 24 * 3600


def kernel(function: AnyFunction) -> AnyFunction:
    """A kernel that is compiled on its first call, or loaded from disk. Divides by NumPy's rules, releases the GIL."""
    return _cached(function, _OPTIONS)


def borrowing_kernel(function: AnyFunction, *, cached: bool = True) -> AnyFunction:
    """A kernel that makes no arrays. numba counts no references while it runs."""
    return _cached(function, _BORROWING) if cached else _uncached(function, _BORROWING)


def inline_kernel(function: AnyFunction) -> AnyFunction:
    """A small function that kernels call, stored only inside them. It makes no arrays.

    It is always inlined: a call would copy every array of the tuples that it gets.
    """
    return _uncached(function, {**_BORROWING, "forceinline": True})


def called_kernel(function: AnyFunction) -> AnyFunction:
    """A function that kernels call and don't inline, stored only inside them. It makes no arrays."""
    return _uncached(function, _BORROWING)


def _uncached(function: AnyFunction, options: dict[str, Any]) -> AnyFunction:
    compiled: AnyFunction = numba.njit(**options)(function)
    return compiled


def _cached(function: AnyFunction, options: dict[str, Any]) -> AnyFunction:
    folder = prepare_numba_cache(_makers(function))
    if folder is None:
        return _uncached(function, options)
    before = numba.config.CACHE_DIR
    # numba chooses the folder while it decorates. Other packages' kernels must not get ours.
    numba.config.CACHE_DIR = str(folder)
    try:
        compiled: Any = numba.njit(cache=True, **options)(_on_disk(function, folder))
    except (RuntimeError, OSError):  # no locator takes this source file (a notebook): compile in each process
        return _uncached(function, options)
    finally:
        numba.config.CACHE_DIR = before
    # If our folder fails, numba takes another one, unchecked. With NUMBA_DISABLE_JIT the function stays as it is.
    is_elsewhere = compiled is not function and not Path(compiled.stats.cache_path).is_relative_to(folder)
    trusted: AnyFunction = _uncached(function, options) if is_elsewhere else compiled
    return trusted


def _on_disk(function: AnyFunction, folder: Path) -> AnyFunction:
    """The function. If the package is a zip, its source file is copied to disk: numba stores no other kernels."""
    path = _within_package(function)
    if path is None or _PACKAGE.is_dir():
        return function
    copy = folder / "sources" / path
    if not copy.exists():  # write it once: some versions of numba recompile if the file is newer
        copy.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=copy.parent, delete=False) as fresh:
            fresh.write(_SOURCES.joinpath(*path.parts).read_bytes())
        Path(fresh.name).replace(copy)  # in one step: other processes may read it now
    function.__code__ = function.__code__.replace(co_filename=str(copy))
    return function


def interpreted(compiled: AnyFunction) -> AnyFunction:
    """The Python function behind a kernel, for tests that step through it."""
    behind: AnyFunction = getattr(compiled, "py_func", compiled)
    return behind


def _makers(function: AnyFunction) -> frozenset[str]:
    """The modules that make a kernel: the function's own module, and the modules on the call stack.

    A module on the stack may have passed its own functions, which become part of the kernel. The set is empty for a
    function from outside the package, which may call any kernel.
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


def _within_package(function: AnyFunction) -> Path | None:
    """The path of the function's source within this package; None if it is elsewhere."""
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
    """Warns once for each parent folder, not once for each kernel."""
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
    """Hash of the sources of a kernel and of the settings that change its compiled code."""
    settings = f"{numba.__version__} {numba.config.BOUNDSCHECK} {numba.config.OPT}"
    return hashlib.sha256(f"{settings} {_KERNEL_SOURCES.fingerprint(makers)}".encode()).hexdigest()[:16]


def _check_writable(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder):
        pass
    os.utime(folder)


@functools.cache
def _forget_old(parent: Path) -> None:
    """Removes folders that no process has used for two weeks. Runs once in a process."""
    oldest = time.time() - _FORGET_AFTER_SECONDS
    for folder in parent.glob(f"{_FOLDER_PREFIX}*"):
        try:
            if folder.stat().st_mtime < oldest:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue
