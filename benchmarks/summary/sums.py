"""The error of SUM and AVG: 2,000 events with values from 1 to 100, ten evaluations, compared with exact answers.

The loss of SUM is the share of the stream's sum that is missing; that of AVG is by how much of its size it is off, as
the paper defines it for a ratio. The choice for AVG is that for COUNT.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.experiment import Scale
from benchmarks.records import Record
from benchmarks.summary.feeding import Counter, Floats, moments_of, part_of, states_at
from benchmarks.summary.streams import SYNTHETIC, Kind, Letters, summary_of
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate

ROWS, MOMENTS = 2_000, 10
SETTINGS = ((100, 100), (500, 100), (500, 250))
SEEDS = {Scale.SMALL: 2, Scale.FULL: 25}
LARGEST_VALUE = 100
COMPARED = (Strategy.CAPPED, Strategy.PRESENT, Strategy.FIFO, Strategy.RANDOM)


def measure_sums(scale: Scale) -> list[Record]:
    records = []
    for kind in SYNTHETIC:
        streams = [with_values(kind.draw(ROWS, seed), seed) for seed in range(SEEDS[scale])]
        for size, window in SETTINGS:
            for aggregate in (SummaryAggregate.SUM, SummaryAggregate.AVG):
                for strategy in COMPARED:
                    loss = _loss(kind, strategy, size, window, aggregate, streams)
                    case = f"{aggregate.value}, {kind.name}, n {size:,}, window {window:,}: {strategy.value}"
                    records.append(Record("summary", "sums", case, "loss", loss, ""))
    return records


def with_values(letters: Letters, seed: int) -> Letters:
    values = np.random.default_rng([seed, 3]).integers(1, LARGEST_VALUE + 1, len(letters))
    return replace(letters, values=values)


def _loss(
    kind: Kind,
    strategy: Strategy,
    size: int,
    window: int,
    aggregate: SummaryAggregate,
    streams: Sequence[Letters],
) -> float:
    """The mean error over all moments at which the stream has a match."""
    losses: list[Floats] = []
    for seed, letters in enumerate(streams):
        moments = moments_of(ROWS, size, MOMENTS, seed)
        summary = summary_of(kind, strategy, size, window, aggregate=aggregate)
        right, held = _of_stream(summary, letters, moments), _of_kept(summary, letters, moments)
        has = right[:, 0] > 0
        if aggregate is SummaryAggregate.SUM:
            losses.append(1.0 - held[has, 1] / right[has, 1])
        else:
            mean = np.divide(held[:, 1], held[:, 0], out=np.zeros(len(held)), where=held[:, 0] > 0)
            losses.append(np.abs(mean[has] * right[has, 0] / right[has, 1] - 1.0))
    return float(np.mean(np.concatenate(losses)))


def _of_kept(summary: Summary, letters: Letters, moments: Sequence[int]) -> Floats:
    """[moment]: count and sum over the matches among the kept events."""
    counters = (Counter(summary), Counter(summary, sums=True))
    return np.array([[counter.kept(state) for counter in counters] for state in states_at(summary, letters, moments)])


def _of_stream(summary: Summary, letters: Letters, moments: Sequence[int]) -> Floats:
    counters, events = (Counter(summary), Counter(summary, sums=True)), letters.events(summary)
    return np.array([[counter.stream(part_of(events, 0, moment)) for counter in counters] for moment in moments])
