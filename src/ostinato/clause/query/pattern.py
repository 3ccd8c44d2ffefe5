"""The row pattern: a regular expression over pattern variables, as a tree of frozen nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import assert_never

from ostinato.errors import Span

MAX_BOUND = 2**31 - 1
"""The largest number a quantifier may name (SQL:2016)."""


@dataclass(frozen=True, slots=True)
class Variable:
    """One occurrence of a primary pattern variable; `name` is already folded to its canonical case."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Concat:
    parts: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The options in the order of preference."""

    options: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Quantified:
    """`body` from `at_least` to `at_most` times (None: without end); `greedy` prefers more."""

    body: Pattern
    at_least: int
    at_most: int | None
    greedy: bool = True


@dataclass(frozen=True, slots=True)
class Permute:
    """All elements once, in any order; the orders are preferred lexicographically as listed."""

    elements: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class Exclusion:
    """`{- body -}`: matched, but left out of the rows shown by ALL ROWS PER MATCH."""

    body: Pattern


@dataclass(frozen=True, slots=True)
class Empty:
    """`()`: matches no row, everywhere."""


@dataclass(frozen=True, slots=True)
class PartitionStart:
    """`^`: matches no row, before the first row of the partition."""

    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PartitionEnd:
    """`$`: matches no row, after the last row of the partition."""

    span: Span | None = field(default=None, compare=False, repr=False)


Pattern = Variable | Concat | Alternation | Quantified | Permute | Exclusion | Empty | PartitionStart | PartitionEnd


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    match pattern:
        case Variable() | Empty() | PartitionStart() | PartitionEnd():
            return ()
        case Concat(parts):
            return parts
        case Alternation(options):
            return options
        case Permute(elements):
            return elements
        case Quantified(body=body) | Exclusion(body=body):
            return (body,)
        case _:
            assert_never(pattern)


def walk(pattern: Pattern) -> Iterator[Pattern]:
    """The node and all below it, left to right. Iterative: patterns nest deeper than Python's stack."""
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(children(node)))


def variables(pattern: Pattern) -> tuple[str, ...]:
    """The primary variables in the order of their first occurrence."""
    return tuple(dict.fromkeys(node.name for node in walk(pattern) if isinstance(node, Variable)))
