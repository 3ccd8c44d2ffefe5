"""Memory and CPU time of the processes of a benchmark: this one, the JVM that it started, and the Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil


@dataclass(frozen=True, slots=True)
class Memory:
    """Resident bytes. Pages that Python workers share are counted for each of them."""

    jvm: int
    workers: int
    driver: int


def resident_memory() -> Memory:
    """Of all processes, now."""
    import psutil

    jvm = workers = 0
    for process in _children():
        with suppress(psutil.NoSuchProcess):  # ended while we looked
            size = process.memory_info().rss
            if process.name().startswith("java"):
                jvm += size
            else:
                workers += size
    return Memory(jvm, workers, psutil.Process().memory_info().rss)


def cpu_seconds_so_far() -> float:
    """Of all processes since they began, in user and in system mode. A process that ended counts for its parent."""
    import psutil

    total = 0.0
    for process in (psutil.Process(), *_children()):
        with suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])
    return total


def _children() -> Iterator[psutil.Process]:
    import psutil

    yield from psutil.Process().children(recursive=True)
