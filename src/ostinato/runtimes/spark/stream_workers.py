"""The core of a stream, kept by a Python worker from one batch to the next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ostinato.runtimes.spark.stream_processor import BucketTask

Task = TypeVar("Task", bound=BucketTask)


@dataclass(frozen=True, slots=True, eq=False)
class ByDefinition(Generic[Task]):
    """A task as a key: every batch brings a new copy of it."""

    task: Task

    def __hash__(self) -> int:
        return hash(self.task.definition)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByDefinition) and bool(other.task.definition == self.task.definition)
