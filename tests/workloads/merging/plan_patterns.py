"""Patterns for tests of the shared plan: letters for conditions, and the words that programs and plans accept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_program import Extent
from ostinato.expressions.syntax import Anchor, Column, Navigation, Operator
from ostinato.workloads.merging.merged_plan import NO_SEGMENT, ROOT, MergedPlan, PlanStep
from ostinato.workloads.merging.pattern_program import START, EdgeCheck, PatternProgram, PatternStep, canonical_names
from ostinato.workloads.merging.renamed_conditions import renamed

RISING = (EdgeCheck(">", 0, 0),)
"""The value of an event is greater than the value of the previous event."""


def sequence(
    letters: str,
    *,
    edges: Mapping[int, tuple[EdgeCheck, ...]] | None = None,
    less: tuple[tuple[int, int], ...] = (),
    extent: Extent | None = None,
) -> PatternProgram:
    """SEQ of single events. A letter is a condition: A is 0.

    `edges` has the conditions between neighbours by the position of the later event. `less` has pairs of positions: the
    first event has the smaller x.
    """
    qualifies = tuple(ord(letter) - ord("A") for letter in letters)
    labels = canonical_names(qualifies)
    run = tuple(smaller(labels[one], labels[other]) for one, other in less)
    steps = tuple(
        PatternStep(
            position,
            position,
            position + 1,
            checks=tuple(number for number, pair in enumerate(less) if max(pair) == position),
            edges=(edges or {}).get(position, ()),
        )
        for position in range(len(letters))
    )
    ends = ((len(letters), ()),)
    return PatternProgram(letters, labels, qualifies, len(letters) + 1, steps, ends, run, extent or Extent())


def smaller(one: str, other: str) -> RunCondition:
    """`one.x < other.x`."""
    sides = tuple(Navigation(Column("x"), frozenset({name}), Anchor.LAST) for name in (one, other))
    return RunCondition(Operator("<", sides), frozenset({one, other}))


@dataclass(frozen=True, slots=True)
class Letter:
    """An event of an accepted word: its label in the pattern, and the conditions between it and the previous event."""

    label: int
    condition: int
    absent: tuple[int, ...]
    adjacent: bool
    edges: tuple[EdgeCheck, ...]


@dataclass(frozen=True, slots=True)
class Word:
    letters: tuple[Letter, ...]
    checks: frozenset[RunCondition]


def words_of_program(program: PatternProgram, longest: int) -> list[Word]:
    """All words up to a length. A word occurs once for each path that accepts it."""
    accepting = dict(program.accepting)

    def walk(state: int, letters: tuple[Letter, ...], checks: frozenset[int]) -> Iterator[Word]:
        if state in accepting:
            yield Word(letters, frozenset(program.run[number] for number in checks | set(accepting[state])))
        for step in program.steps:
            if step.source == state and len(letters) < longest:
                letter = Letter(
                    step.label, program.qualifies[step.label], step.absent, step.adjacent, _sorted(step.edges)
                )
                yield from walk(step.target, (*letters, letter), checks | set(step.checks))

    return list(walk(START, (), frozenset()))


def _sorted(edges: tuple[EdgeCheck, ...]) -> tuple[EdgeCheck, ...]:
    return tuple(sorted(edges, key=repr))


def words_of_plan(plan: MergedPlan, pattern: int, program: PatternProgram, longest: int) -> list[Word]:
    """All words that reach an end of the pattern through nodes of the pattern. Segments are expanded."""
    own = plan.pattern_labels[pattern]
    names = {name: program.labels[own[label]] for label, name in enumerate(plan.labels) if own[label] >= 0}
    ends = {end.node: end.checks for end in plan.ends if end.pattern == pattern}
    leaving: dict[int, list[PlanStep]] = {}
    for step in plan.steps:
        leaving.setdefault(step.source, []).append(step)

    def to_node(goal: int | None, node: int, letters: tuple[Letter, ...], checks: frozenset[int]) -> Iterator[Word]:
        if node == goal:
            yield Word(letters, _named(checks))
        if goal is None and node in ends:
            yield Word(letters, _named(checks | set(ends[node])))
        for step in leaving.get(node, ()):
            if not plan.nodes[step.target].patterns >> pattern & 1:
                continue
            for added, further in _letters_of_step(step):
                if len(letters) + len(added) <= longest:
                    yield from to_node(goal, step.target, (*letters, *added), checks | further)

    def _letters_of_step(step: PlanStep) -> Iterator[tuple[tuple[Letter, ...], frozenset[int]]]:
        if step.segment == NO_SEGMENT:
            label = own[plan.nodes[step.target].label]
            letter = Letter(label, step.condition, step.absent, step.adjacent, _edges(step))
            yield (letter,), _checks(step)
            return
        for path in _paths(ROOT, step.segment):
            first, *rest = path
            assert first.condition == step.condition and not _edges(first) and not first.absent
            letters = [Letter(own[plan.nodes[first.target].label], first.condition, step.absent, False, _edges(step))]
            for inner in rest:
                label = own[plan.nodes[inner.target].label]
                letters.append(Letter(label, inner.condition, inner.absent, inner.adjacent, _edges(inner)))
            yield tuple(letters), _checks(step).union(*map(_checks, path))

    def _paths(node: int, goal: int) -> Iterator[tuple[PlanStep, ...]]:
        if node == goal:
            yield ()
        for step in leaving.get(node, ()):
            if (
                step.segment == NO_SEGMENT
                and step.target != node
                and plan.nodes[step.target].length <= plan.nodes[goal].length
            ):
                yield from ((step, *rest) for rest in _paths(step.target, goal))

    def _checks(step: PlanStep) -> frozenset[int]:
        own = [guard.checks for guard in step.guards if guard.patterns >> pattern & 1]
        return frozenset(step.checks).union(*own)

    def _edges(step: PlanStep) -> tuple[EdgeCheck, ...]:
        own = [edge for guard in step.guards if guard.patterns >> pattern & 1 for edge in guard.edges]
        return _sorted((*step.edges, *own))

    def _named(checks: frozenset[int]) -> frozenset[RunCondition]:
        return frozenset(renamed(plan.run[number], names) for number in checks)

    return list(to_node(None, ROOT, (), frozenset()))
