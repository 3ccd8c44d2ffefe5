"""SHARON's way (2018): no Kleene plus, so T+ becomes T, T T, T T T ... up to the longest run there can be.

Each fixed-length sequence has a running count for each of its prefixes. Those of T T are prefixes of T T T, and are
kept once for all lengths, which is more than SHARON's plans share; even so an event of T adds to as many counts as the
longest run has events. Compiled, on doubles as in greta.py; only COUNT(*).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from benchmarks.trends.greta import graph_of, results_of
from benchmarks.trends.windows import Unsupported, Windows, symbols_of, windows_of
from ostinato.event_queries.automaton.trend_automaton import START, Transition, TrendAutomaton
from ostinato.event_queries.plan.event_program import Events, Program, QueryResults
from ostinato.kernels.kernel_cache import inline_kernel, kernel

LARGE, LARGE_BITS = 2.0**512, 512


def flattened(programs: Sequence[Program], events: Events) -> tuple[QueryResults, ...]:
    """Query by query, each as all its fixed-length sequences."""
    symbols = symbols_of(events)
    windows_by_extent: dict[object, Windows] = {}
    results = []
    for program in programs:
        if program.edges or program.slots:
            raise Unsupported("only COUNT(*) without conditions between neighbours")
        if program.extent not in windows_by_extent:
            windows_by_extent[program.extent] = windows_of(events, program.extent)
        windows = windows_by_extent[program.extent]
        flat = without_loops(program, _longest_runs(program, windows, symbols))
        by_label = np.searchsorted([t.label for t in flat.automaton.transitions], range(len(flat.qualifies) + 1))
        count, exponent = np.zeros(len(windows.start)), np.zeros(len(windows.start), np.int64)
        _windows(graph_of(flat), by_label, windows.first, windows.last, events.time, symbols, count, exponent)
        results.append(results_of(program, windows, count, exponent, np.zeros((0, len(count)))))
    return tuple(results)


def _longest_runs(program: Program, windows: Windows, symbols: np.ndarray) -> dict[int, int]:
    """For each state with a loop of its own: the most events in a window that can go through the loop."""
    longest = {}
    for transition in program.automaton.transitions:
        if transition.source == transition.target:
            holds = np.append(0, np.cumsum(symbols >> program.qualifies[transition.label] & 1))
            longest[transition.source] = int((holds[windows.last] - holds[windows.first]).max(initial=0))
    return longest


def without_loops(program: Program, times: dict[int, int]) -> Program:
    """Each state with a loop becomes a row of as many states as it may be entered times; transitions by label.

    >>> from benchmarks.trends.workloads import ChainQuery, Step
    >>> program = ChainQuery((Step(1), Step(0, kleene=True)), 60, 60).program()
    >>> [(t.source, t.target) for t in without_loops(program, {2: 3}).automaton.transitions]
    [(0, 1), (1, 2), (2, 3), (3, 4)]
    """
    automaton = program.automaton
    first, states = {}, 0
    for state in range(automaton.states):
        first[state] = states
        states += max(times.get(state, 1), 1)
    copies = {state: range(first[state], first[state] + max(times.get(state, 1), 1)) for state in first}
    transitions = []
    for transition in automaton.transitions:
        source, target = copies[transition.source], copies[transition.target]
        if transition.source == transition.target:
            transitions += [Transition(copy, transition.label, copy + 1) for copy in source[:-1]]
        else:
            transitions += [Transition(copy, transition.label, target[0]) for copy in source]
    accepting = frozenset(copy for state in automaton.accepting for copy in copies[state])
    by_label = sorted(transitions, key=lambda transition: transition.label)
    flat = TrendAutomaton(automaton.labels, states, tuple(by_label), accepting)
    return replace(program, automaton=flat)


def longest_run(programs: Sequence[Program], events: Events) -> int:
    """The longest Kleene run of any query: how many sequences a query becomes."""
    symbols = symbols_of(events)
    runs = [_longest_runs(program, windows_of(events, program.extent), symbols) for program in programs]
    return max((most for of_query in runs for most in of_query.values()), default=1)


@kernel
def _windows(graph, by_label, first, last, time, symbols, count, exponent):  # type: ignore[no-untyped-def]
    """Running counts by state, window by window; events of one time see the counts before it.

    The transitions of label i are those from by_label[i] to by_label[i + 1].
    """
    states, labels = len(graph.accepting), len(graph.condition)
    sums, levels = np.zeros(states), np.zeros(states, np.int64)
    pending, pending_levels = np.zeros(states), np.zeros(states, np.int64)
    for window in range(len(first)):
        sums[:] = 0.0
        levels[:] = 0
        sums[START] = 1.0
        row = first[window]
        while row < last[window]:
            begin, now = row, time[row]
            while row < last[window] and time[row] == now:
                for label in range(labels):
                    if symbols[row] >> graph.condition[label] & 1:
                        for at in range(by_label[label], by_label[label + 1]):
                            _add(
                                pending,
                                pending_levels,
                                graph.target[at],
                                sums[graph.source[at]],
                                levels[graph.source[at]],
                            )
                row += 1
            for done in range(begin, row):
                for label in range(labels):
                    if symbols[done] >> graph.condition[label] & 1:
                        for at in range(by_label[label], by_label[label + 1]):
                            target = graph.target[at]
                            _add(sums, levels, target, pending[target], pending_levels[target])
                            pending[target], pending_levels[target] = 0.0, 0
        total, level = np.zeros(1), np.zeros(1, np.int64)
        for state in range(states):
            if graph.accepting[state]:
                _add(total, level, 0, sums[state], levels[state])
        count[window], exponent[window] = total[0], level[0] * LARGE_BITS


@inline_kernel
def _add(sums, levels, to, number, level):  # type: ignore[no-untyped-def]
    """A sum is so many levels of 2^512 larger than its double; what is far lower than the rest has no digit in it."""
    if level == levels[to]:
        sums[to] += number
    elif level == levels[to] - 1:
        sums[to] += number / LARGE
    elif level > levels[to] and number > 0.0:
        sums[to] = number + (sums[to] / LARGE if level == levels[to] + 1 else 0.0)
        levels[to] = level
    if sums[to] > LARGE:
        sums[to] /= LARGE
        levels[to] += 1
