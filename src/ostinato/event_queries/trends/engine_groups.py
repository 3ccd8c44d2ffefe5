"""EventsPlan -> groups of programs, each with its engine and the loops that it shares."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ostinato.event_queries.language.event_query import occurrences
from ostinato.event_queries.plan.event_plan import EventsPlan
from ostinato.event_queries.plan.event_program import Program
from ostinato.event_queries.trends.engine_choice import declined, fitting, tested_condition
from ostinato.event_queries.trends.loops import TOO_MANY_WINDOWS
from ostinato.event_queries.trends.sharable import KleeneLoop, SharableSet, sharable_sets
from ostinato.event_queries.trends.templates import MergedTemplate, merged_template

NOTHING_TO_SHARE = "nothing to share"
CHEAPER_APART = "comparisons of neighbours by order cost less in each query alone"
"""By itself, a query finds neighbours by rank, in O(log n) for each event. The shared engine visits the events, which
is 4 to 21 times slower (benchmarks/trends)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A program of the workload: `plan.queries[query].programs[program]`."""

    query: int
    program: int


@dataclass(frozen=True, slots=True)
class EngineGroup:
    """Programs that one engine runs over the sequences of one stream."""

    stream: int
    members: tuple[Member, ...]
    programs: tuple[Program, ...]
    shared: bool
    """Whether the shared engine runs them; otherwise each program runs by itself."""
    loops: tuple[KleeneLoop, ...] = ()
    """The shared loops. Their programs are indexes into `members`."""
    why: tuple[str, ...] = ()
    """For each program that isn't shared, the reason."""


def groups_of_stream(plan: EventsPlan, stream: int, sharing: str) -> list[EngineGroup]:
    """The engines of one stream's aggregate queries."""
    return [group for group in engine_groups(plan, sharing=sharing) if group.stream == stream]


def engine_groups(plan: EventsPlan, *, sharing: str = "dynamic") -> tuple[EngineGroup, ...]:
    """The engines for the aggregate queries of a plan: a shared one for each sharable set, and one for the rest of a
    stream.

    Queries with conditions between neighbours form sets of their own, so they don't slow the others down. With
    `sharing="never"` nothing is shared. With "always", programs also share if that costs more. RETURN MATCHES isn't
    covered here.
    """
    members = [
        Member(number, program)
        for number, query in enumerate(plan.queries)
        if not query.returns_matches
        for program in range(len(query.programs))
    ]
    programs = [plan.queries[member.query].programs[member.program] for member in members]
    streams = [plan.queries[member.query].stream for member in members]
    groups = []
    if sharing == "never":
        why = dict.fromkeys(range(len(members)), 'sharing="never"')
    else:
        # A program that can't even share with itself shares with no other.
        why = {i: declined((program, program)) or NOTHING_TO_SHARE for i, program in enumerate(programs)}
        if sharing == "dynamic":
            why |= {i: CHEAPER_APART for i, program in enumerate(programs) if _compares_in_order(program)}
        candidates = [i for i in why if why[i] == NOTHING_TO_SHARE]
        for chosen, loops in _sharing_sets(candidates, programs, streams, why):
            reason = declined([programs[i] for i in chosen])
            if reason is None:
                groups.append(_group(streams[chosen[0]], chosen, members, programs, loops))
                for i in chosen:
                    del why[i]
            else:
                why.update(dict.fromkeys(chosen, reason))
    for stream in dict.fromkeys(streams):
        rest = [i for i in why if streams[i] == stream]
        if rest:
            groups.append(_group(stream, rest, members, programs, why=tuple(why[i] for i in rest)))
    return tuple(sorted(groups, key=lambda group: group.members[0].query))


def _sharing_sets(
    candidates: Sequence[int], programs: Sequence[Program], streams: Sequence[int], why: dict[int, str]
) -> Iterator[tuple[list[int], tuple[KleeneLoop, ...]]]:
    """Programs that share a loop and fit into one engine, with their loops. `why` gets the programs that don't fit."""
    keys = [(streams[i], tested_condition(programs[i])) for i in candidates]
    for sharable in sharable_sets([programs[i] for i in candidates], keys):
        chosen = [candidates[index] for index in sharable.programs]
        fits = fitting([programs[i] for i in chosen])
        if len(fits) == len(chosen):
            yield chosen, _renumbered(sharable)
        else:
            smaller = [chosen[index] for index in fits]
            why.update({i: TOO_MANY_WINDOWS for i in chosen if i not in smaller})
            yield from _sharing_sets(smaller, programs, streams, why)


def _renumbered(sharable: SharableSet) -> tuple[KleeneLoop, ...]:
    """The loops of a set, with programs as indexes into the set."""
    index_of = {number: i for i, number in enumerate(sharable.programs)}
    return tuple(
        KleeneLoop(loop.condition, tuple(index_of[number] for number in loop.programs)) for loop in sharable.loops
    )


def _compares_in_order(program: Program) -> bool:
    return any(edge.op is not None for edge in program.edges)


def _group(
    stream: int,
    chosen: Sequence[int],
    members: Sequence[Member],
    programs: Sequence[Program],
    loops: tuple[KleeneLoop, ...] = (),
    why: tuple[str, ...] = (),
) -> EngineGroup:
    own = tuple(programs[number] for number in chosen)
    return EngineGroup(stream, tuple(members[number] for number in chosen), own, not why, loops, why)


def template_of(plan: EventsPlan, queries: Sequence[int]) -> MergedTemplate:
    """The merged template of some queries of the plan. Nodes have the names of their event types."""
    programs = [(number, program) for number in queries for program in plan.queries[number].programs]
    names: dict[int, str] = {}
    for number, program in programs:
        types = {event.variable: event.type for event in occurrences(plan.queries[number].bound.query.pattern)}
        automata = [(program.automaton, program.qualifies)]
        automata += zip(program.automaton.absences, program.absent_qualifies, strict=True)
        for automaton, conditions in automata:
            for variable, condition in zip(automaton.labels, conditions, strict=True):
                names.setdefault(condition, types[variable])
    return merged_template([program for _, program in programs], [number for number, _ in programs], names.__getitem__)
