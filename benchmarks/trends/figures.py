"""Times -> records: events a second and the latency of a window for each technique, beside a baseline.

Latency is the paper's, the time from the arrival of a window's last event to its result, with all events of the window
handed over when it ends: an upper bound for engines that work while events arrive.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks.records import Baseline, Goal, Record
from benchmarks.trends.streams import Stream
from benchmarks.trends.techniques import Technique, Timed, timed
from benchmarks.trends.workloads import ChainQuery

SAMPLED_NOTE = "one query in {every} was run, and its time multiplied: it shares nothing"


def case_of(setting: str, technique: str) -> str:
    """What the records of a technique are called.

    >>> case_of("10,000 events/min, 25 queries", "GRETA")
    '10,000 events/min, 25 queries: GRETA'
    """
    return f"{setting}: {technique}"


def setting_of(per_minute: int, queries: int) -> str:
    """What varies in the paper's figures.

    >>> setting_of(10_000, 25)
    '10,000 events/min, 25 queries'
    """
    return f"{per_minute:,} events/min, {queries} queries"


def measured(
    figure: str,
    setting: str,
    queries: Sequence[ChainQuery],
    stream: Stream,
    techniques: Sequence[Technique],
    baseline: Technique,
    goals: Mapping[str, Goal] | None = None,
) -> tuple[list[Record], Timed]:
    """Throughput of each technique beside the baseline's, and latency; goals, by technique, are the throughput's."""
    programs = [query.program() for query in queries]
    events = stream.events(queries[0].values)
    times = timed(f"{figure}, {setting}", programs, events, techniques)
    beside = Baseline(baseline.name, len(stream) / times.seconds[baseline.name])
    windows = window_count(queries, stream)
    records = []
    for technique in techniques:
        case, taken = case_of(setting, technique.name), times.seconds[technique.name]
        notes = (SAMPLED_NOTE.format(every=technique.every),) if technique.every > 1 else ()
        records += [
            Record(
                "trends",
                figure,
                case,
                "throughput",
                len(stream) / taken,
                "events/s",
                baseline=None if technique.name == baseline.name else beside,
                goal=(goals or {}).get(technique.name),
                notes=notes,
            ),
            Record("trends", figure, case, "latency of a window", taken / windows, "s"),
        ]
    return records, times


def window_count(queries: Sequence[ChainQuery], stream: Stream) -> float:
    """How many windows of the shortest slide the stream lasts."""
    lasts = int(stream.time_us[-1] - stream.time_us[0]) + 1
    return max(lasts / min(query.slide_us for query in queries), 1.0)


def over(
    figure: str, setting: str, faster: Technique, slower: Technique, times: Timed, events: int, goal: Goal | None = None
) -> Record:
    """One technique's speed over another's."""
    beside = Baseline(slower.name, events / times.seconds[slower.name])
    case = f"{setting}: {faster.name} over {slower.name}"
    return Record("trends", figure, case, "throughput", events / times.seconds[faster.name], "events/s", beside, goal)
