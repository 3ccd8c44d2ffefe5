"""WITHIN and MAXLENGTH -> for each start the first row that lies behind them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.match_engine import RowTimes, Task
from ostinato.kernels.constants import NO_TIME

_LATEST = np.iinfo(np.int64).max


def bounded_ends(task: Task, times: RowTimes, count: int) -> NDArray[np.int64]:
    """For each row of a key as a start: the row before which a match must end. At most `count`, the number of rows."""
    ends = np.full(count, count, np.int64)
    if task.max_length is not None:
        ends = np.minimum(ends, np.arange(count) + task.max_length)
    if task.within_us is not None:
        ends = np.minimum(
            ends, _window_ends(times.us, times.reach_us if len(times.reach_us) else np.full(count, task.within_us))
        )
    return ends


def _window_ends(time_us: NDArray[np.int64], reach_us: NDArray[np.int64]) -> NDArray[np.int64]:
    """The rows are in the order of their times, which may fall. Rows without a time are at one end.

    A start without a time has no window: no row of a match may lack its time, so it consumes nothing.
    """
    has_time = time_us != NO_TIME
    ends = np.arange(len(time_us))
    timed = np.flatnonzero(has_time)
    if not len(timed):
        return ends
    times, reach_us = time_us[timed], reach_us[timed]
    if times[0] > times[-1]:
        times = -times
    latest = np.where(times > _LATEST - reach_us, _LATEST, times + reach_us)
    ends[timed] = timed[0] + np.searchsorted(times, latest, side="right")
    return ends
