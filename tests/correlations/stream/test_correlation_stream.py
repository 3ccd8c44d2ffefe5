"""The core of a correlation on a stream: when results come, the state that is carried, and the states it refuses."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.stream.correlation_stream import CorrelationStream, StreamClock
from ostinato.correlations.task.correlation_worker import CorrelationOptions
from ostinato.errors import MatchError
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_correlations import LocalCorrelation
from ostinato.streams.bucket_state import EMPTY, BucketState

PRICES = [10, 6, 6, 5, 7, 6, 11, 8, 8, 3, 3]
"""The paper's prices, at 02:00 to 02:10."""
FALL = "ORDER BY t MEASURES LAST(price) AS low INCREMENTAL MATCHES PATTERN (A B+) DEFINE B AS price < PREV(price)"
TICK = """ORDER BY t MEASURES LAST(price) AS high MAXIMAL MATCHES PATTERN (A B+ C* D)
    DEFINE B AS price < PREV(price), C AS price > PREV(price), D AS price > PREV(price) AND price > A.price"""
TEXT = f"""SELECT correlation_start, correlation_end FROM s MATCH_RECOGNIZE ({FALL}) AS live
    JOIN s MATCH_RECOGNIZE ({TICK}) AS archive ON RECENT(archive, live, 7)"""


class Fed:
    """A stream whose rows and watermarks a test sets by hand."""

    def __init__(self, text: str = TEXT, us_per_unit: int = 1, **options: bool) -> None:
        schema = pa.schema([("t", pa.int64()), ("price", pa.int64())])
        self.local = LocalCorrelation(text, schema, None, Settings(), Limits())
        clock = StreamClock("t", us_per_unit)
        self.core = CorrelationStream(self.local.task, CorrelationOptions(**options), clock, "query")
        self.state = EMPTY
        self.wakes_at_us: int | None = None

    def feed(self, times: range | list[int], watermark_us: int = NO_TIME, *, finished: bool = False) -> list[list[int]]:
        """The results that come, as pairs of start and end."""
        rows = self.local.live_rows(pa.table({"t": list(times), "price": [PRICES[at] for at in times]}))
        step = self.core.advance(self.state, rows, watermark_us, finished=finished)
        self.state, self.wakes_at_us = step.state, step.wake_at_us
        self.counts = step.counts
        return [list(pair.values()) for pair in self.local.selected_of(step.results).to_pylist()]


def test_results_come_as_in_the_paper() -> None:
    """Table 4: the first result at 02:05, the second at 02:07, the rest at 02:09, and nothing is left at the end."""
    stream = Fed(ordered=False)
    came = {minute: stream.feed([minute], minute) for minute in range(11)}
    assert {minute: pairs for minute, pairs in came.items() if pairs} == {
        5: [[2, 5]],
        7: [[2, 7], [4, 7]],
        9: [[2, 9], [4, 9]],
    }
    assert stream.feed([], finished=True) == []
    ordered = Fed()
    came = {minute: ordered.feed([minute], minute) for minute in range(11)}
    assert [pair for pairs in came.values() for pair in pairs] == [[2, 5], [2, 7], [2, 9], [4, 7], [4, 9]]
    assert ordered.feed([], finished=True) == []


def test_a_result_that_waits_needs_no_row_to_come() -> None:
    """(4, 7) waits for results from 2 on, which end until 2 + 7. The core asks to be woken when none can follow."""
    stream = Fed()
    assert stream.feed(range(8), 7) == [[2, 5], [2, 7]]
    assert stream.counts.open_runs == 1
    assert stream.wakes_at_us is not None
    assert 7 < stream.wakes_at_us <= 10
    assert stream.feed([], stream.wakes_at_us) == [[4, 7]]
    assert (stream.counts.open_runs, stream.wakes_at_us) == (0, None)


def test_rows_wait_for_the_watermark_and_late_rows_are_counted() -> None:
    stream = Fed()
    assert stream.feed([7, 5, 3, 1, 0, 2, 4, 6]) == []
    assert stream.wakes_at_us == 0
    before = stream.state
    assert stream.feed([8], NO_TIME) == []
    assert stream.state.waiting[: len(before.waiting)] == before.waiting  # appended, not written again
    assert stream.feed([9, 10], 5) == [[2, 5]]
    assert stream.feed([5, 4], 9) == [[2, 7], [2, 9], [4, 7], [4, 9]]
    assert stream.counts.late_rows == 2


def test_watermarks_of_numbers_count_milliseconds() -> None:
    stream = Fed(us_per_unit=1000)
    assert stream.feed(range(8), 7_000) == [[2, 5], [2, 7]]
    assert stream.wakes_at_us is not None
    assert stream.feed([], stream.wakes_at_us - 1) == []
    assert stream.feed([], stream.wakes_at_us) == [[4, 7]]


def test_states_that_it_refuses() -> None:
    stream = Fed()
    stream.feed(range(8), 5)
    whole = stream.state
    other = CorrelationStream(stream.local.task, CorrelationOptions(), StreamClock("t"), "another query")
    with pytest.raises(MatchError, match="STATE_OF_OTHER_QUERY"):
        other.advance(whole, None, 6)
    damaged = bytearray(whole.header)
    damaged[len(damaged) // 2] ^= 1
    for state in (replace(whole, header=bytes(damaged)), BucketState(b"", (), whole.waiting)):
        with pytest.raises(MatchError, match="STATE_FORMAT"):
            stream.core.advance(state, None, 6)
