"""Nfa of ALL MATCHES -> RowGraph: the rows that the matcher visits one by one, and the rows between them that it skips.

`PATTERN (A X* B)` with X undefined means: a row A, and any later row B. Matching X row by row would keep a partial
match for every row between. Here A leads to B directly, and the rows between are labelled X afterwards. A state may be
skipped if it leads to itself, no condition reads its rows, and all of its other successors can be reached without it.
Then every labelling of the rows is still exactly one path through the graph. Of two such states in a row (`X* Y*`) the
second isn't skipped, since its first row is part of the labelling. No conditions and no names here.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ostinato.clause.automaton.nfa import ACCEPT, ACCEPT_AT_END, Nfa

NOTHING = -1
"""In place of a node: before the first row. In place of a skipped state: no row lies between."""


class PartitionPosition(enum.Enum):
    """The rows of a partition that a node takes. Only patterns with `^` need FIRST and LATER."""

    ANYWHERE = "anywhere"
    FIRST = "first"
    LATER = "later"


@dataclass(frozen=True, slots=True)
class RowNode:
    """A row consumed in a state of the automaton; `at_end`: as the last of its partition, which ends the match."""

    state: int
    position: PartitionPosition = PartitionPosition.ANYWHERE
    at_end: bool = False


@dataclass(frozen=True, slots=True)
class ChoiceRank:
    """Rank of a choice among those of a state."""

    after_skip: bool
    """Whether the choice to skip has a lower rank."""
    rank: int


@dataclass(frozen=True, slots=True)
class RowStep:
    """From the row of one node (NOTHING: none yet) to the row of another."""

    source: int
    target: int
    direct: ChoiceRank
    """Preference among matches if no row is skipped."""
    gap: int = NOTHING
    """The state of the rows that may be skipped, any number of them."""
    inside: ChoiceRank | None = None
    """Preference after skipped rows."""


@dataclass(frozen=True, slots=True)
class RowGraph:
    """`ends` are the nodes that may be the last, with the rank of that choice."""

    nodes: tuple[RowNode, ...]
    steps: tuple[RowStep, ...]
    ends: tuple[tuple[int, ChoiceRank], ...]

    def entries(self) -> frozenset[int]:
        """The nodes of first rows."""
        return frozenset(step.target for step in self.steps if step.source == NOTHING)

    def upto(self) -> tuple[frozenset[int], ...]:
        """[node] the nodes whose rows may be in a match that has reached it, itself included."""
        sources: list[list[int]] = [[] for _ in self.nodes]
        for step in self.steps:
            if step.source != NOTHING:
                sources[step.target].append(step.source)
        earlier = []
        for node in range(len(self.nodes)):
            reached, waiting = {node}, [node]
            while waiting:
                fresh = [source for source in sources[waiting.pop()] if source not in reached]
                reached.update(fresh)
                waiting.extend(fresh)
            earlier.append(frozenset(reached))
        return tuple(earlier)


def row_graph(nfa: Nfa, may_skip: Callable[[int], bool]) -> RowGraph:
    """The graph of an automaton in which one label leads to one state. `may_skip`: whether no condition reads the rows
    of a state."""
    return _RowGraphBuilder(nfa, may_skip).built()


class _RowGraphBuilder:
    """Numbers nodes in the order in which they are first reached."""

    def __init__(self, nfa: Nfa, may_skip: Callable[[int], bool]) -> None:
        self.nfa = nfa
        self.numbers: dict[RowNode, int] = {}
        self.waiting: list[RowNode] = []
        self.steps: list[RowStep] = []
        self.ends: list[tuple[int, ChoiceRank]] = []
        self.skippable = frozenset(
            number
            for number, state in enumerate(nfa.states)
            if number in state.choices and min(state.choices) >= 0 and may_skip(number)
        )

    def built(self) -> RowGraph:
        nfa = self.nfa
        if nfa.at_start == nfa.elsewhere:
            self._start(nfa.elsewhere, PartitionPosition.ANYWHERE)
        else:
            self._start(nfa.at_start, PartitionPosition.FIRST)
            self._start(nfa.elsewhere, PartitionPosition.LATER)
        for number, node in enumerate(self.waiting):  # grows while it is walked
            self._leave(number, node)
        return RowGraph(tuple(self.numbers), tuple(self.steps), tuple(self.ends))

    def _start(self, choices: tuple[int, ...], position: PartitionPosition) -> None:
        for rank, choice in enumerate(choices):
            if choice >= 0:  # ALL MATCHES has no empty matches
                for target in self._entered(choice, position):
                    self.steps.append(RowStep(NOTHING, target, ChoiceRank(False, rank)))

    def _entered(self, state: int, position: PartitionPosition = PartitionPosition.ANYWHERE) -> Iterator[int]:
        """The nodes of a row in this state: one that goes on or ends anywhere, and one that `$` ends."""
        choices = self.nfa.states[state].choices
        if any(choice != ACCEPT_AT_END for choice in choices):
            yield self._numbered(RowNode(state, position))
        if ACCEPT_AT_END in choices:
            yield self._numbered(RowNode(state, position, at_end=True))

    def _numbered(self, node: RowNode) -> int:
        if node not in self.numbers:
            self.numbers[node] = len(self.numbers)
            self.waiting.append(node)
        return self.numbers[node]

    def _leave(self, number: int, node: RowNode) -> None:
        choices = self.nfa.states[node.state].choices
        gap = self._skipped(choices)
        direct = _ranks(choices, gap)
        end = ACCEPT_AT_END if node.at_end else ACCEPT
        if end in direct:
            self.ends.append((number, direct[end]))
        if node.at_end:
            return
        inside = {} if gap == NOTHING else _ranks(self.nfa.states[gap].choices, gap)
        for choice in choices:
            if choice < 0 or choice == gap:
                continue
            skipped = gap if choice in inside else NOTHING
            for target in self._entered(choice):
                self.steps.append(RowStep(number, target, direct[choice], skipped, inside.get(choice)))

    def _skipped(self, choices: tuple[int, ...]) -> int:
        """The state whose rows are skipped after a row with these choices. Of several it is the one with most choices,
        since in `X* Y*` only skipping X leaves no loop that goes row by row."""
        states = self.nfa.states
        candidates = [choice for choice in choices if choice in self.skippable]
        candidates = [state for state in candidates if set(states[state].choices) <= set(choices)]
        return max(candidates, key=lambda state: len(states[state].choices), default=NOTHING)


def _ranks(choices: tuple[int, ...], gap: int) -> dict[int, ChoiceRank]:
    skips = choices.index(gap) if gap in choices else len(choices)
    return {choice: ChoiceRank(rank > skips, rank) for rank, choice in enumerate(choices)}
