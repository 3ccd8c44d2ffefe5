"""Pattern -> every path that matches it from one row, lazily, preferred first. Reads no rows, only their number."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import assert_never

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


@dataclass(frozen=True, slots=True)
class Label:
    """The variable of one row of a match. ALL ROWS PER MATCH doesn't output `excluded` rows."""

    variable: str
    excluded: bool = False


Path = tuple[Label, ...]
"""The labels of the rows from the start of the match on, one a row."""


@dataclass(frozen=True, slots=True)
class Search:
    """Matching from the row `start` of a partition of `size` rows.

    `admits(path)` says whether the last row of the path may have its label, given the labels before it.
    """

    start: int
    size: int
    admits: Callable[[Path], bool]


def in_preferment_order(pattern: Pattern, search: Search) -> Iterator[Path]:
    """Every match of the pattern that starts at the row; the same path may come more than once.

    >>> a_or_not = Quantified(Variable("A"), 0, 1)
    >>> anything = Search(start=0, size=3, admits=lambda path: True)
    >>> [len(path) for path in in_preferment_order(a_or_not, anything)]
    [1, 0]
    """
    return _extensions(pattern, (), False, search)


def _extensions(pattern: Pattern, path: Path, excluded: bool, search: Search) -> Iterator[Path]:
    """Every path that extends `path` by a match of the pattern."""
    here = search.start + len(path)
    match pattern:
        case Variable(name):
            longer = (*path, Label(name, excluded))
            if here < search.size and search.admits(longer):
                yield longer
        case Empty():
            yield path
        case PartitionStart():
            if here == 0:
                yield path
        case PartitionEnd():
            if here == search.size:
                yield path
        case Concat(elements):
            yield from _one_after_the_other(elements, path, excluded, search)
        case Alternation(options):
            for option in options:
                yield from _extensions(option, path, excluded, search)
        case Permute(elements):
            for order in permutations(elements):  # in the lexicographic order of the positions
                yield from _one_after_the_other(order, path, excluded, search)
        case Exclusion(body):
            yield from _extensions(body, path, True, search)
        case Quantified():
            yield from _repeated(pattern, 0, path, excluded, search)
        case _:
            assert_never(pattern)


def _one_after_the_other(elements: tuple[Pattern, ...], path: Path, excluded: bool, search: Search) -> Iterator[Path]:
    if not elements:
        yield path
        return
    for longer in _extensions(elements[0], path, excluded, search):
        yield from _one_after_the_other(elements[1:], longer, excluded, search)


def _repeated(loop: Quantified, done: int, path: Path, excluded: bool, search: Search) -> Iterator[Path]:
    """The loop after `done` iterations: a greedy one prefers to go on, a reluctant one to stop."""
    may_stop = done >= loop.at_least
    may_go_on = loop.at_most is None or done < loop.at_most
    if may_stop and not loop.greedy:
        yield path
    if may_go_on:
        for longer in _extensions(loop.body, path, excluded, search):
            # Past the minimum, an iteration without a row is the last one. An unbounded loop would never end otherwise.
            if loop.at_most is None and may_stop and len(longer) == len(path):
                yield path
            else:
                yield from _repeated(loop, done + 1, longer, excluded, search)
    if may_stop and loop.greedy:
        yield path
