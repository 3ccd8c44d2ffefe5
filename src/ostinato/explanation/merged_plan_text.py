"""MergedPlan -> its states as lines and as a picture, each with the patterns that it serves.

A state is described by variables. Their names are those of the first pattern that the state serves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ostinato.clause.automaton.nfa import ACCEPT, Nfa, State
from ostinato.pictures.automaton_svg import Picture
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, ROOT, MergedPlan, PlanStep

MOST_LINES = 24
"""Largest number of states or clusters that are listed: a plan may have thousands."""
MOST_BITS = 16
"""Up to this number of patterns, those of a state are bits, with the first pattern rightmost, as in the paper."""

Variables = Sequence[Sequence[str]]
"""For each pattern, the names of its labels as written in the query."""


def merged_plan_lines(plan: MergedPlan, variables: Variables) -> list[str]:
    """The shared states, and the patterns that each of them serves."""
    words = _PlanWords(plan, variables)
    states = len(plan.nodes) - 1
    several = sum(node.patterns.bit_count() > 1 for node in plan.nodes[1:])
    lines = [
        f"{states:,} states instead of {plan.states_apart:,}; "
        f"{several:,} {'serves' if several == 1 else 'serve'} more than one pattern"
    ]
    if any(plan.bounded) and not all(plan.bounded):
        bounded = [name for name, is_bounded in zip(plan.names, plan.bounded, strict=True) if is_bounded]
        lines.append("One matcher runs all queries. Queries with a bound share no state with queries without one.")
        lines.append(f"queries with a bound: {', '.join(bounded)}")
    if len(plan.names) <= MOST_BITS:
        lines.append(f"bits from right to left: {', '.join(plan.names)}")
    rows = [(words.patterns(node.patterns), words.state(number)) for number, node in enumerate(plan.nodes)][1:]
    width = max((len(patterns) for patterns, _ in rows[:MOST_LINES]), default=0)
    lines += _shortened([f"{patterns:<{width}}  {state}" for patterns, state in rows])
    return [*lines, *words.guards(), *words.segments(), *words.clusters()]


def declined_lines(declined: Mapping[str, str]) -> list[str]:
    """The queries that run outside a shared plan, with reasons."""
    width = max(map(len, declined), default=0)
    return [f"{name:<{width}}  {reason}" for name, reason in declined.items()]


def merged_plan_picture(plan: MergedPlan, variables: Variables) -> Picture:
    """The plan as an automaton. Below its variable, each state has its patterns. Segments join where arrows meet."""
    words = _PlanWords(plan, variables)
    targets: list[list[int]] = [[] for _ in plan.nodes]
    for step in plan.steps:
        targets[step.source].append(step.target - 1)
        if step.segment != NO_SEGMENT:
            targets[step.segment].append(step.target - 1)
    for end in plan.ends:
        targets[end.node].append(ACCEPT)
    used: dict[str, int] = {}
    names = []
    for number in range(1, len(plan.nodes)):
        name = words.variable(number)
        used[name] = used.get(name, 0) + 1
        names.append(name if used[name] == 1 else f"{name} ({used[name]})")
    states = tuple(
        State(name, False, tuple(dict.fromkeys(targets[number]))) for number, name in enumerate(names, start=1)
    )
    served = {name: words.patterns(plan.nodes[number].patterns) for number, name in enumerate(names, start=1)}
    starts = tuple(dict.fromkeys(targets[ROOT]))
    caption = f"{len(plan.nodes) - 1:,} states instead of {plan.states_apart:,}"
    return Picture(Nfa(states, starts, starts), served, caption, ranked=False)


class _PlanWords:
    """Describes the states, patterns and segments of a plan."""

    def __init__(self, plan: MergedPlan, variables: Variables) -> None:
        self.plan = plan
        self.variables = variables
        self.loops = {step.source for step in plan.steps if step.source == step.target}
        self.last_step: dict[int, PlanStep] = {}
        """For each state, the last step of its shortest match."""
        for step in plan.steps:
            if self._length_by(step) == plan.nodes[step.target].length:
                self.last_step.setdefault(step.target, step)

    def _length_by(self, step: PlanStep) -> int:
        events = 1 if step.segment == NO_SEGMENT else self.plan.nodes[step.segment].length
        return self.plan.nodes[step.source].length + events

    def variable(self, node: int, pattern: int | None = None) -> str:
        """The last variable of a state, as named by `pattern` or else by the first pattern of the state."""
        if pattern is None:
            pattern = self._first_pattern(node)
        return self.variables[pattern][self.plan.pattern_labels[pattern][self.plan.nodes[node].label]]

    def _first_pattern(self, node: int) -> int:
        patterns = self.plan.nodes[node].patterns
        return (patterns & -patterns).bit_length() - 1

    def state(self, node: int) -> str:
        """The variables of its shortest match; + marks a loop, brackets a segment."""
        return " ".join(self._shortest_match(node, self._first_pattern(node)))

    def _shortest_match(self, node: int, pattern: int) -> list[str]:
        words: list[str] = []
        while node != ROOT:
            step = self.last_step[node]
            if step.segment == NO_SEGMENT:
                words.append(self.variable(node, pattern) + ("+" if node in self.loops else ""))
            else:
                words.append(f"[{' '.join(self._shortest_match(step.segment, pattern))}]")
            node = step.source
        return words[::-1]

    def patterns(self, bits: int) -> str:
        count = len(self.plan.names)
        if count <= MOST_BITS:
            return f"{bits:0{count}b}"
        several = bits.bit_count()
        return self.plan.names[bits.bit_length() - 1] if several == 1 else f"{several:,} patterns"

    def guards(self) -> list[str]:
        """The conditions that only some patterns of a state check."""
        return _shortened(
            [
                f"{self.state(step.target)}: {self.patterns(guard.patterns)} has further conditions"
                for step in self.plan.steps
                for guard in step.guards
            ]
        )

    def segments(self) -> list[str]:
        """The sub-patterns that are matched once and joined at several states."""
        joins: dict[int, list[int]] = {}
        for step in self.plan.steps:
            if step.segment != NO_SEGMENT:
                joins.setdefault(step.segment, []).append(step.source)
        return _shortened(
            [
                f"[{self.state(segment)}] is matched once and joined after {', '.join(map(self.state, sources))}"
                for segment, sources in joins.items()
            ]
        )

    def clusters(self) -> list[str]:
        clusters = self.plan.clusters()
        return _shortened(
            [
                f"cluster {self.patterns(bits)}: {len(nodes):,} {'state' if len(nodes) == 1 else 'states'}"
                for bits, nodes in sorted(clusters.items(), key=lambda item: -item[0].bit_count())
            ]
        )


def _shortened(lines: list[str]) -> list[str]:
    more = len(lines) - MOST_LINES
    return lines if more <= 0 else [*lines[:MOST_LINES], f"and {more:,} more"]
