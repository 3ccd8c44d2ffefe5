"""Options of a clause on Spark, checked before a plan is made. No pyspark here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

from ostinato.calls.id_columns import NO_IDS, IdColumns
from ostinato.calls.options import one_of, whole_number
from ostinato.clause.plan.typed_plan import Limits
from ostinato.streams.stream_settings import StreamSettings

T = TypeVar("T")
SortBy = Literal["auto", "worker", "spark"]
Skew = Literal["hash", "slice"]
MEMORY_BUDGET_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """`sort`: who sorts the rows of a key. `memory_budget`: with sort="auto", Spark sorts larger tasks, in bytes.

    `skew`: one task matches all rows of a key ("hash"), or the rows of all keys are cut into ranges ("slice").
    """

    sort: SortBy = "auto"
    memory_budget: int = MEMORY_BUDGET_BYTES
    skew: Skew = "hash"

    def __post_init__(self) -> None:
        one_of("sort", self.sort, get_args(SortBy))
        whole_number("memory_budget", self.memory_budget)
        one_of("skew", self.skew, get_args(Skew))


@dataclass(frozen=True, slots=True)
class ClauseOptions:
    """The options of a caller."""

    limits: Limits = Limits()
    batch: BatchOptions = BatchOptions()
    stream: StreamSettings = StreamSettings()
    ids: IdColumns = NO_IDS

    def changed(self, changes: Mapping[str, Any]) -> ClauseOptions:
        """The options with some of them changed, by their names."""

        def part(one: T) -> T:
            of_part = {name: value for name, value in changes.items() if name in one.__slots__}  # type: ignore[attr-defined]
            return replace(one, **of_part)  # type: ignore[type-var]

        return ClauseOptions(part(self.limits), part(self.batch), part(self.stream), part(self.ids))


DEFAULT_OPTIONS = ClauseOptions()
