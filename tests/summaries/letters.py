"""Letters for events: one a microsecond, unless times are given."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from benchmarks.summary.single_answers import ask
from tests.summaries.state_counters import StateCounters

from ostinato.event_queries.language.event_query import Selection
from ostinato.summaries.engine.counter_moves import count_program, sum_program
from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.engine.summary_state import SummaryState
from ostinato.summaries.language.type_automaton import TypeAutomaton, compile_expression


def events(summary: Summary, letters: str, times: Sequence[int] | None = None, values: object = None) -> SummaryEvents:
    time = np.arange(1, len(letters) + 1) if times is None else np.array(times, np.int64)
    return SummaryEvents(time, summary.codes(list(letters)), None if values is None else np.array(values))


def after(summary: Summary, letters: str, times: Sequence[int] | None = None, values: object = None) -> SummaryState:
    return summary.advance(events(summary, letters, times, values), summary.new_state())


def numbers(summary: Summary, state: SummaryState) -> list[int]:
    """Numbers of the kept events, counted from 1 as in the paper."""
    return [event.number + 1 for event in ask(summary, state).kept]


def counters(
    expression: str,
    letters: str,
    window: int = 100,
    *,
    times: Sequence[int] | None = None,
    values: Sequence[int] | None = None,
    selection: Selection = Selection.ANY,
) -> StateCounters:
    """The state summary after the letters. With values, it is the one of SUM."""
    automaton: TypeAutomaton = compile_expression(expression)
    program = count_program(automaton, selection)
    state = StateCounters(program if values is None else sum_program(program), window)
    for i, letter in enumerate(letters):
        time = i + 1 if times is None else times[i]
        state.insert(time, automaton.types.index(letter), 1 if values is None else values[i])
    return state
