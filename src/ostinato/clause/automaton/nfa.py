"""Pattern -> Nfa: a state for each occurrence of a variable, with the next states in order of preference.

The pattern is first laid out as a small program of CONSUME, SPLIT and anchor instructions. Quantifiers are unrolled.
PERMUTE becomes a lattice of the elements already used: n * 2^(n-1) copies instead of n!. Then, for every CONSUME, the
instructions reachable without a row are walked depth first in order of preference. An instruction that is reached a
second time is cut, because it was tried under the same history. An iteration of a loop that consumes no row ends the
loop (as in Trino and Perl), so empty loops end.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from ostinato.clause.query.pattern import (
    Alternation,
    Concat,
    Empty,
    Exclusion,
    PartitionEnd,
    PartitionStart,
    Pattern,
    Permute,
    Quantified,
    Variable,
)
from ostinato.errors import QueryError

MAX_STATES = 20_000
MAX_CHOICES = 100_000
LONGEST_UNROLLED_BOUND = 10_000
"""A larger upper bound counts as "no bound". Partitions that have so many rows that this matters are refused."""

ACCEPT = -1
"""A choice: the match is complete."""
ACCEPT_AT_END = -2
"""A choice: the match is complete if no row of the partition is left (`$`)."""


@dataclass(frozen=True, slots=True)
class State:
    """Consumes one row as `variable`; then `choices` are tried in order (state numbers, ACCEPT, ACCEPT_AT_END)."""

    variable: str
    excluded: bool
    choices: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Nfa:
    """The first choices are `at_start` on the first row of a partition (where `^` holds), `elsewhere` on other rows."""

    states: tuple[State, ...]
    at_start: tuple[int, ...]
    elsewhere: tuple[int, ...]
    longest_partition: int | None = None
    """Partitions must have fewer rows than this, because a huge upper bound counts as none."""

    def dump(self) -> str:
        """The automaton as text, one state a line.

        >>> from ostinato.clause.language.pattern_parser import parse_row_pattern
        >>> print(build_nfa(parse_row_pattern("A B* C")).dump())
        start -> 0
        0 A -> 1, 2
        1 B -> 1, 2
        2 C -> accept
        """
        lines = [f"start -> {_choices(self.elsewhere)}"]
        if self.at_start != self.elsewhere:
            lines = [
                f"start at the first row -> {_choices(self.at_start)}",
                f"start elsewhere -> {_choices(self.elsewhere)}",
            ]
        for number, state in enumerate(self.states):
            name = f"{{- {state.variable} -}}" if state.excluded else state.variable
            lines.append(f"{number} {name} -> {_choices(state.choices)}")
        return "\n".join(lines)


def _choices(choices: Sequence[int]) -> str:
    names = {ACCEPT: "accept", ACCEPT_AT_END: "accept at the end"}
    return ", ".join(names.get(choice, str(choice)) for choice in choices) or "nothing"


# --- the program ---


class InstructionKind(enum.Enum):
    CONSUME = "consume"
    SPLIT = "split"
    AT_START = "at start"
    AT_END = "at end"
    ACCEPT = "accept"


@dataclass(slots=True)
class Instruction:
    """`next` are the targets in order of preference; CONSUME and anchors have one."""

    kind: InstructionKind
    next: list[int]
    variable: str = ""
    excluded: bool = False
    loop_exit: int | None = None
    """The instruction behind the loop, for a SPLIT at the head of a loop whose body may be empty."""


class _Layout:
    """Lays a pattern out back to front: every method takes the instruction to go on with and returns the entry."""

    def __init__(self) -> None:
        self.program: list[Instruction] = []
        self.consuming = 0
        self.longest_partition: int | None = None

    def add(self, kind: InstructionKind, next: list[int], variable: str = "", excluded: bool = False) -> int:
        if kind is InstructionKind.CONSUME:
            self.consuming += 1
        if self.consuming > MAX_STATES or len(self.program) > 4 * MAX_STATES:
            raise QueryError(
                "PATTERN_TOO_LARGE",
                f"the pattern needs more than {MAX_STATES:,} states once its quantifiers are written out",
                hint="use smaller bounds, fewer elements in PERMUTE, or * with a condition that counts",
            )
        self.program.append(Instruction(kind, next, variable, excluded))
        return len(self.program) - 1

    def enter(self, pattern: Pattern, then: int, excluded: bool = False) -> int:
        match pattern:
            case Variable(name):
                return self.add(InstructionKind.CONSUME, [then], name, excluded)
            case Empty():
                return then
            case PartitionStart():
                return self.add(InstructionKind.AT_START, [then])
            case PartitionEnd():
                return self.add(InstructionKind.AT_END, [then])
            case Concat(parts):
                for element in reversed(parts):
                    then = self.enter(element, then, excluded)
                return then
            case Alternation(options):
                return self.add(InstructionKind.SPLIT, [self.enter(option, then, excluded) for option in options])
            case Exclusion(body):
                return self.enter(body, then, True)
            case Permute(elements):
                return self._permute(elements, then, excluded)
            case Quantified():
                return self._quantified(pattern, then, excluded)

    def _permute(self, elements: tuple[Pattern, ...], then: int, excluded: bool) -> int:
        """One entry per set of elements already used; the next element is preferred as listed."""
        everything = (1 << len(elements)) - 1
        if len(elements) > 14:
            raise QueryError(
                "PATTERN_TOO_LARGE", f"PERMUTE of {len(elements)} elements is too large", hint="14 is the most"
            )
        entry = {everything: then}
        for used in sorted(range(everything), key=lambda used: -used.bit_count()):
            entry[used] = self.add(
                InstructionKind.SPLIT,
                [
                    self.enter(element, entry[used | 1 << i], excluded)
                    for i, element in enumerate(elements)
                    if not used >> i & 1
                ],
            )
        return entry[0]

    def _quantified(self, loop: Quantified, then: int, excluded: bool) -> int:
        at_most = loop.at_most
        if at_most is not None and at_most > LONGEST_UNROLLED_BOUND:
            self.longest_partition = min(at_most, self.longest_partition or at_most)
            at_most = None
        at_least = loop.at_least
        if at_most is None:
            entry = self._unbounded(loop, then, excluded)
            if at_least and not can_be_empty(loop.body):  # A+ as one A that leads back to itself
                entry, at_least = self.program[entry].next[0 if loop.greedy else 1], at_least - 1
        else:
            entry = then
            for _ in range(at_most - at_least):  # A{0,3} as (A (A A?)?)?, so that each copy has two choices
                body = self.enter(loop.body, entry, excluded)
                entry = self.add(InstructionKind.SPLIT, [body, then] if loop.greedy else [then, body])
        for _ in range(at_least):
            entry = self.enter(loop.body, entry, excluded)
        return entry

    def _unbounded(self, loop: Quantified, then: int, excluded: bool) -> int:
        split = self.add(InstructionKind.SPLIT, [])
        body = self.enter(loop.body, split, excluded)
        self.program[split].next = [body, then] if loop.greedy else [then, body]
        self.program[split].loop_exit = then if can_be_empty(loop.body) else None
        return split


def can_be_empty(pattern: Pattern) -> bool:
    """Whether the pattern may match no row at all."""
    match pattern:
        case Variable():
            return False
        case Empty() | PartitionStart() | PartitionEnd():
            return True
        case Concat(parts):
            return all(can_be_empty(element) for element in parts)
        case Alternation(options):
            return any(can_be_empty(option) for option in options)
        case Permute(elements):
            return all(can_be_empty(element) for element in elements)
        case Exclusion(body):
            return can_be_empty(body)
        case Quantified(body, at_least):
            return at_least == 0 or can_be_empty(body)


# --- program -> states ---


def build_nfa(pattern: Pattern) -> Nfa:
    """The automaton of a pattern."""
    layout = _Layout()
    accept = layout.add(InstructionKind.ACCEPT, [])
    entry = layout.enter(pattern, accept)
    closure = _Closure(layout.program)
    order: list[int] = []  # instruction of each state, numbered as they are first reached
    number: dict[int, int] = {}

    def numbered(choices: list[int]) -> tuple[int, ...]:
        for choice in choices:
            if choice >= 0 and choice not in number:
                number[choice] = len(order)
                order.append(choice)
        return tuple(number[choice] if choice >= 0 else choice for choice in choices)

    elsewhere = numbered(closure.choices(entry, at_start=False))
    at_start = numbered(closure.choices(entry, at_start=True))
    states: list[State] = []
    total = 0
    while len(states) < len(order):
        instruction = layout.program[order[len(states)]]
        choices = numbered(closure.choices(instruction.next[0], at_start=False))
        total += len(choices)
        if total > MAX_CHOICES:
            raise QueryError(
                "PATTERN_TOO_LARGE",
                f"the pattern needs more than {MAX_CHOICES:,} choices between states",
                hint="many optional variables in a row make every one a neighbour of every other",
            )
        states.append(State(instruction.variable, instruction.excluded, choices))
    return Nfa(tuple(states), at_start, elsewhere, layout.longest_partition)


class _Closure:
    """The consuming and accepting choices after an instruction, in order of preference."""

    def __init__(self, program: list[Instruction]) -> None:
        self.program = program

    def choices(self, entry: int, *, at_start: bool) -> list[int]:
        """CONSUME instructions by number, ACCEPT and ACCEPT_AT_END, each once, where it is preferred most."""
        reached: dict[int, None] = {}
        seen: set[tuple[int, bool, frozenset[int]]] = set()
        # (instruction, whether `$` was passed, loops whose current iteration has consumed no row)
        waiting: list[tuple[int, bool, frozenset[int]]] = [(entry, False, frozenset())]
        while waiting:
            at, at_end, idle = waiting.pop()
            # A state reached without `$` needn't be tried again under the stronger condition.
            if (at, at_end, idle) in seen or (at, False, idle) in seen:
                continue
            seen.add((at, at_end, idle))
            instruction = self.program[at]
            match instruction.kind:
                case InstructionKind.CONSUME:
                    if not at_end:
                        reached.setdefault(at)
                case InstructionKind.ACCEPT:
                    if ACCEPT not in reached:
                        reached.setdefault(ACCEPT_AT_END if at_end else ACCEPT)
                case InstructionKind.AT_START:
                    if at_start:
                        waiting.append((instruction.next[0], at_end, idle))
                case InstructionKind.AT_END:
                    waiting.append((instruction.next[0], True, idle))
                case InstructionKind.SPLIT if instruction.loop_exit is not None and at in idle:
                    waiting.append((instruction.loop_exit, at_end, idle - {at}))
                case InstructionKind.SPLIT:
                    for target in reversed(instruction.next):
                        enters = instruction.loop_exit is not None and target != instruction.loop_exit
                        waiting.append((target, at_end, idle | {at} if enters else idle))
        return list(reached)
