"""State of a bucket of keys + events that arrive + watermark -> answers that were asked for + state.

Events wait until the watermark has passed them, then go to the summaries of their keys in the order of time. Answers
are asked for by rows of the stream (`trigger` names a column that marks them), or by every step for the keys that had
events in it. Which micro-batches the stream is cut into changes neither what is kept nor what a trigger is told.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.streams.bucket_state import BucketState, stamped
from ostinato.streams.intake import Gate
from ostinato.streams.step import Counts, Step
from ostinato.streams.stored_state import LARGEST, check, check_columns_are, check_ranges, whole_numbers
from ostinato.summaries.engine.answers import Answering, Answers
from ostinato.summaries.engine.many_answers import AnsweringPool
from ostinato.summaries.engine.pool import PooledSummaries
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.language.summary_query import SummaryQuery
from ostinato.summaries.stream.summary_pages import (
    Ints,
    KeyTable,
    OpenedPages,
    PageReader,
    merged_tables,
    no_page,
    open_pages,
    page_from_bytes,
    pages_for,
)
from ostinato.summaries.task.summary_rows import SummaryInput, SummaryRows


@dataclass(frozen=True, slots=True)
class Asked:
    """Answers, one for each key and moment that was asked for."""

    keys: tuple[pa.Array, ...]
    asked_at_us: Ints
    answers: Answers


@dataclass(frozen=True, slots=True)
class SummaryBucket(BucketState):
    """A bucket's state without its pages, which are read and written one by one."""

    page_bytes: int = 0

    @property
    def size(self) -> int:
        """In bytes, pages included."""
        return sum(map(len, (self.header, *self.waiting))) + self.page_bytes


@dataclass(frozen=True, slots=True)
class SummaryStep(Step[tuple[Asked, ...]]):
    """The outcome of one `advance`."""

    pages: dict[int, bytes | None]
    """Pages to write; None: to remove."""


class _Totals(NamedTuple):
    """What the header says of the pages."""

    keys: int = 0
    pages: int = 1
    page_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Moved:
    """What comes of released rows."""

    asked: tuple[Asked, ...]
    totals: _Totals
    pages: dict[int, bytes | None]


class SummaryStreamWorker:
    """One query over buckets of keys; holds nothing between steps.

    `key_hash` names the shipped column with a hash of the keys; without keys there is none. `trigger` names that of the
    rows that ask; None: every step asks.
    """

    def __init__(
        self,
        query: SummaryQuery,
        source: SummaryInput,
        key_hash: str | None = None,
        trigger: str | None = None,
        *,
        fingerprint: str,
    ) -> None:
        self.summary = Summary(query, float_values=source.float_values)
        self.source = source
        self.key_hash = key_hash
        self.trigger = trigger
        self.gate = Gate(source.columns.time)
        self.fingerprint = fingerprint
        self.answering = Answering(self.summary)
        self._fresh = AnsweringPool(self.summary).fresh_row

    def page(self, data: bytes) -> KeyTable:
        """A page that was stored."""
        return page_from_bytes(data, self.width, [self.source.type_of(name) for name in self.source.columns.keys])

    @property
    def width(self) -> int:
        """Numbers of 8 bytes in a summary."""
        return len(self._fresh)

    def advance(
        self,
        state: BucketState,
        arrived: pa.Table | None,
        watermark_us: int,
        *,
        finished: bool = False,
        read_page: PageReader = no_page,
    ) -> SummaryStep:
        """One step. `arrived` holds the shipped columns by name, rows in any order; None: no rows.

        `finished`: no rows will follow, whatever the watermark says. `read_page` gives what earlier steps wrote.
        """
        header, _, intake = self.gate.open_bucket(state, self.fingerprint, arrived, watermark_us, finished=finished)
        before = _Totals() if header is None else _totals(header, self.width)
        moved = _Moved((), before, {})
        if intake.released is not None:
            moved = self._moved(intake.released, before, read_page)
        header_after = _header(moved.totals, intake.known_until, self.fingerprint)
        return SummaryStep(
            results=moved.asked,
            state=SummaryBucket(header_after, (), intake.waiting, moved.totals.page_bytes),
            wake_at_us=intake.waiting_from,
            counts=Counts(
                rows=intake.arrived,
                late_rows=intake.late_rows,
                matches=sum(len(asked.answers) for asked in moved.asked),
                open_runs=moved.totals.keys,
                buffered_rows=intake.waiting_rows,
            ),
            pages=moved.pages,
        )

    def _moved(self, released: pa.RecordBatch, before: _Totals, read_page: PageReader) -> _Moved:
        arrays = dict(zip(released.schema.names, released.columns, strict=True))
        rows = self.source.rows(arrays, self.summary.codes)
        read = _Measured(read_page)
        opened = open_pages(self._asked_for(arrays, rows), before.keys, before.pages, read)
        pool = self.pool_of(opened.table)
        asked = tuple(self._answered(pool, opened, arrays, rows))
        stored = pool.dump()
        pages = opened.written(stored.rows, tuple(stored.wide.get(place) for place in stored.keys))
        written = sum(len(page) for page in pages.values() if page is not None)
        totals = _Totals(opened.keys, opened.pages, before.page_bytes - read.bytes + written)
        return _Moved(asked, totals, pages)

    def pool_of(self, table: KeyTable) -> AnsweringPool:
        """The summaries of a table of keys, by their places in it."""
        pool = AnsweringPool(self.summary)
        wide: dict[Hashable, bytes] = {place: state for place, state in enumerate(table.wide) if state is not None}
        pool.load(PooledSummaries(range(len(table)), table.summaries, wide))
        return pool

    def _asked_for(self, arrays: dict[str, pa.Array], rows: SummaryRows) -> KeyTable:
        """The keys of the rows, each with a new summary, for those that have none yet."""
        count = len(rows.examples)
        hashes = np.zeros(count, np.int64)
        if self.key_hash is not None:
            hashes = arrays[self.key_hash].to_numpy()[rows.examples]
        keys = tuple(self.source.key_arrays(arrays, rows))
        return KeyTable(keys, hashes, np.tile(self._fresh, (count, 1)), (None,) * count)

    def _answered(
        self, pool: AnsweringPool, opened: OpenedPages, arrays: dict[str, pa.Array], rows: SummaryRows
    ) -> Iterator[Asked]:
        """Lets the events come, and stops to ask."""
        place, events = opened.place[rows.key], rows.events
        if self.trigger is None:
            pool.advance(place.tolist(), events)
            answers = pool.ask_many(opened.place.tolist())
            yield _asked(opened, opened.place, answers.kept.now, answers)
            return
        marked = arrays[self.trigger].to_numpy(zero_copy_only=False)[rows.rows].astype(np.bool_)
        for part in _rounds(rows.key, events.time, marked):
            pool.advance(place[part.events].tolist(), events.taken(part.events))
            if len(part.asking):
                chosen = place[part.asking]
                yield _asked(opened, chosen, events.time[part.asking], pool.ask_many(chosen.tolist()))

    # --- answers without events ---

    def all_answers(self, table: KeyTable) -> Asked:
        """What the summaries of a table answer, each as of its last event."""
        answers = self.pool_of(table).ask_many(range(len(table)))
        return Asked(table.keys, answers.kept.now, answers)

    def answers_of(self, key: Sequence[pa.Array], tables: Sequence[KeyTable]) -> Answers:
        """The answer of one key, which may be in one of the tables; an empty one where it is in none."""
        fresh = KeyTable(tuple(key), np.zeros(1, np.int64), self._fresh[None, :], (None,))
        table, place = merged_tables(tables, fresh)
        return self.pool_of(table).ask_many(place.tolist())


def _asked(opened: OpenedPages, places: Ints, asked_at_us: Ints, answers: Answers) -> Asked:
    chosen = pa.array(places)
    return Asked(tuple(key.take(chosen) for key in opened.table.keys), asked_at_us, answers)


class _Round(NamedTuple):
    """Events that come before anybody is asked, and for each key that is asked then one of the asking moment."""

    events: Ints
    asking: Ints


def _rounds(key: Ints, time: Ints, marked: NDArray[np.bool_]) -> Iterator[_Round]:
    """Keys don't depend on one another, so each key's first question is in the first round, and so on.

    A question is answered behind all events of its time: which of them came first, nobody knows.
    """
    starts = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (time[1:] != time[:-1])))
    asks = np.logical_or.reduceat(marked, starts)
    questions = np.cumsum(asks) - asks  # before each moment, of all keys
    is_first = np.append(True, key[starts[1:]] != key[starts[:-1]])
    number = questions - np.repeat(questions[is_first], np.diff(np.append(np.flatnonzero(is_first), len(starts))))
    of_event = np.repeat(number, np.diff(np.append(starts, len(key))))
    order = np.argsort(of_event, kind="stable")
    edges = np.searchsorted(of_event[order], np.arange(int(number.max()) + 2))
    asking = np.flatnonzero(asks)
    asking = asking[np.argsort(number[asking], kind="stable")]
    turns = np.searchsorted(number[asking], np.arange(len(edges)))
    for turn in range(len(edges) - 1):
        yield _Round(order[edges[turn] : edges[turn + 1]], starts[asking[turns[turn] : turns[turn + 1]]])


class _Measured:
    """Reads pages and adds up their bytes."""

    def __init__(self, read: PageReader) -> None:
        self._read = read
        self.bytes = 0

    def __call__(self, page: int) -> bytes | None:
        found = self._read(page)
        self.bytes += len(found or b"")
        return found


def _totals(header: pa.RecordBatch, width: int) -> _Totals:
    what = "the header in the state of these summaries"
    check_columns_are(header, dict.fromkeys(_Totals._fields, pa.int64()), what)
    check(header.num_rows == 1, what, "it isn't one row")
    totals = _Totals(*(int(whole_numbers(column, what)[0]) for column in header.columns))
    check_ranges(what, {name: (value, 0, LARGEST) for name, value in totals._asdict().items()})
    check(totals.pages == pages_for(totals.keys, width), what, "it has another number of pages than its keys need")
    return totals


def _header(totals: _Totals, known_until: int, fingerprint: str) -> bytes:
    batch = pa.RecordBatch.from_pydict({name: [value] for name, value in totals._asdict().items()})
    return stamped(batch, known_until, fingerprint)


__all__ = ["Asked", "SummaryStep", "SummaryStreamWorker"]
