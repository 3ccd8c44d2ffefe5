"""Waiting and arriving rows are late, are released, or keep waiting. A row is its time, a number."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest

from ostinato.kernels.constants import NO_TIME
from ostinato.streams.bucket_state import (
    BucketState,
    OpenBucket,
    RememberedKeys,
    header_bytes,
    open_state,
)
from ostinato.streams.intake import MOST_SEGMENTS, Gate, Intake


def times(rows: pa.RecordBatch | None) -> list[int | None]:
    return [] if rows is None else rows.column("t").cast(pa.int64()).to_pylist()


@dataclass
class Bucket:
    """A bucket without keys that has only waiting rows."""

    eager: bool = False
    state: BucketState = field(default_factory=BucketState)
    late: list[int | None] = field(default_factory=list)

    def step(self, *arriving: int | None, watermark: int = NO_TIME, finished: bool = False) -> list[int | None]:
        """The times of the released rows; late rows are added to `late`."""
        gate = Gate("t", self.eager)
        rows = pa.table({"t": pa.array(arriving, pa.timestamp("us"))}) if arriving else None
        intake = gate.take_in(self.state, self.opened(), rows, watermark, finished=finished)
        self.late += times(intake.late)
        self.state = BucketState(self.header(intake), (), intake.waiting)
        self.intake = intake
        return times(intake.released)

    def header(self, intake: Intake) -> bytes:
        return header_bytes(RememberedKeys.new(0), intake.known_until, "query")

    def opened(self) -> OpenBucket:
        return open_state(self.state, "query")


def test_rows_wait_for_the_watermark() -> None:
    bucket = Bucket()
    assert bucket.step(5, 3, 9) == []
    assert (bucket.intake.waiting_rows, bucket.intake.waiting_from) == (3, 3)
    assert bucket.step(watermark=5) == [5, 3]
    assert bucket.step(7, watermark=9) == [9, 7]
    assert bucket.intake.waiting_from is None


def test_rows_behind_the_previous_watermark_are_late() -> None:
    """The watermark of a step comes after its rows."""
    bucket = Bucket()
    assert bucket.step(1, watermark=5) == [1]
    assert bucket.step(5, 6, watermark=6) == [6]
    assert bucket.late == [5]


def test_a_row_without_a_time_is_late() -> None:
    bucket = Bucket()
    assert bucket.step(None, 1, watermark=1) == [1]
    assert bucket.late == [None]


def test_the_end_of_input_releases_all_rows() -> None:
    bucket = Bucket()
    bucket.step(9, 4, watermark=2)
    assert bucket.step(7, finished=True) == [9, 4, 7]
    assert bucket.intake.latest == 9


def test_an_eager_stream_releases_rows_at_once() -> None:
    """A later row with the same time isn't late. A row with an earlier time is late."""
    bucket = Bucket(eager=True)
    assert bucket.step(1, 2) == [1, 2]
    assert bucket.step(2, 1) == [2]
    assert bucket.late == [1]


def test_a_watermark_never_goes_back() -> None:
    bucket = Bucket()
    bucket.step(watermark=5)
    assert bucket.step(4, 6, watermark=3) == []
    assert bucket.late == [4]


def test_waiting_rows_stay_in_their_segments_until_there_are_too_many() -> None:
    bucket = Bucket()
    for time in range(MOST_SEGMENTS):
        bucket.step(100 + time)
        assert len(bucket.state.waiting) == time + 1
    bucket.step(99)
    assert len(bucket.state.waiting) == 1
    assert bucket.intake.waiting_rows == MOST_SEGMENTS + 1


@pytest.mark.parametrize(("finished", "expected"), [(False, 6), (True, 10)])
def test_the_decision_time_is_after_the_watermark_and_at_the_end_after_all_rows(finished: bool, expected: int) -> None:
    bucket = Bucket()
    bucket.step(3, 9, watermark=5, finished=finished)
    assert bucket.intake.decided_us(finished=finished) == expected


def test_times_are_read_as_microseconds() -> None:
    rows = pa.RecordBatch.from_pydict({"t": pa.array([0, None], pa.date32())})
    assert Gate("t").times(rows).tolist() == [0, NO_TIME]
    assert Gate("t").times(None).tolist() == np.empty(0).tolist()
