"""EventPattern -> TrendAutomaton: a deterministic automaton over variables.

A match is a sequence of (event, variable) pairs and counts once, even if it fits the pattern in several ways. So the
automaton is deterministic: a state has at most one transition for each variable. Every state but START is entered by
one variable only, so a state also identifies the variable of its last event. Conditions between adjacent events need
this.

An occurrence of an event in the pattern is a position (Glushkov). The pattern determines which position may follow
which, and the absences in between. Sets of positions become states, and states with the same future are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ostinato.errors import QueryError
from ostinato.event_queries.automaton.trend_positions import NOTHING, Absences, PatternEnds, Positions, check_size
from ostinato.event_queries.language.event_query import EventPattern, occurrences

START = 0
"""The state before any event; no transition leads to it."""
LARGEST_MERGED = 512
"""Larger automata aren't minimized: it would take longer than it saves."""


@dataclass(frozen=True, slots=True)
class Transition:
    """From `source`, an event bound to variable `label` leads to `target`, unless a match of one of `absences` lies
    between.

    For START, between means before the event, as far back as the query's bound reaches.
    """

    source: int
    label: int
    target: int
    absences: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TrendAutomaton:
    """`labels` are the variables by number. A match ends in an accepting state. An empty match isn't counted."""

    labels: tuple[str, ...]
    states: int
    transitions: tuple[Transition, ...]
    accepting: frozenset[int]
    absences: tuple[TrendAutomaton, ...] = ()
    """The patterns under NOT; each has its own variables."""
    end_absences: tuple[tuple[int, int], ...] = ()
    """(state, absence): a match that ends in the state counts only if the absence doesn't follow within the bound."""

    def entry_labels(self) -> tuple[int, ...]:
        """For each state, the label of the transitions that lead to it; -1 for START."""
        entries = [-1] * self.states
        for transition in self.transitions:
            entries[transition.target] = transition.label
        return tuple(entries)

    def first_labels(self) -> frozenset[int]:
        """The labels that a match may start with."""
        return frozenset(transition.label for transition in self.transitions if transition.source == START)

    def absences_at_end(self, state: int) -> frozenset[int]:
        """The absences that a match that ends in the state asks for."""
        return frozenset(absence for at, absence in self.end_absences if at == state)

    def dump(self) -> str:
        """The automaton as text, one state a line; `!` marks an absence, `.` an accepting state.

        >>> from ostinato.event_queries.language.event_query import ONE_OR_MORE, Absent, InOrder, OneEvent, Repeated
        >>> a, b, c = (OneEvent(name, name.lower()) for name in "ABC")
        >>> print(build_trend_automaton(InOrder((a, Absent(c), Repeated(b, ONE_OR_MORE)))).dump())
        start -> a 1
        1 -> !0 b 2
        2. -> b 2
        absent 0: start -> c 1; 1. ->
        """
        return "\n".join(
            [*self._lines(), *(f"absent {i}: {'; '.join(a._lines())}" for i, a in enumerate(self.absences))]
        )

    def _lines(self) -> list[str]:
        lines = []
        for state in range(self.states):
            targets = ", ".join(
                "".join(f"!{absence} " for absence in step.absences) + f"{self.labels[step.label]} {step.target}"
                for step in self.transitions
                if step.source == state
            )
            name = "start" if state == START else f"{state}." if state in self.accepting else f"{state}"
            name += "".join(f" !{absence}" for absence in sorted(self.absences_at_end(state)))
            lines.append(f"{name} -> {targets}".rstrip())
        return lines


def build_trend_automaton(pattern: EventPattern) -> TrendAutomaton:
    """The automaton of a pattern without AND. Raises PATTERN_TOO_LARGE, AMBIGUOUS_NEGATION."""
    positions = Positions()
    ends = positions.add(pattern)
    return _merged(_determined(positions, ends), tuple(build_trend_automaton(body) for body in positions.absent))


def both(one: TrendAutomaton, other: TrendAutomaton) -> TrendAutomaton:
    """The automaton of the sequences that both accept; neither has absences. Only START if there are none."""
    if one.absences or other.absences:
        raise ValueError("an automaton with absences has no intersection")
    labels = tuple(name for name in one.labels if name in other.labels)
    steps, others = _by_name(one), _by_name(other)
    drafts = [_Draft((START, START))]
    number = {(START, START): START}
    for draft in drafts:  # grows during the loop
        left, right = draft.key
        for label, name in enumerate(labels):
            first, second = steps.get((left, name)), others.get((right, name))
            if first is None or second is None:
                continue
            if (first, second) not in number:
                number[first, second] = len(drafts)
                check_size(len(drafts))
                drafts.append(
                    _Draft((first, second), first in one.accepting and second in other.accepting, entry=label)
                )
            draft.steps[label] = (number[first, second], ())
    return _merged(_Drafted(labels, drafts), ())


def _by_name(automaton: TrendAutomaton) -> dict[tuple[int, str], int]:
    return {(step.source, automaton.labels[step.label]): step.target for step in automaton.transitions}


# --- positions -> states ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Draft:
    """A state under construction: `steps` has for each label the next draft and the absences before it."""

    key: tuple[int, ...]
    """The positions of the state (or the two states of an intersection)."""
    accepting: bool = False
    end_absent: Absences = NOTHING
    entry: int = -1
    steps: dict[int, tuple[int, tuple[int, ...]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Drafted:
    labels: tuple[str, ...]
    drafts: list[_Draft]


def _determined(positions: Positions, ends: PatternEnds) -> _Drafted:
    """Subset construction: a state is the set of positions that one sequence of variables can lead to."""
    drafts = [_Draft(())]
    number: dict[tuple[int, ...], int] = {}
    positions_of_states = 0
    for draft in drafts:  # grows during the loop
        for label, (targets, absent) in _next_positions(positions, ends, draft).items():
            if targets not in number:
                number[targets] = len(drafts)
                positions_of_states += len(targets)
                check_size(len(drafts), positions_of_states)
                drafts.append(_state(positions, ends, targets, label))
            draft.steps[label] = (number[targets], tuple(sorted(absent)))
    return _Drafted(tuple(positions.labels), drafts)


def _next_positions(
    positions: Positions, ends: PatternEnds, draft: _Draft
) -> dict[int, tuple[tuple[int, ...], Absences]]:
    """For each label, the positions that an event bound to it leads to, and the absences before it."""
    reached: dict[int, tuple[set[int], set[Absences]]] = {}
    steps: list[dict[int, set[Absences]]] = [positions.follow[position] for position in draft.key]
    if not draft.key:
        steps = [{position: {absent} for position, absent in ends.first.items()}]
    for step in steps:
        for target, absences in step.items():
            targets, absent = reached.setdefault(positions.label_of[target], (set(), set()))
            targets.add(target)
            absent |= absences
    return {label: (tuple(sorted(targets)), _agreed(absent, positions)) for label, (targets, absent) in reached.items()}


def _state(positions: Positions, ends: PatternEnds, targets: tuple[int, ...], label: int) -> _Draft:
    absences = {ends.last[position] for position in targets if position in ends.last}
    return _Draft(targets, bool(absences), _agreed(absences, positions) if absences else NOTHING, label)


def _agreed(absences: set[Absences], positions: Positions) -> Absences:
    """The absences that all positions ask for. Raises AMBIGUOUS_NEGATION if they differ."""
    if len(absences) == 1:
        return next(iter(absences))
    differing = min(frozenset.union(*absences) - frozenset.intersection(*absences))
    variables = " ".join(event.variable for event in occurrences(list(positions.absent)[differing]))
    raise QueryError(
        "AMBIGUOUS_NEGATION",
        f"the same events can be matched in two ways, and only one of them asks that {variables} be absent",
        span=positions.absent_span[differing],
        hint="give the variables of the two ways different names",
    )


# --- equal states are one ---------------------------------------------------------------------------------------------


def _merged(drafted: _Drafted, absences: tuple[TrendAutomaton, ...]) -> TrendAutomaton:
    """Merges states with the same future, and removes states that lead to no accepting state."""
    drafts = drafted.drafts
    alive = _alive(drafts)
    for draft in drafts:
        draft.steps = {label: step for label, step in draft.steps.items() if step[0] in alive}
    classes = _same_future(drafts) if len(drafts) <= LARGEST_MERGED else list(range(len(drafts)))
    first_drafts: dict[int, int] = {}  # class -> its first draft, in the order of discovery: START comes first
    for i in range(len(drafts)):
        if i == START or i in alive:
            first_drafts.setdefault(classes[i], i)
    state = {group: number for number, group in enumerate(first_drafts)}
    transitions = [
        Transition(state[group], label, state[classes[to]], gone)
        for group, i in first_drafts.items()
        for label, (to, gone) in sorted(drafts[i].steps.items())
    ]
    accepting = {state[group]: drafts[i].end_absent for group, i in first_drafts.items() if drafts[i].accepting}
    ends = tuple((at, absence) for at, absent in accepting.items() for absence in sorted(absent))
    return TrendAutomaton(drafted.labels, len(first_drafts), tuple(transitions), frozenset(accepting), absences, ends)


def _same_future(drafts: Sequence[_Draft]) -> list[int]:
    """Moore's algorithm: the class of each draft. Drafts with the same future are in one class.

    START stays by itself, and so do states that different labels lead to.
    """
    classes = _numbered(
        [(i == START, draft.accepting, draft.end_absent, draft.entry) for i, draft in enumerate(drafts)]
    )
    while True:
        refined = _numbered(
            [
                (classes[i], tuple(sorted((label, classes[to], gone) for label, (to, gone) in draft.steps.items())))
                for i, draft in enumerate(drafts)
            ]
        )
        if max(refined) == max(classes):
            return classes
        classes = refined


def _numbered(keys: Sequence[object]) -> list[int]:
    number: dict[object, int] = {}
    return [number.setdefault(key, len(number)) for key in keys]


def _alive(drafts: Sequence[_Draft]) -> set[int]:
    """The drafts from which an accepting one can be reached."""
    sources: list[list[int]] = [[] for _ in drafts]
    for source, draft in enumerate(drafts):
        for target, _ in draft.steps.values():
            sources[target].append(source)
    alive = {i for i, draft in enumerate(drafts) if draft.accepting}
    waiting = list(alive)
    while waiting:
        for source in sources[waiting.pop()]:
            if source not in alive:
                alive.add(source)
                waiting.append(source)
    return alive
