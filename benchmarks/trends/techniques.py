"""All ways to the same numbers by name, checked against each other, then timed in turns.

A technique takes programs and events and gives `QueryResults` for each program. Exact ones must agree in every digit,
those on doubles to nine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeVar

import numpy as np

from benchmarks.experiment import WrongAnswer, interleaved_seconds
from benchmarks.trends.flattened import flattened
from benchmarks.trends.greta import greta
from benchmarks.trends.greta_exact import greta_exact
from benchmarks.trends.recurrence import plain_recurrence
from benchmarks.trends.two_step import two_step
from ostinato.event_queries.plan.event_program import Events, Numbers, Program, QueryResults, TrendEngine
from ostinato.kernels.numbers.python_numbers import Extended

T = TypeVar("T")
Sharing = Literal["dynamic", "always", "never"]
Run = Callable[[Sequence[Program], Events], tuple[QueryResults, ...]]
DIGITS = 1e-9
ROUNDS = 3
ENOUGH_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Technique:
    """A way to run a workload. `exact`: on integers of any size."""

    name: str
    run: Run
    exact: bool
    every: int = 1
    """Only one query in so many is run, and its time multiplied: for what has no sharing and would take hours."""

    def on(self, programs: Sequence[Program], events: Events) -> tuple[QueryResults, ...]:
        return self.run(programs[:: self.every], events)


PLAIN = Technique("plain big integers", plain_recurrence, exact=True)
GRETA = Technique("GRETA", greta, exact=False)
GRETA_EXACT = Technique("GRETA, exact", greta_exact, exact=True)
TWO_STEP = Technique("two-step", two_step, exact=True)
FLATTENED = Technique("flattened", flattened, exact=False)
"""The comparators."""


def sampled(technique: Technique, every: int) -> Technique:
    return replace(technique, every=every)


def run_shared(
    programs: Sequence[Program], events: Events, *, exact: bool, sharing: Sharing = "dynamic"
) -> tuple[QueryResults, ...]:
    """Each set of queries that the shared engine takes in an engine of its own; the rest in the other engine."""
    found: dict[int, QueryResults] = {}
    for numbers in _kept("sets", programs, sharing_sets):
        engine = _kept(
            f"shared {exact} {sharing}", [programs[number] for number in numbers], _shared_engine, exact, sharing
        )
        found.update(zip(numbers, _run(engine, events), strict=True))
    rest = [number for number in range(len(programs)) if number not in found]
    if rest:
        found.update(zip(rest, run_separate([programs[number] for number in rest], events, exact=exact), strict=True))
    return tuple(found[number] for number in range(len(programs)))


def run_separate(programs: Sequence[Program], events: Events, *, exact: bool) -> tuple[QueryResults, ...]:
    return _run(_kept(f"separate {exact}", programs, _separate_engine, exact), events)


_MADE: dict[tuple[str, tuple[int, ...]], tuple[list[Program], Any]] = {}


def _kept(what: str, programs: Sequence[Program], make: Callable[..., T], *settings: Any) -> T:
    """Made once for these very programs: an engine gets many batches of events, and the first run isn't timed."""
    key = (what, tuple(map(id, programs)))
    if key not in _MADE:
        if len(_MADE) >= 50:
            _MADE.clear()
        _MADE[key] = (list(programs), make(programs, *settings))
    made: T = _MADE[key][1]
    return made


def forget_engines() -> None:
    _MADE.clear()


def _shared_engine(programs: Sequence[Program], exact: bool, sharing: Sharing) -> TrendEngine:
    from ostinato.event_queries.task.engines import sharing_engine

    return sharing_engine(programs, exact, sharing)


def _separate_engine(programs: Sequence[Program], exact: bool) -> TrendEngine:
    from ostinato.event_queries.trends.separate.separate_engine import SeparateEngine

    return SeparateEngine(programs, exact=exact)


def sharing_sets(programs: Sequence[Program]) -> tuple[tuple[int, ...], ...]:
    """Queries that may share, by number: one after another to the first set that takes it."""
    from ostinato.event_queries.trends.engine_choice import declined

    sets: list[list[int]] = []
    for number, program in enumerate(programs):
        if declined((program, program)) is not None:
            continue
        for others in sets:
            alike = bool(programs[others[0]].edges) == bool(program.edges)
            if alike and declined([programs[other] for other in others] + [program]) is None:
                others.append(number)
                break
        else:
            sets.append([number])
    return tuple(tuple(numbers) for numbers in sets if len(numbers) > 1)


def _run(engine: TrendEngine, events: Events) -> tuple[QueryResults, ...]:
    return engine.advance(events, [b""] * (len(events.starts) - 1), None).results


SHARED = Technique("shared", partial(run_shared, exact=True), exact=True)
SHARED_APPROXIMATE = Technique("shared, approximate", partial(run_shared, exact=False), exact=False)
SEPARATE = Technique("separate", partial(run_separate, exact=True), exact=True)
SEPARATE_APPROXIMATE = Technique("separate, approximate", partial(run_separate, exact=False), exact=False)
ALWAYS = Technique("always shared", partial(run_shared, exact=True, sharing="always"), exact=True)
NEVER = Technique("never shared", partial(run_shared, exact=True, sharing="never"), exact=True)
"""The engines. SHARED decides at run time what to share."""


@dataclass(frozen=True, slots=True)
class Timed:
    """The shortest time of each technique in seconds for all queries, and the answer that all of them gave."""

    seconds: Mapping[str, float]
    results: tuple[QueryResults, ...]


def timed(
    case: str, programs: Sequence[Program], events: Events, techniques: Sequence[Technique], rounds: int = ROUNDS
) -> Timed:
    """Checked on these very events, which warms up too; then timed in turns."""
    right = check_same(case, programs, events, techniques)
    actions = {technique.name: partial(technique.on, programs, events) for technique in techniques}
    times = interleaved_seconds(actions, rounds, warm_up=False, enough_seconds=ENOUGH_SECONDS)
    parts = {technique.name: len(programs) / len(programs[:: technique.every]) for technique in techniques}
    return Timed({name: taken * parts[name] for name, taken in times.items()}, right)


def check_same(
    case: str, programs: Sequence[Program], events: Events, techniques: Sequence[Technique]
) -> tuple[QueryResults, ...]:
    """The answer of the first, an exact one where there is one; WrongAnswer where another has another."""
    first, *others = sorted(techniques, key=lambda technique: not technique.exact)
    right = first.run(programs, events)
    for technique in others:
        found = technique.on(programs, events)
        numbers = range(0, len(programs), technique.every)
        for number, one in zip(numbers, found, strict=True):
            difference = _difference(programs[number], one, right[number], technique.exact and first.exact)
            if difference is not None:
                raise WrongAnswer(f"{case}, query {number}: {technique.name} and {first.name} differ in {difference}")
    return right


def _difference(program: Program, found: QueryResults, right: QueryResults, exact: bool) -> str | None:
    if not np.array_equal(found.sequence, right.sequence) or not np.array_equal(found.window, right.window):
        return f"their windows: {len(found.window)} and {len(right.window)}"
    columns = [("the counts", found.count, right.count)]
    for place, (one, other) in enumerate(zip(found.slots, right.slots, strict=True)):
        columns.append((f"slot {place} ({program.slots[place].kind.value})", one, other))
    for name, one, other in columns:
        if not (_equal(one, other) if exact else _close(one, other)):
            return name
    return None


def _equal(one: Numbers, other: Numbers) -> bool:
    assert not isinstance(one, Extended)
    assert not isinstance(other, Extended)
    return bool(one.tolist() == other.tolist())


def _close(one: Numbers, other: Numbers) -> bool:
    """As mantissas of one exponent: the numbers may be beyond what a double holds."""
    left, right = _extended(one), _extended(other)
    with np.errstate(over="ignore", under="ignore"):
        moved = np.ldexp(left.mantissa, np.clip(left.exponent - right.exponent, -4_000, 4_000).astype(np.int32))
    return bool(np.allclose(moved, right.mantissa, rtol=DIGITS, atol=0.0))


def _extended(numbers: Numbers) -> Extended:
    """With mantissas in [0.5, 1)."""
    if isinstance(numbers, Extended):
        mantissa, exponent = np.frexp(numbers.mantissa)
        return Extended(mantissa, numbers.exponent + exponent)
    if numbers.dtype != object:
        mantissa, exponent = np.frexp(numbers.astype(np.float64))
        return Extended(mantissa, exponent.astype(np.int64))
    shifts = [max(int(number).bit_length() - 64, 0) for number in numbers]
    leading = np.array([float(int(number) >> shift) for number, shift in zip(numbers, shifts, strict=True)])
    mantissa, exponent = np.frexp(leading)
    return Extended(mantissa, exponent + np.array(shifts, np.int64))
