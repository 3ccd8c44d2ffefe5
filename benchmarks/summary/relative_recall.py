"""Figures 7, 8a and 9: matches in a summary, relative to FIFO, random and present benefit only.

In orders of magnitude. Two ways to put it: the paper's (the mean of the ratios, over moments where the other has a
match at all), which lucky moments dominate, and the mean difference of log10(1 + matches), which they don't. And how
often a summary holds less than half of what the better of FIFO and random holds: "never" is what was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.experiment import Scale
from benchmarks.records import Goal, Record, Sense
from benchmarks.summary.feeding import Floats, counts_at, mean_ratio_orders, moments_of, orders
from benchmarks.summary.streams import EXPRESSION, SYNTHETIC, UNIFORM, ZIPF, Kind, Letters, summary_of, uniform
from ostinato.summaries.language.summary_query import Strategy

HALF = float(np.log10(0.5))
NEVER_WORSE = Goal(Sense.AT_LEAST, HALF)
NO_MOMENT = Goal(Sense.AT_MOST, 0.0)
BASELINES = (Strategy.FIFO, Strategy.RANDOM, Strategy.PRESENT)
BLIND = (Strategy.FIFO, Strategy.RANDOM)
SIZES = {Scale.SMALL: (100, 500, 1_000), Scale.FULL: (100, 250, 500, 1_000, 2_500, 5_000)}
WINDOWS = {Scale.SMALL: (10, 100, 250, 500), Scale.FULL: (10, 50, 100, 250, 500)}
ROWS = {Scale.SMALL: 5_000, Scale.FULL: 20_000}
SEEDS = {Scale.SMALL: 3, Scale.FULL: 10}
MOMENTS = 25
USUAL_SIZE, USUAL_WINDOW = 500, 100
"""Of the sensitivity analysis."""
MOMENT_COUNTS = (25, 30, 35, 40, 45, 50)
LENGTHS = (2, 4, 6, 8, 10, 12)
STARRED = {
    "no star": "abcdefghijkl",
    "1 star": "abcdef*ghijkl",
    "2 stars": "abc*defghi*jkl",
    "4 stars": "ab*cde*fgh*ijk*l",
    "star at the beginning": "ab*cdefghijkl",
    "star at the end": "abcdefghijk*l",
    "2 disjunctions": "abc(d|e)fg(h|i)jkl",
    "4 disjunctions": "a(b|c)d(e|f)g(h|i)j(k|l)",
    "letters twice": "abc*defabc*def",
}


@dataclass(frozen=True, slots=True)
class Case:
    """One setting of a figure."""

    kind: Kind
    size: int
    window: int
    expression: str = EXPRESSION
    moments: int = MOMENTS
    label: str = ""

    @property
    def name(self) -> str:
        return f"{self.label or self.kind.name}, n {self.size:,}, window {self.window:,}"


def compared(case: Case, streams: Sequence[Letters], strategies: Sequence[Strategy]) -> dict[Strategy, Floats]:
    """Number of matches at all moments of all streams, by strategy."""
    held: dict[Strategy, list[Floats]] = {strategy: [] for strategy in strategies}
    for seed, letters in enumerate(streams):
        moments = moments_of(len(letters), min(case.size, len(letters) // 2), case.moments, seed)
        for strategy in strategies:
            summary = summary_of(case.kind, strategy, case.size, case.window, case.expression)
            held[strategy].append(counts_at(summary, letters, moments))
    return {strategy: np.concatenate(counts) for strategy, counts in held.items()}


def measured(
    figure: str, case: Case, streams: Sequence[Letters], baselines: Sequence[Strategy] = BASELINES
) -> list[Record]:
    """The improvement over each baseline, and over the better of FIFO and random at each moment."""
    counts = compared(case, streams, (Strategy.CAPPED, *baselines))
    ours = counts[Strategy.CAPPED]
    records = []
    for baseline in baselines:
        theirs = counts[baseline]
        name = f"{case.name}: over {baseline.value}"
        goal = NEVER_WORSE if baseline in BLIND else None
        gain = float(np.mean(orders(ours) - orders(theirs)))
        records.append(Record("summary", figure, name, "mean difference", gain, "orders", goal=goal))
        ratio = mean_ratio_orders(ours, theirs)
        if ratio is not None:
            without = int((theirs == 0).sum())
            note = (f"{without} of {len(theirs)} moments left out: no match there",) if without else ()
            records.append(Record("summary", figure, name, "relative recall", ratio, "orders", goal=goal, notes=note))
    if set(BLIND) <= set(baselines):
        records.append(moments_below_half(figure, case.name, ours, counts))
    return records


def moments_below_half(figure: str, case: str, ours: Floats, counts: dict[Strategy, Floats]) -> Record:
    """Number of moments at which FIFO or random has more than twice as many matches."""
    gap = orders(ours) - np.maximum(*(orders(counts[baseline]) for baseline in BLIND))
    worst = f"of {len(gap)} moments; the worst is {gap.min():.1f} orders behind the better of both"
    below = int((gap < HALF).sum())
    return Record("summary", figure, case, "moments below half", below, "moments", goal=NO_MOMENT, notes=(worst,))


def drawn(kind: Kind, scale: Scale, rows: int | None = None) -> list[Letters]:
    return [kind.draw(rows or ROWS[scale], seed) for seed in range(SEEDS[scale])]


def measure_sizes_and_windows(scale: Scale) -> list[Record]:
    """Figures 7a, 7b and 8a."""
    records = []
    for kind in SYNTHETIC:
        streams = drawn(kind, scale)
        for size in SIZES[scale]:
            for window in WINDOWS[scale]:
                records += measured("figure 7", Case(kind, size, window), streams)
    return records


def measure_moments(scale: Scale) -> list[Record]:
    """Figure 7c: the number of evaluation moments makes no difference."""
    records = []
    for kind in (ZIPF, UNIFORM):
        streams = drawn(kind, scale)
        for moments in MOMENT_COUNTS:
            case = Case(kind, USUAL_SIZE, USUAL_WINDOW, moments=moments, label=f"{kind.name}, {moments} moments")
            records += measured("figure 7c", case, streams, BLIND)
    return records


def measure_lengths(scale: Scale) -> list[Record]:
    """Figure 7d: words of some length, without a star."""
    return [
        record
        for length in LENGTHS
        for record in _of_expression("figure 7d", f"{length} letters", "abcdefghijkl"[:length], scale)
    ]


def measure_operators(scale: Scale) -> list[Record]:
    """Figure 9: stars, disjunctions, letters that occur twice; expressions of twelve letters."""
    return [record for label, text in STARRED.items() for record in _of_expression("figure 9", label, text, scale)]


def _of_expression(figure: str, label: str, expression: str, scale: Scale) -> list[Record]:
    kind = uniform("".join(sorted({letter for letter in expression if letter.isalpha()})))
    case = Case(kind, USUAL_SIZE, USUAL_WINDOW, expression, label=label)
    return measured(figure, case, drawn(kind, scale), BLIND)
