"""WITHIN and MAXLENGTH -> for each start the first row that lies behind them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.match_engine import Task
from ostinato.kernels.constants import NO_TIME

_LATEST = np.iinfo(np.int64).max


def bounded_ends(task: Task, time_us: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """For each row of a key as a start: the row before which a match must end. At most `count`, the number of rows."""
    ends = np.full(count, count, np.int64)
    if task.max_length is not None:
        ends = np.minimum(ends, np.arange(count) + task.max_length)
    if task.within_us is not None:
        ends = np.minimum(ends, _window_ends(time_us, task.within_us))
    return ends


def _window_ends(time_us: NDArray[np.int64], within_us: int) -> NDArray[np.int64]:
    """The rows are in the order of their times, which may fall. Rows without a time are at one end.

    A start without a time has no window: no row of a match may lack its time, so it consumes nothing.
    """
    has_time = time_us != NO_TIME
    ends = np.arange(len(time_us))
    timed = np.flatnonzero(has_time)
    if not len(timed):
        return ends
    times = time_us[timed]
    if times[0] > times[-1]:
        times = -times
    latest = np.where(times > _LATEST - within_us, _LATEST, times + within_us)
    ends[timed] = timed[0] + np.searchsorted(times, latest, side="right")
    return ends
