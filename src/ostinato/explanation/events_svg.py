"""Event queries and workloads -> pictures of their automata, one below the other."""

from __future__ import annotations

from typing import Any

from ostinato.clause.automaton.nfa import ACCEPT, Nfa, State
from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton
from ostinato.explanation.events_text import plan_queries, shared_matches_of
from ostinato.explanation.merged_plan_text import merged_plan_picture
from ostinato.explanation.readable import readable
from ostinato.pictures.automaton_svg import Picture, draw_automata
from ostinato.workloads.workload_request import WorkloadRequest


def event_picture(query: Any, table: Any = None) -> str:
    """The automata of an `ost.events(...)` or an `ost.Workload(...)`, then the plans that several queries share.
    Events under NOT aren't drawn."""
    queries = query.events if isinstance(query, WorkloadRequest) else {"": query}
    planned = plan_queries(tuple(queries.values()), table)
    plan = planned.plan
    pictures = [
        Picture(
            _as_nfa(program.automaton),
            {name: readable(each.bound.qualifies[name]) for name in program.automaton.labels},
            name,
            ranked=False,
        )
        for name, each in zip(queries, plan.queries, strict=True)
        for program in each.programs[:2]  # the third program of an AND is common to both sides
    ]
    if isinstance(query, WorkloadRequest):
        names = tuple(queries)
        shared = shared_matches_of(planned, names, query.options.sharing, query.request.for_queries(names))
        for group in () if shared is None else shared.groups:
            variables = [plan.queries[i].programs[0].automaton.labels for i in group.queries]
            pictures.append(merged_plan_picture(group.merged, variables))
    return draw_automata(pictures)


def _as_nfa(automaton: TrendAutomaton) -> Nfa:
    """The automaton as an `Nfa`. One variable enters each state but the start, as in a row pattern."""
    entered = automaton.entry_labels()
    targets: list[list[int]] = [[] for _ in range(automaton.states)]
    for step in automaton.transitions:
        targets[step.source].append(step.target - 1)
    for state in automaton.accepting:
        targets[state].append(ACCEPT)
    states = tuple(
        State(automaton.labels[entered[state]], False, tuple(targets[state])) for state in range(1, automaton.states)
    )
    return Nfa(states, tuple(targets[START]), tuple(targets[START]))


__all__ = ["event_picture"]
