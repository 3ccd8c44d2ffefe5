"""The rows that a stream of clauses keeps for its next step, and their numbers.

In: the rows of a step in the order of matching, and the rows that the matcher refers to. Out: the last rows of each
partition without a gap, from the first one that a later match may contain (and as many before it as PREV reads). Rows
that the matcher refers to but no match can contain are kept separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.rows_around import rows_around
from ostinato.clause.plan.slicing import slicing_of
from ostinato.rows.column_names import PREFIX
from ostinato.streams.bucket_state import check_kept_rows
from ostinato.streams.stored_state import check, check_ranges, whole_numbers
from ostinato.workloads.task.clause_events import NO_HISTORY, History, StreamRows
from ostinato.workloads.task.clauses_worker import StreamFound

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
_PLACE, _NEEDED = f"{PREFIX}place", f"{PREFIX}needed"
_NOT_NEEDED = -1
_ROWS = "the rows in the state of these clauses"


@dataclass(frozen=True, slots=True)
class Carried:
    """The state between two steps."""

    engine: bytes | None
    rows: pa.RecordBatch | None
    """With their places, and the matcher's order of the rows that it refers to."""
    apart: int
    """Number of separate rows, which come first."""
    partial_matches: int

    @property
    def count(self) -> int:
        return 0 if self.rows is None else int(self.rows.num_rows)

    def check_rows(self, arriving: pa.Schema) -> None:
        """Raises STATE_FORMAT where the rows don't fit those that arrive, or the matcher's order isn't one."""
        if self.rows is None:
            return
        check(_NEEDED in self.rows.schema.names, _ROWS, "it isn't known which are needed")
        others = [name for name in self.rows.schema.names if name != _NEEDED]
        check(len(others) == self.rows.num_columns - 1, _ROWS, "a column is there twice")
        check_kept_rows(self.rows.select(others), arriving, _PLACE)
        rank = np.sort(whole_numbers(self.rows.column(_NEEDED), _ROWS))
        needed = rank[np.searchsorted(rank, _NOT_NEEDED, side="right") :]
        check_ranges(_ROWS, {"the order of those that are needed": (rank, _NOT_NEEDED, len(needed) - 1)})
        check(np.array_equal(needed, np.arange(len(needed))), _ROWS, "the order of those that are needed has gaps")

    def history(self) -> History:
        if self.rows is None:
            return NO_HISTORY
        place, rank = (np.asarray(self.rows.column(name).to_numpy(), np.int64) for name in (_PLACE, _NEEDED))
        needed = np.flatnonzero(rank != _NOT_NEEDED)
        return History(self.apart, place, needed[np.argsort(rank[needed])])


NOTHING_CARRIED = Carried(None, None, 0, 0)


class Reach:
    """How far matches of some clauses reach back from their last row, and PREV from their first row."""

    def __init__(self, plans: Sequence[MatchPlan]) -> None:
        self.extents = [slicing_of(plan).shared for plan in plans]
        self.before = max(rows_around(plan).before for plan in plans)

    @property
    def lasts_us(self) -> int | None:
        """The time after which a row is of no use to any clause; None if there is no such time."""
        within = [extent.within_us for extent in self.extents if extent.within_us is not None]
        return max(within) if len(within) == len(self.extents) and not self.before else None

    def may_begin(self, rows_to_next: Ints, time_us: Ints, known_until: int) -> Mask:
        """Whether a match with a future row may contain each row. `rows_to_next`: distance to the next row of its
        partition. Other rows are of no use to any clause."""
        may_begin = np.zeros(len(time_us), np.bool_)
        for extent in self.extents:
            in_extent = np.ones(len(time_us), np.bool_)
            if extent.rows is not None:
                in_extent &= rows_to_next <= extent.rows
            if extent.within_us is not None:
                in_extent &= time_us > known_until - extent.within_us
            may_begin |= in_extent
        return may_begin


def carried_rows(reach: Reach, matched: StreamFound, rows: pa.RecordBatch, time: str, known_until: int) -> Carried:
    """The state after a step. `rows` are those that it was given, in the order of its batch."""
    read, step = matched.read, matched.step
    needed = read.arrival[step.rows_needed]
    to_next = _rows_to_next(read)
    stays = _last_rows(reach, read, needed, to_next, read.columns.time_us(time), known_until)
    apart = np.sort(needed[~stays[needed]])
    carried = np.concatenate((apart, np.flatnonzero(stays)))
    if not len(carried):
        return Carried(step.state, None, 0, step.partial_matches)
    rank = np.full(len(stays), _NOT_NEEDED)
    rank[needed] = np.arange(len(needed))
    in_batch = read.columns.ordered.rows
    carried_batch = rows.take(pa.array(carried if in_batch is None else in_batch[carried]))
    columns = [*carried_batch.columns, pa.array(-to_next[carried]), pa.array(rank[carried])]
    with_places = pa.RecordBatch.from_arrays(columns, names=[*carried_batch.schema.names, _PLACE, _NEEDED])
    return Carried(step.state, with_places, len(apart), step.partial_matches)


def _rows_to_next(read: StreamRows) -> Ints:
    """[row] distance to the next row of its partition that will come."""
    last = read.columns.ordered.key_at[1:] - 1
    following = np.zeros(int(read.partition.max(initial=-1)) + 1, np.int64)
    # Separate rows are below the others of their partition. The next row follows the others.
    np.maximum.at(following, read.partition[last], read.place[last] + 1)
    return following[read.partition] - read.place


def _last_rows(reach: Reach, read: StreamRows, needed: Ints, to_next: Ints, time_us: Ints, known_until: int) -> Mask:
    """The rows of each partition from the first one that a match may contain, and those before it that PREV may
    read."""
    key_at = read.columns.ordered.key_at
    first = key_at[1:].copy()
    begins = needed[reach.may_begin(to_next[needed], time_us[needed], known_until)]
    np.minimum.at(first, np.searchsorted(key_at, begins, side="right") - 1, begins)
    first = np.maximum(first - reach.before, key_at[:-1])
    stays = np.arange(len(to_next)) >= np.repeat(first, np.diff(key_at))
    stays[len(stays) - read.apart :] = False
    return stays
