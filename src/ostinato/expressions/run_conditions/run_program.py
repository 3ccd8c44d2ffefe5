"""The program of a query's conditions over the run: columns, registers, accumulators, code. It holds no rows.

`lowering.py` makes it once per query. Workers receive it, and `run_columns.py` ties it to the columns of a batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from ostinato.expressions.run_conditions.opcodes import AccumulatorRule, RegisterRule
from ostinato.expressions.syntax import Expr


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column that conditions read: an expression over one row, and the form of its values in the kernel."""

    operand: Expr
    type: pa.DataType
    store: str
    """`whole` and `real` are numbers. `rank` is the position of a value among all values of its type, for types that
    can only be compared. `hash` is a real number for a text, the same in every process."""


@dataclass(frozen=True, slots=True)
class Register:
    """A row number, updated with each consumed row. `rows` are the variables that count; None means all."""

    keep: RegisterRule
    rows: frozenset[str] | None
    source: int = -1


@dataclass(frozen=True, slots=True)
class Accumulator:
    """A running total; `columns` holds for each variable the column to add, or -1 where its rows don't count."""

    total: AccumulatorRule
    columns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RunProgram:
    """Condition i is the AND of the conjuncts from `first[i]` to before `first[i + 1]`. The code of conjunct c is
    `code[entry[c] : entry[c + 1]]`. Values have the numbers after the conditions, with one entry each."""

    variables: tuple[str, ...]
    columns: tuple[ColumnUse, ...]
    registers: tuple[Register, ...]
    accumulators: tuple[Accumulator, ...]
    code: tuple[tuple[int, int, int, int], ...]
    first: tuple[int, ...]
    entry: tuple[int, ...]
    reals: tuple[float, ...]
    texts: tuple[tuple[str, object], ...]
    """Constants that are compared by rank: the type's name and the value."""
