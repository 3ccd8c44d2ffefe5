"""Figures 12 and 13: partial matches as links (view), as copies (instance), and apart for each pattern (separate).

All three may take the same time for an event: a share of what the view takes without a bound.
"""

from __future__ import annotations

from typing import get_args

from benchmarks.bounded.bounds import SHARES, crimes_setting, events_setting
from benchmarks.bounded.comparing import CORE_RECALL, NO_BOUND, RECALL, SHARP, SPEED, Setting
from benchmarks.bounded.running import CORE, TARIFF, Mode, bounded_run, without_bound
from benchmarks.experiment import Scale, expect
from benchmarks.records import Record


def measure_events(scale: Scale) -> list[Record]:
    """Q3 and Q4 on DS1."""
    return _modes("figure 12", events_setting(scale))


def measure_clauses(scale: Scale) -> list[Record]:
    """Q5 and Q6 as MATCH_RECOGNIZE on crimes; nothing without the file."""
    at = crimes_setting(scale)
    return [] if at is None else _modes("figure 13", at)


def _modes(figure: str, at: Setting) -> list[Record]:
    records = []
    for mode in get_args(Mode):
        short, long = without_bound(at.short, TARIFF, mode), without_bound(at.long, CORE, mode)
        expect(f"matches, {mode}", short.outcome.found, at.whole_short.outcome.found)
        case = f"{at.name}, {NO_BOUND}: {mode}"
        made = short.outcome.partial_matches
        records.append(Record("bounded", figure, case, SPEED, len(at.long) / long.outcome.seconds, "rows/s"))
        records.append(Record("bounded", figure, case, "partial matches", made, ""))
        for share in SHARES:
            as_short = share / 100 * at.whole_short.event_ns / short.event_ns
            as_long = share / 100 * at.whole_long.event_ns / long.event_ns
            by_tariff = bounded_run(at.short, as_short, SHARP, TARIFF, short, mode)
            by_core = bounded_run(at.long, as_long, SHARP, CORE, long, mode)
            for metric, value, unit in (
                (RECALL, by_tariff.recall(at.whole_short.outcome), ""),
                (CORE_RECALL, by_core.recall(at.whole_long.outcome), ""),
                (SPEED, len(at.long) / by_core.seconds, "rows/s"),
            ):
                records.append(Record("bounded", figure, f"{at.name}, {share} %: {mode}", metric, value, unit))
    return records
