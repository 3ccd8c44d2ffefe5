"""Runs a program by running sums over all sequences: prepares the kernel's arrays, grows them, reads the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import NO_VALUE, BoundKind, Events, Program, QueryResults
from ostinato.event_queries.trends.separate import running_arrays as ra
from ostinato.event_queries.trends.separate.buffered_events import label_masks
from ostinato.event_queries.trends.separate.running_checks import are_sound
from ostinato.event_queries.trends.separate.running_kernel import advance_sums
from ostinato.event_queries.trends.separate.running_plan import make_plan
from ostinato.event_queries.trends.separate.running_results import RunningResults
from ostinato.event_queries.trends.separate.slot_values import SlotLayout, value_bits
from ostinato.event_queries.trends.separate.sums import Values
from ostinato.kernels.numbers.number_table import grown
from ostinato.kernels.stopping import check_stopped, stop_flag
from ostinato.streams.stored_state import check

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class RunningSums:
    """One program that `program_method.needs_events` accepts."""

    def __init__(self, program: Program, exact: bool) -> None:
        self.program = program
        self.exact = exact
        self.plan = make_plan(program)

    def advance(
        self, events: Events, sections: Sequence[bytes], until: Sequence[int | None], is_real: Sequence[bool]
    ) -> tuple[QueryResults, Sequence[bytes]]:
        layout = SlotLayout.of(self.program, is_real)
        mask = label_masks(self.program, events.conditions.__getitem__, len(events.time))
        chosen = np.flatnonzero(mask)
        values = self._values(layout, events, chosen)
        rows = self._rows(events, mask[chosen], chosen, until, value_bits(values))
        before = self._read_states(layout, sections)
        after = ra.StoredSums(np.zeros(len(before.starts), np.int64), np.zeros(max(len(before.words), 1024), np.int64))
        capacity = self._capacity(rows, before)
        lanes = ra.Lanes(
            capacity, np.zeros(capacity, np.int64), np.zeros(capacity, np.int64), np.zeros(self.plan.states, bool)
        )
        slots, sums = (
            layout.arrays(),
            layout.new_sums((capacity + ra.SPARE) * self.plan.sums_per_lane, self.exact, ra.COLUMNS),
        )
        results = RunningResults(layout, self.exact)
        progress = np.zeros(ra.PROGRESS, np.int64)
        while True:
            status = advance_sums(
                self.plan, slots, lanes, rows, values, sums, results.out, before, after, progress, stop_flag()
            )
            check_stopped()
            match status:
                case ra.FINISHED:
                    break
                case ra.MORE_COLUMNS:
                    sums = sums._replace(integers=grown(sums.integers))
                case ra.MORE_OUTPUT:
                    results.take(progress)
                case ra.MORE_STATE:
                    after = ra.StoredSums(after.starts, np.concatenate([after.words, np.zeros_like(after.words)]))
                case _:
                    raise AssertionError("a number did not fit where it had to")
        results.take(progress)
        bounds = zip(after.starts.tolist(), after.starts[1:].tolist(), strict=False)
        return results.all(), [after.words[first:end].tobytes() for first, end in bounds]

    def _read_states(self, layout: SlotLayout, sections: Sequence[bytes]) -> ra.StoredSums:
        """The stored state of each sequence; raises STATE_FORMAT if it is invalid."""
        state_name = "a running sum in the state of an event query"
        check(all(len(section) % 8 == 0 for section in sections), state_name, "its length is wrong")
        sizes = [0, *(len(section) // 8 for section in sections)]
        stored = ra.StoredSums(np.cumsum(sizes), np.frombuffer(b"".join(sections), np.int64))
        sum_sizes = (len(layout.integers) + 1, len(layout.real), len(layout.best), len(layout.seen))
        if len(stored.words):
            sound = are_sound(self.plan, stored, self.exact, np.array(sum_sizes, np.int64))
            check(sound, state_name, "its windows or numbers are out of range")
        return stored

    def _values(self, layout: SlotLayout, events: Events, chosen: Ints) -> Values:
        everywhere = np.ones(len(chosen), bool)
        columns, valid = [], []
        for slot in self.program.slots:
            known = None if slot.value == NO_VALUE else events.valid[slot.value]
            columns.append(None if slot.value == NO_VALUE else events.values[slot.value][chosen])
            valid.append(everywhere if known is None else known[chosen])
        return layout.values(columns, valid)

    def _rows(self, events: Events, mask: Ints, chosen: Ints, until: Sequence[int | None], bits: int) -> ra.EventRows:
        nothing = np.zeros(0, bool)
        linked, tail = links(events, chosen) if self.program.selection is Selection.STRICT else (nothing, nothing)
        final = not len(until) or until[0] is None
        return ra.EventRows(
            starts=np.searchsorted(chosen, events.starts),
            time=events.time[chosen],
            position=(events.place if self.program.extent.by_place else events.time)[chosen],
            mask=mask,
            label=_only_label(mask, self.plan.labels),
            linked=linked,
            tail=tail,
            until=np.zeros(len(until), np.int64) if final else np.array(until, np.int64),
            final=final,
            value_bits=bits,
        )

    def _capacity(self, rows: ra.EventRows, before: ra.StoredSums) -> int:
        """The largest number of lanes that may be open at once in a sequence."""
        plan = self.plan
        if self.program.extent.kind is BoundKind.NONE:
            return 1
        if self.program.extent.kind is BoundKind.WINDOWS:
            return (plan.length + _spread(rows)) // plan.slide + 2
        # With a span: a lane for each position where trends start and that is still within reach, and the stored lanes.
        begins = (rows.mask & plan.start_labels) != 0
        most = 0
        for first, end in zip(rows.starts.tolist(), rows.starts[1:].tolist(), strict=False):
            if end - first > most:
                position = rows.position[first:end][begins[first:end]]
                reach = np.searchsorted(position, position + (plan.length + _spread(rows)), "right")
                most = max(most, int((reach - np.arange(len(position))).max(initial=0)))
        stored_lanes = before.words[before.starts[:-1][np.diff(before.starts) > 0]]
        return most + int(stored_lanes.max(initial=0)) + 1


def _spread(rows: ra.EventRows) -> int:
    """The distance between events of one time. It is above 0 only where positions count events."""
    if not len(rows.time):
        return 0
    change = np.diff(rows.time) != 0
    change[rows.starts[(rows.starts > 0) & (rows.starts < len(rows.time))] - 1] = True
    first = np.concatenate([[0], np.flatnonzero(change) + 1])
    last = np.concatenate([first[1:], [len(rows.time)]]) - 1
    return int((rows.position[last] - rows.position[first]).max())


def _only_label(mask: Ints, labels: int) -> Ints:
    """For each row, its label if exactly one label bit and no absence bit is set; otherwise -1."""
    labels_of_rows = np.full(len(mask), -1, np.int64)
    for label in range(labels):
        labels_of_rows[mask == 1 << label] = label
    return labels_of_rows


def links(events: Events, chosen: Ints) -> tuple[Bools, Bools]:
    """For STRICT. Returns two masks: the chosen rows that directly follow the previous chosen row, and the sequences
    whose next row may directly follow their last row."""
    count = len(events.time)
    begins = np.ones(count + 1, bool)  # another time, or another sequence
    begins[1:count] = np.diff(events.time) != 0
    begins[events.starts] = True
    single = begins[:-1] & begins[1:]
    read = np.zeros(count, bool)
    read[chosen] = True
    linked = single.copy()
    linked[1:] &= single[:-1] & read[:-1]
    has_rows = np.diff(events.starts) > 0
    # The first event of a sequence in this call may follow an event of its stored state.
    first = events.starts[:-1][has_rows]
    linked[first] = single[first]
    tail = np.ones(len(events.starts) - 1, bool)
    last = events.starts[1:][has_rows] - 1
    tail[has_rows] = single[last] & read[last]
    return linked[chosen], tail
