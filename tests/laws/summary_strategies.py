"""Random expressions, streams and settings for summaries, small enough for the oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from ostinato.event_queries.language.event_query import Selection
from ostinato.reference.summary_oracle import SummaryEvent
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery

LETTERS = "ABCD"
PROBABILITIES = (("A", 0.5), ("B", 0.25), ("C", 0.125), ("D", 0.125))
"""Powers of two: doubles compute with them exactly for a few steps, so engines and oracle see the same ties."""

_letters = st.sampled_from("ABC")


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    group = inner.map(lambda text: f"({text})")
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(group, st.sampled_from("*+?")).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
    )


expressions = st.recursive(_letters, _larger, max_leaves=6)
windows = st.sampled_from([0, 1, 2, 3, 5, 30])
selections = st.sampled_from([Selection.ANY, Selection.ANY, Selection.NEXT])


@st.composite
def streams(draw: st.DrawFn, max_size: int = 7) -> list[SummaryEvent]:
    """Events in order of time, often with the same time."""
    time = draw(st.integers(-9, 9))
    events = []
    for letter in draw(st.lists(st.sampled_from(LETTERS), max_size=max_size)):
        time += draw(st.sampled_from([0, 0, 1, 1, 2, 4]))
        value = draw(st.sampled_from([None, -2, 0, 1, 3]))
        events.append(SummaryEvent(letter, time, value))
    return events


@st.composite
def queries(draw: st.DrawFn, strategies: tuple[Strategy, ...]) -> SummaryQuery:
    return SummaryQuery(
        draw(expressions),
        draw(windows),
        draw(st.integers(1, 6)),
        draw(st.sampled_from(list(SummaryAggregate))),
        draw(selections),
        draw(st.sampled_from(strategies)),
        probabilities=PROBABILITIES,
        tick_us=draw(st.sampled_from([1.0, 2.0, 4.0])),
    )


def columns(summary: Summary, events: list[SummaryEvent]) -> SummaryEvents:
    return SummaryEvents(
        np.array([event.time_us for event in events], np.int64),
        summary.codes([event.type for event in events]),
        np.array([event.value or 0 for event in events], np.int64),
        np.array([event.value is not None for event in events], np.bool_),
    )
