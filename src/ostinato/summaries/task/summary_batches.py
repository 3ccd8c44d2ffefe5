"""All rows of some keys -> the answers of their summaries, at the end or at given times. No Spark here.

Rows are ordered by key, and a limited number of keys is processed at a time, so that only their summaries are in
memory. Keys are asked in rounds: a round takes the events of all keys up to their next evaluation time, and answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.summaries.engine.keyed import KeyedSummary
from ostinato.summaries.engine.pool import SummaryPool
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.task.summary_answers import AnswerLayout
from ostinato.summaries.task.summary_input import Moments
from ostinato.summaries.task.summary_rows import SummaryRows, key_columns, ordered_events

Ints = NDArray[np.int64]
AnswerColumns = dict[str, pa.Array]
_KEYS_AT_ONCE = 4096
"""Keys whose summaries are in memory together."""


@dataclass(frozen=True, slots=True)
class _Evaluations:
    """Distinct (key, evaluation time) pairs, ordered by key and time."""

    key: Ints
    time: Ints

    def of_keys(self, start: int, stop: int) -> _Evaluations:
        rows = slice(*np.searchsorted(self.key, (start, stop)))
        return _Evaluations(self.key[rows], self.time[rows])

    def rounds(self) -> Iterator[_Evaluations]:
        """The first evaluation of each key, then the second, and so on."""
        first = np.flatnonzero(np.diff(self.key, prepend=-1))
        number = np.arange(len(self.key)) - np.repeat(first, np.diff(np.append(first, len(self.key))))
        order = np.argsort(number, kind="stable")
        ends = np.cumsum(np.bincount(number)) if len(number) else ()
        start = 0
        for end in ends:
            yield _Evaluations(self.key[order[start:end]], self.time[order[start:end]])
            start = int(end)


class SummaryBatch:
    """The summaries of one query over one input."""

    def __init__(self, layout: AnswerLayout, moments: Moments) -> None:
        self.layout = layout
        self.moments = moments
        self.source = layout.source
        self.is_shared = layout.query.keyed_types is not None

    def answers(self, arrays: Mapping[str, pa.Array]) -> Iterator[AnswerColumns]:
        """The columns of answers, a limited number of keys at a time. `arrays` are the input's columns. They have all
        rows of each key, in any order; and all keys, if some types belong to every key."""
        if self.is_shared:
            yield from self._of_shared(arrays)
            return
        summary = Summary(self.layout.query, float_values=self.source.float_values)
        rows = ordered_events(self.source, arrays, summary.codes)
        evaluations = self._evaluations(arrays, rows)
        keys = key_columns(self.source, arrays, rows)
        key_at = rows.key_at()
        for start in range(0, len(rows.examples), _KEYS_AT_ONCE):
            stop = min(start + _KEYS_AT_ONCE, len(rows.examples))
            some_keys = _KeyRange(SummaryPool(summary), rows.events, key_at, start, stop)
            for evaluated in evaluations.of_keys(start, stop).rounds():
                some_keys.advance(evaluated)
                yield self._columns(some_keys.pool, keys, evaluated.key, evaluated.time)
        if not self.source.columns.keys and not len(rows.examples):
            yield from self._of_nothing(SummaryPool(summary))

    def _evaluations(self, arrays: Mapping[str, pa.Array], rows: SummaryRows) -> _Evaluations:
        count, moments = len(rows.examples), self.moments
        if moments.times_us is not None:
            times = np.unique(np.array(moments.times_us, np.int64))
            return _Evaluations(np.repeat(np.arange(count), len(times)), np.tile(times, count))
        if moments.column is None:
            last = rows.events.time[rows.key_at()[1:] - 1] if not self.is_shared else np.zeros(0, np.int64)
            return _Evaluations(np.arange(count), last)
        triggers = self._triggers(arrays, rows)
        pairs = np.unique(np.stack((rows.key[triggers], rows.events.time[triggers])), axis=1)
        return _Evaluations(pairs[0], pairs[1])

    def _triggers(self, arrays: Mapping[str, pa.Array], rows: SummaryRows) -> NDArray[np.bool_]:
        """Marks the events that trigger an evaluation."""
        if self.moments.column is None:
            return np.zeros(len(rows.rows), np.bool_)
        return np.asarray(arrays[self.moments.column].fill_null(False), np.bool_)[rows.rows]

    def _columns(self, pool: SummaryPool, keys: Sequence[pa.Array], key: Ints, time: Ints | None) -> AnswerColumns:
        chosen = pa.array(key)
        named = zip(self.source.columns.keys, keys, strict=True)
        answer_columns = self.layout.columns(pool.answering, pool.ask_many(key.tolist()), time)
        return {**{name: array.take(chosen) for name, array in named}, **answer_columns}

    def _of_nothing(self, pool: SummaryPool) -> Iterator[AnswerColumns]:
        """Without keys, there is an answer even if there is no event."""
        if self.moments.column is None:
            times = None if self.moments.times_us is None else np.unique(np.array(self.moments.times_us, np.int64))
            answers = pool.ask_many([0] * (1 if times is None else len(times)))
            yield self.layout.columns(pool.answering, answers, times)

    # --- events that belong to every key ---

    def _of_shared(self, arrays: Mapping[str, pa.Array]) -> Iterator[AnswerColumns]:
        """All keys, ordered by time. A trigger row that belongs to every key evaluates all keys."""
        keyed = KeyedSummary(self.layout.query, float_values=self.source.float_values)
        rows = ordered_events(self.source, arrays, keyed.codes, by_key=False)
        keys = key_columns(self.source, arrays, rows)
        evaluations, events = self._evaluations(arrays, rows), rows.events
        moments = [None] if self.moments == Moments() else np.unique(evaluations.time).tolist()
        # Events without a key may have any value in the key columns. It isn't a key.
        all_keys = np.unique(rows.key[keyed.carries_key(events.codes)])
        ask_all = {None, *events.time[self._triggers(arrays, rows) & keyed.is_shared(events.codes)].tolist()}
        done = 0
        for moment in moments:
            end = len(events) if moment is None else int(np.searchsorted(events.time, moment, side="right"))
            keyed.advance(rows.key[done:end].tolist(), events.taken(slice(done, end)))
            done = end
            key = all_keys
            if moment not in ask_all:
                key = np.intersect1d(all_keys, evaluations.key[evaluations.time == moment])
            if len(key):
                yield self._columns(keyed.pool, keys, key, None if moment is None else np.full(len(key), moment))


class _KeyRange:
    """A range of keys, and the next event of each key."""

    def __init__(self, pool: SummaryPool, events: SummaryEvents, key_at: Ints, start: int, stop: int) -> None:
        self.pool = pool
        self.events = events
        self.first_key = start
        self.end = key_at[start + 1 : stop + 1]
        self.next_event = key_at[start:stop].copy()

    def advance(self, evaluated: _Evaluations) -> None:
        """Takes the events of the evaluated keys up to their evaluation times."""
        at = evaluated.key - self.first_key
        first, until = (
            self.next_event[at],
            _first_after(self.events.time, self.next_event[at], self.end[at], evaluated.time),
        )
        self.next_event[at] = until
        counts = until - first
        rows = np.repeat(first - np.append(0, np.cumsum(counts)[:-1]), counts) + np.arange(counts.sum())
        self.pool.advance(np.repeat(evaluated.key, counts).tolist(), self.events.taken(rows))


def _first_after(time: Ints, low: Ints, high: Ints, moment: Ints) -> Ints:
    """For each range of ascending times, the first one after the moment. A binary search over all ranges at once."""
    low, high = low.copy(), high.copy()
    while (low < high).any():
        middle = (low + high) // 2
        is_open = low < high
        before = is_open & (time[np.minimum(middle, len(time) - 1)] <= moment)
        low = np.where(before, middle + 1, low)
        high = np.where(is_open & ~before, middle, high)
    return low
