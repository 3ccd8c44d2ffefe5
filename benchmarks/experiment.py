"""What a benchmark consists of: parts that check and measure, and a way to draw what they found."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from benchmarks.records import Record


class Scale(Enum):
    """`small` ends within five minutes on two cores; `full` is what the goals are about."""

    SMALL = "small"
    FULL = "full"


class WrongAnswer(Exception):
    """A benchmark found another answer than the right one, and stops: its speed would mean nothing."""


def expect(what: str, found: object, right: object) -> None:
    """Stops the benchmark unless both are equal."""
    if found != right:
        raise WrongAnswer(f"{what}: {found}, should be {right}")


@dataclass(frozen=True, slots=True)
class Part:
    """One figure of a benchmark."""

    figure: str
    measure: Callable[[Scale], list[Record]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """The parts in the order in which they run; `draw` gives the files that it wrote."""

    parts: tuple[Part, ...]
    draw: Callable[[Sequence[Record], Path], list[Path]]


SLOW_SECONDS = 2.0
"""Kernels that took this long together have been called often enough."""


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def best_seconds(action: Callable[[], object], rounds: int) -> float:
    """The shortest of several calls: what the machine can do when nothing else disturbs it.

    A slow action is called fewer times, but at least twice.
    """
    return interleaved_seconds({"": action}, rounds, warm_up=False, enough_seconds=SLOW_SECONDS)[""]


def interleaved_seconds(
    actions: Mapping[str, Callable[[], object]], rounds: int, *, warm_up: bool = True, enough_seconds: float = math.inf
) -> dict[str, float]:
    """The shortest of several calls of each, in turns, so that a slow moment of the machine hits all alike.

    With `warm_up` each is called once before. After two rounds and `enough_seconds` no further round begins.
    """
    if warm_up:
        for action in actions.values():
            action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    started = time.perf_counter()
    for done in range(rounds):
        if done >= 2 and time.perf_counter() - started > enough_seconds:
            break
        for name, action in actions.items():
            times[name].append(seconds(action))
    return {name: min(found) for name, found in times.items()}


def in_fresh_process(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None, timeout_seconds: int = 600
) -> str:
    """The last line that `python -m module` prints; RuntimeError with the end of its complaints if it fails."""
    command = [sys.executable, "-m", module, *arguments]
    root = str(Path(__file__).parent.parent)
    search_path = os.pathsep.join(dict.fromkeys([root, *(entry for entry in sys.path if entry)]))
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": search_path, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
    )
    if done.returncode != 0 or not done.stdout.strip():
        raise RuntimeError(f"{module} failed ({done.returncode}): {done.stderr.strip()[-600:]}")
    return done.stdout.strip().splitlines()[-1]
