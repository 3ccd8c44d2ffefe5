"""A bucket of summaries over a stream has the same state and answers, however its rows are cut into steps."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.summary.single_answers import SingleAnswer, ask
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.errors import MatchError
from ostinato.event_queries.language.event_query import Selection
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.stream import summary_pages
from ostinato.summaries.stream.summary_pages import page_of, pages_for, parents, possible_pages
from ostinato.summaries.stream.summary_stream import SummaryStep, SummaryStreamWorker, TimedAnswers
from ostinato.summaries.task.summary_input import SummaryColumns, SummaryInput

QUERY = SummaryQuery("A (B|C)* A", 6, 4, half_life_events=5)
SHIPPED = pa.schema(
    {
        "account": pa.int64(),
        "region": pa.string(),
        "ts": pa.int64(),
        "kind": pa.string(),
        "price": pa.int64(),
        "hash": pa.int64(),
        "asks": pa.bool_(),
    }
)
INPUT = SummaryInput(
    SummaryColumns(type="kind", time="ts", value="price", keys=("account", "region"), counts_units=True),
    (pa.int64(), pa.string(), pa.int64(), pa.string(), pa.int64()),
)
Key = tuple[int | None, str | None]


class Row(NamedTuple):
    account: int | None
    region: str | None
    ts: int
    kind: str | None
    price: int | None = None
    asks: bool = False

    @property
    def key(self) -> Key:
        return self.account, self.region


class PlainAnswer(NamedTuple):
    """An answer in plain values."""

    key: Key
    asked_at: int
    count: int
    seen: int
    kept: tuple[tuple[int, int, int, int | None, int], ...]
    """Number, time, type, value, contribution."""


def table(rows: Sequence[Row]) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [getattr(row, name) for row in rows] for name in Row._fields}
    columns["hash"] = [hash_of(row.key) for row in rows]
    return pa.table({name: columns[name] for name in SHIPPED.names}, SHIPPED)


def hash_of(key: Key) -> int:
    """Few bits, so that keys share pages; of any sign, as Spark's."""
    return (((key[0] or 0) * 7 + len(key[1] or "")) % 16) - 8


@dataclass
class Bucket:
    """The state store of one bucket in memory."""

    worker: SummaryStreamWorker
    state: BucketState = EMPTY
    pages: dict[int, bytes] = field(default_factory=dict)
    answers: list[PlainAnswer] = field(default_factory=list)
    late: int = 0
    read: list[int] = field(default_factory=list)

    def step(self, rows: Sequence[Row] | None, watermark: int, *, finished: bool = False) -> SummaryStep:
        arrived = None if rows is None else table(rows)
        stored = BucketState(bytes(self.state.header), (), tuple(self.state.waiting))
        step = self.worker.advance(stored, arrived, watermark, finished=finished, read_page=self._page)
        self.state = step.state
        self.late += step.counts.late_rows
        for number, page in step.pages.items():
            if page is None:
                del self.pages[number]
            else:
                self.pages[number] = page
        assert step.state.page_bytes == sum(map(len, self.pages.values()))
        self.answers += itertools.chain.from_iterable(map(plain_answers, step.results))
        return step

    def _page(self, number: int) -> bytes | None:
        self.read.append(number)
        return self.pages.get(number)

    def everything(self) -> list[PlainAnswer]:
        """The present answers of all keys. Each key is in one of its possible pages only."""
        everything = []
        for number, page in self.pages.items():
            in_page = list(plain_answers(self.worker.all_answers(self.worker.page(page))))
            assert all(number in possible_pages(hash_of(answer.key)) for answer in in_page)
            everything += in_page
        assert len({answer.key for answer in everything}) == len(everything)
        return everything


def plain_answers(timed: TimedAnswers) -> Iterator[PlainAnswer]:
    kept = timed.answers.events
    values = [value if is_valid else None for value, is_valid in zip(kept.value.tolist(), kept.valid, strict=True)]
    events = list(zip(kept.number.tolist(), kept.time.tolist(), kept.code.tolist(), values, strict=True))
    for at, key in enumerate(zip(*(column.to_pylist() for column in timed.keys), strict=True)):
        rows = slice(int(kept.first[at]), int(kept.first[at + 1]))
        shares = timed.answers.contribution[rows]
        own = tuple((*event, int(share)) for event, share in zip(events[rows], shares, strict=True))
        yield PlainAnswer(key, int(timed.asked_at_us[at]), int(timed.answers.count[at]), int(kept.seen[at]), own)


# --- the same, without a stream ---------------------------------------------------------------------------------------


def directly(query: SummaryQuery, rows: Sequence[Row], *, at_triggers: bool) -> list[PlainAnswer]:
    """Takes each key's rows one by one, in order of time. Evaluates after the times of triggers, or at the end."""
    summary, answers = Summary(query), []
    codes = {name: code for code, name in enumerate(summary.automaton.types)}
    for key in {row.key for row in rows}:
        own = sorted((row for row in rows if row.key == key), key=_order)
        state = summary.new_state()
        for at, moment in itertools.groupby(own, key=lambda row: row.ts):
            together = list(moment)
            for row in together:
                state = summary.advance(_event(summary, row), state)
            if at_triggers and any(row.asks for row in together):
                answers.append(_plain_answer(key, at, ask(summary, state), codes))
        if not at_triggers:
            answers.append(_plain_answer(key, own[-1].ts, ask(summary, state), codes))
    return answers


def _order(row: Row) -> tuple[object, ...]:
    """By time, then type, then value, NULL first."""
    return row.ts, row.kind is not None, row.kind or "", row.price is not None, row.price or 0


def _event(summary: Summary, row: Row) -> SummaryEvents:
    valid = np.array([row.price is not None])
    return SummaryEvents(np.array([row.ts]), summary.codes([row.kind]), np.array([row.price or 0]), valid)


def _plain_answer(key: Key, at: int, answer: SingleAnswer, codes: dict[str, int]) -> PlainAnswer:
    kept = tuple((e.number, e.time_us, codes[e.type], e.value, e.contribution) for e in answer.kept)
    return PlainAnswer(key, at, answer.count, answer.seen, kept)


def ordered(answers: Sequence[PlainAnswer]) -> list[PlainAnswer]:
    return sorted(answers, key=repr)


# --- laws -------------------------------------------------------------------------------------------------------------

rows_of_streams = st.lists(
    st.builds(
        Row,
        account=st.sampled_from([None, 0, 1, 2, 3]),
        region=st.sampled_from([None, "", "eu"]),
        ts=st.integers(0, 25),
        kind=st.sampled_from(["A", "A", "B", "C", "other", None]),
        price=st.sampled_from([None, -2, 0, 3]),
        asks=st.sampled_from([False, False, True]),
    ),
    max_size=40,
)
cuts = st.lists(st.tuples(st.integers(0, 40), st.integers(-2, 25)), max_size=6)
"""Positions at which a step ends, each with the watermark of that step."""
queries = st.builds(
    SummaryQuery,
    expression=st.sampled_from(["A (B|C)* A", "A+ B", "A|B"]),
    window_us=st.sampled_from([0, 3, 30]),
    size=st.integers(1, 5),
    aggregate=st.sampled_from(list(SummaryAggregate)),
    selection=st.sampled_from([Selection.ANY, Selection.NEXT]),
    strategy=st.sampled_from(list(Strategy)),
    half_life_events=st.just(4),
)


@pytest.fixture(autouse=True, scope="module")
def small_pages() -> Iterator[None]:
    """A few keys fill several pages."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(summary_pages, "PAGE_BYTES", 1100)
        yield


def streamed(bucket: Bucket, rows: Sequence[Row], steps: Sequence[tuple[int, int]]) -> list[Row]:
    """Feeds the rows in steps, to the end. Returns the rows that weren't late."""
    known_until, before, on_time = NO_TIME, 0, []
    for end, watermark in sorted(steps):
        arriving = rows[before:end]
        on_time += [row for row in arriving if row.ts > known_until]
        bucket.step(arriving, watermark)
        known_until, before = max(known_until, watermark), max(before, min(end, len(rows)))
    on_time += [row for row in rows[before:] if row.ts > known_until]
    bucket.step(rows[before:], known_until, finished=True)
    return on_time


@settings(max_examples=150, deadline=None)
@given(queries, rows_of_streams, cuts)
def test_triggers_get_the_same_answers_in_any_steps(
    query: SummaryQuery, rows: list[Row], steps: list[tuple[int, int]]
) -> None:
    bucket = Bucket(SummaryStreamWorker(query, INPUT, "hash", "asks", fingerprint="query"))
    on_time = streamed(bucket, rows, steps)
    assert bucket.late == len(rows) - len(on_time)
    assert ordered(bucket.answers) == ordered(directly(query, on_time, at_triggers=True))
    assert ordered(bucket.everything()) == ordered(directly(query, on_time, at_triggers=False))


@settings(max_examples=75, deadline=None)
@given(queries, rows_of_streams, cuts)
def test_every_step_answers_for_the_keys_that_had_events(
    query: SummaryQuery, rows: list[Row], steps: list[tuple[int, int]]
) -> None:
    bucket = Bucket(SummaryStreamWorker(query, INPUT, "hash", fingerprint="query"))
    known_until, before = NO_TIME, 0
    on_time: list[Row] = []
    for end, watermark in [*sorted(steps), (len(rows), 100)]:
        answers_before, until = len(bucket.answers), max(known_until, watermark)
        on_time += [row for row in rows[before:end] if row.ts > known_until]
        bucket.step(rows[before:end], watermark)
        released = {row.key for row in on_time if known_until < row.ts <= until}
        expected = directly(query, [row for row in on_time if row.ts <= until], at_triggers=False)
        assert ordered(bucket.answers[answers_before:]) == ordered(
            [answer for answer in expected if answer.key in released]
        )
        known_until, before = until, max(before, min(end, len(rows)))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1), st.integers(1, 70), st.integers(0, 70))
def test_pages_grow_by_their_parents_alone(hashes: list[int], before: int, more: int) -> None:
    keys, after = np.array(hashes), before + more
    old, new = page_of(keys, before), page_of(keys, after)
    assert ((old >= 0) & (old < before)).all() and (new < after).all()
    moved = old != new
    assert set(old[moved].tolist()) <= parents(before, after)
    assert all(page in possible_pages(key) for page, key in zip(new.tolist(), hashes, strict=True))


# --- cases ------------------------------------------------------------------------------------------------------------


def test_a_step_reads_only_the_pages_of_its_keys() -> None:
    bucket = Bucket(SummaryStreamWorker(QUERY, INPUT, "hash", "asks", fingerprint="query"))
    bucket.step([Row(account, "eu", 1, "A") for account in range(16)], 1)
    pages = pages_for(16, bucket.worker.width)
    assert len(bucket.pages) > 4
    bucket.step([Row(3, "eu", 2, "A")], 2)
    assert bucket.read == [int(page_of(np.array([hash_of((3, "eu"))]), pages)[0])]
    before = dict(bucket.pages)
    step = bucket.step([], 5)
    assert step.pages == {} and bucket.pages == before  # a step without work writes nothing


def test_waiting_rows_wake_the_bucket() -> None:
    bucket = Bucket(SummaryStreamWorker(QUERY, INPUT, "hash", "asks", fingerprint="query"))
    step = bucket.step([Row(1, "eu", 5, "A", asks=True), Row(1, "eu", 9, "A")], NO_TIME)
    assert (step.wake_at_us, step.counts.buffered_rows, bucket.answers) == (5, 2, [])
    step = bucket.step(None, 7)
    assert (step.wake_at_us, step.counts.open_runs) == (9, 1)
    assert [(answer.asked_at, answer.seen) for answer in bucket.answers] == [(5, 1)]


def test_without_keys_there_is_one_summary() -> None:
    source = SummaryInput(SummaryColumns(type="kind", time="ts", counts_units=True), (pa.int64(), pa.string()))
    worker = SummaryStreamWorker(QUERY, source, fingerprint="query")
    shipped = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "A"]})
    pages: dict[int, bytes | None] = {}
    first = worker.advance(EMPTY, shipped.slice(0, 2), 2)
    pages |= first.pages
    second = worker.advance(first.state, shipped.slice(2), 3, read_page=pages.get)
    (timed,) = second.results
    assert timed.keys == () and timed.answers.count.tolist() == [2]  # AA and ABA
    assert second.counts.open_runs == 1


def test_counts_beyond_doubles_survive() -> None:
    query = SummaryQuery("A+", 10**6, 1100)
    worker = SummaryStreamWorker(query, INPUT, "hash", fingerprint="query")
    bucket = Bucket(worker)
    rows = [Row(1, "eu", at, "A") for at in range(1060)]
    bucket.step(rows[:1050], 1049)
    bucket.step(rows[1050:], 1100)
    assert [answer.count for answer in bucket.answers] == [2**1050 - 1, 2**1060 - 1]


def test_unknown_types_are_refused_if_the_query_says_so() -> None:
    query = SummaryQuery("A B", 6, 4, unknown_types=UnknownTypes.REFUSE)
    bucket = Bucket(SummaryStreamWorker(query, INPUT, "hash", fingerprint="query"))
    with pytest.raises(MatchError, match="SUMMARY_UNKNOWN_TYPE"):
        bucket.step([Row(1, "eu", 1, "D")], 1)


def test_damaged_or_foreign_state_is_refused() -> None:
    bucket = Bucket(SummaryStreamWorker(QUERY, INPUT, "hash", fingerprint="query"))
    bucket.step([Row(1, "eu", 1, "A")], 1)
    other = Bucket(
        SummaryStreamWorker(SummaryQuery("A B", 6, 4), INPUT, "hash", fingerprint="another query"),
        bucket.state,
        bucket.pages,
    )
    with pytest.raises(MatchError, match="STATE_OF_OTHER_QUERY"):
        other.step([Row(1, "eu", 2, "A")], 2)
    bucket.pages = {number: page[: len(page) // 2] for number, page in bucket.pages.items()}
    with pytest.raises(MatchError, match="STATE_FORMAT"):
        bucket.step([Row(1, "eu", 2, "A")], 2)
