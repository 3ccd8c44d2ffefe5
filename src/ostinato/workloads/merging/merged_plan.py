"""PatternPrograms -> MergedPlan: one graph in which equal sub-patterns of all patterns are matched once.

At the start of patterns, sub-patterns are equal if their states have equal incoming steps (`state_classes.py`). At
other offsets they are equal if they are equal chains (`segments.py`). A sub-pattern that only has more conditions than
another is matched with it, under a guard (`guards.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_program import Extent
from ostinato.workloads.merging.drafts import NO_PATTERN, Draft, DraftStep, draft_of
from ostinato.workloads.merging.guards import with_guards
from ostinato.workloads.merging.pattern_program import EdgeCheck, PatternProgram
from ostinato.workloads.merging.segments import with_segments
from ostinato.workloads.merging.state_classes import StateClasses, classes_of

ROOT = 0
"""The node of the empty match."""
NO_SEGMENT = -1


@dataclass(frozen=True, slots=True)
class Guard:
    """Further conditions of `patterns` (a bit set) on a step. If one fails, the new partial match isn't kept for these
    patterns."""

    patterns: int
    checks: tuple[int, ...] = ()
    edges: tuple[EdgeCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanStep:
    """A partial match of `source` grows into one of `target` by an event that fulfils `condition`. If `segment` is a
    node, it grows by a later partial match of that node. Then `condition` is that of the segment's first event, and
    `absent` and `edges` are about the gap before it."""

    source: int
    target: int
    condition: int
    absent: tuple[int, ...] = ()
    adjacent: bool = False
    checks: tuple[int, ...] = ()
    """Numbers of `MergedPlan.run`."""
    edges: tuple[EdgeCheck, ...] = ()
    segment: int = NO_SEGMENT
    guards: tuple[Guard, ...] = ()

    @property
    def all_checks(self) -> tuple[int, ...]:
        """Run conditions of all patterns, guards included."""
        return (*self.checks, *(check for guard in self.guards for check in guard.checks))

    @property
    def all_edges(self) -> tuple[EdgeCheck, ...]:
        return (*self.edges, *(edge for guard in self.guards for edge in guard.edges))


@dataclass(frozen=True, slots=True)
class PlanNode:
    """A sub-pattern. `label` is the canonical variable of its last event (number in `MergedPlan.labels`, -1 for ROOT).

    `patterns` is the pattern-sharing degree as a bit set: bit p is set if pattern p can still be reached.
    """

    label: int
    patterns: int
    extent: Extent
    length: int
    """Events of its shortest match."""


@dataclass(frozen=True, slots=True)
class PlanEnd:
    """A partial match of `node` for which the checks hold is a match of `pattern`."""

    node: int
    pattern: int
    checks: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class MergedPlan:
    """All patterns of one stream. Steps are in order of (condition, source, target)."""

    names: tuple[str, ...]
    """[pattern]"""
    labels: tuple[str, ...]
    nodes: tuple[PlanNode, ...]
    steps: tuple[PlanStep, ...]
    ends: tuple[PlanEnd, ...]
    run: tuple[RunCondition, ...]
    pattern_labels: tuple[tuple[int, ...], ...]
    """[pattern][label of the plan]: the label in that pattern's own program, or -1."""
    states_apart: int
    """Number of nodes if nothing were shared."""
    stream: int = 0
    bounded: tuple[bool, ...] = ()
    """[pattern] Patterns with a bound share nothing with patterns without one."""

    def clusters(self) -> dict[int, tuple[int, ...]]:
        """The nodes by their bit set; ROOT is in none."""
        clusters: dict[int, list[int]] = {}
        for number, node in enumerate(self.nodes):
            if number != ROOT:
                clusters.setdefault(node.patterns, []).append(number)
        return {bits: tuple(nodes) for bits, nodes in clusters.items()}

    @property
    def sharing_patterns(self) -> tuple[int, ...]:
        """The patterns that share a state with another pattern."""
        sharing = 0
        for patterns in self.clusters():
            if patterns.bit_count() > 1:
                sharing |= patterns
        return tuple(pattern for pattern in range(len(self.names)) if sharing >> pattern & 1)


def merge(
    programs: Sequence[PatternProgram], *, offsets: bool = True, guards: bool = True, separate: bool = False
) -> MergedPlan:
    """The plan of patterns of one stream.

    `offsets`: also share equal chains inside patterns. `guards`: also share two sub-patterns if one only has more
    conditions than the other. `separate`: share nothing but the empty match, for comparison (SHARP-Sep).
    """
    if len({program.stream for program in programs}) > 1:
        raise ValueError("patterns of several streams have several plans")
    drafts = [draft_of(number, program) for number, program in enumerate(programs)]
    states_if_unshared = sum(len({step.target for step in draft.steps}) for draft in drafts)
    if offsets and not separate:
        drafts = with_segments(drafts)
    if guards and not separate:
        drafts = with_guards(drafts)
    return _Assembly(drafts, separate=separate).plan(programs, states_if_unshared)


class _Assembly:
    """Turns classes of states into nodes, numbered by length and then in the order of the patterns."""

    def __init__(self, drafts: Sequence[Draft], *, separate: bool) -> None:
        self.drafts = drafts
        self.classes: StateClasses = classes_of(drafts, separate=separate)
        self.run: dict[RunCondition, int] = {}
        self.segment_end = {
            number: self.classes.of(draft_number, next(iter(draft.accepting)))
            for number, (draft_number, draft) in enumerate(
                (draft_number, draft) for draft_number, draft in enumerate(drafts) if draft.pattern == NO_PATTERN
            )
        }
        guards: dict[PlanStep, dict[Guard, int]] = {}
        for draft_number, draft in enumerate(drafts):
            for step in draft.steps:
                own_guards = guards.setdefault(self._plan_step(draft_number, step), {})
                if step.guards or step.guard_edges:
                    guard = Guard(0, self._checks(step.guards), step.guard_edges)
                    own_guards[guard] = own_guards.get(guard, 0) | 1 << draft.pattern
        steps = [
            replace(step, guards=tuple(replace(guard, patterns=bits) for guard, bits in own_guards.items()))
            for step, own_guards in guards.items()
        ]
        self.lengths = _shortest(steps, self.classes.count)
        order = sorted(range(self.classes.count), key=lambda group: (self.lengths[group], group))
        self.number = {group: number for number, group in enumerate(order)}
        self.steps = [self._numbered(step) for step in steps]

    def plan(self, programs: Sequence[PatternProgram], states_apart: int) -> MergedPlan:
        ends = tuple(self._ends())
        labels = tuple(dict.fromkeys(step.label for draft in self.drafts for step in draft.steps))
        return MergedPlan(
            names=tuple(program.name for program in programs),
            labels=labels,
            nodes=self._nodes(labels, _reaching(ends, self.steps, self.classes.count)),
            steps=tuple(sorted(self.steps, key=lambda step: (step.condition, step.source, step.target, step.segment))),
            ends=ends,
            run=tuple(self.run),
            pattern_labels=tuple(
                _own_labels(draft.names, labels) for draft in self.drafts if draft.pattern != NO_PATTERN
            ),
            states_apart=states_apart,
            stream=programs[0].stream if programs else 0,
            bounded=tuple(program.bounded for program in programs),
        )

    def _plan_step(self, draft_number: int, step: DraftStep) -> PlanStep:
        """The draft's step in the plan, with classes in place of nodes."""
        return PlanStep(
            source=self.classes.of(draft_number, step.source),
            target=self.classes.of(draft_number, step.target),
            condition=step.condition,
            absent=step.absent,
            adjacent=step.adjacent,
            checks=self._checks(step.checks),
            edges=step.edges,
            segment=NO_SEGMENT if step.segment is None else self.segment_end[step.segment],
        )

    def _checks(self, conditions: tuple[RunCondition, ...]) -> tuple[int, ...]:
        return tuple(sorted(self.run.setdefault(condition, len(self.run)) for condition in conditions))

    def _numbered(self, step: PlanStep) -> PlanStep:
        segment = NO_SEGMENT if step.segment == NO_SEGMENT else self.number[step.segment]
        return replace(step, source=self.number[step.source], target=self.number[step.target], segment=segment)

    def _ends(self) -> Iterator[PlanEnd]:
        for draft_number, draft in enumerate(self.drafts):
            if draft.pattern != NO_PATTERN:
                for state, conditions in sorted(draft.accepting.items()):
                    node = self.number[self.classes.of(draft_number, state)]
                    yield PlanEnd(node, draft.pattern, self._checks(conditions))

    def _nodes(self, labels: tuple[str, ...], patterns: Sequence[int]) -> tuple[PlanNode, ...]:
        label_number = {name: label for label, name in enumerate(labels)}
        nodes = {ROOT: PlanNode(-1, patterns[ROOT], Extent(), 0)}
        for draft_number, draft in enumerate(self.drafts):
            for step in draft.steps:
                group = self.classes.of(draft_number, step.target)
                node = self.number[group]
                nodes[node] = PlanNode(label_number[step.label], patterns[node], draft.extent, self.lengths[group])
        return tuple(nodes[number] for number in range(len(nodes)))


def _shortest(steps: Iterable[PlanStep], count: int) -> list[int]:
    """For each class the number of events of its shortest match."""
    lengths: list[int | None] = [None] * count
    lengths[ROOT] = 0
    changed = True
    while changed:
        changed = False
        for step in steps:
            source = lengths[step.source]
            events = 1 if step.segment == NO_SEGMENT else lengths[step.segment]
            if source is None or events is None:
                continue
            shortest = lengths[step.target]
            if shortest is None or source + events < shortest:
                lengths[step.target] = source + events
                changed = True
    return [length for length in lengths if length is not None]


def _reaching(ends: Iterable[PlanEnd], steps: Iterable[PlanStep], count: int) -> list[int]:
    """For each node the patterns whose end it can still reach, as bits (Alg. 2)."""
    patterns = [0] * count
    for end in ends:
        patterns[end.node] |= 1 << end.pattern
    before: list[set[int]] = [set() for _ in range(count)]
    for step in steps:
        before[step.target].add(step.source)
        if step.segment != NO_SEGMENT:
            before[step.target].add(step.segment)
    waiting = [node for node in range(count) if patterns[node]]
    while waiting:
        node = waiting.pop()
        for source in before[node]:
            if patterns[node] & ~patterns[source]:
                patterns[source] |= patterns[node]
                waiting.append(source)
    return patterns


def _own_labels(names: Sequence[str], labels: Sequence[str]) -> tuple[int, ...]:
    own = {name: label for label, name in enumerate(names)}
    return tuple(own.get(name, -1) for name in labels)
