"""Values or types by column name -> the leaf function that `evaluate` and `type_of` call for every node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from ostinato.expressions.syntax import Column, Expr

Entry = TypeVar("Entry")


def by_column_name(entries: Mapping[str, Entry]) -> Callable[[Expr], Entry | None]:
    """The entry of a column; None for any other node, which is then evaluated from its operands."""
    return lambda node: entries.get(node.name) if isinstance(node, Column) else None
