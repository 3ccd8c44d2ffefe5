"""Pattern -> simpler pattern with the same matches in the same order of preference. Pure passes, listed in PASSES."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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

Pass = Callable[[Pattern], Pattern]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """One pass that changed something, for EXPLAIN."""

    name: str
    pattern: Pattern


def map_children(pattern: Pattern, change: Pass) -> Pattern:
    match pattern:
        case Variable() | Empty() | PartitionStart() | PartitionEnd():
            return pattern
        case Concat(parts):
            return Concat(tuple(change(element) for element in parts))
        case Alternation(options):
            return Alternation(tuple(change(option) for option in options))
        case Permute(elements):
            return Permute(tuple(change(element) for element in elements))
        case Quantified() | Exclusion():
            return replace(pattern, body=change(pattern.body))
        case _:
            assert_never(pattern)


def flatten(pattern: Pattern) -> Pattern:
    """`(A B) C` is `A B C`, `(A | B) | C` is `A | B | C`; a group of one is its content."""
    pattern = map_children(pattern, flatten)
    match pattern:
        case Concat(parts):
            flat = tuple(
                inner for element in parts for inner in (element.parts if isinstance(element, Concat) else (element,))
            )
            return flat[0] if len(flat) == 1 else Concat(flat)
        case Alternation(options):
            options = tuple(
                inner
                for option in options
                for inner in (option.options if isinstance(option, Alternation) else (option,))
            )
            return options[0] if len(options) == 1 else Alternation(options)
        case Permute(elements) if len(elements) == 1:
            return elements[0]
        case _:
            return pattern


def drop_empty(pattern: Pattern) -> Pattern:
    """The empty pattern adds nothing to a sequence; repeated, it stays empty."""
    pattern = map_children(pattern, drop_empty)
    match pattern:
        case Concat(parts):
            elements = tuple(element for element in parts if not isinstance(element, Empty))
            return Concat(elements) if len(elements) > 1 else elements[0] if elements else Empty()
        case Quantified(body=Empty()) | Exclusion(body=Empty()):
            return Empty()
        case _:
            return pattern


def drop_repeated_options(pattern: Pattern) -> Pattern:
    """`A | B | A` is `A | B`: an option that failed once fails again."""
    pattern = map_children(pattern, drop_repeated_options)
    if isinstance(pattern, Alternation):
        options = tuple(dict.fromkeys(pattern.options))
        return options[0] if len(options) == 1 else Alternation(options)
    return pattern


def merge_quantifiers(pattern: Pattern) -> Pattern:
    """`(A*)*`, `(A+)*`, `(A*)+`, `(A+)+` are one loop if both are greedy, so that the order stays. `A{1}` is `A`."""
    pattern = map_children(pattern, merge_quantifiers)
    match pattern:
        case Quantified(body, 1, 1):
            return body
        case Quantified(Quantified(inner, low, None, True), at_least, None, True) if low <= 1 and at_least <= 1:
            return Quantified(inner, low * at_least, None, True)
        case _:
            return pattern


PASSES: tuple[Pass, ...] = (flatten, drop_empty, drop_repeated_options, merge_quantifiers, flatten)


def rewrite(pattern: Pattern) -> tuple[Pattern, tuple[Rewrite, ...]]:
    """The simplified pattern, and the result of each pass that changed it."""
    steps = []
    for step in PASSES:
        changed = step(pattern)
        if changed != pattern:
            steps.append(Rewrite(step.__name__, changed))
        pattern = changed
    return pattern, tuple(steps)
