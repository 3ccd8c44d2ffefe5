"""Events a second on one core: the issue's four settings with their goals; growth with n and window; latency.

The authors' C++ on such a machine took 12.2 K, 2.8 K, 2.1 K and 44 events a second. The goals are 10 times the first
three, and 100 times the last. Summaries at work are timed: each is full before the clock starts, and takes in at least
half of the events that follow. One that has settled refuses them for next to nothing, which says little about speed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.summary.clock import core_seconds
from benchmarks.summary.feeding import part_of
from benchmarks.summary.streams import SYNTHETIC, UNIFORM, ZIPF, Kind, summary_of
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.language.summary_query import Strategy

PAPERS = {(100, 100): 12_200.0, (500, 100): 2_800.0, (100, 500): 2_100.0, (500, 500): 44.0}
"""(n, window) -> the authors' events/s, from the issue."""
FACTORS = {(100, 100): 10.0, (500, 100): 10.0, (100, 500): 10.0, (500, 500): 100.0}
SOURCE = "the authors' C++, from the issue"
ROWS = {Scale.SMALL: 10_000, Scale.FULL: 100_000}
ROUNDS = 3
STREAM_ROWS = 10_000
"""Of each stream that is timed; many times as many, and some summaries would settle."""
LEAST_TAKEN_IN = 0.5
"""Of the timed events; below that the settled summary is measured, not the one at work."""
CHECKED_SUMMARIES = 3
"""Of each setting, an event at a time."""
SIZES = {Scale.SMALL: (50, 100, 200, 400, 800), Scale.FULL: (50, 100, 200, 400, 800, 1_600, 3_200)}
WINDOWS = {Scale.SMALL: (50, 100, 200, 400), Scale.FULL: (10, 25, 50, 100, 200, 400, 800)}
USUAL_SIZE = USUAL_WINDOW = 200
STRATEGIES = (Strategy.CAPPED, Strategy.PUBLISHED, Strategy.PRESENT, Strategy.FIFO, Strategy.RANDOM)
TIMED_EVENTS = {Scale.SMALL: 1_000, Scale.FULL: 10_000}


def measure_speed(scale: Scale) -> list[Record]:
    records = []
    for (size, window), papers in PAPERS.items():
        goal = Goal(Sense.AT_LEAST, FACTORS[size, window] * papers)
        for kind in SYNTHETIC:
            case, beside = _case(kind, size, window, Strategy.CAPPED), Baseline("SuSe", papers, SOURCE)
            at_work = summaries_at_work(kind, Strategy.CAPPED, size, window, ROWS[scale])
            taken = taken_in(at_work)
            expect(f"half of the timed events are taken in, {case}", taken >= LEAST_TAKEN_IN, True)
            speed = events_per_second(at_work)
            fresh = events_per_second(just_filled(kind, Strategy.CAPPED, size, window, ROWS[scale]))
            records += [
                Record("summary", "speed", case, "throughput", speed, "rows/s", beside, goal),
                Record("summary", "speed", case, "timed events taken in", 100 * taken, "%"),
                Record("summary", "speed", case, "throughput, just filled", fresh, "rows/s"),
            ]
        for strategy in STRATEGIES[1:]:
            speed = events_per_second(summaries_at_work(UNIFORM, strategy, size, window, ROWS[scale]))
            case = _case(UNIFORM, size, window, strategy)
            records.append(Record("summary", "speed", case, "throughput", speed, "rows/s"))
    return records


def _case(kind: Kind, size: int, window: int, strategy: Strategy) -> str:
    return f"{kind.name}, n {size:,}, window {window:,}: {strategy.value}"


@dataclass(frozen=True, slots=True)
class Filled:
    """A full summary, and the next events."""

    summary: Summary
    state: SummaryState
    events: SummaryEvents


def summaries_at_work(kind: Kind, strategy: Strategy, size: int, window: int, rows: int) -> list[Filled]:
    """Full summaries with so many events to come, or a few more.

    Where a window is longer than a summary is large, its best events are soon more than any later window can offer, and
    nothing changes any more: there each summary is timed just after it has filled up.
    """
    if size < window:
        return just_filled(kind, strategy, size, window, rows)
    return _filled(kind, strategy, (size, window), before=2 * size, after=min(rows, STREAM_ROWS), rows=rows)


def just_filled(kind: Kind, strategy: Strategy, size: int, window: int, rows: int) -> list[Filled]:
    """Summaries that are just full, with as many further events for each."""
    return _filled(kind, strategy, (size, window), before=size, after=size, rows=rows)


def _filled(
    kind: Kind, strategy: Strategy, setting: tuple[int, int], *, before: int, after: int, rows: int
) -> list[Filled]:
    summary, ready = summary_of(kind, strategy, *setting), []
    for stream in range(math.ceil(rows / after)):
        events = kind.draw(before + after, seed=4 + stream).events(summary)
        state = summary.advance(part_of(events, 0, before), summary.new_state())
        ready.append(Filled(summary, state, part_of(events, before, before + after)))
    return ready


def taken_in(ready: Sequence[Filled]) -> float:
    """Fraction of the next events that change the summaries, at least until later events arrive."""
    taken = events_seen = 0
    for one in ready[:CHECKED_SUMMARIES]:
        state = one.state
        events_seen += len(one.events)
        for event in range(len(one.events)):
            numbers_before = state.columns.number[: len(state)].copy()
            state = one.summary.advance(part_of(one.events, event, event + 1), state)
            taken += not np.array_equal(numbers_before, state.columns.number[: len(state)])
    return taken / events_seen


def events_per_second(ready: Sequence[Filled]) -> float:
    def advance_all() -> None:
        for one in ready:
            one.summary.advance(one.events, one.state)

    return sum(len(one.events) for one in ready) / core_seconds(advance_all, ROUNDS)


def measure_growth(scale: Scale) -> list[Record]:
    """Figures 10a and 10b: growth with n, with the window, and with both."""
    records = []
    rows = ROWS[scale] // 2
    for kind in (UNIFORM, ZIPF):
        for size in SIZES[scale]:
            records.append(_grown(kind, size, USUAL_WINDOW, rows))
        for window in WINDOWS[scale]:
            if window != USUAL_WINDOW:
                records.append(_grown(kind, USUAL_SIZE, window, rows))
    return records


def _grown(kind: Kind, size: int, window: int, rows: int) -> Record:
    each = 1e6 / events_per_second(summaries_at_work(kind, Strategy.CAPPED, size, window, rows))
    case = _case(kind, size, window, Strategy.CAPPED)
    return Record("summary", "figure 10", case, "time for an event", each, "µs")


def measure_latency(scale: Scale) -> list[Record]:
    """Figure 10c, window 500: one event at a time, with the call. Figure 10d: the bytes of a summary."""
    records = []
    for size in (100, 500):
        times = []
        for one in summaries_at_work(UNIFORM, Strategy.CAPPED, size, 500, TIMED_EVENTS[scale]):
            summary, state = one.summary, one.state
            for event in range(len(one.events)):
                newcomer = part_of(one.events, event, event + 1)
                started = time.perf_counter()
                state = summary.advance(newcomer, state)
                times.append(time.perf_counter() - started)
        case = _case(UNIFORM, size, 500, Strategy.CAPPED)
        for metric, value in (("mean latency", np.mean(times)), ("99 % below", np.quantile(times, 0.99))):
            records.append(Record("summary", "latency", case, metric, float(value), "s"))
        records.append(Record("summary", "latency", case, "state", len(state.to_bytes()), "B"))
    return records
