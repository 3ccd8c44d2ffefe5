"""MergedPlan + PlanEvents -> the matches of all patterns, with one state for all of them: the driver of the kernel.

`SharedMatcher` is what stays the same for a workload, `MatcherRun` one call's worth of rows taken chunk by chunk.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.matching.event_matches import DEFAULT_LIMITS, MatchLimits
from ostinato.predicates.opcodes import DIVIDE_BY_ZERO
from ostinato.sharing.merged_plan import MergedPlan
from ostinato.sharing.plan_conditions import PlanConditions
from ostinato.techniques.bounded_latency import match_kernel as k
from ostinato.techniques.bounded_latency.births import SAMPLES, Samples
from ostinato.techniques.bounded_latency.class_edges import buckets_of
from ostinato.techniques.bounded_latency.ledger import AGES, Buckets, Ledger, Orders
from ostinato.techniques.bounded_latency.matcher_state import MatcherState, kept_state, restored_store
from ostinato.techniques.bounded_latency.materialise import (
    FIRST_MATCHES,
    FIRST_ROWS,
    MATCHES,
    PatternMatches,
    by_pattern,
    found_with_room,
    new_found,
)
from ostinato.techniques.bounded_latency.outcomes import FAILED, FINISHED, MORE_LENGTH, MORE_MATCHES, Rules
from ostinato.techniques.bounded_latency.plan_events import PlanEvents, rows_of
from ostinato.techniques.bounded_latency.plan_shape import shape_of
from ostinato.techniques.bounded_latency.plan_tables import PlanTables, Prepared, prepare, words_for
from ostinato.techniques.bounded_latency.quick_checks import find_quick_checks
from ostinato.techniques.bounded_latency.quick_values import find_quick_values
from ostinato.techniques.bounded_latency.register_reads import NO_ROW, find_reads, no_reads
from ostinato.techniques.bounded_latency.run_checks import (
    NoRunChecks,
    RunChecks,
    StepsAsk,
    registers_by_label,
    tie_run_checks,
)
from ostinato.techniques.bounded_latency.store import (
    CLASS,
    FIRST_ROOM,
    LENGTH,
    LISTED,
    NODE,
    PLACE,
    SERIAL,
    USED,
    StoreShape,
    grown,
    new_lists,
    new_store,
)
from ostinato.techniques.bounded_latency.upkeep import classify, note_rows
from ostinato.techniques.bounded_latency.visits import KeptFor

Ints = NDArray[np.int64]
_FIRST_LENGTH = 8
_NO_ROWS = np.zeros(0, np.bool_)


def one_class_a_node(plan: MergedPlan, conditions: PlanConditions | None) -> Buckets:
    """Nothing is told apart by values, except what is NULL."""
    counts = [len(conditions.features[n]) if conditions else 0 for n in range(len(plan.nodes))]
    return buckets_of(tuple((np.zeros(0),) * count for count in counts), shape_of(plan).pairs)


def everything_kept(slots: int, patterns: int) -> Orders:
    return Orders(np.full((2, slots, words_for(patterns)), ~np.uint64(0), np.uint64), np.zeros(slots, np.uint64))


class SharedMatcher:
    """The patterns of one stream. `counting=False`: nobody reads the ledger, so only `live` is kept right."""

    def __init__(
        self,
        plan: MergedPlan,
        conditions: PlanConditions | None,
        *,
        materialise: Literal["view", "instance"] = "view",
        ages: int = AGES,
        counting: bool = True,
        limits: MatchLimits = DEFAULT_LIMITS,
    ) -> None:
        self.plan, self.conditions = plan, conditions
        self.ages, self.counting, self.limits = ages, counting, limits
        program = conditions.program if conditions else None
        self.register_of = registers_by_label(plan, program) if program else None
        keeps = program is not None and self.register_of is None
        self.shape = StoreShape(
            words=words_for(len(plan.names)),
            registers=len(program.registers) if program and keeps else 0,
            totals=len(program.accumulators) if program and keeps else 0,
            instance=_FIRST_LENGTH if materialise == "instance" else 0,
        )
        self.kernel = k.advance_checked if conditions else k.advance_plain
        self._prepared: dict[tuple[bool, ...], Prepared] = {}
        self._asked: StepsAsk | None = None

    def prepared(self, real_values: tuple[bool, ...]) -> Prepared:
        """The plan for the kernel; `real_values` as in `plan_tables.prepare`."""
        if real_values not in self._prepared:
            self._prepared[real_values] = prepare(self.plan, real_values, self.ages)
        return self._prepared[real_values]

    def run_checks(self, tables: PlanTables, events: PlanEvents) -> RunChecks | NoRunChecks:
        """The run conditions over the rows at hand."""
        if self.conditions is None:
            return NoRunChecks()
        if self._asked is None:
            keeps = self.register_of is None
            quick = find_quick_checks(tables, self.conditions, keeps_registers=keeps)
            values = find_quick_values(self.conditions.program)
            self._asked = StepsAsk(quick, values, no_reads() if keeps else find_reads(tables, self.conditions))
        assert events.column is not None
        return tie_run_checks(self.conditions, self.register_of, self._asked, len(events.time), events.column)

    def begin(self, events: PlanEvents, state: MatcherState | None, buckets: Buckets) -> MatcherRun:
        """`events` start with the rows that `state` needed; None: nothing came before."""
        return MatcherRun(self, events, state, buckets)

    def new_ledger(self, buckets: Buckets) -> Ledger:
        classes, patterns = int(buckets.class_at[-1]), len(self.plan.names)
        slots = classes * self.ages
        return Ledger(
            live=np.zeros(classes, np.int64),
            created=np.zeros(slots, np.int64),
            refused=np.zeros(slots, np.int64),
            visits=np.zeros(slots, np.int64),
            checks=np.zeros(classes, np.int64),
            completed=np.zeros((classes, patterns), np.int64),
            dropped=np.zeros((classes, patterns), np.int64),
            step_work=np.zeros(len(self.plan.steps), np.int64),
            births=np.zeros(buckets.cells, np.int64),
        )


class MatcherRun:
    """The rows of one call. `ledger` holds live arrays that `advance` updates; `rebucket` makes new ones."""

    def __init__(
        self, matcher: SharedMatcher, events: PlanEvents, state: MatcherState | None, buckets: Buckets
    ) -> None:
        self.matcher = matcher
        self.prepared = matcher.prepared(tuple(values.dtype.kind == "f" for values in events.values))
        plan = self.plan = self.prepared.tables
        self.rows = rows_of(events, self.prepared)
        sequences = int(events.sequence.max()) + 1 if len(events.sequence) else 0
        absences = self.prepared.absences
        seen = (len(events.time), absences) if self.prepared.segments_ask_for_absences else (0, 0)
        self.lists = new_lists(sequences, plan.node_count, absences, seen)
        note_rows(events.first_new, self.rows.positions, self.rows.fulfilled, plan.absence_of, self.lists)
        if state is None:
            self.store = new_store(FIRST_ROOM, matcher.shape)
        else:
            self.store = restored_store(state, plan, self.rows.positions, self.lists, matcher.shape)
        self.samples = _samples(state, buckets)
        taken = int(state.counters[1]) if state else 0
        self.rules = Rules(matcher.ages, matcher.counting, taken - events.first_new)
        self.checks = matcher.run_checks(plan, events)
        self.found = new_found(FIRST_MATCHES, FIRST_ROWS)
        self.progress = np.zeros(k.PROGRESS, np.int64)
        self.progress[k.NEXT_ROW], self.progress[k.CONDITION_AT] = events.first_new, k.NEW_ROW
        if state:
            self.progress[k.SINCE_SWEEP], self.progress[k.LEFT_BY_SWEEP] = state.counters[2:]
        self._orders: Orders | None = None
        self._kept_for: KeptFor
        self.rebucket(buckets)

    def advance(self, until_row: int, orders: Orders | None, admitted: NDArray[np.bool_] | None = None) -> None:
        """Takes the rows up to `until_row`. Orders are never changed in place; None: everything is kept.

        `admitted` says of each row of the call whether it may become part of a match; absences see all rows.

        Raises TOO_MANY_PARTIAL_MATCHES, TOO_MANY_MATCHES, and the errors of the conditions.
        """
        taken, rows = int(self.progress[k.NEXT_ROW]), len(self.rows.positions.time)
        if not taken <= until_row <= rows:  # the kernel reads rows without looking whether they are there
            raise ValueError(f"rows up to {until_row} can't be taken: {taken} of {rows} were taken before")
        kept_for = self._for_kernel(orders)._replace(admitted=_NO_ROWS if admitted is None else admitted)
        while True:
            status = self.matcher.kernel(
                until_row,
                kept_for,
                self.plan,
                self.rows,
                self.store,
                self.lists,
                self.ledger,
                self.buckets,
                self.found,
                self.checks,
                self.samples,
                self.rules,
                self.progress,
            )
            self._check_matches()
            if status == FINISHED:
                return
            self._make_room(status)

    def _check_matches(self) -> None:
        most = self.matcher.limits.most_matches
        if self.found.counts[MATCHES] > most:
            raise MatchError(
                "TOO_MANY_MATCHES",
                f"there are more than {most:,} matches in one task",
                hint="bound them with WITHIN, tighten WHERE, or count them",
            )

    def _make_room(self, status: int) -> None:
        limits, store = self.matcher.limits, self.store
        if status == FAILED:
            raise _condition_failed(int(self.progress[k.FAILURE]), int(self.progress[k.NEXT_ROW]))
        if status == MORE_MATCHES:
            ends = int(np.diff(self.plan.ends.at).max())
            longest = int(store.links[: store.counts[USED], LENGTH].max(initial=0)) + self.plan.node_count
            self.found = found_with_room(self.found, ends, ends * 2 * longest)
        elif status == MORE_LENGTH:
            self.store = grown(store, store.room, 2 * store.rows.shape[1])
        elif store.room >= limits.max_partial_matches:
            raise MatchError(
                "TOO_MANY_PARTIAL_MATCHES",
                f"there are more than {limits.max_partial_matches:,} partial matches at one time",
                hint="bound the matches with WITHIN, tighten WHERE, give a bound, or raise max_partial_matches",
            )
        else:
            self.store = grown(store, min(2 * store.room, limits.max_partial_matches), store.rows.shape[1])

    def _for_kernel(self, orders: Orders | None) -> KeptFor:
        if orders is None:
            orders = self._everything
        if orders is not self._orders:
            patterns, class_at = self.plan.nodes.patterns, self.buckets.class_at
            masks = orders.masks.view(np.int64)
            node = np.repeat(np.arange(self.plan.node_count), np.diff(class_at) * self.matcher.ages)
            lacking = ((masks & patterns[node]) != patterns[node]).any(axis=(0, 2))
            restricted = np.zeros(self.plan.node_count, np.bool_)
            restricted[node[lacking]] = True
            self._orders = orders
            self._kept_for = KeptFor(masks, orders.threshold.astype(np.int64), restricted, _NO_ROWS)
        return self._kept_for

    def feature_samples(self, node: int) -> NDArray[np.float64]:
        """[feature, sample] values of the node's features in the partial matches that were made last."""
        first, end = self.buckets.feature_at[node], self.buckets.feature_at[node + 1]
        return self.samples.values[first:end, : min(int(self.samples.seen[node]), SAMPLES)]

    def rebucket(self, buckets: Buckets) -> None:
        """Live partial matches get their classes anew; the counts of the ledger restart."""
        self.buckets = buckets
        self.ledger = self.matcher.new_ledger(buckets)
        self._everything = everything_kept(int(buckets.class_at[-1]) * self.matcher.ages, len(self.matcher.plan.names))
        self._orders = None
        if isinstance(self.checks, RunChecks):
            self.checks.last.rows[:] = NO_ROW
        store = self.store
        used = int(store.counts[USED])
        pms = np.flatnonzero(store.kin[:used, PLACE] != 0)
        classify(pms, store.kin[:, NODE], store.features, store.nulls, buckets, store.links[:, CLASS])
        listed = store.kin[:used, PLACE] == LISTED
        np.add.at(self.ledger.live, store.links[:used, CLASS][listed], 1)

    def finish(self) -> tuple[tuple[PatternMatches, ...], MatcherState]:
        """The matches by pattern, and the state after the rows that were taken."""
        taken = self.rules.first_row + int(self.progress[k.NEXT_ROW])
        swept = self.progress[k.SINCE_SWEEP], self.progress[k.LEFT_BY_SWEEP]
        counters = np.array([self.store.counts[SERIAL], taken, *swept], np.int64)
        state = kept_state(self.store, self.rows.positions, self.lists, self.samples, counters)
        return by_pattern(self.found, self.matcher.plan, self.rows.positions), state


def _samples(state: MatcherState | None, buckets: Buckets) -> Samples:
    if state is not None:
        return Samples(state.sampled.copy(), state.seen.copy())
    features, nodes = int(buckets.feature_at[-1]), len(buckets.feature_at) - 1
    return Samples(np.zeros((features, SAMPLES), np.float64), np.zeros(nodes, np.int64))


def _condition_failed(code: int, row: int) -> MatchError:
    if code == DIVIDE_BY_ZERO:
        error = MatchError("DIVIDE_BY_ZERO", "division by zero in WHERE", hint="guard it with NULLIF(divisor, 0)")
    else:
        error = MatchError("ARITHMETIC_OVERFLOW", "a number in WHERE grew too large", hint="cast to DOUBLE there")
    error.row = row
    return error
