"""Locks between the processes of one machine, each a file. The system frees the locks of a process that dies."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: processes work side by side
    HAS_LOCKS = False
else:
    HAS_LOCKS = True

_LONGEST_SECONDS = 180
_BETWEEN_SECONDS = 0.05


class FileLocks:
    """The locks that this process holds."""

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}

    def acquire(self, path: Path) -> bool:
        """Waits for the lock; False without it after three minutes, or where the file system has no locks."""
        if path in self._held:  # its compilation failed
            return True
        if not HAS_LOCKS:
            return False
        try:
            opened = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        except OSError:
            return False
        last = time.monotonic() + _LONGEST_SECONDS
        while time.monotonic() < last:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_BETWEEN_SECONDS)
            except OSError:
                break
            else:
                self._held[path] = opened
                return True
        os.close(opened)
        return False

    def release(self, path: Path) -> None:
        """Frees a lock, if it is held here, and removes its file."""
        opened = self._held.pop(path, None)
        if opened is not None:
            with suppress(OSError):
                path.unlink()
            os.close(opened)
