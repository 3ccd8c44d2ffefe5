"""MergedPlan -> SharedMatcher: all patterns of a stream with one state, ready to take rows (`matcher_run.py`)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.event_queries.enumeration.match_limits import DEFAULT_LIMITS, MatchLimits
from ostinato.workloads.matcher.ledger import AGES, Buckets, Ledger, buckets_of, new_ledger
from ostinato.workloads.matcher.matcher_kernels import advance_checked
from ostinato.workloads.matcher.matcher_run import MatcherRun
from ostinato.workloads.matcher.matcher_state import MatcherState
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.matcher.plan_shape import shape_of
from ostinato.workloads.matcher.plan_tables import PlanTables, PreparedPlan, prepare_plan, words_for
from ostinato.workloads.matcher.quick_checks import find_quick_checks
from ostinato.workloads.matcher.register_reads import find_register_reads, no_register_reads
from ostinato.workloads.matcher.run_checks import (
    NoRunChecks,
    RunChecks,
    StaticChecks,
    registers_by_label,
    tie_run_checks,
)
from ostinato.workloads.matcher.store import StoreShape
from ostinato.workloads.merging.merged_plan import MergedPlan
from ostinato.workloads.merging.plan_conditions import PlanConditions

Ints = NDArray[np.int64]


def one_class_per_node(plan: MergedPlan, conditions: PlanConditions | None) -> Buckets:
    """One class for each node: only NULLs are told apart."""
    counts = [len(conditions.features[n]) if conditions else 0 for n in range(len(plan.nodes))]
    return buckets_of(tuple((np.zeros(0),) * count for count in counts), shape_of(plan).pairs)


class SharedMatcher:
    """The patterns of one stream. `counting=False`: the ledger isn't read, so the matcher only counts `live`."""

    def __init__(
        self,
        plan: MergedPlan,
        conditions: PlanConditions | None,
        *,
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
        )
        self.kernel = advance_checked
        self._prepared: dict[tuple[bool, ...], PreparedPlan] = {}
        self._static_checks: StaticChecks | None = None

    def prepared(self, real_values: tuple[bool, ...]) -> PreparedPlan:
        """The plan for the kernel; `real_values` as in `plan_tables.prepare_plan`."""
        if real_values not in self._prepared:
            self._prepared[real_values] = prepare_plan(self.plan, real_values, self.ages)
        return self._prepared[real_values]

    def run_checks(self, tables: PlanTables, events: PlanEvents) -> RunChecks | NoRunChecks:
        """The run conditions, tied to the rows of a call."""
        if self.conditions is None:
            return NoRunChecks()
        if self._static_checks is None:
            keeps = self.register_of is None
            quick = find_quick_checks(tables, self.conditions, keeps_registers=keeps)
            self._static_checks = StaticChecks(
                quick, no_register_reads() if keeps else find_register_reads(tables, self.conditions)
            )
        assert events.column is not None
        return tie_run_checks(self.conditions, self.register_of, self._static_checks, len(events.time), events.column)

    def begin(self, events: PlanEvents, state: MatcherState | None, buckets: Buckets) -> MatcherRun:
        """`events` start with the rows that `state` needed; None: nothing came before."""
        return MatcherRun(self, events, state, buckets)

    def new_ledger(self, buckets: Buckets) -> Ledger:
        return new_ledger(buckets, self.ages, len(self.plan.names), len(self.plan.steps))
