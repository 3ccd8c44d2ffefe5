"""A stream summary -> text: automaton, window, the events that are kept and why, and the memory of one key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Protocol, runtime_checkable

from ostinato.clause.automaton.nfa import ACCEPT, Nfa, State
from ostinato.event_queries.language.event_query import Selection
from ostinato.pictures.automaton_svg import Picture, draw_automata
from ostinato.summaries.engine.kernel_tables import COUNT
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.language.type_automaton import NO_STATE, START, Automaton, compile_expression

_STRATEGIES = {
    Strategy.CAPPED: "the lowest benefit: matches so far, and those to come within the window as far as there is room",
    Strategy.PUBLISHED: "the lowest benefit: matches so far, and those to come within the window",
    Strategy.PRESENT: "the fewest matches so far",
    Strategy.FIFO: "the oldest",
    Strategy.RANDOM: "one drawn at random, by the seed",
}
_SELECTIONS = {
    Selection.ANY: "any later event that fits may follow; a match is a set of events",
    Selection.NEXT: "the first later event that fits follows; each start has at most one match, its longest",
}


class SummaryColumnNames(Protocol):
    """The roles of columns."""

    @property
    def type(self) -> str: ...
    @property
    def time(self) -> str: ...
    @property
    def value(self) -> str | None: ...
    @property
    def counts_units(self) -> bool: ...


@runtime_checkable
class AsksSummary(Protocol):
    """An `ost.summary(...)`."""

    @property
    def query(self) -> SummaryQuery: ...
    @property
    def columns(self) -> SummaryColumnNames: ...
    @property
    def buckets(self) -> int: ...


def summary_text(question: AsksSummary) -> str:
    """The whole explanation, for terminals."""
    query, automaton = question.query, _automaton(question)
    sections = {
        "The summary as understood": _understood(question),
        f"The automaton: {len(automaton.final)} states, each set of events counts once": automaton.dump().splitlines(),
        "What is kept": _kept(query, question.columns.counts_units),
        "Memory": [f"{_full_size(query):,} bytes for a key that keeps {query.size:,} events, whatever it has seen"],
        "On Spark": _on_spark(query, question.buckets),
    }
    lines: list[str] = []
    for number, (title, body) in enumerate(sections.items(), start=1):
        lines += [f"{number}. {title}", *(f"   {line}" for line in body)]
    return "\n".join(lines)


def _understood(question: AsksSummary) -> Iterator[str]:
    query, columns = question.query, question.columns
    of = "" if columns.value is None else f"({columns.value})"
    yield f"{query.aggregate.value}{of} over all matches of {query.expression}"
    window = _length(query.window_us, columns.counts_units)
    yield f"types in column {columns.type}, order by {columns.time}, within {window}"
    yield f"{query.selection.value}: {_SELECTIONS[query.selection]}"
    if query.aggregate is SummaryAggregate.AVG:
        yield "AVG is the mean sum of a match"
    if query.partition_by:
        shared = "" if query.keyed_types is None else f", on which {', '.join(sorted(query.keyed_types))} agree"
        yield f"one summary for each {', '.join(query.partition_by)}{shared}"
    skips = query.unknown_types is UnknownTypes.SKIP
    yield f"events of other types are {'seen, never kept' if skips else 'an error'}"


def _kept(query: SummaryQuery, counts_units: bool) -> Iterator[str]:
    yield f"at most {query.size:,} events; when a better one comes, this gives way ({query.strategy.value}):"
    yield f"  {_STRATEGIES[query.strategy]}"
    if query.strategy not in (Strategy.CAPPED, Strategy.PUBLISHED):
        return
    if query.probabilities is None:
        yield f"types are as probable as they were lately: counts halve after {query.half_life_events:,} events"
    else:
        yield "probabilities: " + ", ".join(f"{name} {share:g}" for name, share in query.probabilities)
    if query.tick_us is None:
        yield "the time between two events is learnt in the same way"
    else:
        yield f"an event comes every {_length(query.tick_us, counts_units)}"


def _on_spark(query: SummaryQuery, buckets: int) -> Iterator[str]:
    if not query.partition_by:
        yield "batch: one task has all rows, as all of them may stand in one match"
    elif query.keyed_types is not None:
        yield "batch: one task has all rows, as some types belong to every key"
    else:
        yield "batch: rows are repartitioned by key; a task orders its keys' events and keeps their summaries"
    yield f"stream: keys are hashed into {buckets} buckets, whose summaries lie in the state store"


def _length(amount: float, counts_units: bool) -> str:
    return f"{amount:g}" if counts_units else str(timedelta(microseconds=amount))


def _automaton(question: AsksSummary) -> Automaton:
    return compile_expression(question.query.expression, question.query.declared())


def _full_size(query: SummaryQuery) -> int:
    """The bytes of a full summary. Loads kernels."""
    from ostinato.summaries.engine.summary import Summary

    state = Summary(query).new_state()
    state.columns.marks[COUNT] = query.size
    return len(state.to_bytes())


# --- picture ----------------------------------------------------------------------------------------------------------


def summary_automaton(question: AsksSummary) -> str:
    """The automaton as a picture."""
    return draw_automata([Picture(_as_nfa(_automaton(question)), {}, ranked=False)])


def _as_nfa(automaton: Automaton) -> Nfa:
    """States as a row pattern has them, each entered by one type: a state that two types enter is drawn twice."""
    entered = [
        (state, type)
        for state in range(1, len(automaton.final))
        for type in range(len(automaton.types))
        if any(row[type] == state for row in automaton.next_state)
    ]
    number = {pair: place for place, pair in enumerate(entered)}

    def choices(state: int) -> tuple[int, ...]:
        ahead = [number[to, type] for type, to in enumerate(automaton.next_state[state]) if to != NO_STATE]
        return (*ahead, ACCEPT) if automaton.final[state] else tuple(ahead)

    states = tuple(State(automaton.types[type], False, choices(state)) for state, type in entered)
    return Nfa(states, choices(START), choices(START))


__all__ = ["AsksSummary", "summary_automaton", "summary_text"]
