"""The task of a stream operator: it is sent to the executors with every batch, and makes the core there."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import MatchError
from ostinato.rows.column_names import DECIDED
from ostinato.streams.bucket_state import OTHER_QUERY, BucketState, other_query
from ostinato.streams.step import StreamCore
from ostinato.streams.stored_definition import definition_changes

T = TypeVar("T")

FIRST_WATERMARK_US = 0
"""Spark's first watermark. Rows with an earlier decision time would be late for operators that follow."""


@dataclass(frozen=True, slots=True)
class BucketTask(ABC):
    """One query, or several that share an operator. Only workers call `new_core`: the driver loads no kernel."""

    shipped: pa.Schema
    """The columns of arriving rows."""
    output: pa.Schema
    """The columns of output rows."""
    fingerprint: str
    definition: str
    """As JSON. Every bucket stores it beside its state."""

    @abstractmethod
    def new_core(self) -> StreamCore[Any]:
        """The core that runs the query."""

    def carried_over(self, state: BucketState, stored: str) -> BucketState:
        """The state of a bucket that has another definition. Raises STATE_OF_OTHER_QUERY with the differences, unless a
        system can go on with it."""
        raise other_query("; ".join(definition_changes(stored, self.definition)) or "its fingerprint differs")

    @abstractmethod
    def rows(self, results: Any) -> pa.Table:
        """The output rows of a step."""

    @property
    def core_key(self) -> object:
        """Tasks with equal keys share a core. Every batch brings a new copy of the task."""
        return self.definition

    @property
    def worker(self) -> Any:
        """The core. A Python worker makes it once for all batches."""
        return _core(_ByKey(self))


@dataclass(frozen=True, slots=True, eq=False)
class _ByKey:
    """A task as a key of the cache."""

    task: BucketTask

    def __hash__(self) -> int:
        return hash(self.task.core_key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByKey) and other.task.core_key == self.task.core_key


@functools.lru_cache(maxsize=8)
def _core(key: _ByKey) -> StreamCore[Any]:
    return key.task.new_core()


def with_changes(
    task: BucketTask, advance: Callable[..., T], state: BucketState, stored: Callable[[], str | None]
) -> tuple[T, bool]:
    """The outcome of `advance(state)`, and whether the state was carried over from another definition first."""
    try:
        return advance(state), False
    except MatchError as error:
        definition = stored() if error.code in (OTHER_QUERY, "STATE_FORMAT") else None
        # Another query may lay out its state in another way (emit="early" does), which looks like damage.
        if definition is None or (error.code != OTHER_QUERY and not definition_changes(definition, task.definition)):
            raise
    return advance(task.carried_over(state, definition), all_keys=True), True


def with_decided(table: pa.Table, decided_us: int) -> pa.Table:
    """The table with the decision time of its rows."""
    position = table.schema.get_field_index(DECIDED)
    field = table.schema.field(position)
    decided = pa.repeat(pa.scalar(decided_us, pa.int64()), table.num_rows).cast(field.type)
    return table.set_column(position, field, from_first_watermark(decided))


def from_first_watermark(decided: pa.Array) -> pa.Array:
    """The decision times. Those before Spark's first watermark are moved to it: a first batch may have such rows."""
    return pc.max_element_wise(decided.view(pa.int64()), FIRST_WATERMARK_US).view(decided.type)
