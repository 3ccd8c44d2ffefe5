"""The user's store of compiled kernels: a folder that this user alone can write, kept for later processes.

A stored kernel is code that runs when it is loaded. So kernels are stored only where no other user can write.
"""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import tempfile
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ostinato.errors import OstinatoWarning
from ostinato.kernels.file_locks import FileLocks
from ostinato.kernels.kernel_environment import versions
from ostinato.kernels.package_kernels import ENDING
from ostinato.kernels.private_folders import Untrusted, current_user, make_private, user_cache

_FOLDER_PREFIX = "kernels-"
_DAY_SECONDS = 24 * 3600
_FORGET_AFTER_SECONDS = 14 * _DAY_SECONDS
_DIGEST_BYTES = 32
_warned: set[Path] = set()


class UserKernels:
    """The kernels in a folder. Each file begins with the hash of its content."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._locks = FileLocks()

    def read(self, name: str) -> bytes | None:
        """The content of a kernel; None if the store doesn't have it, or if its file is damaged."""
        path = self._path(name)
        try:
            stored = path.read_bytes()
            if time.time() - path.stat().st_mtime > _DAY_SECONDS:
                os.utime(path)  # still in use: not to be forgotten
        except OSError:
            return None
        digest, content = stored[:_DIGEST_BYTES], stored[_DIGEST_BYTES:]
        return content if hashlib.sha256(content).digest() == digest else None

    def write(self, name: str, content: bytes) -> None:
        """Stores a kernel in one step. A full disk is no error: the kernel is compiled again next time."""
        fresh = self.folder / f".{name}.{os.getpid()}"
        try:
            fresh.write_bytes(hashlib.sha256(content).digest() + content)
            fresh.replace(self._path(name))
        except OSError:
            with suppress(OSError):
                fresh.unlink()

    def lock(self, name: str) -> bool:
        """Waits until no other process on this machine compiles the kernel; False without a lock."""
        return self._locks.acquire(self._path(name).with_suffix(".lock"))

    def unlock(self, name: str) -> None:
        self._locks.release(self._path(name).with_suffix(".lock"))

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{ENDING}"


@functools.cache
def user_kernels(target: tuple[str, ...]) -> UserKernels | None:
    """The user's store for this target (system, CPU, features); None when nothing can be written.

    It is in the first folder that can be written, and by this user alone, of: NUMBA_CACHE_DIR if it is set, else the
    user's cache folder; then a folder of the user's among temporary files.
    """
    described = " ".join((*versions().values(), *target))
    name = _FOLDER_PREFIX + hashlib.sha256(described.encode()).hexdigest()[:16]
    for parent in _parents():
        try:
            folder = make_private(parent / name, current_user())
            _check_writable(folder)
        except Untrusted as problem:
            _warn_once(parent, problem)
        except OSError:
            continue
        else:
            _forget_old(folder)
            return UserKernels(folder)
    return None


def _parents() -> Iterator[Path]:
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen:
        yield Path(chosen)
    elif user_cache().is_absolute():  # it isn't for a user without a home
        yield user_cache()
    with suppress(FileNotFoundError):  # a machine without a folder for temporary files
        yield Path(tempfile.gettempdir()) / f"ostinato-{current_user() or 0}"


def _warn_once(parent: Path, problem: Untrusted) -> None:
    """Warns once for each parent folder, not once for each target."""
    if parent in _warned:
        return
    _warned.add(parent)
    warnings.warn(
        f"compiled kernels aren't kept in {parent}, because someone could plant code there: {problem}; let no other "
        "user write it, or set NUMBA_CACHE_DIR to an absolute folder of your own (chmod 700)",
        OstinatoWarning,
        stacklevel=2,
    )


def _check_writable(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder):
        pass
    os.utime(folder)


def _forget_old(folder: Path) -> None:
    """Removes what no process has used for two weeks: folders for other targets, and kernels in this one."""
    oldest = time.time() - _FORGET_AFTER_SECONDS
    for path in (*folder.parent.glob(f"{_FOLDER_PREFIX}*"), *folder.iterdir()):
        with suppress(OSError):
            if path.stat().st_mtime < oldest:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
