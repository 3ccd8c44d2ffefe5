"""A small stored state of every system with a function that resumes from it, and ways to damage bytes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from tests.laws.clause_streams import ClauseStream
from tests.laws.test_event_streams import Stream as TrendStream
from tests.rule_sets.rule_streams import RuleStream, rule
from tests.summaries.stream.test_summary_stream import INPUT, Bucket, Row, plain_answers, table
from tests.workloads.stream.test_event_matches_stream import Stream as WorkloadStream

import ostinato as ost
from ostinato.clause.plan.typed_plan import Limits
from ostinato.correlations.stream.correlation_stream import CorrelationStream, StreamClock
from ostinato.correlations.task.correlation_worker import CorrelationOptions, Correlator
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_correlations import LocalCorrelation
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.stored_state import Section, seal
from ostinato.summaries.language.summary_query import SummaryAggregate, SummaryQuery
from ostinato.summaries.stream.summary_stream import SummaryStreamWorker
from ostinato.testing import StreamTester
from ostinato.workloads.bound_request import BoundRequest

SECOND = 1_000_000
HEADER_BYTES = 16


@dataclass(frozen=True)
class Blob:
    """Sealed bytes, and the section that they are sealed as."""

    data: bytes
    section: Section
    salt: int = 0

    @property
    def body(self) -> bytes:
        return self.data[HEADER_BYTES:]

    def with_body(self, body: bytes, *, mended: bool) -> bytes:
        """The header with another body. With `mended`, its checksum is correct."""
        return seal(body, self.section, self.salt) if mended else self.data[:HEADER_BYTES] + body


@dataclass(frozen=True)
class Stored:
    """A state, and its answer after further rows and the end of input."""

    blobs: tuple[Blob, ...]
    resume: Callable[[Sequence[bytes]], Any]

    @cached_property
    def answer(self) -> Any:
        """The results after resuming from the undamaged state."""
        return self.resume([blob.data for blob in self.blobs])


def _bucket(state: BucketState) -> tuple[Blob, ...]:
    return (
        Blob(state.header, Section.BUCKET),
        *(Blob(segment, Section.OPEN_ROWS) for segment in state.open_rows),
        *(Blob(segment, Section.WAITING_ROWS) for segment in state.waiting),
    )


def _state(data: Sequence[bytes], like: BucketState) -> BucketState:
    rows = 1 + len(like.open_rows)
    return BucketState(data[0], tuple(data[1:rows]), tuple(data[rows:]))


SEARCHED_AGAIN = "B AS v >= A.v, C AS v < PREV(v)"
APPENDED = "A AS v > 2, B AS v >= PREV(v) OR v > 3, C AS v < PREV(v) AND v = 0"


def clause(define: str, **options: Any) -> Stored:
    text = f"""PARTITION BY k ORDER BY at MEASURES count(*) AS n, sum(v) AS s, MATCH_NUMBER() AS number
        PATTERN (A B+ C) WITHIN INTERVAL '9' SECOND DEFINE {define}"""
    tester = StreamTester(text, {"k": "string", "at": "timestamp", "v": "bigint"}, **options)
    table = _trades()
    tester.feed(table.slice(0, 24), watermark=15 * SECOND)

    def resume(data: Sequence[bytes]) -> Any:
        resumed = copy.copy(tester)
        resumed._state, resumed._outputs = _state(data, tester.state), []
        resumed.feed(table.slice(24), watermark=30 * SECOND)
        resumed.finish()
        return resumed.results

    return Stored(_bucket(tester.state), resume)


RULES = (
    "MEASURES sum(v) AS s PATTERN (A B+ C) WITHIN INTERVAL '9' SECOND DEFINE B AS v >= A.v, C AS v < PREV(v)",
    "MEASURES MATCH_NUMBER() AS n INCREMENTAL MATCHES PATTERN (A B+) DEFINE B AS v > PREV(v)",
)


def rules() -> Stored:
    table = _trades()
    stream = RuleStream(table.schema)
    changes = [rule(f"r{number}", text) for number, text in enumerate(RULES)]
    stream.step(table.slice(0, 24), 15 * SECOND, *changes)
    bucket = _bucket(stream.state)

    def resume(data: Sequence[bytes]) -> Any:
        resumed = copy.copy(stream)
        resumed.state, resumed.rules = _state(data[: len(bucket)], stream.state), data[len(bucket)]
        return [resumed.results(table.slice(24), 30 * SECOND), resumed.results(finished=True)]

    return Stored((*bucket, Blob(stream.rules, Section.RULES)), resume)


def _trades() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "k": pa.array(rng.choice(["p", "q", "long key"], 40)),
            "at": pa.array(np.arange(40) * SECOND, pa.timestamp("us", "UTC")),
            "v": pa.array(rng.integers(0, 9, 40)),
        }
    )


TRENDS = {
    "running sums": ["PATTERN SEQ(A+ a, B b) GROUP BY g WITHIN 9 SECONDS SLIDE 3 SECONDS RETURN COUNT(*), SUM(a.x)"],
    "approximate sums": [
        "PATTERN SEQ(A+ a, B b) GROUP BY g WITHIN 9 SECONDS SLIDE 3 SECONDS RETURN COUNT(*), MAX(b.v)"
    ],
    "kept events": ["PATTERN A+ a WHERE NEXT(a).v > a.v GROUP BY g WITHIN 9 SECONDS SLIDE 3 SECONDS RETURN COUNT(*)"],
    "shared sums": [
        "PATTERN SEQ(A+ a, B b) GROUP BY g WITHIN 9 SECONDS SLIDE 3 SECONDS RETURN COUNT(*), SUM(a.v), MIN(b.x)",
        "PATTERN SEQ(C c, A+ a) GROUP BY g WITHIN 9 SECONDS SLIDE 3 SECONDS RETURN COUNT(*), SUM(a.x)",
    ],
    "graphlets": [
        "PATTERN SEQ(A+ a, B b) WHERE NEXT(a).v > a.v GROUP BY g WITHIN 9 SECONDS TUMBLE RETURN COUNT(*), SUM(a.x)",
        "PATTERN SEQ(A+ a, C c) WHERE NEXT(a).v > a.v GROUP BY g WITHIN 9 SECONDS TUMBLE RETURN COUNT(*), SUM(a.v)",
    ],
    "rows of windows": ["PATTERN SEQ(A a, B b) GROUP BY g WITHIN 6 SECONDS SLIDE 3 SECONDS RETURN MATCHES"],
}


def trends(name: str) -> Stored:
    table = _events(60)
    queries = [ost.events(f"TYPE kind TIME ts {text}") for text in TRENDS[name]]
    if name == "approximate sums":
        queries = [ost.events(query, approximate=True) for query in queries]
    stream = TrendStream(queries, table.schema)
    stream.step(table.slice(0, 40), 9 * SECOND)

    def resume(data: Sequence[bytes]) -> Any:
        resumed = copy.copy(stream)
        resumed.state, resumed.tables = _state(data, stream.state), [[] for _ in queries]
        resumed.step(table.slice(40), 25 * SECOND)
        resumed.step(None, 25 * SECOND, finished=True)
        return resumed.tables

    return Stored(_bucket(stream.state), resume)


def _events(count: int) -> pa.Table:
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "ts": pa.array(np.arange(count) // 2 * SECOND, pa.timestamp("us", "UTC")),
            "kind": pa.array(rng.choice(list("AABC"), count)),
            "g": pa.array(rng.integers(0, 2, count)),
            "v": pa.array(rng.integers(0, 9, count)),
            "x": pa.array(rng.normal(size=count)),
        }
    )


def workload(request: BoundRequest) -> Stored:
    table = _events(90)
    head = "TYPE kind TIME ts"
    texts = [
        f"{head} PATTERN SEQ(A a, B b, C c) WHERE a.v + b.v < c.v * 3 GROUP BY g WITHIN 9 SECONDS RETURN MATCHES",
        f"{head} PATTERN SEQ(A a, NOT C n, B b) GROUP BY g WITHIN 9 SECONDS RETURN MATCHES",
    ]
    stream = WorkloadStream(texts, table.schema, request)
    stream.step(table.slice(0, 60), 25 * SECOND)

    def resume(data: Sequence[bytes]) -> Any:
        resumed = copy.copy(stream)
        resumed.state, resumed.rows, resumed.reports = _state(data, stream.state), [[] for _ in texts], []
        resumed.step(table.slice(60), 40 * SECOND)
        resumed.step(None, 40 * SECOND, finished=True)
        return resumed.rows

    return Stored(_bucket(stream.state), resume)


def engine(request: BoundRequest) -> Stored:
    """The engine inside a workload. Its state has its own seal inside the sealed bucket."""
    table = _events(90)
    texts = [
        "TYPE kind TIME ts PATTERN SEQ(A a, B+ b, C c) WHERE a.v < c.v WITHIN 9 SECONDS RETURN MATCHES",
        "TYPE kind TIME ts PATTERN SEQ(A a, B b) WITHIN 9 SECONDS RETURN MATCHES",
    ]
    stream = WorkloadStream(texts, table.schema, request)
    stream.step(table.slice(0, 50), 20 * SECOND)
    state = stream.state
    header = stream.worker.gate.open_bucket(state, stream.worker.fingerprint, None, NO_TIME, finished=False).header
    assert header is not None
    engine_bytes = header.column("engine")[0].as_py()

    def resume(data: Sequence[bytes]) -> Any:
        from ostinato.streams.bucket_state import stamped

        resumed = copy.copy(stream)
        inner = pa.RecordBatch.from_arrays([pa.array([data[0]], pa.binary())], names=["engine"])
        resumed.state = BucketState(
            stamped(inner, 20 * SECOND, resumed.worker.fingerprint), state.open_rows, state.waiting
        )
        resumed.rows, resumed.reports = [[] for _ in texts], []
        resumed.step(table.slice(50), 40 * SECOND)
        resumed.step(None, 40 * SECOND, finished=True)
        return resumed.rows

    return Stored((Blob(engine_bytes, Section.WORKLOAD, stream.worker.engine._plan_sum),), resume)


def clauses() -> Stored:
    head = "PARTITION BY k ORDER BY at MEASURES A.v AS a, B.v AS b ALL MATCHES"
    texts = [
        f"{head} PATTERN (A X* B) WITHIN INTERVAL '5' SECOND DEFINE A AS v > 3, B AS v < 3",
        f"{head} PATTERN (A B) MAXLENGTH 4 DEFINE A AS v > 3 AND PREV(v) >= 0, B AS v < A.v",
    ]
    table = _trades()
    stream = ClauseStream(texts, table.schema)
    stream.step(table.slice(0, 24), 15 * SECOND)

    def resume(data: Sequence[bytes]) -> Any:
        resumed = copy.copy(stream)
        resumed.state, resumed.tables, resumed.steps = _state(data, stream.state), [[] for _ in texts], []
        resumed.feed([(table.slice(24), 30 * SECOND)])
        return resumed.tables

    return Stored(_bucket(stream.state), resume)


SUMMED = SummaryQuery("A (B|C)* A", 6, 4, half_life_events=5, aggregate=SummaryAggregate.SUM)


def _summary_rows() -> list[Row]:
    rng = np.random.default_rng(5)
    return [
        Row(int(rng.integers(0, 5)), "eu", at, str(rng.choice(list("ABC"))), int(rng.integers(-9, 9)))
        for at in range(60)
    ]


def summary_stream() -> Stored:
    rows = _summary_rows()
    bucket = Bucket(SummaryStreamWorker(SUMMED, INPUT, "hash", fingerprint="summed"))
    bucket.step(rows[:40], 35)
    numbers = sorted(bucket.pages)

    def resume(data: Sequence[bytes]) -> Any:
        state = BucketState(data[0], (), tuple(data[1 : 1 + len(bucket.state.waiting)]))
        pages: dict[int, bytes | None] = dict(zip(numbers, data[1 + len(bucket.state.waiting) :], strict=True))
        step = bucket.worker.advance(state, table(rows[40:]), 50, read_page=pages.get)
        pages |= step.pages
        last = bucket.worker.advance(step.state, None, 50, finished=True, read_page=pages.get)
        return [one for result in (*step.results, *last.results) for one in plain_answers(result)]

    pages = tuple(Blob(bucket.pages[number], Section.SUMMARY_PAGE) for number in numbers)
    return Stored((*_bucket(bucket.state), *pages), resume)


def summary(**options: Any) -> Stored:
    rows = _summary_rows()
    events = pa.table({name: [getattr(row, name) for row in rows] for name in ("account", "ts", "kind", "price")})
    settings: dict[str, Any] = {"within": 6, "size": 4, "aggregate": "SUM(price)", "keys": "account", **options}

    def new() -> ost.StreamSummary:
        return ost.summary("A (B|C)* A", type="kind", time="ts", **settings)

    data = new().feed(events.slice(0, 40)).to_bytes()

    def resume(stored: Sequence[bytes]) -> Any:
        return new().restore(stored[0]).feed(events.slice(40)).ask_all()

    return Stored((Blob(data, Section.SUMMARY),), resume)


CORRELATED = """SELECT * FROM stock MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES LAST(v) AS low
        INCREMENTAL MATCHES PATTERN (A B+) DEFINE B AS v < PREV(v)) AS live
    JOIN {} MATCH_RECOGNIZE (PARTITION BY k ORDER BY at MEASURES LAST(v) AS high
        MAXIMAL MATCHES PATTERN (A B+) DEFINE B AS v > PREV(v)) AS archive
    ON live.k = archive.k AND RECENT(archive, live, INTERVAL '9' SECOND)"""


def correlation(*, other_table: bool, **options: Any) -> Stored:
    table = _trades()
    text = CORRELATED.format("history" if other_table else "stock")
    local = LocalCorrelation(text, table.schema, table.schema if other_table else None, Settings(), Limits())
    correlator = Correlator(local.task, CorrelationOptions(**options))

    def rows(first: int, end: int) -> tuple[pa.Table, pa.Table | None]:
        rows = table.slice(first, end - first)
        return local.live_rows(rows), local.archive_rows(rows) if other_table else None

    state = correlator.advance(None, *rows(0, 24), 18 * SECOND).state

    def resume(data: Sequence[bytes]) -> Any:
        step = correlator.advance(data[0], *rows(24, 40), 30 * SECOND)
        last = correlator.advance(step.state, *rows(40, 40), 30 * SECOND, finished=True)
        return [step.results, last.results]

    return Stored((Blob(state, Section.CORRELATION),), resume)


def own_archive() -> Stored:
    """A correlation on the stream operator, with older rows in its history."""
    table = _trades()
    local = LocalCorrelation(CORRELATED.format("stock"), table.schema, None, Settings(), Limits())
    clock = StreamClock(local.task.live.time_columns.start)
    stream = CorrelationStream(local.task, CorrelationOptions(recent_rows=1), clock, "query")
    rows = local.live_rows(table)
    state = stream.advance(EMPTY, rows.slice(0, 24), NO_TIME).state
    state = stream.advance(state, None, 18 * SECOND).state

    def resume(data: Sequence[bytes]) -> Any:
        step = stream.advance(_state(data, state), rows.slice(24), 18 * SECOND)
        moved = stream.advance(step.state, None, 30 * SECOND)
        return [step.results, moved.results, stream.advance(moved.state, None, NO_TIME, finished=True).results]

    return Stored(_bucket(state), resume)


SYSTEMS: dict[str, Callable[[], Stored]] = {
    "clause": lambda: clause(SEARCHED_AGAIN),
    "clause with appended rows": lambda: clause(APPENDED),
    "clause with ids": lambda: clause(APPENDED, match_id="id", forget_keys_after="20 seconds"),
    "clause with early results": lambda: clause(APPENDED, run_id="run", emit="early"),
    "clause that skips rows": lambda: clause(SEARCHED_AGAIN, on_error="skip"),
    "rules": rules,
    **{f"event queries: {name}": (lambda name=name: trends(name)) for name in TRENDS},
    "workload": lambda: workload(BoundRequest()),
    "bounded workload": lambda: workload(BoundRequest(latency_bound="1 us")),
    "bounded engine": lambda: engine(BoundRequest(latency_bound="1 us")),
    "engine": lambda: engine(BoundRequest()),
    "clauses": clauses,
    "summaries on a stream": summary_stream,
    "summary": summary,
    "summary with shared events": lambda: summary(event_types=ost.EventTypes(keyed=("A",))),
    "correlation": lambda: correlation(other_table=False),
    "correlation with its own archive": own_archive,
    "correlation without cache": lambda: correlation(other_table=True, cache=False, strategy="live_first"),
}


@cache
def stored(name: str) -> Stored:
    return SYSTEMS[name]()


# --- damage -----------------------------------------------------------------------------------------------------------

NUMBERS = (-1, 1 << 31, 1 << 40, (1 << 63) - 1)


def damages(body: bytes, count: int, seed: int) -> Iterator[bytes]:
    """`count` damaged copies: one byte changed, a number of 8 bytes overwritten, or bytes cut off or moved."""
    rng = np.random.default_rng(seed)
    while count:
        damaged = bytearray(body)
        at = int(rng.integers(0, len(body)))
        match int(rng.integers(0, 8)):
            case 0 | 1 | 2:
                damaged[at] ^= int(rng.integers(1, 256))
            case 3 | 4 | 5:
                at = at // 8 * 8 if rng.integers(0, 2) else at
                damaged[at : at + 8] = int(rng.choice(NUMBERS)).to_bytes(8, "little", signed=True)[: len(body) - at]
            case 6:
                del damaged[at:]
            case _:
                size = int(rng.integers(1, 65))
                other = int(rng.integers(0, len(body)))
                piece = damaged[other : other + size]
                damaged[at : at + len(piece)] = piece[: len(body) - at]
        if bytes(damaged) != body:
            count -= 1
            yield bytes(damaged)
