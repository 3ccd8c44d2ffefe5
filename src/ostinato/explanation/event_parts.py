"""The parts of an event query's explanation, each as lines: automaton, conditions, windows, outputs, engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from ostinato.calls.bounds import Bounds
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.engine_groups import EngineGroup
from ostinato.event_queries.plan.event_plan import EventsPlan, QueryPlan
from ostinato.event_queries.plan.event_program import BoundKind, EdgeTest, Extent, Program
from ostinato.event_queries.plan.output_slots import AverageOutput
from ostinato.event_queries.trends.engine_choice import needs_graphlets
from ostinato.explanation.bounded_text import declined_part, plan_part
from ostinato.explanation.readable import plain_name, readable
from ostinato.expressions.syntax import Column, ColumnRef, Expr, Name, Navigation, rebuild
from ostinato.workloads.plan.event_groups import SharedMatches

_SELECTIONS = {
    Selection.ANY: "skip till any match: any later event that fits may follow",
    Selection.NEXT: "skip till next match: the first later event that fits follows",
    Selection.STRICT: "strict: the very next event of the sequence follows, or none",
}


def automaton_part(query: QueryPlan) -> list[str]:
    if not query.is_conjunction:
        return query.programs[0].automaton.dump().split("\n")
    lines: list[str] = []
    for word, program in zip(("one part", "other part", "both parts"), query.programs, strict=False):
        lines += [f"{word}:", *(f"  {line}" for line in program.automaton.dump().split("\n"))]
    return [*lines, "the result is the number of pairs of distinct matches, one of each part"]


# --- conditions ---


def conditions_part(plan: EventsPlan, query: QueryPlan) -> list[str]:
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
        lines.append(f"of the whole match{each}: {readable(run.condition)}")
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
    return f"{pair}: {_of_pair(plan.pair_tests[edge.pair_test])}  (asked of each pair of events)"


def _at(value: Expr, word: str) -> str:
    return readable(_said_of(value, word))


def _of_pair(test: Expr) -> str:
    def said(node: Expr) -> Expr:
        if isinstance(node, Navigation):
            return _said_of(node.operand, "earlier" if node.skip else "later")
        return rebuild(node, said)

    return readable(said(test))


def _said_of(value: Expr, word: str) -> Expr:
    """An expression over one event, with its columns written `later.x`."""
    if isinstance(value, Column):
        return ColumnRef((Name(word), Name(value.name)))
    return rebuild(value, lambda child: _said_of(child, word))


# --- order ---


def stream_part(query: QueryPlan) -> list[str]:
    """The sequences that rows are divided into, and the bounds of a match."""
    bound = query.bound
    groups = ", ".join(map(plain_name, bound.group_by))
    same = ", ".join(map(plain_name, bound.same))
    return [
        f"groups     {f'by {groups}' if groups else 'one, of all events'}",
        f"sequences  {f'events that agree in {same}' if same else 'all events of a group'}",
        f"order      by {plain_name(bound.time)}; events of the same time never stand in one match",
        f"selection  {_SELECTIONS[bound.query.selection]}",
        f"reach      {_reach(query.programs[0].extent)}",
    ]


def _reach(extent: Extent) -> str:
    def told(length: int) -> str:
        return f"{length:,} events" if extent.by_place else f"{timedelta(microseconds=length)}"

    if extent.kind is BoundKind.NONE:
        return "unbounded"
    if extent.kind is BoundKind.SPAN:
        return (
            f"at most {told(extent.length + 1 if extent.by_place else extent.length)} from the first to the last event"
        )
    opened = -(-extent.length // extent.slide)
    return f"windows of {told(extent.length)}, a new one every {told(extent.slide)}: at most {opened:,} open at once"


# --- results ---


def outputs_part(query: QueryPlan) -> list[str]:
    if query.returns_matches:
        limit = f", the first {query.limit:,} of each group and window" if query.limit is not None else ""
        return [f"the matches themselves{limit}, with their events"]
    lines = []
    for name, output in query.outputs:
        how = ", from a sum and a count" if isinstance(output, AverageOutput) else ""
        lines.append(f"{name}{how}")
    return lines


@dataclass(frozen=True, slots=True)
class Matchers:
    """Engines of the queries that return matches. The shared matcher runs each group of `shared` in one plan. For
    queries in `undecided`, the types of columns decide. All other queries are enumerated."""

    shared: tuple[tuple[int, ...], ...] = ()
    undecided: tuple[int, ...] = ()
    most_held: Mapping[tuple[int, ...], int] = field(default_factory=dict)
    """Groups that share by choice: they are enumerated after all once more partial matches exist at one time."""


_ENUMERATED = Matchers()


def matchers_of(plan: EventsPlan, shared: SharedMatches | None, bounds: Bounds | None, sharing: str) -> Matchers:
    """`shared` is None where types aren't known. A query with a bound runs on the shared matcher in any case."""
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


def engine_part(
    plan: EventsPlan, groups: Sequence[EngineGroup], names: Sequence[str], matchers: Matchers = _ENUMERATED
) -> list[str]:
    """The engine of each query, with reasons."""
    from ostinato.event_queries.trends.separate.separate_engine import way_of  # loads numba

    lines = []
    for group in groups:
        called = list(dict.fromkeys(names[member.query] for member in group.members))
        if group.shared:
            loops = ", ".join(f"{readable(plan.conditions[loop.condition])}" for loop in group.loops)
            by_burst = needs_graphlets(group.programs)
            how = "graphlets, decided burst by burst" if by_burst else "one log of events for all"
            lines += [f"shared engine: {', '.join(called)}", f"  {how}: {loops}"]
        else:
            lines.append("separate engine" + (f": {', '.join(called)}" if any(called) else ""))
            lines += [f"  {why}" for why in dict.fromkeys(group.why)]
            lines += [f"  {way}" for way in dict.fromkeys(map(way_of, group.programs))]
    for queries in matchers.shared:
        lines.append(f"shared matcher: {', '.join(names[i] for i in queries)}")
        if queries in matchers.most_held:
            most = f"{matchers.most_held[queries]:,} partial matches"
            lines.append(f"  each by itself, by enumeration, in a batch where that fails or holds more than {most}")
    if matchers.undecided:
        open_ = ", ".join(names[i] for i in matchers.undecided)
        lines.append(f"shared matcher or enumeration of matches, which hangs on the types of columns: {open_}")
    told = {*matchers.undecided, *(i for group in matchers.shared for i in group)}
    matches = [names[i] for i, query in enumerate(plan.queries) if query.returns_matches and i not in told]
    if matches:
        lines.append("enumeration of matches" + (f": {', '.join(matches)}" if any(matches) else ""))
    return [*lines, *_shuffles(plan)]


def _shuffles(plan: EventsPlan) -> list[str]:
    """The columns by which Spark brings rows together."""
    return [f"on Spark, rows are brought together {'; '.join(dict.fromkeys(map(_shuffle, plan.queries)))}"]


def _shuffle(query: QueryPlan) -> str:
    bound = query.bound
    if bound.group_by:
        return f"by {', '.join(map(plain_name, sorted(bound.group_by)))}"
    if bound.same and not query.returns_matches and not query.programs[0].extent.by_place:
        return f"by {', '.join(map(plain_name, sorted(bound.same)))}, and what tasks find is added up"
    return "in one task: there is no GROUP BY"


def matches_parts(plan: EventsPlan, names: Sequence[str], shared: SharedMatches | None) -> list[tuple[str, list[str]]]:
    """The states that the shared matcher keeps once for several queries, and the queries that it declines."""
    several = sum(query.returns_matches for query in plan.queries) > 1
    if not several and not (shared is not None and shared.groups):
        return []
    if shared is None:
        return [("What matches share", ["that hangs on the types of columns: explain(workload, table) tells it"])]
    parts: list[tuple[str, list[str]]] = []
    for group in shared.groups:
        variables = [plan.queries[i].programs[0].automaton.labels for i in group.queries]
        title = "What matches share"
        if len(shared.groups) > 1:  # groups, SAME or times differ
            title += f", plan {len(parts) + 1} of {len(shared.groups)}: {', '.join(names[i] for i in group.queries)}"
        parts.append((title, plan_part(group.merged, variables)))
    if shared.declined:
        declined = {names[i]: why for i, why in shared.declined.items()}
        parts.append(("What isn't matched together with others", declined_part(declined)))
    return parts


def statistics_part(statistics: Mapping[str, int]) -> list[str]:
    """The counters of the engines."""
    width = max(map(len, statistics))
    return [f"{name:<{width}}  {number:,}" for name, number in statistics.items()]
