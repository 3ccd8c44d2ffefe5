"""Typed clauses of a workload -> ClausesPlan: the clauses that are matched together, as pattern programs.

Only ALL MATCHES can be shed. In other modes a dropped match would make room for wrong ones. A clause in another mode,
or one that the shared matcher declines, runs alone and exactly. If it has a bound, planning raises an error. Clauses
with equal PARTITION BY and ORDER BY are one stream. In a stream every condition over one row has one number, whichever
clause it comes from. On a streaming DataFrame a match is emitted with its last row, so clauses that need later rows
aren't matched together.

Without a bound, clauses of a batch are matched together by choice, if they share a state. Each may still run alone. On
a stream one operator for all is cheaper than one for each, whatever they share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from ostinato.clause.plan.match_plan import MatchPlan
from ostinato.clause.plan.slicing import margins_of
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.query.bound_clause import BoundKey
from ostinato.clause.query.clause import MatchMode
from ostinato.errors import QueryError
from ostinato.event_queries.plan.event_program import BoundKind, Extent
from ostinato.expressions.syntax import MatchNumber, Navigation, walk
from ostinato.workloads.merging.merged_plan import merge
from ostinato.workloads.merging.pattern_program import START, PatternProgram, PatternStep, canonical_names
from ostinato.workloads.plan.clause_conditions import ClauseConditions, RowTest, RowTests, may_skip, why_declined
from ostinato.workloads.plan.event_groups import MOST_HELD_A_QUERY, NOTHING_IN_COMMON
from ostinato.workloads.plan.row_graph import NOTHING, PartitionPosition, RowGraph, row_graph

Sharing = OneOf["dynamic", "always", "never"]


@dataclass(frozen=True, slots=True)
class ClauseProgram:
    """A clause of a stream. Node n of the graph is label n of the program and its state n + 1."""

    clause: int
    """Its number in the workload."""
    program: PatternProgram
    graph: RowGraph


@dataclass(frozen=True, slots=True)
class ClauseStream:
    """Clauses that read the same partitions in the same order."""

    partition_by: tuple[str, ...]
    order_by: tuple[BoundKey, ...]
    clauses: tuple[ClauseProgram, ...]
    tests: tuple[RowTest, ...]
    """The conditions over one row, by number."""
    neighbours: dict[str, Navigation]
    """Columns that run conditions read, by name: an input at a fixed distance from the row."""
    by_choice: bool
    """Whether each clause may also run alone: there is no bound, no stream state, and sharing isn't forced."""

    @property
    def most_held(self) -> int | None:
        """With more partial matches at one time, each clause is faster alone; None: there is no such limit.

        The search of a single clause skips partial matches that never complete, but visits every row. If nothing bounds
        the length of a match, the search is faster: 280 times with 3,000,000 partial matches and few completions. With
        WITHIN or MAXLENGTH it is slower: 8 times with 200,000 partial matches.
        """
        is_endless = any(clause.program.extent == Extent() for clause in self.clauses)
        return MOST_HELD_A_QUERY * len(self.clauses) if self.by_choice and is_endless else None

    @property
    def has_times(self) -> bool:
        """Whether a clause has WITHIN, so that the first ORDER BY column is a time."""
        return any(test.is_timed for test in self.tests)


@dataclass(frozen=True, slots=True)
class ClausesPlan:
    """`alone` are the clauses that run alone, each with the reason."""

    streams: tuple[ClauseStream, ...]
    alone: dict[int, str]


def plan_clauses(
    typed: Sequence[TypedPlan],
    names: Sequence[str],
    bounded: Sequence[bool],
    sharing: Sharing = "dynamic",
    *,
    on_stream: bool = False,
) -> ClausesPlan:
    """Sorts the clauses of a workload; `bounded` says which of them have a bound. Raises BOUND_NOT_SUPPORTED.

    `on_stream`: for a streaming DataFrame, where the end of a partition is never seen.
    """
    alone: dict[int, str] = {}
    able: dict[tuple[object, ...], list[int]] = {}
    for number, plan in enumerate(typed):
        reason = _reason(plan)
        if reason is None and on_stream:
            reason = _waits_for_more(plan.plan)
        if reason is not None and bounded[number]:
            raise _refusal(plan.plan, names[number], reason)
        if reason is None and not bounded[number]:
            reason = _better_alone(plan.plan, sharing)
        if reason is not None:
            alone[number] = reason
            continue
        bound = plan.plan.bound
        key = (bound.partition_by, tuple(_direction(order) for order in bound.order_by))
        able.setdefault(key, []).append(number)
    streams: list[ClauseStream] = []
    for members in able.values():
        by_choice = sharing == "dynamic" and not on_stream and not any(bounded[number] for number in members)
        wanted = members
        if by_choice:
            together = _stream(len(streams), members, typed, names, bounded)
            merged = merge([clause.program for clause in together.clauses])
            wanted = [together.clauses[pattern].clause for pattern in merged.sharing_patterns]
            alone.update({number: NOTHING_IN_COMMON for number in members if number not in wanted})
        if wanted:
            streams.append(_stream(len(streams), wanted, typed, names, bounded, by_choice=by_choice))
    return ClausesPlan(tuple(streams), dict(sorted(alone.items())))


def _refusal(plan: MatchPlan, name: str, reason: str) -> QueryError:
    return QueryError(
        "BOUND_NOT_SUPPORTED",
        f"query '{name}' can't be bounded: {reason}",
        text=plan.bound.clause.text,
        hint="leave it out of the bound with latency_bound={name: ...}: it then runs exactly",
    )


def _reason(typed: TypedPlan) -> str | None:
    """Why the clause can't be matched together with others."""
    clause = typed.plan.bound.clause
    if clause.mode is not MatchMode.ALL:
        mode = "one preferred match from each start" if clause.mode is MatchMode.PREFERRED else clause.mode.value
        return f"it asks for {mode}, where a match that is left out makes room for wrong ones; ALL MATCHES can have one"
    if typed.general is not None:
        return f"DEFINE needs evaluation row by row: {typed.general.reasons[0]}"
    if clause.within_months is not None:
        return "WITHIN in calendar months isn't one length of time for all starts"
    return why_declined(typed.plan)


def _waits_for_more(plan: MatchPlan) -> str | None:
    """Why a match of the clause isn't decided, on a stream, by the rows up to its last one."""
    nodes = row_graph(plan.nfa, may_skip(plan)).nodes
    if any(node.at_end for node in nodes):
        return "on a stream `$` is known at the end of the input only, and a shared match leaves with its last row"
    if any(node.position is not PartitionPosition.ANYWHERE for node in nodes):
        return "on a stream `^` has to remember every partition, and the shared matcher forgets those without matches"
    if margins_of(plan).after:
        return "on a stream NEXT waits for further rows, and a shared match leaves with its last row"
    if plan.has_ids:
        return "on a stream the shared matcher doesn't store by what ids tell equal rows apart"
    if any(isinstance(node, MatchNumber) for slot in plan.slots for node in walk(slot)):
        return "on a stream a shared match has no MATCH_NUMBER(): others may begin earlier and end later"
    return None


def _better_alone(plan: MatchPlan, sharing: Sharing) -> str | None:
    """Why a clause without a bound is faster on its own engine."""
    if sharing == "always":
        return None
    if sharing == "never":
        return "sharing is off"
    if plan.sequence is not None:
        return "a pattern of fixed length is matched by shifting columns"
    steps = [step for step in row_graph(plan.nfa, may_skip(plan)).steps if step.source != NOTHING]
    if all(step.gap == NOTHING for step in steps):
        return "every row of a match follows the one before it, so partial matches are few"
    if any(step.gap == NOTHING and step.source == step.target for step in steps):
        return "a loop goes row by row: the search forgets its rows, the shared matcher would keep them all"
    return None


def _direction(key: BoundKey) -> tuple[str, bool, bool]:
    return key.column, key.key.descending, key.key.puts_nulls_first


def _stream(
    number: int,
    members: Sequence[int],
    typed: Sequence[TypedPlan],
    names: Sequence[str],
    bounded: Sequence[bool],
    *,
    by_choice: bool = False,
) -> ClauseStream:
    collected = _StreamBuilder(number)
    for member in members:
        collected.add(member, names[member], typed[member].plan, bounded[member])
    return collected.built(by_choice)


class _StreamBuilder:
    """Collects the clauses of one stream."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.first: MatchPlan | None = None
        self.tests = RowTests()
        self.neighbours: dict[Navigation, str] = {}
        self.clauses: list[ClauseProgram] = []

    def add(self, number: int, name: str, plan: MatchPlan, bounded: bool) -> None:
        self.first = self.first or plan
        graph = row_graph(plan.nfa, may_skip(plan))
        program = replace(self._program(name, plan, graph), bounded=bounded)
        self.clauses.append(ClauseProgram(number, program, graph))

    def built(self, by_choice: bool) -> ClauseStream:
        assert self.first is not None
        bound = self.first.bound
        neighbours = {name: navigation for navigation, name in self.neighbours.items()}
        return ClauseStream(
            bound.partition_by, bound.order_by, tuple(self.clauses), tuple(self.tests.numbers), neighbours, by_choice
        )

    def _program(self, name: str, plan: MatchPlan, graph: RowGraph) -> PatternProgram:
        clause = plan.bound.clause
        is_timed = clause.within is not None
        qualifies = tuple(self.tests.of_node(plan, node, is_timed) for node in graph.nodes)
        conditions = ClauseConditions(plan, graph, canonical_names(qualifies), self.neighbours)
        steps = tuple(
            PatternStep(
                source=START if step.source == NOTHING else step.source + 1,
                label=step.target,
                target=step.target + 1,
                absent=() if step.gap == NOTHING else self.tests.forbidden(plan, step.gap),
                adjacent=step.source != NOTHING and step.gap == NOTHING,
                checks=conditions.checks(step.target),
            )
            for step in graph.steps
        )
        return PatternProgram(
            name=name,
            labels=conditions.labels,
            qualifies=qualifies,
            states=len(graph.nodes) + 1,
            steps=steps,
            accepting=tuple((node + 1, ()) for node, _ in graph.ends),
            run=tuple(conditions.run),
            extent=_extent(clause.within_us, clause.max_length),
            stream=self.number,
        )


def _extent(within_us: int | None, max_length: int | None) -> Extent:
    """WITHIN where there is one; MAXLENGTH beside it is a run condition (`ClauseConditions`)."""
    if within_us is not None:
        return Extent(BoundKind.SPAN, length=within_us)
    if max_length is not None:
        return Extent(BoundKind.SPAN, by_place=True, length=max_length - 1)
    return Extent()
