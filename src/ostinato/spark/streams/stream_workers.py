"""What tasks of streams have in common: their definition beside the state, the core that a Python worker keeps from one
batch to the next, and the column that says when a row was decided."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

import pyarrow as pa

from ostinato.errors import MatchError
from ostinato.rows.column_names import DECIDED
from ostinato.spark.streams.stream_processor import BucketTask

Task = TypeVar("Task", bound=BucketTask)


@dataclass(frozen=True, slots=True, eq=False)
class ByDefinition(Generic[Task]):
    """A task as a key: every batch brings a new copy of it."""

    task: Task

    def __hash__(self) -> int:
        return hash(self.task.definition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByDefinition) and bool(other.task.definition == self.task.definition)


FORMAT = 1
"""Of definitions."""


def definition_json(kind: str, values: dict[str, Any]) -> str:
    """Plain values, and dataclasses of such, as they are kept beside a state."""
    plain = {name: asdict(value) if hasattr(value, "__dataclass_fields__") else value for name, value in values.items()}
    return json.dumps({"format": FORMAT, "kind": kind, **plain}, sort_keys=True)


def check_format(form: Any, reads: int) -> None:
    """Raises for what another version wrote."""
    if form != reads:
        raise MatchError(
            "STATE_FORMAT",
            f"the state was written in format {form}, this version reads format {reads}",
            hint="use the version of Ostinato that wrote it",
        )


def digest(kept: Any) -> str:
    """Of plain values: differs where they do."""
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:32]


def check_same(task: BucketTask, fingerprint: str) -> None:
    """Raises where a definition that was kept is planned in another way now."""
    if task.fingerprint != fingerprint:
        raise MatchError(
            "STATE_OF_OTHER_QUERY",
            "this version of Ostinato or Spark would keep other columns than the stream did",
            hint="use the versions of Spark and Ostinato that the stream ran with",
        )


def with_decided(table: pa.Table, decided_us: int) -> pa.Table:
    """The table with when its rows were decided; Spark's first watermark is 0."""
    place = table.schema.get_field_index(DECIDED)
    field = table.schema.field(place)
    decided = pa.repeat(pa.scalar(max(decided_us, 0), pa.int64()), table.num_rows)
    return table.set_column(place, field, decided.cast(field.type))
