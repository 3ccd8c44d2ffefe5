"""Regular expression over event types -> trimmed minimal deterministic automaton.

A match is a set of positions, so every word must have one run: the automaton is deterministic. No transition leads back
to its start, which may so stand for "nothing taken yet": merging a loop into it would lose counts. The empty word is no
match. Stages: tree -> positions that may follow one another -> sets of positions -> merged states.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.errors import QueryError
from ostinato.summaries.language.type_expression import Choice, Letter, Repeat, Sequence, Tree, parse

START = 0
NO_STATE = -1
MAX_STATES = 1024
"""Counters take room by the square of the states: an expression with more is a mistake."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """States are numbered in the order of their discovery, `START` first; types in the order of the text."""

    types: tuple[str, ...]
    next_state: tuple[tuple[int, ...], ...]
    """[state][type], or NO_STATE."""
    final: tuple[bool, ...]

    def dump(self) -> str:
        """One line a state: where each type leads.

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


def compile_expression(text: str, declared: frozenset[str] = frozenset()) -> Automaton:
    """Text -> automaton. `declared` are names of types that may have several letters."""
    return _numbered(_merged(_deterministic(_positions(parse(text, declared)))))


def with_one_of(automaton: Automaton, types: frozenset[str]) -> Automaton:
    """The words among those accepted that have at least one letter of the types.

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
    return _numbered(_merged(_trimmed(Automaton(automaton.types, tuple(rows), final))))


def _trimmed(automaton: Automaton) -> Automaton:
    """Without moves into states from which no final one is reached."""
    alive = {state for state, is_final in enumerate(automaton.final) if is_final}
    while True:
        more = {s for s, row in enumerate(automaton.next_state) if s not in alive and alive.intersection(row)}
        if not more:
            break
        alive |= more
    rows = tuple(tuple(to if to in alive else NO_STATE for to in row) for row in automaton.next_state)
    return Automaton(automaton.types, rows, automaton.final)


@dataclass(frozen=True, slots=True)
class _Fragment:
    nullable: bool
    first: frozenset[int]
    last: frozenset[int]


@dataclass(slots=True)
class _Positions:
    """Glushkov's construction: `follow[p]` may come after position p; position 0 stands before all."""

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
            case Choice(parts):
                found = [self.fragment(part) for part in parts]
                first = frozenset().union(*(part.first for part in found))
                return _Fragment(any(f.nullable for f in found), first, frozenset().union(*(f.last for f in found)))
            case Sequence(parts):
                whole = _Fragment(True, frozenset(), frozenset())
                for part in parts:
                    whole = self._joined(whole, self.fragment(part))
                return whole
            case Repeat(body, at_least_once, more_than_once):
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


def _positions(tree: Tree) -> _Positions:
    positions = _Positions()
    whole = positions.fragment(tree)
    positions.follow[0] |= whole.first
    positions.last = whole.last
    return positions


def _deterministic(positions: _Positions) -> Automaton:
    """Sets of positions. Every position leads to a last one, so no state is dead; {0} is never entered again."""
    types = tuple(dict.fromkeys(positions.types[1:]))
    start = frozenset({0})
    sets = [start]
    number = {start: START}
    rows: list[tuple[int, ...]] = []
    for current in sets:  # grows while it is read
        if len(sets) > MAX_STATES:
            message = f"the expression needs an automaton of more than {MAX_STATES:,} states"
            raise QueryError("SUMMARY_EXPRESSION", message, hint="choices that can be told apart sooner need fewer")
        after = set().union(*(positions.follow[p] for p in current))
        row = []
        for name in types:
            target = frozenset(p for p in after if positions.types[p] == name)
            if target and target not in number:
                number[target] = len(sets)
                sets.append(target)
            row.append(number[target] if target else NO_STATE)
        rows.append(tuple(row))
    return Automaton(types, tuple(rows), tuple(bool(positions.last & current) for current in sets))


def _merged(automaton: Automaton) -> Automaton:
    """States that accept the same words become one (Moore); the start stays alone."""
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
    place = {number: index for index, number in enumerate(sorted(chosen, key=chosen.__getitem__))}
    rows = []
    for number in place:
        row = automaton.next_state[chosen[number]]
        rows.append(tuple(NO_STATE if to == NO_STATE else place[kind[to]] for to in row))
    return Automaton(automaton.types, tuple(rows), tuple(automaton.final[chosen[number]] for number in place))


def _numbered(automaton: Automaton) -> Automaton:
    """The same automaton, states in the order of a search in breadth."""
    order = [START]
    for state in order:  # grows while it is read
        order += [to for to in dict.fromkeys(automaton.next_state[state]) if to != NO_STATE and to not in order]
    place = {state: index for index, state in enumerate(order)}
    rows = tuple(
        tuple(NO_STATE if to == NO_STATE else place[to] for to in automaton.next_state[state]) for state in order
    )
    return Automaton(automaton.types, rows, tuple(automaton.final[state] and state != START for state in order))
