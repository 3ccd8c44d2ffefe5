"""A bucket of summaries over a stream: however its rows are cut into steps, it keeps and tells the same."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.errors import MatchError
from ostinato.event_queries.language.event_query import Selection
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.summaries.engine.summary import Answer, Summary, SummaryEvents
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.stream import summary_pages
from ostinato.summaries.stream.summary_pages import page_of, pages_for, parents, possible_pages
from ostinato.summaries.stream.summary_stream import Asked, SummaryStep, SummaryStreamWorker
from ostinato.summaries.task.summary_rows import SummaryColumns, SummaryInput

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


class Told(NamedTuple):
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
    """The state store of one bucket, by hand."""

    worker: SummaryStreamWorker
    state: BucketState = EMPTY
    pages: dict[int, bytes] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    late: int = 0
    read: list[int] = field(default_factory=list)

    def step(self, rows: Sequence[Row] | None, watermark: int, *, finished: bool = False) -> SummaryStep:
        arrived = None if rows is None else table(rows)
        kept = BucketState(bytes(self.state.header), (), tuple(self.state.waiting))
        step = self.worker.advance(kept, arrived, watermark, finished=finished, read_page=self._page)
        self.state = step.state
        self.late += step.counts.late_rows
        for number, page in step.pages.items():
            if page is None:
                del self.pages[number]
            else:
                self.pages[number] = page
        assert step.state.page_bytes == sum(map(len, self.pages.values()))
        self.told += itertools.chain.from_iterable(map(told, step.results))
        return step

    def _page(self, number: int) -> bytes | None:
        self.read.append(number)
        return self.pages.get(number)

    def everything(self) -> list[Told]:
        """What all keys would be told now; each key is in one of its possible pages only."""
        found = []
        for number, page in self.pages.items():
            keys = self.worker.page(page)
            answers = self.worker.pool_of(keys).ask_many(range(len(keys)))
            asked = list(told(Asked(keys.keys, answers.kept.now, answers)))
            assert all(number in possible_pages(hash_of(one.key)) for one in asked)
            found += asked
        assert len({one.key for one in found}) == len(found)
        return found


def told(asked: Asked) -> Iterator[Told]:
    kept, first = asked.answers.kept, asked.answers.kept.first
    values = [value if is_valid else None for value, is_valid in zip(kept.value.tolist(), kept.valid, strict=True)]
    events = list(zip(kept.number.tolist(), kept.time.tolist(), kept.code.tolist(), values, strict=True))
    for at, key in enumerate(zip(*(column.to_pylist() for column in asked.keys), strict=True)):
        part = slice(int(first[at]), int(first[at + 1]))
        own = tuple(
            (*event, int(share)) for event, share in zip(events[part], asked.answers.contribution[part], strict=True)
        )
        yield Told(key, int(asked.asked_at_us[at]), int(asked.answers.count[at]), int(kept.seen[at]), own)


# --- the same, without a stream ---------------------------------------------------------------------------------------


def directly(query: SummaryQuery, rows: Sequence[Row], *, at_triggers: bool) -> list[Told]:
    """Each key's rows one by one in order of time; asked behind the moments that ask, or at the end."""
    summary, found = Summary(query), []
    codes = {name: code for code, name in enumerate(summary.automaton.types)}
    for key in {row.key for row in rows}:
        own = sorted((row for row in rows if row.key == key), key=_order)
        state = summary.new_state()
        for at, moment in itertools.groupby(own, key=lambda row: row.ts):
            together = list(moment)
            for row in together:
                state = summary.advance(_event(summary, row), state)
            if at_triggers and any(row.asks for row in together):
                found.append(_told(key, at, summary.ask(state), codes))
        if not at_triggers:
            found.append(_told(key, own[-1].ts, summary.ask(state), codes))
    return found


def _order(row: Row) -> tuple[object, ...]:
    """By time, then type, then value, NULL first."""
    return row.ts, row.kind is not None, row.kind or "", row.price is not None, row.price or 0


def _event(summary: Summary, row: Row) -> SummaryEvents:
    valid = np.array([row.price is not None])
    return SummaryEvents(np.array([row.ts]), summary.codes([row.kind]), np.array([row.price or 0]), valid)


def _told(key: Key, at: int, answer: Answer, codes: dict[str, int]) -> Told:
    kept = tuple((e.number, e.time_us, codes[e.type], e.value, e.contribution) for e in answer.kept)
    return Told(key, at, answer.count, answer.seen, kept)


def ordered(answers: Sequence[Told]) -> list[Told]:
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
"""Places to cut at, each with the watermark that the step there is told."""
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
    """Rows in steps, and to the end; gives those that weren't late."""
    known, before, on_time = NO_TIME, 0, []
    for end, watermark in sorted(steps):
        part = rows[before:end]
        on_time += [row for row in part if row.ts > known]
        bucket.step(part, watermark)
        known, before = max(known, watermark), max(before, min(end, len(rows)))
    on_time += [row for row in rows[before:] if row.ts > known]
    bucket.step(rows[before:], known, finished=True)
    return on_time


@settings(max_examples=150, deadline=None)
@given(queries, rows_of_streams, cuts)
def test_any_cut_tells_triggers_the_same(query: SummaryQuery, rows: list[Row], steps: list[tuple[int, int]]) -> None:
    bucket = Bucket(SummaryStreamWorker(query, INPUT, "hash", "asks", fingerprint="query"))
    on_time = streamed(bucket, rows, steps)
    assert bucket.late == len(rows) - len(on_time)
    assert ordered(bucket.told) == ordered(directly(query, on_time, at_triggers=True))
    assert ordered(bucket.everything()) == ordered(directly(query, on_time, at_triggers=False))


@settings(max_examples=75, deadline=None)
@given(queries, rows_of_streams, cuts)
def test_every_step_tells_the_keys_that_had_events(
    query: SummaryQuery, rows: list[Row], steps: list[tuple[int, int]]
) -> None:
    bucket = Bucket(SummaryStreamWorker(query, INPUT, "hash", fingerprint="query"))
    known, before = NO_TIME, 0
    on_time: list[Row] = []
    for end, watermark in [*sorted(steps), (len(rows), 100)]:
        told_before, until = len(bucket.told), max(known, watermark)
        on_time += [row for row in rows[before:end] if row.ts > known]
        bucket.step(rows[before:end], watermark)
        released = {row.key for row in on_time if known < row.ts <= until}
        expected = directly(query, [row for row in on_time if row.ts <= until], at_triggers=False)
        assert ordered(bucket.told[told_before:]) == ordered([one for one in expected if one.key in released])
        known, before = until, max(before, min(end, len(rows)))


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
    assert step.pages == {} and bucket.pages == before  # nothing to do, nothing written


def test_waiting_rows_wake_the_bucket() -> None:
    bucket = Bucket(SummaryStreamWorker(QUERY, INPUT, "hash", "asks", fingerprint="query"))
    step = bucket.step([Row(1, "eu", 5, "A", asks=True), Row(1, "eu", 9, "A")], NO_TIME)
    assert (step.wake_at_us, step.counts.buffered_rows, bucket.told) == (5, 2, [])
    step = bucket.step(None, 7)
    assert (step.wake_at_us, step.counts.open_runs) == (9, 1)
    assert [(one.asked_at, one.seen) for one in bucket.told] == [(5, 1)]


def test_without_keys_there_is_one_summary() -> None:
    source = SummaryInput(SummaryColumns(type="kind", time="ts", counts_units=True), (pa.int64(), pa.string()))
    worker = SummaryStreamWorker(QUERY, source, fingerprint="query")
    shipped = pa.table({"ts": [1, 2, 3], "kind": ["A", "B", "A"]})
    pages: dict[int, bytes | None] = {}
    first = worker.advance(EMPTY, shipped.slice(0, 2), 2)
    pages |= first.pages
    second = worker.advance(first.state, shipped.slice(2), 3, read_page=pages.get)
    (asked,) = second.results
    assert asked.keys == () and asked.answers.count.tolist() == [2]  # AA and ABA
    assert second.counts.open_runs == 1


def test_counts_beyond_doubles_survive() -> None:
    query = SummaryQuery("A+", 10**6, 1100)
    worker = SummaryStreamWorker(query, INPUT, "hash", fingerprint="query")
    bucket = Bucket(worker)
    rows = [Row(1, "eu", at, "A") for at in range(1060)]
    bucket.step(rows[:1050], 1049)
    bucket.step(rows[1050:], 1100)
    assert [one.count for one in bucket.told] == [2**1050 - 1, 2**1060 - 1]


def test_unknown_types_are_refused_if_so_asked() -> None:
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
