"""Letters for events: one a microsecond, unless times are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from tests.summaries.state_counters import StateCounters

from ostinato.event_queries.language.event_query import Selection
from ostinato.summaries.engine.counter_moves import count_program, sum_program
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.language.type_automaton import Automaton, compile_expression


def events(summary: Summary, letters: str, times: Sequence[int] | None = None, values: object = None) -> SummaryEvents:
    time = np.arange(1, len(letters) + 1) if times is None else np.array(times, np.int64)
    return SummaryEvents(time, summary.codes(list(letters)), None if values is None else np.array(values))


def after(summary: Summary, letters: str, times: Sequence[int] | None = None, values: object = None) -> SummaryState:
    return summary.advance(events(summary, letters, times, values), summary.new_state())


def numbers(summary: Summary, state: SummaryState) -> list[int]:
    """Which events are kept, counted from 1 as the paper does."""
    return [event.number + 1 for event in summary.ask(state).kept]


def counters(
    expression: str,
    letters: str,
    window: int = 100,
    *,
    times: Sequence[int] | None = None,
    values: Sequence[int] | None = None,
    selection: Selection = Selection.ANY,
) -> StateCounters:
    """The state summary after the letters; with values, that of SUM."""
    automaton: Automaton = compile_expression(expression)
    program = count_program(automaton, selection)
    found = StateCounters(program if values is None else sum_program(program), window)
    for place, letter in enumerate(letters):
        time = place + 1 if times is None else times[place]
        found.insert(time, automaton.types.index(letter), 1 if values is None else values[place])
    return found
