"""The events of windows -> totals, for programs whose edges compare values. Prepares the arrays for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.plan.event_program import (
    NO_VALUE,
    EdgeTest,
    Numbers,
    PairTest,
    Program,
    QueryResults,
)
from ostinato.event_queries.trends.ordered_keys import ordered_keys
from ostinato.event_queries.trends.separate import ordered_kernel as ok
from ostinato.event_queries.trends.separate import running_arrays as ra
from ostinato.event_queries.trends.separate.buffered_events import (
    Bools,
    BufferedEvents,
    Ints,
    Reads,
    label_masks,
    together,
)
from ostinato.event_queries.trends.separate.ordered_plan import HolderPlan
from ostinato.event_queries.trends.separate.running_results import RunningResults
from ostinato.event_queries.trends.separate.slot_values import SlotLayout, value_bits
from ostinato.event_queries.trends.separate.sums import Values
from ostinato.event_queries.trends.separate.totals import Totals
from ostinato.kernels.numbers.number_table import grown
from ostinato.kernels.numbers.python_numbers import SOME, Extended, as_multiple
from ostinato.kernels.stopping import check_stopped, stop_flag

PAIRS = 1 << 22
"""The most pairs that are tested at once."""


class OrderedEdges:
    """One program that `program_method.needs_visits` accepts."""

    def __init__(self, program: Program, exact: bool) -> None:
        self.program = program
        self.exact = exact
        self.holder_plan = HolderPlan(program)
        self.reads = Reads.of(program)

    def totals(
        self, windows: Sequence[BufferedEvents], pair_tests: Sequence[PairTest], *, only_first: bool = False
    ) -> list[Totals]:
        """The totals of each window's trends. With `only_first`, only trends that start with its first event count."""
        buffered = together(windows)
        starts = np.cumsum([0, *(len(window.time) for window in windows)])
        results = self.results(buffered, starts, pair_tests, only_first=only_first)
        return _as_totals(self._layout(buffered), results, len(windows))

    def _layout(self, buffered: BufferedEvents) -> SlotLayout:
        return SlotLayout.of(self.program, [self._is_real(buffered, slot.value) for slot in self.program.slots])

    def results(
        self, buffered: BufferedEvents, starts: Ints, pair_tests: Sequence[PairTest], *, only_first: bool = False
    ) -> QueryResults:
        """The results of windows that lie one after another; `starts` has their first rows and the number of all rows.
        `sequence` of a result is the number of its window. Windows without a trend have no result."""
        layout = self._layout(buffered)
        values = self._values(layout, buffered)
        check_stopped()
        ranked = self._ranked(buffered, starts, only_first, value_bits(values))
        check_stopped()
        holders, sum_count = self._holder_state(ranked)
        sums, slots = layout.new_sums(sum_count, self.exact, ra.COLUMNS), layout.arrays()
        results = RunningResults(layout, self.exact)
        progress = np.zeros(ra.PROGRESS, np.int64)
        while True:
            plan = self.holder_plan.plan
            status = ok.evaluate_windows(plan, slots, holders, ranked, values, sums, results.out, progress, stop_flag())
            check_stopped()
            match status:
                case ra.FINISHED:
                    results.take(progress)
                    return results.all()
                case ra.MORE_COLUMNS:
                    sums = sums._replace(integers=grown(sums.integers))
                case ra.MORE_OUTPUT:
                    results.take(progress)
                case ra.MORE_PAIRS:
                    ranked = self._with_pairs(ranked, buffered, pair_tests, int(progress[ra.ROW]))
                case _:
                    raise AssertionError("a number did not fit where it had to")

    def _column(self, buffered: BufferedEvents, value: int) -> tuple[NDArray[Any], Bools]:
        index = self.reads.values.index(value)
        return buffered.values[index], buffered.valid[index]

    def _is_real(self, buffered: BufferedEvents, value: int) -> bool:
        return value != NO_VALUE and self._column(buffered, value)[0].dtype == np.float64

    def _values(self, layout: SlotLayout, buffered: BufferedEvents) -> Values:
        everywhere = np.ones(len(buffered.time), bool)
        pairs = [
            (None, everywhere) if s.value == NO_VALUE else self._column(buffered, s.value) for s in self.program.slots
        ]
        return layout.values([column for column, _ in pairs], [valid for _, valid in pairs])

    def _ranked(self, buffered: BufferedEvents, starts: Ints, only_first: bool, bits: int) -> ok.Ranked:
        program, count = self.program, len(buffered.time)
        conditions = self.reads.conditions
        mask = label_masks(program, lambda number: buffered.conditions[conditions.index(number)], count)
        tests = self.holder_plan.tests
        rank, below, until = (np.zeros((len(tests), count), np.int64) for _ in range(3))
        ranks, pair_of = np.zeros((len(tests), len(starts) - 1), np.int64), np.full(len(tests), -1, np.int64)
        for i, test in enumerate(tests):
            if test.op is None:
                pair_of[i] = pair_of.max(initial=-1) + 1
            else:
                stored = (mask >> test.before) & 1 == 1
                rank[i], below[i], until[i], ranks[i] = self._ranks(buffered, starts, test, stored)
        return ok.Ranked(
            starts=starts,
            time=buffered.time.copy(),  # a writable copy: the kernel is compiled for writable arrays
            mask=mask,
            rank=rank,
            below=below,
            until=until,
            ranks=ranks,
            passes=np.zeros((int(pair_of.max(initial=-1)) + 1, 0, 0), bool),
            pair_of=pair_of,
            first=0,
            end=0,
            only_first=only_first,
            value_bits=bits,
        )

    def _ranks(
        self, buffered: BufferedEvents, starts: Ints, test: EdgeTest, stored: Bools
    ) -> tuple[Ints, Ints, Ints, Ints]:
        earlier, earlier_valid = self._column(buffered, test.before_value)
        later, later_valid = self._column(buffered, test.after_value)
        if earlier.dtype != later.dtype:
            earlier, later = earlier.astype(np.float64), later.astype(np.float64)
        count, windows = len(earlier), np.arange(len(starts) - 1)
        every, codes = np.unique(np.concatenate([ordered_keys(earlier), ordered_keys(later)]), return_inverse=True)
        # One code for each window and value. A value's rank is the index of its code among the codes of its window.
        window = np.repeat(windows, np.diff(starts)) * len(every)
        mine, candidates = window + codes[:count], window + codes[count:]
        stored = stored & earlier_valid
        different = np.unique(mine[stored])
        first = np.searchsorted(different, window)
        rank = np.where(stored, np.searchsorted(different, mine) - first + 1, 0)
        below = np.where(later_valid, np.searchsorted(different, candidates, "left") - first, -1)
        until = np.searchsorted(different, candidates, "right") - first
        return rank, below, until, np.diff(np.searchsorted(different, np.append(windows, len(windows)) * len(every)))

    def _holder_state(self, ranked: ok.Ranked) -> tuple[ok.HolderState, int]:
        """The holders' arrays, and the number of sums. The sizes suffice for every window."""
        longest = int(np.diff(ranked.starts).max(initial=0))
        most = ranked.ranks.max(axis=1, initial=0)
        sizes, logs = [], []
        for holder in self.holder_plan.holders:
            fixed_size = 1 if holder.kind == ok.PLAIN else longest if holder.kind == ok.LISTED else None
            sizes.append(int(most[holder.test]) + 1 if fixed_size is None else fixed_size)
            logs.append(0 if holder.kind == ok.PLAIN else longest)
        begins = np.append(np.diff(ranked.time, prepend=0) != 0, True)
        begins[ranked.starts] = True
        ties = np.diff(np.flatnonzero(begins)).max(initial=0)
        waiting = int(ties) * len(self.holder_plan.classes) + 1
        base = np.cumsum([0, *sizes])
        holders = ok.HolderState(
            base,
            np.cumsum([0, *logs]),
            np.zeros(sum(logs), np.int64),
            np.zeros(len(sizes), np.int64),
            np.zeros(waiting, np.int64),
            np.zeros(waiting, np.int64),
        )
        return holders, int(base[-1]) + waiting

    def _with_pairs(
        self, ranked: ok.Ranked, buffered: BufferedEvents, pair_tests: Sequence[PairTest], first: int
    ) -> ok.Ranked:
        """Tests the next events against all earlier events of their windows. Events of one time stay together."""
        count, longest = len(buffered.time), int(np.diff(ranked.starts).max(initial=1))
        end = min(first + max(PAIRS // longest, 1), count)
        window = np.searchsorted(ranked.starts, np.arange(first, count), "right") - 1
        while (
            end < count
            and window[end - first] == window[end - 1 - first]
            and buffered.time[end] == buffered.time[end - 1]
        ):
            end += 1
        begin = ranked.starts[window[: end - first]]
        passes = np.zeros((len(ranked.passes), end - first, longest), bool)
        for i, test in enumerate(self.holder_plan.tests):
            if test.pair_test is None:
                continue
            later = np.flatnonzero((ranked.mask[first:end] >> test.after) & 1) + first
            many = later - begin[later - first]
            after = np.repeat(later, many)
            before = after - 1 - (np.arange(len(after)) - np.repeat(np.cumsum(many) - many, many))
            sensible = (buffered.time[before] < buffered.time[after]) & ((ranked.mask[before] >> test.before) & 1 == 1)
            before, after = before[sensible], after[sensible]
            holds = pair_tests[test.pair_test](buffered.name[before], buffered.name[after])
            passes[ranked.pair_of[i], after - first, before - begin[after - first]] = holds
        return ranked._replace(passes=passes, first=first, end=end)


def _as_totals(layout: SlotLayout, results: QueryResults, windows: int) -> list[Totals]:
    """The results as Python integers, one entry for each window."""
    totals_of_windows = [Totals.nothing(len(layout.program.slots)) for _ in range(windows)]
    for row, window in enumerate(results.sequence.tolist()):
        totals = totals_of_windows[window]
        totals.numbers[0] = _integer(results.count, row)
        for slot, (numbers, present) in enumerate(zip(results.slots, results.present, strict=True)):
            flag = SOME if present[row] else 0
            if slot in layout.integers:
                totals.numbers[slot + 1] = _integer(numbers, row)
            elif slot in layout.best:
                assert not isinstance(numbers, Extended)
                totals.best[slot] = numbers[row].item()
            elif flag:
                assert isinstance(numbers, Extended)
                multiple, flag = as_multiple(float(numbers.mantissa[row]))
                exponent = int(numbers.exponent[row])
                totals.numbers[slot + 1] = multiple << exponent if exponent >= 0 else multiple >> -exponent
            totals.flags[slot] = flag
    return totals_of_windows


def _integer(numbers: Numbers, row: int) -> int:
    if isinstance(numbers, Extended):
        return int(Fraction(float(numbers.mantissa[row])) * Fraction(2) ** int(numbers.exponent[row]))
    return int(numbers[row])
