"""Checks restored summaries before kernels use them: STATE_FORMAT.

The same rules hold for one summary and for the rows of a pool, so a summary is checked as a pool of one row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.streams.stored_state import LARGEST, check, check_ranges
from ostinato.summaries.engine.kernel_tables import (
    CELL,
    COUNT,
    FIRST,
    FIRST_OLD_CELL,
    LAST_OLD_CELL,
    NOW,
    SEEN,
    STALE,
    STARTED,
    StateColumns,
)
from ostinato.summaries.language.summary_query import LARGEST_TIME_US

Ints = NDArray[np.int64]
STATE = "a summary in this state"
VERSION = 1
"""Version of the bytes of one summary."""
_LARGEST_FLOAT = float(np.finfo(np.float64).max)
_MARKS = {
    FIRST: (0, LARGEST),
    NOW: (-LARGEST_TIME_US, LARGEST_TIME_US),
    SEEN: (0, LARGEST),
    STALE: (0, 1),
    CELL: (-LARGEST, LARGEST),
    STARTED: (0, 1),
    FIRST_OLD_CELL: (-LARGEST, LARGEST),
    LAST_OLD_CELL: (-LARGEST, LARGEST),
}
"""The smallest and largest value of each mark. COUNT is at most the size of a summary."""


class StoredSummaries(NamedTuple):
    """Restored summaries, one for each row. StateColumns of events are [summary, event]."""

    marks: Ints
    time: Ints
    type: Ints
    value: NDArray[Any]
    """Doubles if the aggregate adds doubles, otherwise any integers."""
    valid: Ints
    number: Ints
    counts: tuple[NDArray[Any], ...]
    """Counters of events, [summary, event] or wider: never negative."""
    totals: NDArray[Any]
    learnt: NDArray[np.float64]
    probabilities: NDArray[np.float64]
    tick: NDArray[np.float64]


def rows_of_one(columns: StateColumns, *, adds_floats: bool) -> StoredSummaries:
    """A single summary."""
    return StoredSummaries(
        marks=columns.marks[None],
        time=columns.time[None],
        type=columns.type[None],
        value=(columns.payload.view(np.float64) if adds_floats else columns.payload)[None],
        valid=columns.valid[None].astype(np.int64),
        number=columns.number[None],
        counts=tuple(column[None] for column in (columns.own, columns.carried, columns.fresh, columns.active)),
        totals=columns.total[None],
        learnt=columns.learnt[None],
        probabilities=columns.probabilities[None],
        tick=columns.tick[None],
    )


def check_summaries(rows: StoredSummaries) -> None:
    """Raises STATE_FORMAT. Ignores rows after the last kept event of a summary."""
    marks, size, types = rows.marks, rows.time.shape[1], rows.probabilities.shape[1]
    check_ranges(STATE, {"the number of kept events": (marks[:, COUNT], 0, np.minimum(size, marks[:, SEEN]))})
    check_ranges(STATE, {f"mark {mark}": (marks[:, mark], *limits) for mark, limits in _MARKS.items()})
    check_ranges(STATE, {"the first active event": (marks[:, FIRST], 0, marks[:, COUNT])})
    is_kept = np.arange(size) < marks[:, COUNT, None]
    now = np.broadcast_to(marks[:, NOW, None], is_kept.shape)[is_kept]
    check_ranges(
        STATE,
        {
            "a time": (rows.time[is_kept], -LARGEST_TIME_US, now),
            "a type": (rows.type[is_kept], 0, types - 1),
            "a value": (rows.value[is_kept], -_LARGEST_FLOAT, _LARGEST_FLOAT),
            "a flag": (rows.valid[is_kept], 0, 1),
            "a number": (rows.number[is_kept], 0, LARGEST),
            "a learnt count": (rows.learnt, 0.0, float(LARGEST)),
            "a probability": (rows.probabilities, 0.0, 1.0),
            "the time between events": (rows.tick, 0.0, float(LARGEST)),
        },
    )
    for column in (rows.time, rows.number):
        check((column[:, 1:] >= column[:, :-1])[is_kept[:, 1:]].all(), STATE, "events are out of order")
    for counter in (*(column[is_kept] for column in rows.counts), rows.totals):
        _check_counter(counter)


def _check_counter(counter: NDArray[Any]) -> None:
    """A counter may be infinite, never negative. A wide one has its exponent as the imaginary part."""
    check_ranges(STATE, {"a counter": (counter.real, 0.0, np.inf)})
    if np.iscomplexobj(counter):
        check_ranges(STATE, {"an exponent": (counter.imag, -float(LARGEST), float(LARGEST))})
