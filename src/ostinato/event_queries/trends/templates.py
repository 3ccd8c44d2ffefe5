"""Programs -> MergedTemplate: the patterns of a workload as one graph, with the queries of each step.

Each condition is one node, however often queries use it (HAMLET, 2021, Section 3.1). `explain` shows the template.
Engines run the automata, which also distinguish several positions of a type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.plan.event_program import Program

Queries = frozenset[int]


@dataclass(frozen=True, slots=True)
class MergedTemplate:
    """The merged graph; nodes are numbers of conditions."""

    names: tuple[tuple[int, str], ...]
    """(condition, name), in the order of their first occurrence."""
    starts: tuple[tuple[int, Queries], ...]
    ends: tuple[tuple[int, Queries], ...]
    steps: tuple[tuple[int, int, Queries], ...]
    """(before, after, the queries in which they may follow one another)."""
    absent: tuple[tuple[int, Queries], ...] = ()
    """Conditions of events under NOT."""

    def predecessors(self, condition: int, query: int) -> frozenset[int]:
        """pt(E, q): the conditions that may come directly before."""
        return frozenset(before for before, after, queries in self.steps if after == condition and query in queries)

    def start(self, query: int) -> frozenset[int]:
        return frozenset(condition for condition, queries in self.starts if query in queries)

    def end(self, query: int) -> frozenset[int]:
        return frozenset(condition for condition, queries in self.ends if query in queries)

    @property
    def shared_loops(self) -> tuple[int, ...]:
        """The nodes with a step to themselves that several queries have."""
        return tuple(before for before, after, queries in self.steps if before == after and len(queries) > 1)

    def dump(self, query_names: Sequence[str]) -> str:
        """One node a line, with its next nodes and their queries. `+` marks a loop that queries can share, `.` an end.

        start -> A [q1], C [q2]
        A -> B [q1]
        B+. [q1 q2] -> B [q1 q2]
        C -> B [q2]
        """
        names = dict(self.names)

        def listed(nodes: Sequence[tuple[int, Queries]]) -> str:
            return ", ".join(f"{names[node]} {_listed(queries, query_names)}" for node, queries in nodes) or "nothing"

        lines = [f"start -> {listed(self.starts)}"]
        ends = dict(self.ends)
        positive = {node for node, _ in self.starts} | {after for _, after, _ in self.steps}
        for node, name in self.names:
            if node not in positive:
                continue
            mark = "+" if node in self.shared_loops else ""
            mark += f". {_listed(ends[node], query_names)}" if node in ends else ""
            ahead = [(after, queries) for before, after, queries in self.steps if before == node]
            lines.append(f"{name}{mark} -> {listed(ahead)}")
        if self.absent:
            lines.append(f"absent: {listed(self.absent)}")
        return "\n".join(lines)


def merged_template(
    programs: Sequence[Program], queries: Sequence[int] | None = None, name_of: Callable[[int], str] | None = None
) -> MergedTemplate:
    """The template of programs; `queries[i]` is the query of program i (by default each is one).

    `name_of` names a condition. By default a condition has the name of the first variable that uses it.
    """
    query_of = range(len(programs)) if queries is None else queries
    names: dict[int, str] = {}
    starts: dict[int, set[int]] = {}
    ends: dict[int, set[int]] = {}
    steps: dict[tuple[int, int], set[int]] = {}
    absent: dict[int, set[int]] = {}
    for query, program in zip(query_of, programs, strict=True):
        automaton, conditions = program.automaton, program.qualifies
        entry = automaton.entry_labels()
        for label, condition in enumerate(conditions):
            names.setdefault(condition, automaton.labels[label])
        for step in automaton.transitions:
            after = conditions[step.label]
            if step.source == START:
                starts.setdefault(after, set()).add(query)
            else:
                steps.setdefault((conditions[entry[step.source]], after), set()).add(query)
        for state in automaton.accepting:
            ends.setdefault(conditions[entry[state]], set()).add(query)
        for absence, inner in zip(automaton.absences, program.absent_qualifies, strict=True):
            for label, condition in enumerate(inner):
                names.setdefault(condition, absence.labels[label])
                absent.setdefault(condition, set()).add(query)
    final_names = names if name_of is None else {condition: name_of(condition) for condition in names}
    return MergedTemplate(
        tuple(_told_apart(final_names).items()), _frozen(starts), _frozen(ends),
        tuple((before, after, frozenset(users)) for (before, after), users in sorted(steps.items())), _frozen(absent),
    )  # fmt: skip


def _frozen(queries_of: dict[int, set[int]]) -> tuple[tuple[int, Queries], ...]:
    return tuple((condition, frozenset(queries)) for condition, queries in sorted(queries_of.items()))


def _told_apart(names: dict[int, str]) -> dict[int, str]:
    """Adds its number to the name of a condition if another condition has the same name."""
    uses = Counter(names.values())
    return {node: name if uses[name] == 1 else f"{name}#{node}" for node, name in names.items()}


def _listed(queries: Queries, names: Sequence[str]) -> str:
    """`[q1 q2 q3 q4]`; for many queries only their number."""
    if len(queries) > 6:
        return f"[{len(queries)} queries]"
    return f"[{' '.join(names[query] for query in sorted(queries))}]"
