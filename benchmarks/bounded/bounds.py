"""Figures 4, 5, 6 and 8: recall and speed when an event may take 10 to 90 % of what it takes without a bound."""

from __future__ import annotations

from benchmarks.bounded.comparing import (
    LENGTHS,
    NO_BOUND,
    POLICIES,
    RECALL,
    RECORDED_LENGTHS,
    SHARP,
    Goals,
    Setting,
    compared,
    setting,
)
from benchmarks.bounded.queries import q3_q4, q5_q6_clauses
from benchmarks.bounded.recorded import CLAUSE_WINDOW, bike_trips, crimes
from benchmarks.bounded.running import TARIFF, selecting_run, without_bound
from benchmarks.bounded.streams import ds1
from benchmarks.bounded.workloads import clause_work, event_work
from benchmarks.experiment import Scale
from benchmarks.records import Record

SHARES = (10, 30, 50, 70, 90)
SEED = 1
RECALLS = {"figure 4": {50: 0.97, 10: 0.70}, "figure 6": {50: 0.96, 10: 0.74}}
"""The paper's, by share."""
SPEEDS = {("figure 4", 50): 1e6}
SELECTING = (SHARP, "icde20", "random_state")


def measure_events(scale: Scale) -> list[Record]:
    """Q3 and Q4 on DS1."""
    return _shares("figure 4", events_setting(scale))


def events_setting(scale: Scale) -> Setting:
    return setting(
        "DS1", lambda length: ds1(length, SEED), lambda table: event_work(q3_q4(), table).work, LENGTHS[scale]
    )


def measure_bikes(scale: Scale) -> list[Record]:
    """Q3 and Q4 on recorded trips; nothing where there are none."""
    trips = bike_trips()
    if trips is None:
        return []
    return _shares(
        "figure 5",
        setting(
            "Citi Bike",
            lambda length: trips.slice(0, length),
            lambda table: event_work(q3_q4(), table).work,
            RECORDED_LENGTHS[scale],
        ),
    )


def measure_crimes(scale: Scale) -> list[Record]:
    """Q5 and Q6 as MATCH_RECOGNIZE on recorded crimes; nothing where there are none."""
    found = crimes_setting(scale)
    return [] if found is None else _shares("figure 6", found)


def crimes_setting(scale: Scale) -> Setting | None:
    rows = crimes()
    if rows is None:
        return None
    texts = q5_q6_clauses(CLAUSE_WINDOW)
    return setting(
        "crimes", lambda length: rows.slice(0, length), lambda table: clause_work(texts, table), RECORDED_LENGTHS[scale]
    )


def _shares(figure: str, at: Setting) -> list[Record]:
    records = [_latency(figure, at)]
    for share in SHARES:
        goals = Goals(RECALLS.get(figure, {}).get(share), SPEEDS.get((figure, share)), not_below=True)
        records += compared(figure, f"{at.name}, {share} %", at, share / 100, tuple(POLICIES), goals)
    return records


def _latency(figure: str, at: Setting) -> Record:
    """Without a bound."""
    whole = at.whole_long
    case, notes = f"{at.name}, {NO_BOUND}", (f"{whole.outcome.found:,} matches in {len(at.long):,} events",)
    return Record("bounded", figure, case, "speed", len(at.long) / whole.outcome.seconds, "rows/s", notes=notes)


def measure_selection(scale: Scale) -> list[Record]:
    """A fixed share of the state of Q3 and Q4 on DS1."""
    work = event_work(q3_q4(), ds1(LENGTHS[scale][0], SEED)).work
    whole = without_bound(work, TARIFF).outcome
    records = []
    for share in SHARES:
        for policy in SELECTING:
            recall = selecting_run(work, share / 100, policy, TARIFF).recall(whole)
            case = f"DS1, {share} %: {POLICIES[policy]}"
            records.append(Record("bounded", "figure 8", case, RECALL, recall, ""))
    return records
