"""The paper's variants by name, checked against each other and timed in turns -> records.

SEQ is always among those compared: every other speed is told beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.experiment import Scale, WrongAnswer, interleaved_seconds
from benchmarks.records import Baseline, Goal, Record, this_machine
from benchmarks.rip.linear_query import LinearQuery
from benchmarks.rip.run_based import SLICE_ROWS, Outcome, Prices, round_robin, sequential, sliced
from benchmarks.rip.state_based import TRANSFER_ROWS, pipelined

ROWS = {Scale.SMALL: 1_000_000, Scale.FULL: 5_000_000}
ROUNDS = 5
ENOUGH_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run a query. `setting` tells what a sweep varies."""

    name: str
    units: int
    run: Callable[[LinearQuery, Prices], Outcome]
    setting: str = ""

    def case(self, query: str) -> str:
        return case_of(query, self.name, self.units, self.setting)


def case_of(query: str, variant: str, units: int, setting: str = "") -> str:
    """What the records of a variant are called.

    >>> case_of("Q1", "RB+", 2, "s = 99")
    'Q1, RB+, 2 units, s = 99'
    """
    return ", ".join(filter(None, (query, variant, counted(units, "unit"), setting)))


def counted(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"


SEQ = Variant("SEQ", 1, sequential)


def rb(units: int) -> Variant:
    return Variant("RB", units, partial(round_robin, units=units))


def rb_plus(units: int, slice_rows: int = SLICE_ROWS, shared_rows: int | None = None, setting: str = "") -> Variant:
    run = partial(sliced, units=units, slice_rows=slice_rows, shared_rows=shared_rows)
    return Variant("RB+", units, run, setting)


def sb(query: LinearQuery, transfer_rows: int = TRANSFER_ROWS, setting: str = "") -> Variant:
    return Variant("SB", len(query.variables), partial(pipelined, transfer_rows=transfer_rows), setting)


def sb_plus(query: LinearQuery) -> Variant:
    return Variant("SB+", len(query.variables) + 1, partial(pipelined, first_units=2))


def check_same(query: LinearQuery, price: Prices, variants: Sequence[Variant]) -> Outcome:
    """SEQ's outcome; WrongAnswer where another variant has other matches, or evaluates more or less often."""
    right = sequential(query, price)
    for variant in variants:
        found = variant.run(query, price)
        case = f"{variant.case(query.name)}, {len(price):,} rows"
        if not np.array_equal(found.in_order(), right.in_order()):
            raise WrongAnswer(f"{case}: {len(found.matches)} matches, SEQ has {len(right.matches)} or others")
        if not np.array_equal(found.evaluations, right.evaluations):
            raise WrongAnswer(f"{case}: {found.evaluations.sum():,} evaluations, SEQ has {right.evaluations.sum():,}")
    return right


@dataclass(frozen=True, slots=True)
class Timed:
    """The shortest time of each variant in seconds, SEQ first, and how many matches all of them found."""

    seconds: Mapping[Variant, float]
    match_count: int


def timed(query: LinearQuery, price: Prices, variants: Sequence[Variant]) -> Timed:
    """Checked on these very rows, which warms up too; then timed in turns."""
    match_count = len(check_same(query, price, variants).matches)
    by_case = {variant.case(query.name): variant for variant in (SEQ, *variants)}
    actions = {case: partial(variant.run, query, price) for case, variant in by_case.items()}
    times = interleaved_seconds(actions, ROUNDS, warm_up=False, enough_seconds=ENOUGH_SECONDS)
    return Timed({by_case[case]: taken for case, taken in times.items()}, match_count)


def speed_records(
    figure: str,
    query: LinearQuery,
    price: Prices,
    times: Timed,
    goals: Mapping[Variant, Goal] | None = None,
) -> list[Record]:
    """Rows a second of each variant, all but SEQ beside SEQ; the goals bound the speed-up."""
    speed = {variant: len(price) / taken for variant, taken in times.seconds.items()}
    cores = this_machine().cores
    return [
        Record(
            "rip",
            figure,
            variant.case(query.name),
            "speed" if variant.units <= cores else f"speed ({cores} cores only)",
            speed[variant],
            "rows/s",
            baseline=None if variant == SEQ else Baseline("SEQ", speed[SEQ]),
            goal=(goals or {}).get(variant),
        )
        for variant in speed
    ]


def compared(
    figure: str,
    query: LinearQuery,
    price: Prices,
    faster: Variant,
    slower: Variant,
    times: Timed,
    goal: Goal,
) -> Record:
    """The paper's point, that one variant beats another, on the same rows in the same run."""
    return Record(
        "rip",
        figure,
        f"{query.name}, {faster.name} on {faster.units} over {slower.name} on {slower.units}",
        "speed",
        len(price) / times.seconds[faster],
        "rows/s",
        baseline=Baseline(slower.name, len(price) / times.seconds[slower]),
        goal=goal,
    )
