"""A phase of work -> one line on the terminal with its name and duration. Prints nothing without a terminal."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ostinato.cli.terminal import ERASE_LINE

_FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_EVERY_SECONDS = 0.1


class Progress:
    """`with progress("starting Spark"): ...` draws until the block ends. Without `write` it draws nothing."""

    def __init__(self, write: Callable[[str], object] | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._write = write
        self._clock = clock

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        if self._write is None:
            yield
            return
        done = threading.Event()
        painter = threading.Thread(target=self._paint, args=(phase, done, self._write), daemon=True)
        painter.start()
        try:
            yield
        finally:
            done.set()
            painter.join()
            self._write(ERASE_LINE)

    def _paint(self, phase: str, done: threading.Event, write: Callable[[str], object]) -> None:
        began = self._clock()
        turn = 0
        while not done.wait(_EVERY_SECONDS):
            write(f"{ERASE_LINE}{_FRAMES[turn % len(_FRAMES)]} {phase} … {self._clock() - began:.0f} s")
            turn += 1


def progress_on_stderr() -> Progress:
    """Progress on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        return Progress(None)
    # A copy: while Spark starts, the descriptor itself is redirected through the filter of Java's warnings.
    terminal = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")

    def write(words: str) -> None:
        terminal.write(words)
        terminal.flush()

    return Progress(write)
