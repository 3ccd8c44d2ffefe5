"""The results of all steps of an event query stream equal those of a batch over the rows that weren't late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.declined import TRENDS, Declined
from tests.laws.event_comparison import differing
from tests.laws.event_strategies import (
    AGGREGATES_ONLY,
    EVERYTHING,
    MATCHES_ONLY,
    Example,
    Knobs,
    bind,
    event_examples,
    event_table,
    seeded_event_tables,
)

import ostinato as ost
from ostinato.api.events import EventsQuery
from ostinato.errors import MatchError
from ostinato.event_queries.stream.trend_stream import TrendStreamWorker
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_events import LocalEvents
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.step import fingerprint_of

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TIMED = ("WITHIN 3 SECONDS TUMBLE", "WITHIN 2 SECONDS SLIDE 1 SECOND", "WITHIN 1 SECOND SLIDE 3 SECONDS")


DECLINED = Declined(TRENDS)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


class Stream:
    """Runs event queries over a stream step by step, without Spark."""

    def __init__(self, queries: list[EventsQuery], schema: pa.Schema) -> None:
        self.local = LocalEvents(
            queries, [f"q{i}" for i in range(len(queries))], schema, queries[0].options, Settings()
        )
        conditions = [(f"bit{i}", 0) for i in range(len(self.local.typed.plan.conditions))]
        self.shipped = self.ship(schema.empty_table())
        self.worker = TrendStreamWorker(
            self.local.typed,
            self.local.names,
            self.shipped.schema,
            conditions,
            self.local.options,
            fingerprint=fingerprint_of([query.options.sharing for query in queries]),
        )
        self.state = EMPTY
        self.tables: list[list[pa.Table]] = [[] for _ in queries]
        """By query: one table of results for each step."""
        self.late = 0

    def ship(self, table: pa.Table) -> pa.Table:
        batch = self.local.batch(table)
        bits = {f"bit{i}": pa.array(mask.astype(np.int64)) for i, mask in enumerate(batch.row_masks)}
        return pa.table({**batch.arrays, **bits})

    def step(self, table: pa.Table | None, watermark_us: int, *, finished: bool = False) -> None:
        arrived = None if table is None else self.ship(table)
        # The next step gets a copy of the state.
        state = BucketState(bytes(self.state.header), tuple(self.state.open_rows), tuple(self.state.waiting))
        step = self.worker.advance(state, arrived, watermark_us, finished=finished)
        self.state = step.state
        self.late += step.counts.late_rows
        for tables, table in zip(self.tables, self.local.tables(step.results.columns), strict=True):
            tables.append(table)

    def rows(self, query: int = 0) -> list[dict[str, Any]]:
        return [row for table in self.tables[query] for row in table.to_pylist()]


def micros(time: datetime) -> int:
    return (time - EPOCH) // timedelta(microseconds=1)


def check(example: Example, cuts: list[int], lag: int) -> None:
    """Feeds the rows in pieces. The watermark is `lag` half seconds behind the latest row."""
    with DECLINED.example():
        stream = Stream([ost.events(example.text)], example.table.schema)
    on_time: list[dict[str, Any]] = []
    watermark = NO_TIME
    edges = sorted({0, *(cut % (example.table.num_rows + 1) for cut in cuts), example.table.num_rows})
    for start, end in pairwise(edges):
        piece = example.table.slice(start, end - start)
        on_time += [row for row in piece.to_pylist() if row["ts"] is not None and micros(row["ts"]) > watermark]
        times = [micros(ts) for ts in example.table.slice(0, end)["ts"].to_pylist() if ts is not None]
        stream.step(piece, watermark)
        if times:
            watermark = max(watermark, max(times) - 500_000 * lag)
            stream.step(None, watermark)
    stream.step(None, watermark, finished=True)
    with DECLINED.oracle():
        difference = differing(bind(example.text), on_time, stream.rows())
    DECLINED.answered(rows=bool(stream.rows()))
    assert difference is None, f"{difference}\n{example.text}"


def windowed(knobs: Knobs) -> st.SearchStrategy[Example]:
    """Examples with windows over time. Dense tables are as frequent as others: short windows rarely match those."""
    examples = event_examples(replace(knobs, windows=False, spans=False))
    return st.builds(
        lambda example, dense, bound: Example(_with_windows(example.text, bound), dense or example.table),
        examples,
        st.one_of(st.none(), seeded_event_tables(9)),
        st.sampled_from(TIMED),
    )


def _with_windows(text: str, bound: str) -> str:
    lines = [line for line in text.split("\n") if not line.startswith("WITHIN")]
    return "\n".join([*lines[:-1], bound, lines[-1]])


CUTS = st.lists(st.integers(0, 20), max_size=5)
LAG = st.integers(0, 4)


@given(windowed(AGGREGATES_ONLY), CUTS, LAG)
@settings(max_examples=examples(80))
def test_aggregates(example: Example, cuts: list[int], lag: int) -> None:
    check(example, cuts, lag)


@given(windowed(MATCHES_ONLY), CUTS, LAG)
@settings(max_examples=examples(40))
def test_matches(example: Example, cuts: list[int], lag: int) -> None:
    check(example, cuts, lag)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(windowed(EVERYTHING), CUTS, LAG)
def test_everything_deeply(example: Example, cuts: list[int], lag: int) -> None:
    check(example, cuts, lag)


SHARING = st.sampled_from(["dynamic", "always", "never"])


@given(windowed(replace(AGGREGATES_ONLY, negation=False, conjunction=False, selections=("",))), SHARING)
@settings(max_examples=examples(40))
def test_a_workload_that_shares(example: Example, sharing: str) -> None:
    """Two copies of a query share everything that the engine can share."""
    with DECLINED.example():
        stream = Stream([ost.events(example.text, sharing=sharing)] * 2, example.table.schema)
    watermark = NO_TIME
    for piece in (example.table.slice(0, 4), example.table.slice(4)):
        stream.step(piece, watermark)
    stream.step(None, watermark, finished=True)
    assert stream.rows(0) == stream.rows(1) or repr(stream.rows(0)) == repr(stream.rows(1))
    with DECLINED.oracle():
        difference = differing(bind(example.text), example.rows, stream.rows(1))
    DECLINED.answered(rows=bool(stream.rows(1)))
    assert difference is None


def test_the_option_sharing_chooses_the_engines() -> None:
    text = f"TYPE kind TIME ts PATTERN SEQ(A, B+ b) WHERE NEXT(b).x > b.x {TIMED[0]} RETURN COUNT(*), SUM(b.x)"
    plain = text.replace("WHERE NEXT(b).x > b.x", "")
    rows = [{"kind": kind, "ts": EPOCH + timedelta(seconds=i), "x": i} for i, kind in enumerate("ABBAB")]
    table = event_table(rows)

    def fed(sharing: str) -> Stream:
        queries = [ost.events(each, sharing=sharing) for each in (plain, plain, text, text)]
        stream = Stream(queries, table.schema)
        stream.step(table, NO_TIME)
        stream.step(None, micros(EPOCH))
        return stream

    streams = {sharing: fed(sharing) for sharing in ("dynamic", "always", "never")}
    shared = {name: [run.shared for run, _ in stream.worker.engines] for name, stream in streams.items()}
    assert shared == {"dynamic": [True, False], "always": [True, True], "never": [False]}
    with pytest.raises(MatchError, match="STATE_OF_OTHER_QUERY"):
        streams["never"].worker.advance(streams["dynamic"].state, None, micros(EPOCH))
    for stream in streams.values():
        stream.step(None, NO_TIME, finished=True)
        counts = [[row["count(*)"] for row in stream.rows(query)] for query in range(4)]
        assert counts == [[3, 1]] * 4


def test_a_negative_sum_is_refused_as_a_logarithm() -> None:
    query = ost.events(f"TYPE kind TIME ts PATTERN A {TIMED[0]} RETURN SUM(A.x)", numbers="log10")
    table = event_table([{"kind": "A", "ts": EPOCH, "x": -30}])
    stream = Stream([query], table.schema)
    stream.step(table, NO_TIME)
    with pytest.raises(MatchError, match="NEGATIVE_LOGARITHM"):
        stream.step(None, NO_TIME, finished=True)
