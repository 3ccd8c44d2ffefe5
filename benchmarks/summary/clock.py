"""How long an action takes on one core: the processor's time, so that other work on the machine doesn't count.

Kernels of a summary run in one thread and never wait, so on an idle machine this is what a clock on the wall shows.
"""

from __future__ import annotations

import time
from collections.abc import Callable


def core_seconds(action: Callable[[], object], rounds: int = 1) -> float:
    """The shortest of several calls."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        action()
        times.append(time.process_time() - started)
    return min(times)
