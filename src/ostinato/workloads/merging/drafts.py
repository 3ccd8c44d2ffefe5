"""PatternProgram -> Draft: the same automaton, with names and conditions in place of the program's own numbers.

Equal sub-patterns of two drafts match the same events. So drafts can be compared, renamed and cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_program import Extent
from ostinato.workloads.merging.pattern_program import START, EdgeCheck, PatternProgram
from ostinato.workloads.merging.renamed_conditions import renamed

NO_PATTERN = -1
"""Marks a draft that is a segment of several patterns."""


@dataclass(frozen=True, slots=True)
class DraftStep:
    """A step takes one event, or a match of the segment with number `segment`.

    With a segment, `label` is that of its last event, and `condition`, `absent` and `edges` are about its first event.
    """

    source: int
    label: str
    target: int
    condition: int
    absent: tuple[int, ...] = ()
    adjacent: bool = False
    checks: tuple[RunCondition, ...] = ()
    edges: tuple[EdgeCheck, ...] = ()
    segment: int | None = None
    guards: tuple[RunCondition, ...] = ()
    """Conditions of the pattern beyond `checks`; `guard_edges` are those beyond `edges`. `guards.py` sets both."""
    guard_edges: tuple[EdgeCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """One pattern, or one segment (`pattern` is NO_PATTERN, and it has one accepting state)."""

    pattern: int
    names: tuple[str, ...]
    """The canonical variable of each label of the program."""
    states: int
    steps: tuple[DraftStep, ...]
    accepting: Mapping[int, tuple[RunCondition, ...]] = field(default_factory=dict)
    extent: Extent = field(default_factory=Extent)
    bounded: bool = False

    @property
    def shares_with(self) -> tuple[Extent, bool]:
        """Only drafts with equal values may share states."""
        return self.extent, self.bounded

    def renamed(self, names: Mapping[str, str]) -> Draft:
        """The same pattern with other names of variables."""
        if all(old == new for old, new in names.items()):
            return self

        def conditions(checks: Iterable[RunCondition]) -> tuple[RunCondition, ...]:
            return tuple(renamed(check, names) for check in checks)

        return replace(
            self,
            names=tuple(names.get(name, name) for name in self.names),
            steps=tuple(
                replace(step, label=names.get(step.label, step.label), checks=conditions(step.checks))
                for step in self.steps
            ),
            accepting={state: conditions(checks) for state, checks in self.accepting.items()},
        )


def draft_of(number: int, program: PatternProgram) -> Draft:
    """Pattern `number` of the plan, without states that lie on no path from START to an end."""
    useful = _useful(program)
    steps = tuple(
        DraftStep(
            step.source,
            program.labels[step.label],
            step.target,
            program.qualifies[step.label],
            tuple(sorted(set(step.absent))),
            step.adjacent,
            tuple(dict.fromkeys(program.run[check] for check in step.checks)),
            tuple(sorted(set(step.edges), key=lambda edge: (edge.op, edge.before_value, edge.after_value))),
        )
        for step in program.steps
        if step.source in useful and step.target in useful
    )
    ends = {
        state: tuple(dict.fromkeys(program.run[check] for check in checks))
        for state, checks in program.accepting
        if state in useful
    }
    return Draft(number, program.labels, program.states, steps, ends, program.extent, program.bounded)


def _useful(program: PatternProgram) -> set[int]:
    """The states on a path from START to an accepting one."""
    forward: dict[int, set[int]] = {}
    backward: dict[int, set[int]] = {}
    for step in program.steps:
        forward.setdefault(step.source, set()).add(step.target)
        backward.setdefault(step.target, set()).add(step.source)
    return reachable({START}, forward) & reachable({state for state, _ in program.accepting}, backward)


def reachable(begin: Iterable[int], following: Mapping[int, Iterable[int]]) -> set[int]:
    """All states that can be reached from `begin`, those included."""
    reached = set(begin)
    waiting = list(reached)
    while waiting:
        for state in following.get(waiting.pop(), ()):
            if state not in reached:
                reached.add(state)
                waiting.append(state)
    return reached
