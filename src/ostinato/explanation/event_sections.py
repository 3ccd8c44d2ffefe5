"""Plan of event queries -> lines of the sections: automaton, conditions, windows, outputs, engines, shared states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from ostinato.calls.bounds import Bounds
from ostinato.event_queries.language.event_query import EventQuery, Selection
from ostinato.event_queries.plan.event_plan import EventsPlan, QueryPlan
from ostinato.event_queries.plan.event_program import BoundKind, EdgeTest, Extent, Program
from ostinato.event_queries.plan.output_slots import AverageOutput, ComputedOutput
from ostinato.event_queries.trends.engine_choice import needs_graphlets
from ostinato.event_queries.trends.engine_groups import EngineGroup
from ostinato.event_queries.trends.separate.program_method import method_of
from ostinato.explanation.merged_plan_text import declined_lines, merged_plan_lines
from ostinato.explanation.readable import plain_name, readable
from ostinato.explanation.text_sections import Section
from ostinato.expressions.syntax import Column, ColumnRef, Expr, Name, Navigation, rebuild
from ostinato.workloads.plan.event_groups import SharedGroups

_SELECTIONS = {
    Selection.ANY: "skip till any match: any later event that qualifies can follow",
    Selection.NEXT: "skip till next match: the first later event that qualifies follows",
    Selection.STRICT: "strict: only the very next event of the sequence can follow",
}


def automaton_lines(query: QueryPlan) -> list[str]:
    if not query.is_conjunction:
        return query.programs[0].automaton.dump().split("\n")
    lines: list[str] = []
    for title, program in zip(("left of AND", "right of AND", "common to both"), query.programs, strict=False):
        lines += [f"{title}:", *(f"  {line}" for line in program.automaton.dump().split("\n"))]
    return [*lines, "The result is the number of pairs of distinct matches, one of each side."]


# --- conditions ---


def condition_lines(plan: EventsPlan, query: QueryPlan) -> list[str]:
    """Conditions over one event, over two adjacent events, and over a whole match."""
    bound = query.bound
    names = [*bound.variables, *bound.absent_variables]
    width = max(map(len, names))
    lines = []
    for name in names:
        absent = "  (must be absent)" if name in bound.absent_variables else ""
        lines.append(f"{name:<{width}}  {readable(bound.qualifies[name])}{absent}" if name in bound.qualifies else name)
    program = query.programs[0]
    for edge in program.edges:
        lines.append(_edge(plan, program, edge))
    for run in query.run:
        each = f", for each {run.each}" if run.each is not None else ""
        lines.append(f"over the whole match{each}: {readable(run.condition)}")
    return lines


def _edge(plan: EventsPlan, program: Program, edge: EdgeTest) -> str:
    before, after = program.automaton.labels[edge.before], program.automaton.labels[edge.after]
    pair = f"{before}, then {after}"
    if edge.op is not None:
        later, earlier = (
            _at(plan.values[i], word) for i, word in ((edge.after_value, "later"), (edge.before_value, "earlier"))
        )
        return f"{pair}: {later} {edge.op} {earlier}  (a comparison of numbers)"
    assert edge.pair_test is not None
    return f"{pair}: {_of_pair(plan.pair_tests[edge.pair_test])}  (tested on each pair of events)"


def _at(value: Expr, word: str) -> str:
    return readable(_qualified(value, word))


def _of_pair(test: Expr) -> str:
    def qualified(node: Expr) -> Expr:
        if isinstance(node, Navigation):
            return _qualified(node.operand, "earlier" if node.skip else "later")
        return rebuild(node, qualified)

    return readable(qualified(test))


def _qualified(value: Expr, word: str) -> Expr:
    """An expression over one event, with its columns written as `later.x`."""
    if isinstance(value, Column):
        return ColumnRef((Name(word), Name(value.name)))
    return rebuild(value, lambda child: _qualified(child, word))


# --- order ---


def sequence_lines(query: QueryPlan) -> list[str]:
    """The sequences into which rows are divided, and the limits of a match."""
    bound = query.bound
    groups = ", ".join(map(plain_name, bound.group_by))
    same = ", ".join(map(plain_name, bound.same))
    return [
        f"groups     {f'by {groups}' if groups else 'one group of all events'}",
        f"sequences  {f'events with equal {same}' if same else 'all events of a group'}",
        f"order      by {plain_name(bound.time)}; events with equal times are never in the same match",
        f"selection  {_selection(bound.written)}",
        f"limit      {_limit(query.programs[0].extent)}",
    ]


def _selection(query: EventQuery) -> str:
    if query.strict_on is None:
        return _SELECTIONS[query.selection]
    types = ", ".join(query.strict_on.types)
    return f"strict on {types}: any later event that qualifies can follow, if no event of these types lies between"


def _limit(extent: Extent) -> str:
    def size(length: int) -> str:
        return f"{length:,} events" if extent.by_place else f"{timedelta(microseconds=length)}"

    if extent.kind is BoundKind.NONE:
        return "none"
    if extent.kind is BoundKind.SPAN:
        length = size(extent.length + 1 if extent.by_place else extent.length)
        return f"at most {length} from the first to the last event of a match"
    opened = -(-extent.length // extent.slide)
    return f"windows of {size(extent.length)}, a new one every {size(extent.slide)}, at most {opened:,} open at once"


# --- results ---


def output_lines(query: QueryPlan) -> list[str]:
    if query.returns_matches:
        limit = f", the first {query.limit:,} of each group and window" if query.limit is not None else ""
        return [f"the matches with their events{limit}"]
    lines = []
    for name, output in query.outputs:
        how = ""
        if isinstance(output, AverageOutput):
            how = ", computed from a sum and a count"
        elif isinstance(output, ComputedOutput):
            how = ", computed from aggregates"
        lines.append(f"{name}{how}")
    return lines


@dataclass(frozen=True, slots=True)
class Matchers:
    """Engines of the queries that return matches. The shared matcher runs each group of `shared` in one plan. For
    queries in `undecided`, the column types decide. All other queries are enumerated."""

    shared: tuple[tuple[int, ...], ...] = ()
    undecided: tuple[int, ...] = ()
    most_held: Mapping[tuple[int, ...], int] = field(default_factory=dict)
    """For groups that may also be enumerated: the number of partial matches at one time beyond which they are."""


_ENUMERATED = Matchers()


def matchers_of(plan: EventsPlan, shared: SharedGroups | None, bounds: Bounds | None, sharing: str) -> Matchers:
    """`shared` is None if types aren't known. A query with a bound always runs on the shared matcher."""
    if shared is not None:
        most_held = {group.queries: group.most_held for group in shared.groups if group.most_held is not None}
        return Matchers(tuple(group.queries for group in shared.groups), most_held=most_held)
    groups, undecided = [], []
    for stream in range(len(plan.streams)):
        mine = [i for i in plan.queries_of(stream) if plan.queries[i].returns_matches]
        bounded = tuple(i for i in mine if bounds is not None and bounds.bounded[i])
        groups += [bounded] if bounded else []
        if sharing != "never" and (bounded or sharing == "always" or len(mine) > 1):
            undecided += [i for i in mine if i not in bounded]
    return Matchers(tuple(groups), tuple(undecided))


def engine_lines(
    plan: EventsPlan, groups: Sequence[EngineGroup], names: Sequence[str], matchers: Matchers = _ENUMERATED
) -> list[str]:
    """The engine of each query, with reasons."""
    lines = []
    for group in groups:
        members = list(dict.fromkeys(names[member.query] for member in group.members))
        if group.shared:
            loops = ", ".join(f"{readable(plan.conditions[loop.condition])}" for loop in group.loops)
            by_burst = needs_graphlets(group.programs)
            how = "graphlets, chosen burst by burst, for" if by_burst else "one log of events for"
            lines += [f"shared engine: {', '.join(members)}", f"  {how} {loops}"]
        else:
            lines.append("separate engine" + (f": {', '.join(members)}" if any(members) else ""))
            lines += [f"  {why}" for why in dict.fromkeys(group.why)]
            lines += [f"  {method}" for method in dict.fromkeys(map(method_of, group.programs))]
    for queries in matchers.shared:
        lines.append(f"shared matcher: {', '.join(names[i] for i in queries)}")
        if queries in matchers.most_held:
            most = f"{matchers.most_held[queries]:,} partial matches"
            lines.append(f"  A batch is enumerated instead if sharing fails or needs more than {most}.")
    if matchers.undecided:
        undecided = ", ".join(names[i] for i in matchers.undecided)
        lines.append(f"shared matcher or enumeration of matches, depending on the column types: {undecided}")
    listed = {*matchers.undecided, *(i for group in matchers.shared for i in group)}
    matches = [names[i] for i, query in enumerate(plan.queries) if query.returns_matches and i not in listed]
    if matches:
        lines.append("enumeration of matches" + (f": {', '.join(matches)}" if any(matches) else ""))
    shuffles = "; ".join(dict.fromkeys(map(_shuffle, plan.queries)))
    return [*lines, f"On Spark, rows are repartitioned {shuffles}."]


def _shuffle(query: QueryPlan) -> str:
    bound = query.bound
    if bound.group_by:
        return f"by {', '.join(map(plain_name, sorted(bound.group_by)))}"
    if bound.same and not query.returns_matches and not query.programs[0].extent.by_place:
        return f"by {', '.join(map(plain_name, sorted(bound.same)))}, and the results of the tasks are added up"
    return "into one task, because there is no GROUP BY"


def shared_state_sections(plan: EventsPlan, names: Sequence[str], shared: SharedGroups | None) -> list[Section]:
    """The states that the shared matcher keeps once for several queries, and the queries that it declines."""
    several = sum(query.returns_matches for query in plan.queries) > 1
    if not several and not (shared is not None and shared.groups):
        return []
    if shared is None:
        return [("Shared states", ["They depend on the column types. explain(workload, table) shows them."])]
    sections: list[Section] = []
    for group in shared.groups:
        variables = [plan.queries[i].programs[0].automaton.labels for i in group.queries]
        title = "Shared states"
        if len(shared.groups) > 1:  # groups, SAME or times differ
            title += f", plan {len(sections) + 1} of {len(shared.groups)}: {', '.join(names[i] for i in group.queries)}"
        sections.append((title, merged_plan_lines(group.merged, variables)))
    if shared.declined:
        declined = {names[i]: why for i, why in shared.declined.items()}
        sections.append(("Queries that share no states", declined_lines(declined)))
    return sections


def statistics_lines(statistics: Mapping[str, int]) -> list[str]:
    """The counters of the engines."""
    width = max(map(len, statistics))
    return [f"{name:<{width}}  {number:,}" for name, number in statistics.items()]
