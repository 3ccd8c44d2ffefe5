"""Figures 12 and 13: Citi Bike and NASDAQ, two queries each; recall beside the baselines, and events a second.

Letters drawn with the authors' shares always; letters of real trips and bars where OSTINATO_DATA has them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.experiment import Scale
from benchmarks.records import Record
from benchmarks.summary.clock import core_seconds
from benchmarks.summary.recorded import bike_trips, minute_bars
from benchmarks.summary.relative_recall import BLIND, Case, measured
from benchmarks.summary.streams import CITI_BIKE, CITI_BIKE_QUERIES, NASDAQ, NASDAQ_QUERIES, Kind, Letters, summary_of
from ostinato.summaries.language.summary_query import Strategy

SETTINGS = ((100, 100), (100, 500), (500, 100), (500, 500))
ROWS = {Scale.SMALL: 10_000, Scale.FULL: 100_000}
SEEDS = {Scale.SMALL: 2, Scale.FULL: 5}


@dataclass(frozen=True, slots=True)
class Study:
    figure: str
    kind: Kind
    queries: tuple[str, ...]
    recorded: Callable[[], Letters | None]


STUDIES = (
    Study("figure 12", CITI_BIKE, CITI_BIKE_QUERIES, bike_trips),
    Study("figure 13", NASDAQ, NASDAQ_QUERIES, minute_bars),
)


def measure_citi_bike(scale: Scale) -> list[Record]:
    return _measure(STUDIES[0], scale)


def measure_nasdaq(scale: Scale) -> list[Record]:
    return _measure(STUDIES[1], scale)


def _measure(study: Study, scale: Scale) -> list[Record]:
    drawn = [study.kind.draw(ROWS[scale], seed) for seed in range(SEEDS[scale])]
    records = _of_streams(study, drawn)
    recorded = study.recorded()
    if recorded is not None:
        cut = min(ROWS[scale], len(recorded))
        records += _of_streams(study, [Letters(recorded.kind, recorded.places[:cut], recorded.time[:cut])])
    return records


def _of_streams(study: Study, streams: list[Letters]) -> list[Record]:
    records = []
    kind = streams[0].kind
    for query in study.queries:
        for size, window in SETTINGS:
            case = Case(kind, size, window, query, label=f"{kind.name}, {query}")
            records += measured(study.figure, case, streams, BLIND)
            speed = _events_per_second(case, streams[0])
            records.append(Record("summary", study.figure, case.name, "throughput", speed, "rows/s"))
    return records


def _events_per_second(case: Case, letters: Letters) -> float:
    """From an empty summary on; kernels have run before."""
    summary = summary_of(case.kind, Strategy.CAPPED, case.size, case.window, case.expression)
    events = letters.events(summary)
    return len(letters) / core_seconds(lambda: summary.advance(events, summary.new_state()))
