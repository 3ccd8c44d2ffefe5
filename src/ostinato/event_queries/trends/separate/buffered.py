"""Evaluates a program when a window is over, from the events of the window.

A span has no windows: the trends of each first event are counted as soon as no later event can belong to them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ostinato.event_queries.plan.event_program import NO_WINDOW, BoundKind, Events, PairTest, Program, QueryResults
from ostinato.event_queries.trends.edge_tests import names_of_earlier_events
from ostinato.event_queries.trends.separate.buffered_events import (
    BUFFER_STATE,
    BufferedEvents,
    Ints,
    Reads,
    arriving,
    pack_events,
    together,
    unpack_events,
)
from ostinato.event_queries.trends.separate.ordered_at_once import results_at_once
from ostinato.event_queries.trends.separate.ordered_edges import OrderedEdges
from ostinato.event_queries.trends.separate.program_method import needs_visits
from ostinato.event_queries.trends.separate.totals import Counted, Totals, as_results, pack_totals, unpack_totals
from ostinato.event_queries.trends.separate.visiting import Visit
from ostinato.streams.stored_state import LARGEST, check, reading

NOT_BEGUN = NO_WINDOW
MOST_ROWS = 1 << 17
"""Windows with this many events in total are evaluated together."""


@dataclass(frozen=True, slots=True)
class WindowEvents:
    """Events to be evaluated. With `first`, only the trends that start with that event count."""

    window: int
    buffered: BufferedEvents
    first: int | None = None


@dataclass(slots=True)
class SequenceBuffer:
    """The buffered events of one sequence during one call."""

    sequence: int
    totals: Totals
    """With a span: the totals of earlier calls."""
    begun: int
    """The first window that isn't over. With a span: the first position whose trends aren't all counted."""
    buffered: BufferedEvents


class Buffered:
    """Runs one program, with holders of sums if they suffice (`ordered_edges.py`), else by visiting events
    (`visiting.py`)."""

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
        buffers = [self._buffer(events, sections, sequence, is_real) for sequence in range(len(sections))]
        over = (
            (buffer, events_of_window)
            for buffer, end in zip(buffers, until, strict=True)
            for events_of_window in self._over(buffer, end)
        )
        counted: list[Counted] = []
        for buffer, events_of_window, totals in self._evaluated(over, events.pair_tests):
            if self.is_span:
                buffer.totals.add(totals, self.kinds)
            elif totals.numbers[0]:
                counted.append(Counted(buffer.sequence, events_of_window.window, totals))
        if self.is_span:
            ended = [buffer for buffer, end in zip(buffers, until, strict=True) if end is None]
            counted = [
                Counted(buffer.sequence, NO_WINDOW, buffer.totals) for buffer in ended if buffer.totals.numbers[0]
            ]
        states = [
            b"" if end is None else self._state(buffer, events, len(sections), is_real)
            for buffer, end in zip(buffers, until, strict=True)
        ]
        return as_results(self.program, counted, self.exact, is_real), states

    def _buffer(
        self, events: Events, sections: Sequence[bytes], sequence: int, is_real: Sequence[bool]
    ) -> SequenceBuffer:
        start, end = int(events.starts[sequence]), int(events.starts[sequence + 1])
        buffered, section = arriving(self.reads, events, start, end), sections[sequence]
        if not section:
            return SequenceBuffer(sequence, Totals.nothing(len(self.kinds)), NOT_BEGUN, buffered)
        with reading(BUFFER_STATE):
            (begun,) = struct.unpack_from("<q", section)
            totals, read = unpack_totals(section[8:], is_real)
            types = [events.values[i].dtype for i in self.reads.values]
            earlier = unpack_events(section[8 + read :], self.reads, types)
        step = 1 if self.is_span else max(self.program.extent.slide, 1)
        check(begun == NOT_BEGUN or abs(begun) <= LARGEST // step, BUFFER_STATE, "its first window is out of range")
        earlier = replace(earlier, name=names_of_earlier_events(earlier.name, sequence, len(sections)))
        return SequenceBuffer(sequence, totals, begun, together([earlier, buffered]))

    def _state(self, buffer: SequenceBuffer, events: Events, sequences: int, is_real: Sequence[bool]) -> bytes:
        start, end = int(events.starts[buffer.sequence]), int(events.starts[buffer.sequence + 1])
        name = buffer.buffered.name
        back = np.where(name >= 0, end - 1 - name, (-1 - name) // sequences + (end - start))
        buffered = pack_events(replace(buffer.buffered, name=back))
        return struct.pack("<q", buffer.begun) + pack_totals(buffer.totals, is_real) + buffered

    # --- windows that are over ---------------------------------------------------------------------------------------

    def _over(self, buffer: SequenceBuffer, until: int | None) -> Iterator[WindowEvents]:
        """Yields the windows that are over and removes them from the buffer."""
        match self.program.extent.kind:
            case BoundKind.NONE:
                if until is None:
                    yield WindowEvents(NO_WINDOW, buffer.buffered)
            case BoundKind.WINDOWS:
                yield from self._windows_over(buffer, until)
            case BoundKind.SPAN:
                yield from self._span_over(buffer, until)

    def _position(self, buffered: BufferedEvents) -> Ints:
        return buffered.place if self.program.extent.by_place else buffered.time

    def _windows_over(self, buffer: SequenceBuffer, until: int | None) -> Iterator[WindowEvents]:
        extent, buffered, position = self.program.extent, buffer.buffered, self._position(buffer.buffered)
        row = 0
        while row < len(position):
            # The first window that holds the event and that no earlier call has given.
            window = max((int(position[row]) - extent.length) // extent.slide + 1, buffer.begun)
            if extent.by_place:
                window = max(window, 0)
            start = window * extent.slide
            if until is not None and start + extent.length > until:
                break
            first, behind = np.searchsorted(position, [start, start + extent.length]).tolist()
            if first < behind:
                yield WindowEvents(start, buffered.select(slice(first, behind)))
            buffer.begun = window + 1
            row = int(np.searchsorted(position, buffer.begun * extent.slide))
        if until is not None:
            # Windows that end at or before `until` are over, even if they have no events.
            buffer.begun = max(buffer.begun, (until - extent.length) // extent.slide + 1)
            buffer.buffered = buffered.select(slice(int(np.searchsorted(position, buffer.begun * extent.slide)), None))

    def _span_over(self, buffer: SequenceBuffer, until: int | None) -> Iterator[WindowEvents]:
        """No later event can extend trends that start before `until - length`."""
        length, buffered, position = self.program.extent.length, buffer.buffered, self._position(buffer.buffered)
        behind = len(position) if until is None else int(np.searchsorted(position, until - length))
        first = 0 if buffer.begun == NOT_BEGUN else int(np.searchsorted(position, buffer.begun))
        ends = np.searchsorted(position, position + length, "right")
        # Events up to a span before the first event may be events that NOT forbids before it.
        begins = np.searchsorted(position, position - length)
        for event in range(first, behind):
            begin = event if self.ordered is not None else int(begins[event])
            yield WindowEvents(NO_WINDOW, buffered.select(slice(begin, int(ends[event]))), event - begin)
        if until is not None:
            buffer.begun = max(buffer.begun, until - length)
            buffer.buffered = buffered.select(slice(int(np.searchsorted(position, buffer.begun - length)), None))

    # --- counting -----------------------------------------------------------------------------------------------------

    def _evaluated(
        self, over: Iterator[tuple[SequenceBuffer, WindowEvents]], pair_tests: Sequence[PairTest]
    ) -> Iterator[tuple[SequenceBuffer, WindowEvents, Totals]]:
        if self.ordered is None:
            for buffer, events_of_window in over:
                visit = Visit(self.program, self.reads, events_of_window.buffered, pair_tests)
                yield (
                    buffer,
                    events_of_window,
                    visit.totals() if events_of_window.first is None else visit.totals_from(events_of_window.first),
                )
            return
        waiting: list[tuple[SequenceBuffer, WindowEvents]] = []
        rows = 0
        for buffer, events_of_window in over:
            waiting.append((buffer, events_of_window))
            rows += len(events_of_window.buffered.time)
            if rows >= MOST_ROWS:
                yield from self._together(waiting, pair_tests)
                waiting, rows = [], 0
        yield from self._together(waiting, pair_tests)

    def _together(
        self, waiting: Sequence[tuple[SequenceBuffer, WindowEvents]], pair_tests: Sequence[PairTest]
    ) -> Iterator[tuple[SequenceBuffer, WindowEvents, Totals]]:
        if waiting and self.ordered is not None:
            windows = [events_of_window.buffered for _, events_of_window in waiting]
            totals = self.ordered.totals(windows, pair_tests, only_first=self.is_span)
            for (buffer, events_of_window), each in zip(waiting, totals, strict=True):
                yield buffer, events_of_window, each
