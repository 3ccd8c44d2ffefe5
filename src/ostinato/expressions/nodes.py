"""Typed nodes: expressions whose types are known, ready to run over a Frame of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.errors import MatchError, QueryError, Span
from ostinato.expressions import types as t
from ostinato.expressions.syntax import Expr
from ostinato.expressions.types import Settings
from ostinato.expressions.values.vectors import Bools, Vector, both_valid, nulls_of
from ostinato.kernels.stopping import check_stopped


@dataclass(slots=True)
class Frame:
    """The rows under evaluation: `leaf` gives the caller's columns, each asked for once."""

    length: int
    leaf: Callable[[Expr], Vector]
    seen: dict[int, Vector] = field(default_factory=dict)

    def column(self, node: Expr) -> Vector:
        if id(node) not in self.seen:
            self.seen[id(node)] = self.leaf(node)
        return self.seen[id(node)]

    def select(self, rows: npt.NDArray[np.intp]) -> Frame:
        """A frame of these rows only, for branches that other rows must not reach."""
        return Frame(len(rows), lambda node: self.column(node).take(rows))


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression with its type; `constant` holds the value of a literal. `run` may give one value for all rows."""

    type: pa.DataType
    run: Callable[[Frame], Vector]
    constant: Vector | None = None
    span: Span | None = None
    days_only: bool = False
    """An INTERVAL DAY: Spark keeps that in the type, Arrow doesn't; a date plus one stays a date."""


@dataclass(frozen=True, slots=True)
class Site:
    """A function or operator in the text: its errors name it and point at it."""

    name: str
    settings: Settings
    span: Span | None = None
    attempt: bool = False
    """TRY_CAST: the rules of ANSI, with NULL in place of an error."""

    def mismatch(self, message: str, hint: str | None = None) -> QueryError:
        return QueryError("TYPE_MISMATCH", message, hint=hint, span=self.span)

    def fault(self, code: str, message: str, hint: str | None = None) -> MatchError:
        return MatchError(code, message, hint=hint, span=self.span)


Kernel = Callable[..., Vector]
"""kernel(site, result type, *vectors) -> Vector."""


@dataclass(frozen=True, slots=True)
class Function:
    """One entry of the function table: how many arguments, and the type rule that also picks the implementation."""

    at_least: int
    at_most: int | None
    plan: Callable[[Site, Sequence[Typed]], Typed]


def constant(vector: Vector, span: Span | None = None) -> Typed:
    return Typed(vector.type, lambda frame: vector, vector, span)


def eager(site: Site, kind: pa.DataType, kernel: Kernel, args: Sequence[Typed]) -> Typed:
    """A node that runs all its arguments and then the kernel."""

    def run(frame: Frame) -> Vector:
        check_stopped()
        result = kernel(site, kind, *[arg.run(frame) for arg in args])
        if result.valid is None or len(result.valid) == len(result.values):
            return result
        length = max(len(result.valid), len(result.values))  # one of them was decided by constants alone
        return Vector(kind, result.expanded(length).values, np.broadcast_to(result.valid, length))

    return Typed(kind, run, span=site.span)


def strict(kernel: Kernel) -> Kernel:
    """The kernel with Spark's usual NULL rule: any NULL argument gives NULL; it is spared all-NULL constants."""

    def guarded(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        if any(len(vector) == 1 and vector.valid is not None and not vector.valid[0] for vector in vectors):
            return nulls_of(kind)
        return kernel(site, kind, *vectors)

    return guarded


def fail_where(bad: Bools, valid: Bools | None, error: Callable[[], MatchError]) -> None:
    """Raise if a row is bad that isn't NULL anyway."""
    if bad.any() and (valid is None or bool((bad & valid).any())):
        raise error()


def null_where(bad: Bools, valid: Bools | None) -> Bools | None:
    """The validity with the bad rows made NULL."""
    if not bad.any():
        return valid
    return ~bad if valid is None else valid & ~bad


def checked(site: Site, bad: Bools, valid: Bools | None, code: str, message: str) -> Bools | None:
    """Bad rows raise under ANSI and are NULL otherwise."""
    if site.settings.ansi and not site.attempt:
        fail_where(bad, valid, lambda: site.fault(code, message, ANSI_HINT))
        return valid
    return null_where(bad, valid)


ANSI_HINT = "with spark.sql.ansi.enabled=false the result is NULL (or wraps around)"

__all__ = [
    "ANSI_HINT", "Frame", "Function", "Kernel", "Site", "Typed", "both_valid", "checked", "constant", "eager",
    "fail_where", "null_where", "strict", "t",
]  # fmt: skip
