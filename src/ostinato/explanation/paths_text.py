"""Path queries -> text: the queries, their common automaton, and how it is searched; and a picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ostinato.clause.automaton.nfa import ACCEPT, Nfa, State
from ostinato.explanation.text_sections import numbered
from ostinato.path_queries.automaton.path_automaton import (
    NOWHERE,
    START,
    PathAutomaton,
    build_path_automaton,
    symbols_of,
)
from ostinato.path_queries.language.path_query import PathQuery
from ostinato.path_queries.path_options import PathOptions
from ostinato.pictures.automaton_svg import Picture, draw_automata

_OTHER = "any other relation"
_MOST_STATES = 200
"""Largest automaton whose edges the text lists."""


def paths_text(queries: Sequence[PathQuery], options: PathOptions) -> str:
    """The whole explanation."""
    automaton = _automaton(queries)
    sections = {
        "The path queries as understood": [
            f"{query.name or f'query {i}'}: {query.text}" for i, query in _named(queries)
        ],
        f"The automaton: {automaton.states} states for all queries together": list(_state_lines(automaton, queries)),
        "The search": list(_search_lines(options)),
        "On Spark": ["one round of joins for each edge of a path: exact, without scores, bounds and limits"],
    }
    return numbered(sections.items())


def paths_automaton(queries: Sequence[PathQuery]) -> str:
    """The automaton as a picture."""
    return draw_automata([Picture(_as_nfa(_automaton(queries)), {}, ranked=False)])


def _named(queries: Sequence[PathQuery]) -> Iterator[tuple[int, PathQuery]]:
    return enumerate(queries, start=1)


def _automaton(queries: Sequence[PathQuery]) -> PathAutomaton:
    """The automaton for nodes that pass every test of a node type."""
    symbols = symbols_of(queries)
    return build_path_automaton(queries, symbols, ((1 << len(symbols.tests)) - 1,))


def _moves(automaton: PathAutomaton, state: int) -> list[tuple[str, int]]:
    """The relations that lead out of a state, each with the next state."""
    names = (*automaton.symbols.names, _OTHER)
    moves = []
    for symbol, to in enumerate(automaton.target[state, :, 0].tolist()):
        if to != NOWHERE:
            moves.append((("^" if symbol % 2 else "") + names[symbol // 2], to))
    return moves


def _state_lines(automaton: PathAutomaton, queries: Sequence[PathQuery]) -> Iterator[str]:
    if automaton.states > _MOST_STATES:
        yield f"too many to list; {_MOST_STATES} is the most"
        return
    names = [query.name or f"query {i}" for i, query in _named(queries)]
    for state in range(automaton.states):
        moves = ", ".join(f"{relation} -> {to}" for relation, to in _moves(automaton, state)) or "no edge"
        ends = ", ".join(name for i, name in enumerate(names) if automaton.accepts[state] >> i & 1)
        yield f"{'start' if state == START else state}: {moves}" + (f"; a path of {ends} ends here" if ends else "")
    if automaton.symbols.tests:
        yield "Each step also checks the node types that the queries name."


def _search_lines(options: PathOptions) -> Iterator[str]:
    yield f"paths of at most {options.max_hops} edges{', no node twice' if options.simple else ''}"
    if options.end is not None:
        yield f"paths end at {', '.join(options.end)}"
    if options.limit is not None:
        yield f"the best {options.limit:,} paths of each start"
    bound = options.budget
    if bound.is_none:
        yield f"no bound: all paths, or an error beyond {options.most_partial_paths:,} partial paths"
    if bound.latency_ns is not None:
        yield f"at most {bound.latency_ns / 1e6:,.6g} ms; the search keeps the paths most similar to the queries"
    if bound.memory_bytes is not None:
        yield f"at most {bound.memory_bytes:,} bytes of partial paths"


def _as_nfa(automaton: PathAutomaton) -> Nfa:
    """The automaton as an `Nfa`, with one state for each relation that enters a state, as in a row pattern."""
    entered = list(
        dict.fromkeys((to, relation) for state in range(automaton.states) for relation, to in _moves(automaton, state))
    )
    number = {pair: i for i, pair in enumerate(entered)}

    def choices(state: int) -> tuple[int, ...]:
        ahead = [number[to, relation] for relation, to in _moves(automaton, state)]
        return (*ahead, ACCEPT) if automaton.accepts[state] else tuple(ahead)

    states = tuple(State(relation, False, choices(state)) for state, relation in entered)
    return Nfa(states, choices(START), choices(START))
