"""Nfa of ALL MATCHES -> RowGraph: the rows that the matcher visits one by one, and the rows between them that it skips.

`PATTERN (A X* B)` with X undefined means: a row A, and any later row B. Matching X row by row would keep a partial
match for every row between. Here A leads to B directly, and the rows between are labelled X afterwards. A state may be
skipped if it leads to itself, no condition reads its rows, and the same ways are open without it. Then every labelling
of the rows is still exactly one path through the graph. Of two such states in a row (`X* Y*`) the second isn't skipped,
since its first row is part of the labelling. No conditions and no names here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa

NOTHING = -1
"""In place of a node: before the first row. In place of a skipped state: no row lies between."""


class Place(enum.Enum):
    """The rows of a partition that a node takes. Only patterns with `^` tell them apart."""

    ANYWHERE = "anywhere"
    FIRST = "first"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class RowNode:
    """A row consumed in a state of the automaton; `at_end`: as the last of its partition, which ends the match."""

    state: int
    place: Place = Place.ANYWHERE
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """Rank of a choice among those of a state, and whether the choice to skip comes first."""

    behind: bool
    rank: int


@dataclass(frozen=True, slots=True)
class Way:
    """From the row of one node (NOTHING: none yet) to the row of another.

    With `gap` any number of rows consumed in that state may lie between, otherwise none. Matches are preferred by
    `direct` where none does, by `inside` behind skipped rows.
    """

    source: int
    target: int
    direct: Turn
    gap: int = NOTHING
    inside: Turn | None = None


@dataclass(frozen=True, slots=True)
class RowGraph:
    """`ends` are the nodes that may be the last, with the turn of that choice."""

    nodes: tuple[RowNode, ...]
    ways: tuple[Way, ...]
    ends: tuple[tuple[int, Turn], ...]

    def entries(self) -> frozenset[int]:
        """The nodes of first rows."""
        return frozenset(way.target for way in self.ways if way.source == NOTHING)

    def upto(self) -> tuple[frozenset[int], ...]:
        """[node] the nodes whose rows may be in a match that has reached it, itself included."""
        sources: list[list[int]] = [[] for _ in self.nodes]
        for way in self.ways:
            if way.source != NOTHING:
                sources[way.target].append(way.source)
        earlier = []
        for node in range(len(self.nodes)):
            seen, waiting = {node}, [node]
            while waiting:
                fresh = [source for source in sources[waiting.pop()] if source not in seen]
                seen.update(fresh)
                waiting.extend(fresh)
            earlier.append(frozenset(seen))
        return tuple(earlier)


def row_graph(nfa: Nfa, may_skip: Callable[[int], bool]) -> RowGraph:
    """The graph of an automaton in which one label leads to one state; `may_skip`: no condition reads the
    state's rows."""
    return _RowGraphBuilder(nfa, may_skip).built()


class _RowGraphBuilder:
    """Numbers nodes in the order in which they are first reached."""

    def __init__(self, nfa: Nfa, may_skip: Callable[[int], bool]) -> None:
        self.nfa = nfa
        self.numbers: dict[RowNode, int] = {}
        self.waiting: list[RowNode] = []
        self.ways: list[Way] = []
        self.ends: list[tuple[int, Turn]] = []
        self.skippable = frozenset(
            number
            for number, state in enumerate(nfa.states)
            if number in state.choices and min(state.choices) >= 0 and may_skip(number)
        )

    def built(self) -> RowGraph:
        nfa = self.nfa
        if nfa.at_start == nfa.elsewhere:
            self._start(nfa.elsewhere, Place.ANYWHERE)
        else:
            self._start(nfa.at_start, Place.FIRST)
            self._start(nfa.elsewhere, Place.LATER)
        for number, node in enumerate(self.waiting):  # grows while it is walked
            self._leave(number, node)
        return RowGraph(tuple(self.numbers), tuple(self.ways), tuple(self.ends))

    def _start(self, choices: tuple[int, ...], place: Place) -> None:
        for rank, choice in enumerate(choices):
            if choice >= 0:  # ALL MATCHES has no empty matches
                for target in self._entered(choice, place):
                    self.ways.append(Way(NOTHING, target, Turn(False, rank)))

    def _entered(self, state: int, place: Place = Place.ANYWHERE) -> Iterator[int]:
        """The nodes of a row in this state: one that goes on or ends anywhere, one that `$` ends."""
        choices = self.nfa.states[state].choices
        if any(choice != ACCEPT_AT_END for choice in choices):
            yield self._numbered(RowNode(state, place))
        if ACCEPT_AT_END in choices:
            yield self._numbered(RowNode(state, place, at_end=True))

    def _numbered(self, node: RowNode) -> int:
        if node not in self.numbers:
            self.numbers[node] = len(self.numbers)
            self.waiting.append(node)
        return self.numbers[node]

    def _leave(self, number: int, node: RowNode) -> None:
        choices = self.nfa.states[node.state].choices
        gap = self._skipped(choices)
        turns = _turns(choices, gap)
        end = ACCEPT_AT_END if node.at_end else ACCEPT
        if end in turns:
            self.ends.append((number, turns[end]))
        if node.at_end:
            return
        inside = {} if gap == NOTHING else _turns(self.nfa.states[gap].choices, gap)
        for choice in choices:
            if choice < 0 or choice == gap:
                continue
            skipped = gap if choice in inside else NOTHING
            for target in self._entered(choice):
                self.ways.append(Way(number, target, turns[choice], skipped, inside.get(choice)))

    def _skipped(self, choices: tuple[int, ...]) -> int:
        """The state whose rows are skipped after a row with these choices. Of several it is the one with most ways out,
        since in `X* Y*` only skipping X leaves no loop that goes row by row."""
        states = self.nfa.states
        candidates = [at for at in choices if at in self.skippable and set(states[at].choices) <= set(choices)]
        return max(candidates, key=lambda at: len(states[at].choices), default=NOTHING)


def _turns(choices: tuple[int, ...], gap: int) -> dict[int, Turn]:
    skips = choices.index(gap) if gap in choices else len(choices)
    return {choice: Turn(rank > skips, rank) for rank, choice in enumerate(choices)}
