"""A program evaluated window by window, when the window is over, from its events.

For a span there are no windows: the trends of each first event are counted once no later event can belong to them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ostinato.event_queries.plan.event_program import NO_WINDOW, BoundKind, Events, PairTest, Program, QueryResults
from ostinato.event_queries.trends.separate.kept_events import (
    KEPT_STATE,
    Ints,
    Kept,
    Reads,
    arriving,
    pack_kept,
    together,
    unpack_kept,
)
from ostinato.event_queries.trends.separate.ordered_at_once import results_at_once
from ostinato.event_queries.trends.separate.ordered_edges import OrderedEdges
from ostinato.event_queries.trends.separate.ordered_plan import needs_visits
from ostinato.event_queries.trends.separate.totals import Counted, Totals, as_results, pack_totals, unpack_totals
from ostinato.event_queries.trends.separate.visiting import Visit
from ostinato.streams.stored_state import LARGEST, check, reading

NOT_BEGUN = NO_WINDOW
MOST_ROWS = 1 << 17
"""Windows of so many events in all are evaluated together."""


@dataclass(frozen=True, slots=True)
class Part:
    """Events to be evaluated; `first`: only the trends that start with that one of them."""

    window: int
    kept: Kept
    first: int | None = None


@dataclass(slots=True)
class Work:
    """One sequence in one call: what is over, and what remains."""

    sequence: int
    totals: Totals
    """With a span, what earlier calls have counted."""
    begun: int
    """The first window that isn't over; with a span, the first position of which not all trends are counted."""
    kept: Kept


class Buffered:
    """One program, by holders of sums where they do (`ordered_edges.py`), else by visiting events (`visiting.py`)."""

    def __init__(self, program: Program, exact: bool) -> None:
        self.program = program
        self.exact = exact
        self.reads = Reads.of(program)
        self.ordered = OrderedEdges(program, exact) if needs_visits(program) is None else None
        self.kinds = [slot.kind for slot in program.slots]
        self.is_span = program.extent.kind is BoundKind.SPAN

    def advance(
        self, events: Events, sections: Sequence[bytes], until: Sequence[int | None], is_real: Sequence[bool]
    ) -> tuple[QueryResults, Sequence[bytes]]:
        if self.ordered is not None and not self.is_span and not any(sections) and all(end is None for end in until):
            return results_at_once(self.program, self.reads, self.ordered, events), [b""] * len(sections)
        works = [self._work(events, sections, sequence, is_real) for sequence in range(len(sections))]
        over = ((work, part) for work, end in zip(works, until, strict=True) for part in self._over(work, end))
        found: list[Counted] = []
        for work, part, totals in self._evaluated(over, events.pair_tests):
            if self.is_span:
                work.totals.add(totals, self.kinds)
            elif totals.numbers[0]:
                found.append(Counted(work.sequence, part.window, totals))
        if self.is_span:
            ended = [work for work, end in zip(works, until, strict=True) if end is None]
            found = [Counted(work.sequence, NO_WINDOW, work.totals) for work in ended if work.totals.numbers[0]]
        states = [
            b"" if end is None else self._state(work, events, len(sections), is_real)
            for work, end in zip(works, until, strict=True)
        ]
        return as_results(self.program, found, self.exact, is_real), states

    def _work(self, events: Events, sections: Sequence[bytes], sequence: int, is_real: Sequence[bool]) -> Work:
        start, end = int(events.starts[sequence]), int(events.starts[sequence + 1])
        kept, section = arriving(self.reads, events, start, end), sections[sequence]
        if not section:
            return Work(sequence, Totals.nothing(len(self.kinds)), NOT_BEGUN, kept)
        with reading(KEPT_STATE):
            (begun,) = struct.unpack_from("<q", section)
            totals, read = unpack_totals(section[8:], is_real)
            types = [events.values[i].dtype for i in self.reads.values]
            earlier = unpack_kept(section[8 + read :], self.reads, types)
        step = 1 if self.is_span else max(self.program.extent.slide, 1)
        check(begun == NOT_BEGUN or abs(begun) <= LARGEST // step, KEPT_STATE, "its first window is out of range")
        earlier = replace(earlier, name=carried_names(earlier.name, sequence, len(sections)))
        return Work(sequence, totals, begun, together([earlier, kept]))

    def _state(self, work: Work, events: Events, sequences: int, is_real: Sequence[bool]) -> bytes:
        start, end = int(events.starts[work.sequence]), int(events.starts[work.sequence + 1])
        name = work.kept.name
        back = np.where(name >= 0, end - 1 - name, (-1 - name) // sequences + (end - start))
        kept = pack_kept(replace(work.kept, name=back))
        return struct.pack("<q", work.begun) + pack_totals(work.totals, is_real) + kept

    # --- what is over -------------------------------------------------------------------------------------------------

    def _over(self, work: Work, until: int | None) -> Iterator[Part]:
        """Parts to be counted; what remains is left in the work."""
        match self.program.extent.kind:
            case BoundKind.NONE:
                if until is None:
                    yield Part(NO_WINDOW, work.kept)
            case BoundKind.WINDOWS:
                yield from self._windows_over(work, until)
            case BoundKind.SPAN:
                yield from self._span_over(work, until)

    def _position(self, kept: Kept) -> Ints:
        return kept.place if self.program.extent.by_place else kept.time

    def _windows_over(self, work: Work, until: int | None) -> Iterator[Part]:
        extent, kept, position = self.program.extent, work.kept, self._position(work.kept)
        at = 0
        while at < len(position):
            # The first window that holds the event, or a later one that no call before has given.
            window = max((int(position[at]) - extent.length) // extent.slide + 1, work.begun)
            if extent.by_place:
                window = max(window, 0)
            start = window * extent.slide
            if until is not None and start + extent.length > until:
                break
            first, behind = np.searchsorted(position, [start, start + extent.length]).tolist()
            if first < behind:
                yield Part(start, kept.part(slice(first, behind)))
            work.begun = window + 1
            at = int(np.searchsorted(position, work.begun * extent.slide))
        if until is not None:
            # Windows that end at or before `until` are over, whether events were in them or not.
            work.begun = max(work.begun, (until - extent.length) // extent.slide + 1)
            work.kept = kept.part(slice(int(np.searchsorted(position, work.begun * extent.slide)), None))

    def _span_over(self, work: Work, until: int | None) -> Iterator[Part]:
        """Trends that start before `until - length` can't be carried on any more."""
        length, kept, position = self.program.extent.length, work.kept, self._position(work.kept)
        behind = len(position) if until is None else int(np.searchsorted(position, until - length))
        first = 0 if work.begun == NOT_BEGUN else int(np.searchsorted(position, work.begun))
        ends = np.searchsorted(position, position + length, "right")
        # What lies a span before the first event may be something that must not come before it.
        begins = np.searchsorted(position, position - length)
        for event in range(first, behind):
            begin = event if self.ordered is not None else int(begins[event])
            yield Part(NO_WINDOW, kept.part(slice(begin, int(ends[event]))), event - begin)
        if until is not None:
            work.begun = max(work.begun, until - length)
            work.kept = kept.part(slice(int(np.searchsorted(position, work.begun - length)), None))

    # --- counting -----------------------------------------------------------------------------------------------------

    def _evaluated(
        self, over: Iterator[tuple[Work, Part]], pair_tests: Sequence[PairTest]
    ) -> Iterator[tuple[Work, Part, Totals]]:
        if self.ordered is None:
            for work, part in over:
                visit = Visit(self.program, self.reads, part.kept, pair_tests)
                yield work, part, visit.totals() if part.first is None else visit.totals_from(part.first)
            return
        waiting: list[tuple[Work, Part]] = []
        rows = 0
        for work, part in over:
            waiting.append((work, part))
            rows += len(part.kept.time)
            if rows >= MOST_ROWS:
                yield from self._together(waiting, pair_tests)
                waiting, rows = [], 0
        yield from self._together(waiting, pair_tests)

    def _together(
        self, waiting: Sequence[tuple[Work, Part]], pair_tests: Sequence[PairTest]
    ) -> Iterator[tuple[Work, Part, Totals]]:
        if waiting and self.ordered is not None:
            parts = [part.kept for _, part in waiting]
            totals = self.ordered.totals(parts, pair_tests, only_first=self.is_span)
            for (work, part), each in zip(waiting, totals, strict=True):
                yield work, part, each


def carried_names(back: Ints, sequence: int, sequences: int) -> Ints:
    """Names of events of earlier calls, `back` events before the last of them."""
    return -1 - (sequence + sequences * back)
