"""A workload under one bound, all policies -> records: recall by the tariff and by the core's time, speed, the bound.

Recall by the tariff (`VirtualClock`) is the same in every run. By the core's time it is what a machine would have lost:
learning and choosing take their part of the time. Speeds are events by processor time of one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from benchmarks.bounded.running import CORE, TARIFF, Outcome, Whole, allowed_recall, bounded_run, without_bound
from benchmarks.bounded.workloads import Work
from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Goal, Record, Sense

SHARP = "sharp"
POLICIES = {
    SHARP: "SHARP",
    "icde20": "ICDE'20",
    "darling": "DARLING",
    "random_input": "random input",
    "random_state": "random state",
    "selectivity": "selective state",
}
RECALL, CORE_RECALL, SPEED = "recall", "recall by the core's time", "speed"
NO_BOUND = "no bound"
SPENT = "time taken, by the bound"
NOT_BELOW = Goal(Sense.AT_LEAST, 1.0, of_ratio=True)
AS_LONG = 1.1
"""Times SHARP's time: beyond, a policy has missed the bound by more."""
USEFUL = 0.5
"""Recall above which a baseline's speed is compared."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A workload over a short stream for the tariff and a longer one for the core's time."""

    name: str
    short: Work
    long: Work
    whole_short: Whole
    whole_long: Whole


def setting(
    name: str, stream: Callable[[int], pa.Table], prepare: Callable[[pa.Table], Work], lengths: tuple[int, int]
) -> Setting:
    """`stream` gives a table of so many events."""
    short, long = (prepare(stream(length)) for length in lengths)
    without_bound(short, CORE)  # compiles, where that is still to be done
    whole_short, whole_long = without_bound(short, TARIFF), without_bound(long, CORE)
    expect(f"{name}: whether anything matches", whole_short.outcome.found > 0 < whole_long.outcome.found, True)
    return Setting(name, short, long, whole_short, whole_long)


@dataclass(frozen=True, slots=True)
class Goals:
    """What is asked of SHARP, if anything."""

    recall: float | None = None
    speed: float | None = None
    not_below: bool = False
    """Any of the others, in recall."""


NO_GOALS = Goals()


@dataclass(frozen=True, slots=True)
class _Marks:
    recall: float
    spent: float
    """By the tariff, by what is allowed."""
    core_recall: float
    events_per_second: float
    bounded: Outcome

    def value(self, metric: str) -> float:
        return {RECALL: self.recall, SPENT: self.spent, CORE_RECALL: self.core_recall, SPEED: self.events_per_second}[
            metric
        ]


def compared(
    figure: str, case: str, at: Setting, share: float, policies: Sequence[str], goals: Goals = NO_GOALS
) -> list[Record]:
    """All policies at one bound; `case` is followed by the policy's name."""
    marks = {policy: _marks(at, share, policy) for policy in policies}
    records = []
    for policy, found in marks.items():
        asked = goals if policy == SHARP else NO_GOALS
        for metric in (RECALL, SPENT, CORE_RECALL, SPEED):
            bound = {SPEED: asked.speed, SPENT: None}.get(metric, asked.recall)
            goal = None if bound is None else Goal(Sense.AT_LEAST, bound)
            unit = "rows/s" if metric == SPEED else ""
            records.append(
                Record("bounded", figure, f"{case}: {POLICIES[policy]}", metric, found.value(metric), unit, goal=goal)
            )
    others = {policy: found for policy, found in marks.items() if policy != SHARP}
    records += _beside_others(figure, case, marks[SHARP], others, goals)
    allowed = allowed_recall(at.short, share, at.whole_short)
    records.append(Record("bounded", figure, case, "recall that the bound allows", allowed, ""))
    return [*records, *_kept(figure, case, marks[SHARP])]


def _marks(at: Setting, share: float, policy: str) -> _Marks:
    by_tariff = bounded_run(at.short, share, policy, TARIFF, at.whole_short)
    by_core = bounded_run(at.long, share, policy, CORE, at.whole_long)
    return _Marks(
        by_tariff.recall(at.whole_short.outcome),
        by_tariff.matching_ns / (share * at.whole_short.event_ns),
        by_core.recall(at.whole_long.outcome),
        len(at.long) / by_core.seconds,
        by_core,
    )


def _beside_others(figure: str, case: str, sharp: _Marks, others: dict[str, _Marks], goals: Goals) -> list[Record]:
    """In recall those that took no more time, in speed those that are of some use."""
    if not goals.not_below:
        return []
    in_time = {name: found for name, found in others.items() if found.spent <= max(1.0, sharp.spent) * AS_LONG}
    as_fast = {
        name: found for name, found in others.items() if sharp.events_per_second <= found.events_per_second * AS_LONG
    }
    useful = {name: found for name, found in others.items() if found.core_recall > USEFUL}
    return [
        Record("bounded", figure, case, f"{metric}, {which}", sharp.value(metric), unit, rival, NOT_BELOW)
        for metric, which, unit, rivals in (
            (RECALL, "best of others in time", "", in_time),
            (CORE_RECALL, "best of others as fast", "", as_fast),
            (SPEED, "others with recall above a half", "rows/s", useful),
        )
        if (rival := _best(rivals, metric)) is not None
    ]


def _best(marks: dict[str, _Marks], metric: str) -> Baseline | None:
    if not marks:
        return None
    best = max(marks, key=lambda policy: marks[policy].value(metric))
    return Baseline(POLICIES[best], marks[best].value(metric))


def _kept(figure: str, case: str, sharp: _Marks) -> list[Record]:
    """How SHARP kept to its bound by the core's time, in the pattern that kept it worst; and what deciding cost."""
    assert sharp.bounded.report is not None
    patterns = sharp.bounded.report.patterns
    within = min(pattern.within_bound for pattern in patterns)
    missed = max(pattern.latency_p95_ns / (pattern.bound_ns or 1.0) for pattern in patterns)
    return [
        Record("bounded", figure, case, "events within the bound", within, ""),
        Record("bounded", figure, case, "latency at 95 %, by the bound", missed, ""),
        Record("bounded", figure, case, "deciding, by matching", patterns[0].overhead, ""),
    ]


LENGTHS = {Scale.SMALL: (20_000, 200_000), Scale.FULL: (50_000, 1_000_000)}
"""Events of the short and the long stream."""
RECORDED_LENGTHS = {Scale.SMALL: (20_000, 100_000), Scale.FULL: (50_000, 300_000)}
SWEEP_LENGTHS = {Scale.SMALL: (12_000, 60_000), Scale.FULL: (50_000, 500_000)}
