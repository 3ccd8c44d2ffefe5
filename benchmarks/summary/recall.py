"""Figures 8b and 8c: the fraction of all matches of 2,000 events that a summary holds, and ever held.

As the authors do it: uniform letters, ten moments anywhere in the stream, also before the summary is full. Beside it
the same from the moment on at which it is full, on all kinds of streams, and what someone reaches who knew the whole
stream and let the event in the fewest matches go again and again (`hindsight`): where that is below a goal, the goal is
out of reach of any choice known to us.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.experiment import Scale
from benchmarks.records import Goal, Record, Sense
from benchmarks.summary.cutting import cut_down
from benchmarks.summary.feeding import Counter, Floats, counts_at, detected_matches, moments_of, states_at
from benchmarks.summary.streams import NORMAL, UNIFORM, ZIPF, Kind, Letters, summary_of
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.language.summary_query import Strategy

ROWS = 2_000
SIZES, WINDOWS = (100, 250, 500), (100, 250, 500)
SEEDS = {Scale.SMALL: 4, Scale.FULL: 50}
DETECTING_SEEDS = {Scale.SMALL: 4, Scale.FULL: 25}
MOMENTS = 10
HINDSIGHT_EVERY = 5
"""Hindsight takes longest, so it is computed at every fifth moment."""
ENOUGH_ROOM = Goal(Sense.AT_LEAST, 0.80)
"""Where n is at least the window."""
DETECTED = Goal(Sense.AT_LEAST, 0.90)
DETECTED_SIZE = 500
COMPARED = (Strategy.CAPPED, Strategy.PRESENT, Strategy.FIFO)
HINDSIGHT = "hindsight"


def case_name(kind: Kind, size: int, window: int, technique: str) -> str:
    return f"{kind.name}, n {size:,}, window {window:,}: {technique}"


def measure_absolute_recall(scale: Scale) -> list[Record]:
    records = []
    for kind in (UNIFORM, ZIPF, NORMAL):
        streams = [kind.draw(ROWS, seed) for seed in range(SEEDS[scale])]
        for window in WINDOWS:
            for size in SIZES:
                records += _absolute(kind, size, window, streams)
    return records


def _absolute(kind: Kind, size: int, window: int, streams: Sequence[Letters]) -> list[Record]:
    """Mean recall over all moments at which the stream has a match."""
    anywhere: dict[str, list[Floats]] = {}
    when_full: dict[str, list[Floats]] = {}
    for seed, letters in enumerate(streams):
        for into, first in ((anywhere, 1), (when_full, size)):
            moments = moments_of(ROWS, first, MOMENTS, seed)
            for technique, share in _shares(kind, size, window, letters, moments, hindsight=first > 1).items():
                into.setdefault(technique, []).append(share)
    records = []
    for metric, shares_of in (("absolute recall", anywhere), ("absolute recall when full", when_full)):
        for technique, shares in shares_of.items():
            has_goal = technique == Strategy.CAPPED.value and size >= window
            records.append(
                Record(
                    "summary",
                    "figure 8b",
                    case_name(kind, size, window, technique),
                    metric,
                    float(np.mean(np.concatenate(shares))),
                    "",
                    goal=ENOUGH_ROOM if has_goal else None,
                )
            )
    return records


def _shares(
    kind: Kind, size: int, window: int, letters: Letters, moments: Sequence[int], *, hindsight: bool
) -> dict[str, Floats]:
    summary_of_all = summary_of(kind, Strategy.PRESENT, len(letters), window)
    states = states_at(summary_of_all, letters, moments)
    counter = Counter(summary_of_all)
    truth = np.array([counter.kept(state) for state in states])
    has = truth > 0
    shares_of = {
        strategy.value: counts_at(summary_of(kind, strategy, size, window), letters, moments) for strategy in COMPARED
    }
    shares = {technique: held[has] / truth[has] for technique, held in shares_of.items()}
    if hindsight:
        some = [moment for moment in np.flatnonzero(has).tolist() if moment % HINDSIGHT_EVERY == 0]
        shares[HINDSIGHT] = (
            np.array([counter.kept(cut_down(summary_of_all, states[moment], size)) for moment in some]) / truth[some]
        )
    return shares


def measure_detected_recall(scale: Scale) -> list[Record]:
    """Fraction of the stream's matches that were complete in the summary at some time."""
    records = []
    streams = [UNIFORM.draw(ROWS, seed) for seed in range(DETECTING_SEEDS[scale])]
    for window in WINDOWS:
        for size in SIZES:
            for strategy in (Strategy.CAPPED, Strategy.PRESENT):
                summary = summary_of(UNIFORM, strategy, size, window)
                shares = [detected_matches(summary, letters) / _all(summary, letters) for letters in streams]
                has_goal = strategy is Strategy.CAPPED and size == DETECTED_SIZE
                case = case_name(UNIFORM, size, window, strategy.value)
                value = float(np.mean(shares))
                goal = DETECTED if has_goal else None
                records.append(Record("summary", "figure 8c", case, "detected matches", value, "", goal=goal))
    return records


def _all(summary: Summary, letters: Letters) -> float:
    return Counter(summary).stream(letters.events(summary))
