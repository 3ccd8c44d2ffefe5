"""Tells the user, once in a process, that a kernel is being compiled and how to avoid it."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress

_log = logging.getLogger("ostinato.kernels")
_PATIENCE_SECONDS = 0.5
_told = threading.Event()


class Compiling:
    """The compilation of one kernel, or the wait for another process that compiles it."""

    def __init__(self, name: str) -> None:
        self._began = time.monotonic()
        self._timer = threading.Timer(_PATIENCE_SECONDS, _tell, [name])
        self._timer.daemon = True
        if not _told.is_set():
            with suppress(RuntimeError):  # no further thread can be started: then nothing is told
                self._timer.start()

    def end(self) -> float:
        """The seconds that it took."""
        self._timer.cancel()
        return time.monotonic() - self._began


def _tell(name: str) -> None:
    if _told.is_set():
        return
    _told.set()
    _log.warning(
        "ostinato: compiling kernels, now %s. The first query of each kind takes 5 to 60 s longer on a new machine. "
        "To avoid it, install the wheel for your platform, or run `ostinato warm` once.",
        name.partition("-")[0],
    )
