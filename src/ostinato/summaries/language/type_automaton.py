"""Regular expression over event types -> trimmed minimal deterministic automaton.

A match is a set of events, so every word must have exactly one run: the automaton is deterministic. No transition leads
back to the start state, so it always means "no event taken". Merging a loop into it would lose counts. The empty word
isn't a match. Stages: tree -> positions that may follow one another -> sets of positions -> merged states.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.errors import QueryError
from ostinato.summaries.language.type_expression import Letter, Tree, TypeChoice, TypeRepeat, TypeSequence, parse

START = 0
NO_STATE = -1
MAX_STATES = 1024
"""Largest number of states. Counters need memory by its square."""


@dataclass(frozen=True, slots=True)
class TypeAutomaton:
    """States are numbered in order of discovery, `START` first. Types have the order of the text."""

    types: tuple[str, ...]
    next_state: tuple[tuple[int, ...], ...]
    """[state][type], or NO_STATE."""
    final: tuple[bool, ...]

    def dump(self) -> str:
        """One line for each state, with its transitions.

        >>> print(compile_expression("A(B*C)*D").dump())
        0: A->1
        1: B->2 C->1 D->3
        2: B->2 C->1
        3: final
        """
        lines = []
        for state, row in enumerate(self.next_state):
            moves = [f"{name}->{to}" for name, to in zip(self.types, row, strict=True) if to != NO_STATE]
            lines.append(f"{state}: " + " ".join(moves + ["final"] * self.final[state]))
        return "\n".join(lines)


def compile_expression(text: str, declared: frozenset[str] = frozenset()) -> TypeAutomaton:
    """Text -> automaton. `declared` are names of types that may have several letters."""
    return _numbered(_merged(_deterministic(_positions(parse(text, declared)))))


def with_one_of(automaton: TypeAutomaton, types: frozenset[str]) -> TypeAutomaton:
    """The automaton of the accepted words with at least one letter of `types`.

    >>> print(with_one_of(compile_expression("a+b?"), frozenset("b")).dump())
    0: a->1
    1: a->1 b->2
    2: final
    """
    marked = [name in types for name in automaton.types]
    rows: list[tuple[int, ...]] = []
    pairs = [(START, False)]
    number = {(START, False): START}
    for state, seen in pairs:  # grows while it is read
        row = []
        for type, to in enumerate(automaton.next_state[state]):
            pair = (to, seen or marked[type])
            if to != NO_STATE and pair not in number:
                number[pair] = len(pairs)
                pairs.append(pair)
            row.append(NO_STATE if to == NO_STATE else number[pair])
        rows.append(tuple(row))
    final = tuple(automaton.final[state] and seen for state, seen in pairs)
    return _numbered(_merged(_trimmed(TypeAutomaton(automaton.types, tuple(rows), final))))


def _trimmed(automaton: TypeAutomaton) -> TypeAutomaton:
    """The automaton without transitions into states that reach no final state."""
    alive = {state for state, is_final in enumerate(automaton.final) if is_final}
    while True:
        more = {s for s, row in enumerate(automaton.next_state) if s not in alive and alive.intersection(row)}
        if not more:
            break
        alive |= more
    rows = tuple(tuple(to if to in alive else NO_STATE for to in row) for row in automaton.next_state)
    return TypeAutomaton(automaton.types, rows, automaton.final)


@dataclass(frozen=True, slots=True)
class _Fragment:
    nullable: bool
    first: frozenset[int]
    last: frozenset[int]


@dataclass(slots=True)
class _TypePositions:
    """Glushkov's construction: `follow[p]` may come after position p. Position 0 is before all others."""

    types: list[str] = field(default_factory=lambda: [""])
    follow: list[set[int]] = field(default_factory=lambda: [set()])
    last: frozenset[int] = frozenset()

    def fragment(self, tree: Tree) -> _Fragment:
        match tree:
            case Letter(name):
                self.types.append(name)
                self.follow.append(set())
                here = frozenset({len(self.types) - 1})
                return _Fragment(False, here, here)
            case TypeChoice(parts):
                fragments = [self.fragment(item) for item in parts]
                first = frozenset().union(*(item.first for item in fragments))
                return _Fragment(
                    any(f.nullable for f in fragments), first, frozenset().union(*(f.last for f in fragments))
                )
            case TypeSequence(parts):
                result = _Fragment(True, frozenset(), frozenset())
                for item in parts:
                    result = self._joined(result, self.fragment(item))
                return result
            case TypeRepeat(body, at_least_once, more_than_once):
                inner = self.fragment(body)
                if more_than_once:
                    self._connect(inner, inner)
                return _Fragment(inner.nullable or not at_least_once, inner.first, inner.last)

    def _joined(self, left: _Fragment, right: _Fragment) -> _Fragment:
        self._connect(left, right)
        first = left.first | right.first if left.nullable else left.first
        last = left.last | right.last if right.nullable else right.last
        return _Fragment(left.nullable and right.nullable, first, last)

    def _connect(self, left: _Fragment, right: _Fragment) -> None:
        for position in left.last:
            self.follow[position] |= right.first


def _positions(tree: Tree) -> _TypePositions:
    positions = _TypePositions()
    result = positions.fragment(tree)
    positions.follow[0] |= result.first
    positions.last = result.last
    return positions


def _deterministic(positions: _TypePositions) -> TypeAutomaton:
    """Subset construction. Every position leads to a last one, so no state is dead. {0} is never entered again."""
    types = tuple(dict.fromkeys(positions.types[1:]))
    start = frozenset({0})
    sets = [start]
    number = {start: START}
    rows: list[tuple[int, ...]] = []
    for current in sets:  # grows while it is read
        if len(sets) > MAX_STATES:
            message = f"the expression needs an automaton of more than {MAX_STATES:,} states"
            raise QueryError(
                "SUMMARY_EXPRESSION", message, hint="alternatives that differ in their first types need fewer"
            )
        after = set().union(*(positions.follow[p] for p in current))
        row = []
        for name in types:
            target = frozenset(p for p in after if positions.types[p] == name)
            if target and target not in number:
                number[target] = len(sets)
                sets.append(target)
            row.append(number[target] if target else NO_STATE)
        rows.append(tuple(row))
    return TypeAutomaton(types, tuple(rows), tuple(bool(positions.last & current) for current in sets))


def _merged(automaton: TypeAutomaton) -> TypeAutomaton:
    """Merges states that accept the same words (Moore). The start isn't merged."""
    states = range(len(automaton.final))
    kind = [0 if state == START else 1 + automaton.final[state] for state in states]
    while True:
        signatures = {
            state: (kind[state], *(NO_STATE if to == NO_STATE else kind[to] for to in automaton.next_state[state]))
            for state in states
        }
        numbers = {signature: number for number, signature in enumerate(dict.fromkeys(signatures.values()))}
        refined = [numbers[signatures[state]] for state in states]
        if len(numbers) == len(set(kind)):
            break
        kind = refined
    chosen = {kind[state]: state for state in reversed(states)}
    number_of = {number: index for index, number in enumerate(sorted(chosen, key=chosen.__getitem__))}
    rows = []
    for number in number_of:
        row = automaton.next_state[chosen[number]]
        rows.append(tuple(NO_STATE if to == NO_STATE else number_of[kind[to]] for to in row))
    return TypeAutomaton(automaton.types, tuple(rows), tuple(automaton.final[chosen[number]] for number in number_of))


def _numbered(automaton: TypeAutomaton) -> TypeAutomaton:
    """Renumbers the states in breadth-first order."""
    order = [START]
    for state in order:  # grows while it is read
        order += [to for to in dict.fromkeys(automaton.next_state[state]) if to != NO_STATE and to not in order]
    number_of = {state: index for index, state in enumerate(order)}
    rows = tuple(
        tuple(NO_STATE if to == NO_STATE else number_of[to] for to in automaton.next_state[state]) for state in order
    )
    return TypeAutomaton(automaton.types, rows, tuple(automaton.final[state] and state != START for state in order))
