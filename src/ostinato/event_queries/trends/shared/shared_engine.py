"""The shared engine: queries that repeat the same events share one log of these events (HAMLET, 2021, and beyond).

HAMLET shares the propagation of counts through a burst of events of a Kleene label, as coefficients of snapshots.
Without conditions between adjacent events the coefficients are powers of two (`trends/loops.py`), so nothing has to be
propagated. An event of the label costs the same for any number of queries. A query pays when an event of its other
labels arrives. `event_queries/plan/event_program.py` defines input and output.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import EngineStep, Events, Program, TrendEngine
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.blocks import ops_of, walk_blocks
from ostinato.event_queries.trends.shared.compile import compiled
from ostinato.event_queries.trends.shared.event_symbols import SymbolRows, prepared
from ostinato.event_queries.trends.shared.lane_results import ResultCollector
from ostinato.event_queries.trends.shared.lane_state import fingerprint, load, save
from ostinato.event_queries.trends.shared.layout import CompiledPrograms, SharedLayout
from ostinato.event_queries.trends.shared.lookups import LaneArrays, OutputArrays
from ostinato.event_queries.trends.shared.sections import packed, packed_plan, section
from ostinato.event_queries.trends.shared.shared_kernel import bring_up, walk
from ostinato.kernels.numbers.number_table import grown, new_table
from ostinato.kernels.stopping import check_stopped, stop_flag

PROGRAMS = "programs on one log"
"""Name of this engine's number of programs in the statistics."""

_NEAR = np.iinfo(np.int64).min
_RESULTS = 512


class SharedEngine(TrendEngine):
    """With `sharing="never"`, every lane processes every event itself. Without conditions between adjacent events,
    sharing always pays, so "dynamic" means "always"."""

    def __init__(self, programs: Sequence[Program], exact: bool, sharing: str = "dynamic") -> None:
        self.programs = tuple(programs)
        self.exact = exact
        self.sharing = sharing
        self._plans: dict[frozenset[int], tuple[CompiledPrograms, NDArray[np.int64] | None]] = {}

    def _plan(self, events: Events) -> tuple[CompiledPrograms, NDArray[np.int64] | None]:
        floats = frozenset(number for number, column in enumerate(events.values) if column.dtype == np.float64)
        if floats not in self._plans:
            plan = compiled(self.programs, self.exact, floats, self.sharing != "never")
            self._plans[floats] = plan, ops_of(plan.layout)
        return self._plans[floats]

    def advance(self, events: Events, states: Sequence[bytes], until: NDArray[np.int64] | None) -> EngineStep:
        plan, ops = self._plan(events)
        sequences = len(events.starts) - 1
        arrays = KernelArrays(plan, self.exact, prepared(events, plan))
        collector = ResultCollector(self.programs, plan.slot_indexes)
        ends = np.full(sequences, s.FAR) if until is None else np.ascontiguousarray(until, np.int64)
        if until is None and not any(states):
            arrays.run(0, sequences, ends, collector, ops)
            new_states: list[bytes] = [b""] * sequences
        else:
            new_states = []
            mark = fingerprint(plan.layout, self.exact)
            for sequence in range(sequences):
                if states[sequence]:
                    load(arrays, states[sequence], mark)
                arrays.run(sequence, sequence + 1, ends, collector)
                new_states.append(b"" if until is None else arrays.saved_state(mark))
        statistics = {PROGRAMS: len(self.programs), **arrays.statistics()}
        return EngineStep(collector.results(self.exact, events), tuple(new_states), statistics)


class KernelArrays:
    """The arrays that the kernel works on during one call."""

    def __init__(self, plan: CompiledPrograms, exact: bool, rows: SymbolRows) -> None:
        self.layout = layout = plan.layout
        self.rows = rows
        self.plan = packed_plan(layout, len(plan.streams.ints), len(plan.streams.extremes))
        self.logs, self.log_sums, self._log_lengths = _logs(layout, rows)
        queries = layout.queries
        lanes_of = layout.windows.lanes[queries.extent]
        query_of = np.repeat(np.arange(len(lanes_of)), lanes_of)
        width, extreme_width = 1 + queries.slots, 1 + queries.extremes
        targets = int(np.diff(queries.target_from).max(initial=0))
        widest, reals, extremes = int(width.max()), int(queries.reals.max()), int(extreme_width.max())
        row = _begins((queries.cells * width)[query_of])
        real_row = _begins((queries.full_cells * queries.reals)[query_of])
        extreme = _begins((queries.full_cells * extreme_width)[query_of])
        position_from = _begins(np.diff(queries.loop_from)[query_of])
        lengths = {
            s.LANE_IS_OPEN: len(query_of),
            s.LANE_STAMP: len(query_of),
            s.LANE_POSITION: int(position_from[-1]),
            s.LANE_KEY: int(extreme[-1]),
            s.LANE_HAS: int(extreme[-1]),
            s.OPEN_FIRST: len(layout.windows.kind),
            s.OPEN_NEXT: len(layout.windows.kind),
            s.OPEN_CHANGE: len(layout.windows.kind),
            s.ASIDE_USED: targets,
            s.ASIDE_KEY: targets * extremes,
            s.ASIDE_HAS: targets * extremes,
        }
        initial_sections = {
            s.LANE_ROW: row,
            s.LANE_REAL_ROW: real_row,
            s.LANE_EXTREME: extreme,
            s.LANE_POSITION_FROM: position_from,
        }
        self._lengths = lengths | {section: len(array) for section, array in initial_sections.items()}
        first_result = int(row[-1]) + targets * widest + 2
        first_real = int(real_row[-1]) + targets * reals
        self.lanes = packed(
            {section: np.zeros(length, np.int64) for section, length in lengths.items()} | initial_sections,
            {
                s.ASIDE_ROWS: int(row[-1]),
                s.ASIDE_COUNT: first_result - 2,
                s.ASIDE_SPARE: first_result - 1,
                s.RESULT_TABLE: first_result,
                s.ASIDE_REALS: int(real_row[-1]),
                s.RESULT_REAL_TABLE: first_real,
            },
        )
        self.results = packed(
            {section: np.zeros(_RESULTS, np.int64) for section in range(s.RESULT_QUERY, s.RESULT_KEY)}
            | {section: np.zeros(_RESULTS * extremes, np.int64) for section in (s.RESULT_KEY, s.RESULT_HAS)},
            {s.RESULT_ROOM: _RESULTS, s.RESULT_EXTREME_ROOM: _RESULTS * extremes},
        )
        self.table = new_table(first_result + _RESULTS * widest, exact, 8)
        self.real = new_table(first_real + _RESULTS * reals + 1, False)
        self.progress = np.zeros(7, np.int64)
        self.counters = np.zeros(5, np.int64)
        self.forget()

    def lane_arrays(self) -> LaneArrays:
        return LaneArrays(self.plan, self.logs, self.log_sums, self.lanes, self.table, self.real, self.counters)

    def lane_section(self, number: int) -> NDArray[np.int64]:
        return section(self.lanes, number, self._lengths[number])

    def log_section(self, number: int) -> NDArray[np.int64]:
        return section(self.logs, number, self._log_lengths[number])

    def run(
        self,
        first: int,
        last: int,
        until: NDArray[np.int64],
        collector: ResultCollector,
        ops: NDArray[np.int64] | None = None,
    ) -> None:
        """Runs the kernel over sequences `first` to before `last`. With `ops`, and if the rows allow it, in blocks."""
        rows = self.rows
        blocks = ops is not None and rows.one_at_a_time
        output = OutputArrays(self.results, self.progress)
        cells = int(self.layout.queries.cells.max())
        small = np.zeros((int(self.lane_section(s.LANE_ROW)[-1]) if blocks else 0, 1 + cells), np.int64)
        self.progress[[s.SEQUENCE, s.ROW, s.LAST_SEQUENCE]] = first, rows.events.starts[first], last
        while True:
            if blocks:
                status = walk_blocks(self.lane_arrays(), rows.events, output, ops, small, stop_flag())
            else:
                status = walk(self.lane_arrays(), rows.events, output, until, stop_flag())
            check_stopped()
            if status == s.NUMBERS_FULL:
                self.table = grown(self.table)
                continue
            collector.take(self)
            if status == s.DONE:
                return

    def saved_state(self, mark: int) -> bytes:
        """Saves the state of the current sequence, then clears the arrays for the next one."""
        while bring_up(self.lane_arrays()) != s.DONE:
            self.table = grown(self.table)
        state = save(self, mark)
        self.forget()
        return state

    def forget(self) -> None:
        """Clears the arrays: no window is open, and the logs are empty."""
        self.lane_section(s.LANE_IS_OPEN)[:] = 0
        for number, value in ((s.ENTRY_ENTRIES, 0), (s.ENTRY_FRESH, 1), (s.ENTRY_LANES, 0), (s.ENTRY_STACK_SIZE, 0)):
            self.log_section(number)[:] = value
        self.lane_section(s.OPEN_FIRST)[:] = self.lane_section(s.OPEN_NEXT)[:] = np.where(
            self.layout.windows.kind > 0, s.NOT_BEGUN, 0
        )
        self.lane_section(s.OPEN_CHANGE)[:] = _NEAR

    def statistics(self) -> dict[str, int]:
        counts = [int(count) for count in self.counters]
        return {
            "bursts": counts[s.BURSTS],
            "shared": counts[s.SHARED],
            "split": 0,
            "merged": 0,
            "snapshots": counts[s.SNAPSHOTS],
            "lane updates": counts[s.UPDATES],
            "lane updates saved": max(counts[s.SAVED] - counts[s.SNAPSHOTS], 0),
        }


def _begins(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    begins = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=begins[1:])
    return begins


def _logs(layout: SharedLayout, rows: SymbolRows) -> tuple[NDArray[np.int64], NDArray[np.float64], dict[int, int]]:
    """Empty logs with room for an entry for each of their events and one more, sums of doubles, and section lengths."""
    logs = len(layout.logs.condition)
    capacity = rows.log_events.astype(np.int64) + 1
    entry_from = _begins(capacity)
    ints, reals, stacks = (
        _begins(np.repeat(capacity, np.diff(begin)))
        for begin in (layout.logs.int_from, layout.logs.real_from, layout.logs.extreme_from)
    )
    initial_sections = {
        s.ENTRY_ENTRY_FROM: entry_from,
        s.ENTRY_INT_AT: ints,
        s.ENTRY_REAL_AT: reals,
        s.ENTRY_STACK_AT: stacks,
    }
    lengths = dict.fromkeys((s.ENTRY_ENTRIES, s.ENTRY_MARKED, s.ENTRY_FRESH, s.ENTRY_LANES), logs)
    lengths |= dict.fromkeys((s.ENTRY_EVENTS, s.ENTRY_GROWTH, s.ENTRY_TIES, s.ENTRY_TIE_ENTRY), int(entry_from[-1]))
    lengths |= dict.fromkeys((s.ENTRY_INT_HIGH, s.ENTRY_INT_LOW), int(ints[-1]))
    lengths |= {
        s.ENTRY_STACK_SIZE: len(stacks) - 1,
        s.ENTRY_STACK_ENTRY: int(stacks[-1]),
        s.ENTRY_STACK_KEY: int(stacks[-1]),
    }
    data = packed({number: np.zeros(length, np.int64) for number, length in lengths.items()} | initial_sections)
    lengths |= {number: len(array) for number, array in initial_sections.items()}
    return data, np.zeros((2, int(reals[-1]))), lengths
