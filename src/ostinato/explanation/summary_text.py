"""A stream summary -> text: automaton, window, the events kept and why, the memory of a key; and a picture."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from ostinato.clause.automaton.nfa import ACCEPT, Nfa, State
from ostinato.event_queries.language.event_query import Selection
from ostinato.explanation.text_sections import numbered
from ostinato.pictures.automaton_svg import Picture, draw_automata
from ostinato.summaries.engine.kernel_tables import COUNT
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.language.type_automaton import NO_STATE, START, TypeAutomaton, compile_expression
from ostinato.summaries.summary_request import SummaryRequest

_STRATEGIES = {
    Strategy.CAPPED: "the event with the lowest benefit: its matches so far, plus those expected within the window and "
    "the size",
    Strategy.PUBLISHED: "the event with the lowest benefit: its matches so far, plus those expected within the window",
    Strategy.PRESENT: "the event with the fewest matches so far",
    Strategy.FIFO: "the oldest event",
    Strategy.RANDOM: "a random event, drawn with the seed",
}
_SELECTIONS = {
    Selection.ANY: "any later event that fits can follow; a match is a set of events",
    Selection.NEXT: "the first later event that fits follows; each start has at most one match, the longest",
}


def summary_text(summary: SummaryRequest) -> str:
    """The whole explanation."""
    query, automaton = summary.query, _automaton(summary)
    sections = {
        "The summary as understood": _understood_lines(summary),
        f"The automaton: {len(automaton.final)} states; each set of events counts once": automaton.dump().splitlines(),
        "Events kept": _kept_lines(query, summary.columns.counts_units),
        "Memory": [f"{_full_size(query):,} bytes for a key with {query.size:,} events, however many arrived"],
        "On Spark": _on_spark(query, summary.buckets),
    }
    return numbered(sections.items())


def _understood_lines(summary: SummaryRequest) -> Iterator[str]:
    query, columns = summary.query, summary.columns
    of = "" if columns.value is None else f"({columns.value})"
    yield f"{query.aggregate.value}{of} over all matches of {query.expression}"
    window = _length(query.window_us, columns.counts_units)
    yield f"types in column {columns.type}, order by {columns.time}, within {window}"
    yield f"{query.selection.value}: {_SELECTIONS[query.selection]}"
    if query.aggregate is SummaryAggregate.AVG:
        yield "AVG is the mean, over all matches, of the sum in a match"
    if query.partition_by:
        shared = (
            ""
            if query.keyed_types is None
            else f"; only events of type {', '.join(sorted(query.keyed_types))} have a key"
        )
        yield f"one summary for each {', '.join(query.partition_by)}{shared}"
    skips = query.unknown_types is UnknownTypes.SKIP
    yield f"events of other types are {'counted as arrivals, never kept' if skips else 'an error'}"


def _kept_lines(query: SummaryQuery, counts_units: bool) -> Iterator[str]:
    yield f"At most {query.size:,} events are kept. To make room for a better one, {query.strategy.value} drops"
    yield f"  {_STRATEGIES[query.strategy]}"
    if query.strategy not in (Strategy.CAPPED, Strategy.PUBLISHED):
        return
    if query.probabilities is None:
        yield f"Type probabilities are learnt from recent events: counts halve every {query.half_life_events:,} events."
    else:
        yield "probabilities: " + ", ".join(f"{name} {share:g}" for name, share in query.probabilities)
    if query.tick_us is None:
        yield "The time between two events is learnt in the same way."
    else:
        yield f"expected arrivals: one event every {_length(query.tick_us, counts_units)}"


def _on_spark(query: SummaryQuery, buckets: int) -> Iterator[str]:
    if not query.partition_by:
        yield "batch: one task gets all rows, because any of them can be in one match"
    elif query.keyed_types is not None:
        yield "batch: one task gets all rows, because some types belong to every key"
    else:
        yield "batch: rows are repartitioned by key; each task sorts the events of its keys and builds their summaries"
    yield f"stream: keys are hashed into {buckets} buckets; the state store holds their summaries"


def _length(amount: float, counts_units: bool) -> str:
    return f"{amount:g}" if counts_units else str(timedelta(microseconds=amount))


def _automaton(summary: SummaryRequest) -> TypeAutomaton:
    return compile_expression(summary.query.expression, summary.query.declared())


def _full_size(query: SummaryQuery) -> int:
    """The bytes of a full summary. Loads kernels."""
    from ostinato.summaries.engine.summary import Summary

    state = Summary(query).new_state()
    state.columns.marks[COUNT] = query.size
    return len(state.to_bytes())


# --- picture ----------------------------------------------------------------------------------------------------------


def summary_automaton(summary: SummaryRequest) -> str:
    """The automaton as a picture."""
    return draw_automata([Picture(_as_nfa(_automaton(summary)), {}, ranked=False)])


def _as_nfa(automaton: TypeAutomaton) -> Nfa:
    """The automaton as an `Nfa`, with one state for each type that enters a state, as in a row pattern."""
    entered = [
        (state, type)
        for state in range(1, len(automaton.final))
        for type in range(len(automaton.types))
        if any(row[type] == state for row in automaton.next_state)
    ]
    number = {pair: i for i, pair in enumerate(entered)}

    def choices(state: int) -> tuple[int, ...]:
        ahead = [number[to, type] for type, to in enumerate(automaton.next_state[state]) if to != NO_STATE]
        return (*ahead, ACCEPT) if automaton.final[state] else tuple(ahead)

    states = tuple(State(automaton.types[type], False, choices(state)) for state, type in entered)
    return Nfa(states, choices(START), choices(START))


__all__ = ["summary_automaton", "summary_text"]
