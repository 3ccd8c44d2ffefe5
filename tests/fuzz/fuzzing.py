"""Draws texts, uses them within a limit of CPU time, and makes those small that break the contract."""

from __future__ import annotations

import signal
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import FrameType

from tests.fuzz.languages import Language
from tests.fuzz.mutation import mutated, tokens

MUTATED = 0.5
"""The share of texts that are changed after they were drawn."""
CPU_SECONDS = 3.0
"""What one text may take. A text of some hundred words takes milliseconds; the rest is a margin for slow machines."""


class TooSlow(Exception):
    """A text took more CPU time than it may. Nothing between the fuzzer and the text catches it as one of ours."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that broke the contract."""

    language: str
    seed: str
    text: str
    error: str
    """Kind and place: two failures with the same one are taken for the same."""
    trace: str

    def __str__(self) -> str:
        return f"{self.language}, seed {self.seed}: {self.error}\n{self.text!r}\n{self.trace}"


def text_of(language: Language, seed: str) -> str:
    """The text that a seed stands for."""
    rng = Random(f"{language.name} {seed}")
    text = language.draw(rng)
    return mutated(text, rng) if rng.random() < MUTATED else text


def tried(language: Language, seed: str, cpu_seconds: float = CPU_SECONDS) -> Failure | None:
    """Uses one text; a failure comes with its text made small."""
    text = text_of(language, seed)
    failure = used(language, seed, text, cpu_seconds)
    return None if failure is None else _smaller(language, failure, cpu_seconds)


def used(language: Language, seed: str, text: str, cpu_seconds: float = CPU_SECONDS) -> Failure | None:
    """Does everything with a text that a caller may do; gives what breaks the contract."""
    try:
        with _cpu_limit(cpu_seconds):
            language.use(text)
    except Exception as error:
        return Failure(language.name, seed, text, _kind(error), "".join(traceback.format_exception(error)[-12:]))
    return None


@contextmanager
def _cpu_limit(seconds: float) -> Iterator[None]:
    """Raises TooSlow inside after so much CPU time of the process. Kernels that run return first, and a kernel that is
    being compiled for the first time gets the time for it: numba must not be interrupted, and compiles once."""
    is_over = False

    def stop(number: int, frame: FrameType | None) -> None:
        if is_over:
            return
        if any(_compiles(running) for running in sys._current_frames().values()):
            signal.setitimer(signal.ITIMER_PROF, seconds)
        else:
            raise TooSlow(f"more than {seconds} s of CPU time")

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        # The handler stays: a signal may still be on its way to another thread, and without one it ends the process.
        is_over = True
        signal.setitimer(signal.ITIMER_PROF, 0)


def _compiles(frame: FrameType | None) -> bool:
    """Whether a thread is inside numba."""
    while frame is not None:
        if "numba" in frame.f_code.co_filename or "llvmlite" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _kind(error: BaseException) -> str:
    """The error with the last line of ours that it came through; slow is slow, wherever it was stopped."""
    if isinstance(error, TooSlow):
        return "TooSlow"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/ostinato/" in frame.filename]
    place = f"{frames[-1].filename.rpartition('/ostinato/')[2]}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}"


def _smaller(language: Language, failure: Failure, cpu_seconds: float) -> Failure:
    """Leaves out pieces as long as the text fails in the same way, for a limited time."""
    until = time.process_time() + (4 * cpu_seconds if failure.error != "TooSlow" else 8 * cpu_seconds)
    size = len(tokens(failure.text)) // 2
    while size >= 1 and time.process_time() < until:
        words, at = tokens(failure.text), 0
        while at < len(words) and time.process_time() < until:
            shorter = "".join(words[:at] + words[at + size :])
            found = used(language, failure.seed, shorter, cpu_seconds)
            if found is not None and found.error == failure.error:
                failure, words = found, tokens(shorter)
            else:
                at += size
        size //= 2
    return failure
