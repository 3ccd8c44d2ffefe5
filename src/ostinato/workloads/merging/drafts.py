"""PatternProgram -> Draft: the same automaton with names and conditions in place of a program's own numbers.

Parts of two drafts are equal when they match the same events, so they can be compared, renamed and cut out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from ostinato.event_queries.language.event_query import RunCondition
from ostinato.event_queries.plan.event_program import Extent
from ostinato.workloads.merging.pattern_program import START, EdgeCheck, PatternProgram
from ostinato.workloads.merging.renamed_conditions import renamed

NO_PATTERN = -1
"""The pattern of a draft that is a segment of several."""


@dataclass(frozen=True, slots=True)
class Way:
    """A step. `segment`: the number of the segment whose match takes it, None for one event.

    With a segment, `label` is that of its last event, and `condition`, `absent` and `edges` are about its first.
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
    """What the pattern asks beyond `checks`, and beyond `edges`; put there by `guards.py`."""
    guard_edges: tuple[EdgeCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class Draft:
    """One pattern, or one segment (`pattern` is NO_PATTERN, and its one accepting state is where it is complete)."""

    pattern: int
    names: tuple[str, ...]
    """The canonical variable of each label of the program."""
    states: int
    ways: tuple[Way, ...]
    accepting: Mapping[int, tuple[RunCondition, ...]] = field(default_factory=dict)
    extent: Extent = field(default_factory=Extent)
    bounded: bool = False

    @property
    def shares_with(self) -> tuple[Extent, bool]:
        """Drafts that share states agree in this."""
        return self.extent, self.bounded

    def renamed(self, names: Mapping[str, str]) -> Draft:
        """The same pattern over variables called otherwise."""
        if all(old == new for old, new in names.items()):
            return self

        def conditions(checks: Iterable[RunCondition]) -> tuple[RunCondition, ...]:
            return tuple(renamed(check, names) for check in checks)

        return replace(
            self,
            names=tuple(names.get(name, name) for name in self.names),
            ways=tuple(
                replace(way, label=names.get(way.label, way.label), checks=conditions(way.checks)) for way in self.ways
            ),
            accepting={state: conditions(checks) for state, checks in self.accepting.items()},
        )


def draft_of(number: int, program: PatternProgram) -> Draft:
    """Pattern `number` of the plan; only what leads from START to an end is kept."""
    useful = _useful(program)
    ways = tuple(
        Way(
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
    return Draft(number, program.labels, program.states, ways, ends, program.extent, program.bounded)


def _useful(program: PatternProgram) -> set[int]:
    """The states on a way from START to an accepting one."""
    forward: dict[int, set[int]] = {}
    backward: dict[int, set[int]] = {}
    for step in program.steps:
        forward.setdefault(step.source, set()).add(step.target)
        backward.setdefault(step.target, set()).add(step.source)
    return reachable({START}, forward) & reachable({state for state, _ in program.accepting}, backward)


def reachable(begin: Iterable[int], following: Mapping[int, Iterable[int]]) -> set[int]:
    """All that can be reached from `begin`, itself included."""
    found = set(begin)
    waiting = list(found)
    while waiting:
        for state in following.get(waiting.pop(), ()):
            if state not in found:
                found.add(state)
                waiting.append(state)
    return found
