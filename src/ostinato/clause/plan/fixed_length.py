"""Pattern -> its variables, if every match has the same; condition over the run -> condition over neighbours.

In a pattern of fixed length, every row of the match lies at a known distance. `PATTERN (A B C)` with `C AS price <
A.price`: when C is tried, A is two rows back. Conditions over the run become conditions over neighbours, one for each
offset in the pattern, and no automaton runs.
"""

from __future__ import annotations

from ostinato.clause.plan.navigations import NULL, null_like
from ostinato.clause.query.pattern import Concat, Exclusion, Pattern, Quantified, Variable
from ostinato.expressions.syntax import Anchor, Expr, Navigation, rebuild, string_literal, with_label

LONGEST = 1_000
"""Patterns longer than this are left to the automaton."""


def fixed_sequence(pattern: Pattern) -> tuple[str, ...] | None:
    """The variables, one a row, if every match has the same ones; None otherwise."""
    match pattern:
        case Variable(name):
            return (name,)
        case Exclusion(body):
            return fixed_sequence(body)
        case Quantified(body, at_least, at_most) if at_least == at_most and at_least <= LONGEST:
            inner = fixed_sequence(body)
            return None if inner is None or len(inner) * at_least > LONGEST else inner * at_least
        case Concat(parts):
            sequences = [fixed_sequence(element) for element in parts]
            if any(sequence is None for sequence in sequences):
                return None
            joined = tuple(name for sequence in sequences if sequence is not None for name in sequence)
            return joined if len(joined) <= LONGEST else None
        case _:
            return None


def at_offset(condition: Expr, sequence: tuple[str, ...], offset: int) -> Expr:
    """The condition of the variable `sequence[offset]`, with navigations over the run as fixed distances."""

    def resolve(expr: Expr) -> Expr:
        if not isinstance(expr, Navigation):
            return rebuild(expr, resolve)
        candidates = [i for i in range(offset + 1) if expr.rows is None or sequence[i] in expr.rows]
        if expr.skip >= len(candidates):
            return Navigation(null_like(with_label(expr.operand, string_literal(""))), None, Anchor.LAST)
        target = candidates[expr.skip] if expr.anchor is Anchor.FIRST else candidates[-1 - expr.skip]
        reached = target + expr.shift
        # A label is known for the rows matched so far, and NULL elsewhere.
        label = string_literal(sequence[reached]) if 0 <= reached <= offset else NULL
        return Navigation(with_label(expr.operand, label), None, Anchor.LAST, shift=reached - offset, span=expr.span)

    return resolve(condition)
