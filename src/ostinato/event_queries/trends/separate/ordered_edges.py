"""The events of windows -> totals, for programs whose edges compare values: ranks, holders, the kernel's room."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.plan.event_program import (
    NO_VALUE,
    EdgeTest,
    Numbers,
    PairTest,
    Program,
    QueryResults,
)
from ostinato.event_queries.trends.separate import ordered_kernel as ok
from ostinato.event_queries.trends.separate.kept_events import Bools, Ints, Kept, Reads, together
from ostinato.event_queries.trends.separate.ordered_plan import HolderPlan
from ostinato.event_queries.trends.separate.running_arrays import PROGRESS, ROW
from ostinato.event_queries.trends.separate.running_results import RunningResults
from ostinato.event_queries.trends.separate.slot_values import SlotLayout, in_order, value_bits
from ostinato.event_queries.trends.separate.sums import Values
from ostinato.event_queries.trends.separate.totals import Totals
from ostinato.kernels.numbers.number_table import grown
from ostinato.kernels.numbers.python_numbers import SOME, Extended, as_multiple
from ostinato.kernels.stopping import check_stopped, stop_flag

COLUMNS = 8
PAIRS = 1 << 22
"""How many pairs are tested in one go, at most."""


class OrderedEdges:
    """One program that `ordered_plan.needs_visits` has nothing against."""

    def __init__(self, program: Program, exact: bool) -> None:
        self.program = program
        self.exact = exact
        self.holders = HolderPlan(program)
        self.reads = Reads.of(program)

    def totals(
        self, parts: Sequence[Kept], pair_tests: Sequence[PairTest], *, only_first: bool = False
    ) -> list[Totals]:
        """Of the trends among the events of each part; `only_first`: of those that start with its first event."""
        kept = together(parts)
        starts = np.cumsum([0, *(len(part.time) for part in parts)])
        found = self.results(kept, starts, pair_tests, only_first=only_first)
        return _as_totals(self._layout(kept), found, len(parts))

    def _layout(self, kept: Kept) -> SlotLayout:
        return SlotLayout.of(self.program, [self._is_real(kept, slot.value) for slot in self.program.slots])

    def results(
        self, kept: Kept, starts: Ints, pair_tests: Sequence[PairTest], *, only_first: bool = False
    ) -> QueryResults:
        """Of windows one after another; `starts` has their first events and the number of all. The results say in
        `sequence` which window they are of, and leave out those without a trend."""
        layout = self._layout(kept)
        values = self._values(layout, kept)
        check_stopped()
        ranked = self._ranked(kept, starts, only_first, value_bits(values))
        check_stopped()
        held, places = self._held(ranked)
        sums, slots = layout.room(places, self.exact, COLUMNS), layout.arrays()
        results = RunningResults(layout, self.exact)
        progress = np.zeros(PROGRESS, np.int64)
        while True:
            plan = self.holders.plan
            status = ok.evaluate_windows(plan, slots, held, ranked, values, sums, results.out, progress, stop_flag())
            check_stopped()
            match status:
                case ok.FINISHED:
                    results.take(progress)
                    return results.all()
                case ok.MORE_COLUMNS:
                    sums = sums._replace(whole=grown(sums.whole))
                case ok.MORE_OUTPUT:
                    results.take(progress)
                case ok.MORE_PAIRS:
                    ranked = self._with_pairs(ranked, kept, pair_tests, int(progress[ROW]))
                case _:
                    raise AssertionError("a number did not fit where it had to")

    def _column(self, kept: Kept, value: int) -> tuple[NDArray[Any], Bools]:
        at = self.reads.values.index(value)
        return kept.values[at], kept.valid[at]

    def _is_real(self, kept: Kept, value: int) -> bool:
        return value != NO_VALUE and self._column(kept, value)[0].dtype == np.float64

    def _values(self, layout: SlotLayout, kept: Kept) -> Values:
        everywhere = np.ones(len(kept.time), bool)
        pairs = [(None, everywhere) if s.value == NO_VALUE else self._column(kept, s.value) for s in self.program.slots]
        return layout.values([column for column, _ in pairs], [valid for _, valid in pairs])

    def _qualifying(self, kept: Kept, condition: int) -> Bools:
        return kept.conditions[self.reads.conditions.index(condition)]

    def _ranked(self, kept: Kept, starts: Ints, only_first: bool, bits: int) -> ok.Ranked:
        program, count = self.program, len(kept.time)
        mask = np.zeros(count, np.int64)
        for label, condition in enumerate(program.qualifies):
            mask |= self._qualifying(kept, condition).astype(np.int64) << label
        for number, absence in enumerate(program.automaton.absences):
            for label in {t.label for t in absence.transitions if t.source == START}:
                condition = program.absent_qualifies[number][label]
                mask |= self._qualifying(kept, condition).astype(np.int64) << (len(program.qualifies) + number)
        tests = self.holders.tests
        rank, below, until = (np.zeros((len(tests), count), np.int64) for _ in range(3))
        ranks, pair_of = np.zeros((len(tests), len(starts) - 1), np.int64), np.full(len(tests), -1, np.int64)
        for i, test in enumerate(tests):
            if test.op is None:
                pair_of[i] = pair_of.max(initial=-1) + 1
            else:
                stored = (mask >> test.before) & 1 == 1
                rank[i], below[i], until[i], ranks[i] = self._ranks(kept, starts, test, stored)
        return ok.Ranked(
            starts=starts,
            time=kept.time.copy(),  # one that can be written, as always: the kernel is compiled for that
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

    def _ranks(self, kept: Kept, starts: Ints, test: EdgeTest, stored: Bools) -> tuple[Ints, Ints, Ints, Ints]:
        earlier, earlier_valid = self._column(kept, test.before_value)
        later, later_valid = self._column(kept, test.after_value)
        if earlier.dtype != later.dtype:
            earlier, later = earlier.astype(np.float64), later.astype(np.float64)
        count, windows = len(earlier), np.arange(len(starts) - 1)
        every, codes = np.unique(np.concatenate([in_order(earlier), in_order(later)]), return_inverse=True)
        # One number for a window and a value: a window's own ranks are the places of its numbers, from its first on.
        window = np.repeat(windows, np.diff(starts)) * len(every)
        mine, asked = window + codes[:count], window + codes[count:]
        stored = stored & earlier_valid
        different = np.unique(mine[stored])
        first = np.searchsorted(different, window)
        rank = np.where(stored, np.searchsorted(different, mine) - first + 1, 0)
        below = np.where(later_valid, np.searchsorted(different, asked, "left") - first, -1)
        until = np.searchsorted(different, asked, "right") - first
        return rank, below, until, np.diff(np.searchsorted(different, np.append(windows, len(windows)) * len(every)))

    def _held(self, ranked: ok.Ranked) -> tuple[ok.Held, int]:
        """Where each holder's places and logs begin; and how many places there are. They do for every window."""
        longest = int(np.diff(ranked.starts).max(initial=0))
        most = ranked.ranks.max(axis=1, initial=0)
        sizes, logs = [], []
        for holder in self.holders.holders:
            wanted = 1 if holder.kind == ok.PLAIN else longest if holder.kind == ok.LISTED else None
            sizes.append(int(most[holder.test]) + 1 if wanted is None else wanted)
            logs.append(0 if holder.kind == ok.PLAIN else longest)
        begins = np.append(np.diff(ranked.time, prepend=0) != 0, True)
        begins[ranked.starts] = True
        ties = np.diff(np.flatnonzero(begins)).max(initial=0)
        waiting = int(ties) * len(self.holders.classes) + 1
        base = np.cumsum([0, *sizes])
        held = ok.Held(
            base,
            np.cumsum([0, *logs]),
            np.zeros(sum(logs), np.int64),
            np.zeros(len(sizes), np.int64),
            np.zeros(waiting, np.int64),
            np.zeros(waiting, np.int64),
        )
        return held, int(base[-1]) + waiting

    def _with_pairs(self, ranked: ok.Ranked, kept: Kept, pair_tests: Sequence[PairTest], first: int) -> ok.Ranked:
        """Tests the next events with all before them in their window; events of one time stay together."""
        count, longest = len(kept.time), int(np.diff(ranked.starts).max(initial=1))
        end = min(first + max(PAIRS // longest, 1), count)
        window = np.searchsorted(ranked.starts, np.arange(first, count), "right") - 1
        while end < count and window[end - first] == window[end - 1 - first] and kept.time[end] == kept.time[end - 1]:
            end += 1
        begin = ranked.starts[window[: end - first]]
        passes = np.zeros((len(ranked.passes), end - first, longest), bool)
        for i, test in enumerate(self.holders.tests):
            if test.pair_test is None:
                continue
            later = np.flatnonzero((ranked.mask[first:end] >> test.after) & 1) + first
            many = later - begin[later - first]
            after = np.repeat(later, many)
            before = after - 1 - (np.arange(len(after)) - np.repeat(np.cumsum(many) - many, many))
            sensible = (kept.time[before] < kept.time[after]) & ((ranked.mask[before] >> test.before) & 1 == 1)
            before, after = before[sensible], after[sensible]
            holds = pair_tests[test.pair_test](kept.name[before], kept.name[after])
            passes[ranked.pair_of[i], after - first, before - begin[after - first]] = holds
        return ranked._replace(passes=passes, first=first, end=end)


def _as_totals(layout: SlotLayout, results: QueryResults, parts: int) -> list[Totals]:
    """The results, which say to which part they belong, as Python's numbers."""
    found = [Totals.nothing(len(layout.program.slots)) for _ in range(parts)]
    for row, part in enumerate(results.sequence.tolist()):
        totals = found[part]
        totals.numbers[0] = _whole(results.count, row)
        for slot, (numbers, present) in enumerate(zip(results.slots, results.present, strict=True)):
            flag = SOME if present[row] else 0
            if slot in layout.whole:
                totals.numbers[slot + 1] = _whole(numbers, row)
            elif slot in layout.best:
                assert not isinstance(numbers, Extended)
                totals.best[slot] = numbers[row].item()
            elif flag:
                assert isinstance(numbers, Extended)
                multiple, flag = as_multiple(float(numbers.mantissa[row]))
                exponent = int(numbers.exponent[row])
                totals.numbers[slot + 1] = multiple << exponent if exponent >= 0 else multiple >> -exponent
            totals.flags[slot] = flag
    return found


def _whole(numbers: Numbers, row: int) -> int:
    if isinstance(numbers, Extended):
        return int(Fraction(float(numbers.mantissa[row])) * Fraction(2) ** int(numbers.exponent[row]))
    return int(numbers[row])
