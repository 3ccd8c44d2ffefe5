"""Event queries and workloads -> pictures of their automata, one below the other."""

from __future__ import annotations

from typing import Any

from ostinato.clause.automaton.nfa import ACCEPT, Nfa, State
from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton
from ostinato.explanation.bounded_text import plan_picture
from ostinato.explanation.events_text import AsksWorkload, plan_asked, shared_of
from ostinato.explanation.readable import readable
from ostinato.pictures.automaton_svg import Picture, draw_automata


def event_picture(question: Any, table: Any = None) -> str:
    """The automata of an `ost.events(...)` or an `ost.Workload(...)`, then the plans that several queries share.
    Events under NOT aren't drawn."""
    asks = question.events if isinstance(question, AsksWorkload) else {"": question}
    planned = plan_asked(tuple(asks.values()), table)
    plan = planned.plan
    pictures = [
        Picture(
            _as_nfa(program.automaton),
            {name: readable(query.bound.qualifies[name]) for name in program.automaton.labels},
            name,
            ranked=False,
        )
        for name, query in zip(asks, plan.queries, strict=True)
        for program in query.programs[:2]  # the third of an AND is what both have
    ]
    if isinstance(question, AsksWorkload):
        names = tuple(asks)
        shared = shared_of(planned, names, question.options.sharing, question.request.for_queries(names))
        for group in () if shared is None else shared.groups:
            variables = [plan.queries[i].programs[0].automaton.labels for i in group.queries]
            pictures.append(plan_picture(group.merged, variables))
    return draw_automata(pictures)


def _as_nfa(automaton: TrendAutomaton) -> Nfa:
    """States that take an event, as a row pattern has them: each is entered by one variable."""
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
