"""Plan, bounds, clock -> matches of all patterns within the bounds, and a report of the losses.

`advance(events, state, finished)` is the interface: rows in order of time, the state of the call before, and whether
the stream ends. Without bounds there is no keeper, and the matcher counts nothing for one.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.calls.bounds import Bounds
from ostinato.event_queries.enumeration.event_matches import DEFAULT_LIMITS, MatchLimits
from ostinato.kernels.clock import Clock, RealClock, Work
from ostinato.streams.stored_state import Section, check, seal, unseal
from ostinato.workloads.matcher.ledger import AGES
from ostinato.workloads.matcher.matcher_state import MatcherState
from ostinato.workloads.matcher.materialise import PatternMatches
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.matcher.plan_shape import shape_of
from ostinato.workloads.matcher.shared_matcher import SharedMatcher, one_class_a_node
from ostinato.workloads.merging.merged_plan import MergedPlan
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.shedding.chunks import BoundedCall
from ostinato.workloads.shedding.keeper import Keeper
from ostinato.workloads.shedding.keeper_state import keeper_from_bytes, keeper_to_bytes
from ostinato.workloads.shedding.policy import SheddingPolicy
from ostinato.workloads.shedding.report import Report
from ostinato.workloads.shedding.sharp import Sharp
from ostinato.workloads.shedding.state_selection import select
from ostinato.workloads.shedding.worth import CostModel, estimate

_HEADER = struct.Struct("<QQ")
"""Lengths of the matcher's and of the keeper's bytes."""
_STATE = "the state of this workload"


@dataclass(frozen=True, slots=True)
class BoundedStep:
    """The result of one call."""

    matches: tuple[PatternMatches, ...]
    """[pattern]"""
    state: bytes
    rows_needed: NDArray[np.int64]
    """Rows of this call that the next one must be given again, in their order."""
    report: Report | None
    """None without bounds: nothing was given up."""
    partial_matches: int
    """Partial matches that wait for more events."""


class BoundedEngine:
    """The patterns of one stream under their bounds. The engine itself keeps no state between calls.

    `policy` makes the object that decides what is given up: one for each call.
    """

    def __init__(
        self,
        plan: MergedPlan,
        conditions: PlanConditions | None,
        bounds: Bounds | None = None,
        *,
        policy: Callable[[], SheddingPolicy] = Sharp,
        clock: Clock | None = None,
        limits: MatchLimits = DEFAULT_LIMITS,
        ages: int = AGES,
    ) -> None:
        self.plan, self.conditions = plan, conditions
        self.bounds = None if bounds is None or bounds.is_none else bounds
        self.new_policy = policy
        self.clock = RealClock() if clock is None else clock
        self.shape = shape_of(plan)
        counting = self.bounds is not None
        self.matcher = SharedMatcher(plan, conditions, ages=ages, counting=counting, limits=limits)
        self._plan_sum = _sum_of(plan)
        self._one_class = one_class_a_node(plan, conditions)
        if self.bounds is not None:
            _compile_deciding(self._keeper(b""))

    def advance(self, events: PlanEvents, state: bytes | None = None, finished: bool = False) -> BoundedStep:
        """`events` begin with the rows that the call before needed. Raises what the matcher raises."""
        matcher_state, learnt = (None, b"") if state is None else _split(state, self._plan_sum)
        if self.bounds is None:
            return self._unbounded(events, matcher_state)
        keeper = self._keeper(learnt)
        run = self.matcher.begin(events, matcher_state, keeper.buckets)
        call = BoundedCall(keeper, run, events, self.clock)
        call.take_all(finished)
        matches, after = run.finish()
        report = call.report(tuple(of_pattern.count for of_pattern in matches))
        live = int(run.ledger.live.sum())
        return BoundedStep(matches, self._state(after, keeper_to_bytes(keeper)), after.rows_needed, report, live)

    def _unbounded(self, events: PlanEvents, matcher_state: MatcherState | None) -> BoundedStep:
        run = self.matcher.begin(events, matcher_state, self._one_class)
        run.advance(len(events.time), None)
        matches, after = run.finish()
        return BoundedStep(matches, self._state(after, b""), after.rows_needed, None, int(run.ledger.live.sum()))

    def _state(self, after: MatcherState, learnt: bytes) -> bytes:
        matcher = after.to_bytes()
        body = _HEADER.pack(len(matcher), len(learnt)) + matcher + learnt
        return seal(body, Section.WORKLOAD, self._plan_sum)

    def _keeper(self, learnt: bytes) -> Keeper:
        assert self.bounds is not None
        if learnt:
            return keeper_from_bytes(learnt, self._new_keeper())
        return self._new_keeper()

    def _new_keeper(self) -> Keeper:
        assert self.bounds is not None
        nodes = len(self.plan.nodes)
        features = tuple(map(len, self.conditions.features)) if self.conditions else (0,) * nodes
        return Keeper(self.shape, self.bounds, self.new_policy(), features, self.matcher.ages)


def _compile_deciding(keeper: Keeper) -> None:
    """Compiles the kernels of decisions beforehand, so that compiling isn't measured as deciding."""
    sketch, patterns = keeper.sketch, keeper.shape.patterns
    keeper.tariff.observe(Work(1, 1, 1, 1), 1, 1.0)
    model = CostModel(np.ones(patterns), prices=keeper.tariff.prices())
    estimates = estimate(sketch, model, np.zeros((keeper.shape.nodes, patterns)))
    select(sketch, estimates, [], 0.0, keeper.cut)


def _sum_of(plan: MergedPlan) -> int:
    """Checksum of the plan. States of plans with other nodes have another one."""
    steps = [(step.source, step.target, step.condition, step.segment) for step in plan.steps]
    ends = [(end.node, end.pattern) for end in plan.ends]
    return zlib.crc32(repr((plan.names, [node.patterns for node in plan.nodes], steps, ends)).encode())


def _split(state: bytes, plan_sum: int) -> tuple[MatcherState, bytes]:
    """(the matcher's state, the keeper's bytes). Raises STATE_FORMAT for bytes that are damaged, or of other
    patterns."""
    body = unseal(state, Section.WORKLOAD, _STATE, plan_sum).to_pybytes()
    matcher, learnt = _HEADER.unpack_from(body) if len(body) >= _HEADER.size else (0, 0)
    check(len(body) == _HEADER.size + matcher + learnt, _STATE, "it has another length than it says")
    return MatcherState.from_bytes(body[_HEADER.size : _HEADER.size + matcher]), body[_HEADER.size + matcher :]
