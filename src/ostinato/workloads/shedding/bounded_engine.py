"""Plan, bounds, clock -> matches of all patterns within the bounds, and a report of the losses.

`advance(events, state, finished)` is the interface: rows in order of time, the state of the call before, and whether
the stream ends. Without bounds there is no load shedder, and the matcher counts nothing for it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.calls.bounds import Bounds
from ostinato.event_queries.enumeration.match_limits import DEFAULT_LIMITS, MatchLimits
from ostinato.kernels.clock import Clock, RealClock, Work
from ostinato.rows.loss_report import Report
from ostinato.streams.stored_state import Section, check, reading, seal, unseal
from ostinato.workloads.matcher.ledger import AGES
from ostinato.workloads.matcher.matcher_state import MatcherState
from ostinato.workloads.matcher.materialise import PatternMatches
from ostinato.workloads.matcher.plan_events import PlanEvents
from ostinato.workloads.matcher.plan_shape import shape_of
from ostinato.workloads.matcher.shared_matcher import SharedMatcher, one_class_per_node
from ostinato.workloads.merging.merged_plan import MergedPlan
from ostinato.workloads.merging.plan_conditions import PlanConditions
from ostinato.workloads.shedding.chunks import BoundedCall
from ostinato.workloads.shedding.load_shedder import LoadShedder
from ostinato.workloads.shedding.load_shedder_state import shedder_from_bytes, shedder_to_bytes
from ostinato.workloads.shedding.policy import SheddingPolicy
from ostinato.workloads.shedding.sharp import Sharp
from ostinato.workloads.shedding.state_selection import select
from ostinato.workloads.shedding.utility import CostModel, estimate

_HEADER = struct.Struct("<QQ")
"""Lengths of the matcher's and of the shedder's bytes."""
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

    `policy` makes the object that selects the partial matches to keep: one for each call.
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
        self._one_class = one_class_per_node(plan, conditions)
        if self.bounds is not None:
            _compile_deciding(self._shedder(b""))

    def advance(self, events: PlanEvents, state: bytes | None = None, finished: bool = False) -> BoundedStep:
        """`events` begin with the rows that the call before needed. Raises what the matcher raises."""
        matcher_state, shedder_bytes = (None, b"") if state is None else _split(state, self._plan_sum)
        if self.bounds is None:
            return self._unbounded(events, matcher_state)
        shedder = self._shedder(shedder_bytes)
        run = self.matcher.begin(events, matcher_state, shedder.buckets)
        call = BoundedCall(shedder, run, events, self.clock)
        call.match_all(finished)
        matches, after = run.finish()
        report = call.report(tuple(of_pattern.count for of_pattern in matches))
        live = int(run.ledger.live.sum())
        return BoundedStep(matches, self._state(after, shedder_to_bytes(shedder)), after.rows_needed, report, live)

    def partial_matches_by_node(self, state: bytes) -> NDArray[np.int64]:
        """The number of partial matches in a state, by node of the plan."""
        stored, _ = _split(state, self._plan_sum)
        with reading(_STATE):
            return stored.by_node(len(self.plan.nodes))

    def _unbounded(self, events: PlanEvents, matcher_state: MatcherState | None) -> BoundedStep:
        run = self.matcher.begin(events, matcher_state, self._one_class)
        run.advance(len(events.time), None)
        matches, after = run.finish()
        return BoundedStep(matches, self._state(after, b""), after.rows_needed, None, int(run.ledger.live.sum()))

    def _state(self, after: MatcherState, shedder_bytes: bytes) -> bytes:
        matcher = after.to_bytes()
        body = _HEADER.pack(len(matcher), len(shedder_bytes)) + matcher + shedder_bytes
        return seal(body, Section.WORKLOAD, self._plan_sum)

    def _shedder(self, shedder_bytes: bytes) -> LoadShedder:
        """`shedder_bytes`: the shedder after the previous call; empty: a new shedder."""
        assert self.bounds is not None
        features = tuple(map(len, self.conditions.features)) if self.conditions else (0,) * len(self.plan.nodes)
        new = LoadShedder(self.shape, self.bounds, self.new_policy(), features, self.matcher.ages)
        return shedder_from_bytes(shedder_bytes, new) if shedder_bytes else new


def _compile_deciding(shedder: LoadShedder) -> None:
    """Compiles the kernels of decisions beforehand, so that compiling isn't measured as deciding."""
    sketch, patterns = shedder.sketch, shedder.shape.patterns
    shedder.tariff.observe(Work(1, 1, 1, 1), 1, 1.0)
    model = CostModel(np.ones(patterns), prices=shedder.tariff.prices())
    estimates = estimate(sketch, model, np.zeros((shedder.shape.nodes, patterns)))
    select(sketch, estimates, [], 0.0, shedder.cut)


def _sum_of(plan: MergedPlan) -> int:
    """Checksum of the plan. States of plans with other nodes have another one."""
    steps = [(step.source, step.target, step.condition, step.segment) for step in plan.steps]
    ends = [(end.node, end.pattern) for end in plan.ends]
    return zlib.crc32(repr((plan.names, [node.patterns for node in plan.nodes], steps, ends)).encode())


def _split(state: bytes, plan_sum: int) -> tuple[MatcherState, bytes]:
    """Returns the matcher's state and the shedder's bytes. Raises STATE_FORMAT for bytes that are damaged, or of other
    patterns."""
    body = unseal(state, Section.WORKLOAD, _STATE, plan_sum).to_pybytes()
    matcher_size, shedder_size = _HEADER.unpack_from(body) if len(body) >= _HEADER.size else (0, 0)
    check(len(body) == _HEADER.size + matcher_size + shedder_size, _STATE, "its stored length doesn't match the data")
    end = _HEADER.size + matcher_size
    return MatcherState.from_bytes(body[_HEADER.size : end]), body[end:]
