"""A phase of work -> a moving line on the terminal with its name and duration, or a few plain lines in a log.

On a terminal the line moves while the phase runs and is gone after it. Elsewhere a phase that takes longer than five
seconds writes a line after 5, 10, 20, 40, ... seconds, so that a log shows that the command is alive.
"""

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
FIRST_LOG_LINE_SECONDS = 5.0


class Progress:
    """`with progress("starting Spark"): ...` writes until the block ends; `is_terminal` allows a moving line."""

    def __init__(
        self, write: Callable[[str], object], *, is_terminal: bool, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._is_terminal = is_terminal
        self._clock = clock

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        done = threading.Event()
        writer = threading.Thread(
            target=self._paint if self._is_terminal else self._log, args=(phase, done), daemon=True
        )
        writer.start()
        try:
            yield
        finally:
            done.set()
            writer.join()
            if self._is_terminal:
                self._write(ERASE_LINE)

    def _paint(self, phase: str, done: threading.Event) -> None:
        began = self._clock()
        turn = 0
        while not done.wait(_EVERY_SECONDS):
            self._write(f"{ERASE_LINE}{_FRAMES[turn % len(_FRAMES)]} {phase} … {self._clock() - began:.0f} s")
            turn += 1

    def _log(self, phase: str, done: threading.Event) -> None:
        passed, due = 0.0, FIRST_LOG_LINE_SECONDS
        while not done.wait(due - passed):
            self._write(f"{phase} … {due:.0f} s\n")
            passed, due = due, 2 * due


def progress_on_stderr() -> Progress:
    """Progress on stderr, be it a terminal or not."""
    if not sys.stderr.isatty():
        return Progress(lambda words: print(words, end="", file=sys.stderr, flush=True), is_terminal=False)
    # A copy: while Spark starts, the descriptor itself is redirected through the filter of Java's warnings.
    terminal = os.fdopen(os.dup(sys.stderr.fileno()), "w", encoding="utf-8", errors="replace")

    def write(words: str) -> None:
        terminal.write(words)
        terminal.flush()

    return Progress(write, is_terminal=True)
