"""Figure 11: the state summary alone on A^i B^i C^i D^i for ABCD, all events kept, beside enumerating the i^4 matches.

Enumerating is the library's own search for matches, compiled. Ours is timed from events in arrays to the exact count;
memory is what is allocated meanwhile, as Python's tracer sees it.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Record
from benchmarks.summary.clock import core_seconds
from benchmarks.summary.single_answers import ask
from benchmarks.trends.matches import blocks, letters_in_order
from ostinato.event_queries.enumeration.event_matches import find_event_matches
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.language.summary_query import Strategy, SummaryQuery

SIZES = (2, 4, 8, 16, 32, 64, 128, 256, 512)
LARGEST_ENUMERATED = {Scale.SMALL: 32, Scale.FULL: 64}
"""64^4 matches are 17 million."""
ROUNDS = 3


def measure_state_summary(scale: Scale) -> list[Record]:
    records = []
    for size in SIZES:
        right = size**4
        count = partial(_counted, *_summary_of_all(size))
        expect(f"A^{size} B^{size} C^{size} D^{size}", count(), right)
        ours, our_bytes = core_seconds(count, ROUNDS), _peak_bytes(count)
        theirs, their_bytes = None, None
        if size <= LARGEST_ENUMERATED[scale]:
            find = partial(
                find_event_matches, letters_in_order(), blocks(size).events(), MatchLimits(most_matches=right)
            )
            expect(f"enumerated, i = {size}", find().count, right)
            theirs = Baseline("enumerating", core_seconds(find, ROUNDS))
            their_bytes = Baseline("enumerating", _peak_bytes(find))
        case = f"ABCD, i = {size}"
        records.append(Record("summary", "figure 11", case, "time", ours, "s", theirs))
        records.append(Record("summary", "figure 11", case, "peak memory", our_bytes, "B", their_bytes))
    return records


def _summary_of_all(size: int) -> tuple[Summary, SummaryEvents]:
    rows = 4 * size
    query = SummaryQuery("ABCD", rows, rows, strategy=Strategy.PRESENT)
    summary = Summary(query)
    return summary, SummaryEvents(np.arange(rows), np.repeat(summary.codes("ABCD"), size))


def _counted(summary: Summary, events: SummaryEvents) -> int:
    return ask(summary, summary.advance(events, summary.new_state())).count


def _peak_bytes(action: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
