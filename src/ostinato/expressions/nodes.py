"""Typed nodes: expressions whose types are known, ready to run over a Frame of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.errors import MatchError, QueryError, Span
from ostinato.expressions.syntax import Expr
from ostinato.expressions.types import Settings
from ostinato.expressions.values.vectors import Bools, Vector, nulls_of
from ostinato.kernels.stopping import check_stopped


@dataclass(slots=True)
class Frame:
    """The rows under evaluation. `leaf` supplies the caller's columns; the frame asks for each column once."""

    length: int
    leaf: Callable[[Expr], Vector]
    _columns: dict[int, Vector] = field(default_factory=dict)
    """Columns that were asked for, by the id of their node."""

    def column(self, node: Expr) -> Vector:
        if id(node) not in self._columns:
            self._columns[id(node)] = self.leaf(node)
        return self._columns[id(node)]

    def select(self, rows: npt.NDArray[np.intp]) -> Frame:
        """A frame of these rows only, for branches that other rows must not enter."""
        return Frame(len(rows), lambda node: self.column(node).take(rows))


@dataclass(frozen=True, slots=True)
class Typed:
    """An expression with its type. `constant` is the value of a literal. `run` may return one value for all rows."""

    type: pa.DataType
    run: Callable[[Frame], Vector]
    constant: Vector | None = None
    span: Span | None = None
    days_only: bool = False
    """An INTERVAL DAY. A date plus such an interval stays a date. Spark has a type for it, Arrow hasn't."""


@dataclass(frozen=True, slots=True)
class Site:
    """A function or operator in the text. Its errors name it and have a caret there."""

    name: str
    settings: Settings
    span: Span | None = None
    attempt: bool = False
    """TRY_CAST: ANSI rules, but NULL instead of an error."""

    def mismatch(self, message: str, hint: str | None = None) -> QueryError:
        return QueryError("TYPE_MISMATCH", message, hint=hint, span=self.span)

    def fault(self, code: str, message: str, hint: str | None = None) -> MatchError:
        return MatchError(code, message, hint=hint, span=self.span)


Kernel = Callable[..., Vector]
"""kernel(site, result type, *vectors) -> Vector."""


@dataclass(frozen=True, slots=True)
class FunctionRule:
    """An entry of the function table: the number of arguments, and `plan`, which checks types and makes the node."""

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
        length = max(len(result.valid), len(result.values))  # constants alone gave one of them
        return Vector(kind, result.expanded(length).values, np.broadcast_to(result.valid, length))

    return Typed(kind, run, span=site.span)


def strict(kernel: Kernel) -> Kernel:
    """The kernel with Spark's usual rule: a NULL argument gives NULL. A constant NULL never reaches the kernel."""

    def guarded(site: Site, kind: pa.DataType, *vectors: Vector) -> Vector:
        if any(len(vector) == 1 and vector.valid is not None and not vector.valid[0] for vector in vectors):
            return nulls_of(kind)
        return kernel(site, kind, *vectors)

    return guarded


def fail_where(bad: Bools, valid: Bools | None, error: Callable[[], MatchError]) -> None:
    """Raises the error if a bad row isn't NULL."""
    if bad.any() and (valid is None or bool((bad & valid).any())):
        raise error()


def null_where(bad: Bools, valid: Bools | None) -> Bools | None:
    """The validity, with bad rows as NULL."""
    if not bad.any():
        return valid
    return ~bad if valid is None else valid & ~bad


def checked(site: Site, bad: Bools, valid: Bools | None, code: str, message: str) -> Bools | None:
    """Bad rows raise an error under ANSI and become NULL otherwise."""
    if site.settings.ansi and not site.attempt:
        fail_where(bad, valid, lambda: site.fault(code, message, ANSI_HINT))
        return valid
    return null_where(bad, valid)


ANSI_HINT = "with spark.sql.ansi.enabled=false the result is NULL (or wraps around)"
