"""State of a bucket of keys + arriving events + watermark -> answers + state.

Events wait until the watermark has passed them. Then the summaries of their keys take them in the order of time. Rows
that the column `trigger` marks evaluate the summary of their key. Without a trigger, every step evaluates the keys that
had events in it. The division into micro-batches changes neither the kept events nor the answers to triggers.
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
from ostinato.summaries.engine.pool import PooledSummaries, SummaryPool
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
from ostinato.summaries.task.summary_input import SummaryInput
from ostinato.summaries.task.summary_rows import SummaryRows, key_columns, ordered_events

_HEADER = "the header in the state of these summaries"


@dataclass(frozen=True, slots=True)
class TimedAnswers:
    """Answers, one for each key and evaluation time."""

    keys: tuple[pa.Array, ...]
    asked_at_us: Ints
    answers: Answers


@dataclass(frozen=True, slots=True)
class SummaryBucket(BucketState):
    """A bucket's state without its pages. Pages are read and written one by one."""

    page_bytes: int = 0

    @property
    def size(self) -> int:
        """Bytes of the state, including its pages."""
        return sum(map(len, (self.header, *self.waiting))) + self.page_bytes


@dataclass(frozen=True, slots=True)
class SummaryStep(Step[tuple[TimedAnswers, ...]]):
    """The result of one `advance`."""

    pages: dict[int, bytes | None]
    """The pages to write. None: the page is removed."""


class _Totals(NamedTuple):
    """Numbers of a bucket's keys, pages and bytes, as its header stores them."""

    keys: int = 0
    pages: int = 1
    page_bytes: int = 0


class _Advanced(NamedTuple):
    """The answers and changes that released rows lead to."""

    answers: tuple[TimedAnswers, ...]
    totals: _Totals
    pages: dict[int, bytes | None]


class SummaryStreamWorker:
    """One query over buckets of keys. It holds no state between steps.

    `key_hash`: the shipped column with a hash of the keys; None without keys. `trigger`: the shipped column that marks
    rows that evaluate; None: every step evaluates its keys.
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
        self._fresh = SummaryPool(self.summary).fresh_row

    def page(self, data: bytes) -> KeyTable:
        """Reads a stored page."""
        return page_from_bytes(data, self.width, [self.source.type_of(name) for name in self.source.columns.keys])

    @property
    def width(self) -> int:
        """Size of a summary, in numbers of 8 bytes."""
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
        """One step. `arrived` has the shipped columns, and rows in any order; None: no rows.

        `finished`: end of input. `read_page`: reads the pages that earlier steps wrote.
        """
        header, _, intake = self.gate.open_bucket(state, self.fingerprint, arrived, watermark_us, finished=finished)
        before = _Totals() if header is None else _totals(header, self.width)
        advanced = _Advanced((), before, {})
        if intake.released is not None:
            advanced = self._advanced(intake.released, before, read_page)
        header_after = _header(advanced.totals, intake.known_until, self.fingerprint)
        return SummaryStep(
            results=advanced.answers,
            state=SummaryBucket(header_after, (), intake.waiting, advanced.totals.page_bytes),
            wake_at_us=intake.waiting_from,
            counts=Counts(
                rows=intake.arrived,
                late_rows=intake.late_rows,
                matches=sum(len(timed.answers) for timed in advanced.answers),
                open_runs=advanced.totals.keys,
                buffered_rows=intake.waiting_rows,
            ),
            pages=advanced.pages,
        )

    def _advanced(self, released: pa.RecordBatch, before: _Totals, read_page: PageReader) -> _Advanced:
        arrays = dict(zip(released.schema.names, released.columns, strict=True))
        rows = ordered_events(self.source, arrays, self.summary.codes)
        read = _CountingReader(read_page)
        opened = open_pages(self._keys_of(arrays, rows), before.keys, before.pages, read)
        pool = self.pool_of(opened.table)
        answers = tuple(self._answers(pool, opened, arrays, rows))
        stored = pool.dump()
        pages = opened.written(stored.rows, tuple(stored.wide.get(row) for row in stored.keys))
        written_bytes = sum(len(page) for page in pages.values() if page is not None)
        totals = _Totals(opened.keys, opened.pages, before.page_bytes - read.bytes + written_bytes)
        return _Advanced(answers, totals, pages)

    def pool_of(self, table: KeyTable) -> SummaryPool:
        """The summaries of a table. The keys of the pool are rows of the table."""
        pool = SummaryPool(self.summary)
        wide: dict[Hashable, bytes] = {row: state for row, state in enumerate(table.wide) if state is not None}
        pool.load(PooledSummaries(range(len(table)), table.summaries, wide))
        return pool

    def _keys_of(self, arrays: dict[str, pa.Array], rows: SummaryRows) -> KeyTable:
        """The keys of the rows, each with an empty summary."""
        count = len(rows.examples)
        hashes = np.zeros(count, np.int64)
        if self.key_hash is not None:
            hashes = arrays[self.key_hash].to_numpy()[rows.examples]
        keys = tuple(key_columns(self.source, arrays, rows))
        return KeyTable(keys, hashes, np.tile(self._fresh, (count, 1)), (None,) * count)

    def _answers(
        self, pool: SummaryPool, opened: OpenedPages, arrays: dict[str, pa.Array], rows: SummaryRows
    ) -> Iterator[TimedAnswers]:
        """Takes the events, and evaluates on the way."""
        key_of_event, events = opened.rows[rows.key], rows.events
        if self.trigger is None:
            pool.advance(key_of_event.tolist(), events)
            answers = pool.ask_many(opened.rows.tolist())
            yield _timed_answers(opened, opened.rows, answers.events.now, answers)
            return
        is_trigger = arrays[self.trigger].to_numpy(zero_copy_only=False)[rows.rows].astype(np.bool_)
        for events_of_round, triggers in _rounds(rows.key, events.time, is_trigger):
            pool.advance(key_of_event[events_of_round].tolist(), events.taken(events_of_round))
            if len(triggers):
                keys = key_of_event[triggers]
                yield _timed_answers(opened, keys, events.time[triggers], pool.ask_many(keys.tolist()))

    # --- answers without events ---

    def all_answers(self, table: KeyTable) -> TimedAnswers:
        """The answers of all keys of a table, each as of its last event."""
        answers = self.pool_of(table).ask_many(range(len(table)))
        return TimedAnswers(table.keys, answers.events.now, answers)

    def answers_of(self, key: Sequence[pa.Array], tables: Sequence[KeyTable]) -> Answers:
        """The answer of one key. It is empty if no table has the key."""
        fresh = KeyTable(tuple(key), np.zeros(1, np.int64), self._fresh[None, :], (None,))
        table, rows = merged_tables(tables, fresh)
        return self.pool_of(table).ask_many(rows.tolist())


def _timed_answers(opened: OpenedPages, rows: Ints, asked_at_us: Ints, answers: Answers) -> TimedAnswers:
    chosen = pa.array(rows)
    return TimedAnswers(tuple(key.take(chosen) for key in opened.table.keys), asked_at_us, answers)


class _Round(NamedTuple):
    """Events up to the next evaluation of each key, and one event of the evaluation time for each evaluated key."""

    events: Ints
    triggers: Ints


def _rounds(key: Ints, time: Ints, is_trigger: NDArray[np.bool_]) -> Iterator[_Round]:
    """The first evaluations of all keys, then the second, and so on. Keys don't depend on one another.

    An evaluation comes after all events of its time, because their order isn't known.
    """
    starts = np.flatnonzero(np.append(True, (key[1:] != key[:-1]) | (time[1:] != time[:-1])))
    evaluates = np.logical_or.reduceat(is_trigger, starts)
    earlier = np.cumsum(evaluates) - evaluates  # evaluations before each time, of all keys
    is_first = np.append(True, key[starts[1:]] != key[starts[:-1]])
    number = earlier - np.repeat(earlier[is_first], np.diff(np.append(np.flatnonzero(is_first), len(starts))))
    of_event = np.repeat(number, np.diff(np.append(starts, len(key))))
    order = np.argsort(of_event, kind="stable")
    edges = np.searchsorted(of_event[order], np.arange(int(number.max()) + 2))
    evaluated = np.flatnonzero(evaluates)
    evaluated = evaluated[np.argsort(number[evaluated], kind="stable")]
    evaluated_edges = np.searchsorted(number[evaluated], np.arange(len(edges)))
    for i in range(len(edges) - 1):
        triggers = starts[evaluated[evaluated_edges[i] : evaluated_edges[i + 1]]]
        yield _Round(order[edges[i] : edges[i + 1]], triggers)


class _CountingReader:
    """Reads pages and sums their bytes."""

    def __init__(self, read: PageReader) -> None:
        self._read = read
        self.bytes = 0

    def __call__(self, page: int) -> bytes | None:
        data = self._read(page)
        self.bytes += len(data or b"")
        return data


def _totals(header: pa.RecordBatch, width: int) -> _Totals:
    check_columns_are(header, dict.fromkeys(_Totals._fields, pa.int64()), _HEADER)
    check(header.num_rows == 1, _HEADER, "it isn't one row")
    totals = _Totals(*(int(whole_numbers(column, _HEADER)[0]) for column in header.columns))
    check_ranges(_HEADER, {name: (value, 0, LARGEST) for name, value in totals._asdict().items()})
    check(totals.pages == pages_for(totals.keys, width), _HEADER, "it has another number of pages than its keys need")
    return totals


def _header(totals: _Totals, known_until: int, fingerprint: str) -> bytes:
    batch = pa.RecordBatch.from_pydict({name: [value] for name, value in totals._asdict().items()})
    return stamped(batch, known_until, fingerprint)


__all__ = ["SummaryStep", "SummaryStreamWorker", "TimedAnswers"]
