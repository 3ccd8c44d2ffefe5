"""What the workers of a stream need: one task for each operator, sent to the executors with every batch."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.rows.column_names import DECIDED
from ostinato.streams.step import StreamCore

FIRST_WATERMARK_US = 0
"""Spark's first watermark. Rows with an earlier decision time would be late for operators that follow."""


@dataclass(frozen=True, slots=True)
class BucketTask(ABC):
    """One query, or several that share an operator. The driver loads no kernel: `new_core` is called by workers."""

    shipped: pa.Schema
    """The columns that arrive."""
    output: pa.Schema
    """The columns that leave."""
    fingerprint: str
    definition: str
    """As JSON; every bucket keeps it beside its state."""

    @abstractmethod
    def new_core(self) -> StreamCore[Any]:
        """The query, ready to run."""

    @abstractmethod
    def rows(self, results: Any) -> pa.Table:
        """The results of a step as they leave."""

    @property
    def worker(self) -> Any:
        """The core that a Python worker keeps for all batches that it serves."""
        return _core(_ByDefinition(self))


@dataclass(frozen=True, slots=True, eq=False)
class _ByDefinition:
    """A task as a key: every batch brings a new copy of it."""

    task: BucketTask

    def __hash__(self) -> int:
        return hash(self.task.definition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByDefinition) and other.task.definition == self.task.definition


@functools.lru_cache(maxsize=8)
def _core(key: _ByDefinition) -> StreamCore[Any]:
    return key.task.new_core()


def with_decided(table: pa.Table, decided_us: int) -> pa.Table:
    """The table with the moment at which its rows were decided."""
    position = table.schema.get_field_index(DECIDED)
    field = table.schema.field(position)
    decided = pa.repeat(pa.scalar(max(decided_us, FIRST_WATERMARK_US), pa.int64()), table.num_rows)
    return table.set_column(position, field, decided.cast(field.type))
