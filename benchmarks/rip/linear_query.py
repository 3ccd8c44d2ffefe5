"""A query of the paper -> tables for the comparators' kernels. No rows here.

The paper's patterns are variables in a row, each once, `?`, `*` or `+`; its conditions are conjunctions that compare
the row's price with a number, with the row before, or with the row of a variable that stands once. Anything else is
refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.queries import MAX_LENGTH, Mode, PatternQuery
from benchmarks.rip.kernels import AT_LEAST, AT_MOST, LESS, MORE, NUMBER, ROW_BEFORE
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.pattern import Concat, Pattern, Quantified, Variable
from ostinato.expressions.syntax import Anchor, Column, Expr, Literal, Navigation, Operator

_COMPARISONS = {"<": LESS, "<=": AT_MOST, ">": MORE, ">=": AT_LEAST}

COLUMN = "price"


class States(NamedTuple):
    """One state a variable, in their order; state i has comparisons `compared_at[i]:compared_at[i + 1]`."""

    optional: NDArray[np.bool_]
    """`*` or `?`: a run may pass it by."""
    loops: NDArray[np.bool_]
    """`*` or `+`: a run may stay."""
    compared_at: NDArray[np.int32]
    comparison: NDArray[np.int32]
    other: NDArray[np.int32]
    number: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LinearQuery:
    """A query as the comparators run it: all matches, none longer than `max_length`."""

    name: str
    variables: tuple[str, ...]
    states: States
    max_length: int

    @property
    def shared_rows(self) -> int:
        """s, the part that neighbouring slices share: k - 1 for fixed length or MAXLENGTH k."""
        is_fixed = not (self.states.loops.any() or self.states.optional.any())
        return (len(self.variables) if is_fixed else self.max_length) - 1


class NotLinear(ValueError):
    """The comparators can't run this query."""


@dataclass(frozen=True, slots=True)
class _Comparison:
    comparison: int
    other: int
    number: float = 0.0


def linear_query(query: PatternQuery, max_length: int = MAX_LENGTH) -> LinearQuery:
    """Raises NotLinear."""
    bound = bind(parse_clause(query.clause(Mode.ALL, max_length=max_length)), ["ts", COLUMN])
    steps = [_step(part) for part in _parts(bound.clause.pattern)]
    names = tuple(name for name, _, _ in steps)
    once = {name: i for i, (name, optional, loops) in enumerate(steps) if not (optional or loops)}
    if len(set(names)) < len(names) or not {names[0], names[-1]} <= once.keys():
        raise NotLinear(f"{query.name}: variables must differ, and the first and the last stand once")
    lists = [
        _comparisons(bound.conditions.get(name), name, {other: at for other, at in once.items() if at < place})
        for place, name in enumerate(names)
    ]
    flat = [comparison for comparisons in lists for comparison in comparisons]
    states = States(
        optional=np.array([optional for _, optional, _ in steps], np.bool_),
        loops=np.array([loops for _, _, loops in steps], np.bool_),
        compared_at=np.cumsum([0, *(len(comparisons) for comparisons in lists)], dtype=np.int32),
        comparison=np.array([one.comparison for one in flat], np.int32),
        other=np.array([one.other for one in flat], np.int32),
        number=np.array([one.number for one in flat], np.float64),
    )
    return LinearQuery(query.name, names, states, max_length)


def _parts(pattern: Pattern) -> tuple[Pattern, ...]:
    return pattern.parts if isinstance(pattern, Concat) else (pattern,)


def _step(part: Pattern) -> tuple[str, bool, bool]:
    """A variable's name, and whether it may be passed by or repeated."""
    match part:
        case Variable(name=name):
            return name, False, False
        case Quantified(body=Variable(name=name), at_least=0 | 1 as at_least, at_most=1 | None as at_most):
            return name, at_least == 0, at_most is None
    raise NotLinear(f"not a variable with ?, * or +: {part}")


def _comparisons(condition: Expr | None, name: str, before: dict[str, int]) -> list[_Comparison]:
    """`before` holds the states of the variables that a run has passed once."""
    if condition is None:
        return []
    if isinstance(condition, Operator) and condition.op == "and":
        return [one for part in condition.args for one in _comparisons(part, name, before)]
    match condition:
        case Operator(op=op, args=(Navigation() as left, right)) if op in _COMPARISONS and _is_row(left, name):
            return [_with_other(_COMPARISONS[op], right, name, before)]
    raise NotLinear(f"not a comparison of the row's own {COLUMN}: {condition}")


def _with_other(comparison: int, right: Expr, name: str, before: dict[str, int]) -> _Comparison:
    match right:
        case Literal(kind="number", text=text):
            return _Comparison(comparison, NUMBER, float(text))
        case Navigation() if _is_row(right, name, shift=-1):
            return _Comparison(comparison, ROW_BEFORE)
        case Navigation(rows=frozenset(rows)) if len(rows) == 1:
            (other,) = rows
            if other in before and _is_row(right, other):
                return _Comparison(comparison, before[other])
    raise NotLinear(f"neither a number, nor the row before, nor a variable that stands once before: {right}")


def _is_row(place: Navigation, name: str, shift: int = 0) -> bool:
    """Whether it is the price of the variable's last row, or of a row so far from it."""
    return place == Navigation(Column(COLUMN), frozenset((name,)), Anchor.LAST, skip=0, shift=shift, final=False)
