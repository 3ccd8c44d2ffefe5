"""Options of a clause on Spark, checked before a plan is made. No pyspark here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar, get_args

from ostinato.calls.id_columns import NO_IDS, IdColumns
from ostinato.calls.options import one_of, whole_number
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import QueryError
from ostinato.streams.stream_settings import StreamSettings

T = TypeVar("T")
SortBy = Literal["auto", "worker", "spark"]
Skew = Literal["hash", "slice"]
End = Literal["final", "open"]
MEMORY_BUDGET_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """`sort`: who sorts the rows of a key. `memory_budget`: with sort="auto", Spark sorts larger tasks, in bytes.

    `skew`: one task matches all rows of a key ("hash"), or the rows of all keys are cut into ranges ("slice").
    `end`: the last row is the end of the input ("final"), or more rows follow ("open"): matches that they may change
    are left out.
    """

    sort: SortBy = "auto"
    memory_budget: int = MEMORY_BUDGET_BYTES
    skew: Skew = "hash"
    end: End = "final"

    def __post_init__(self) -> None:
        one_of("sort", self.sort, get_args(SortBy))
        whole_number("memory_budget", self.memory_budget)
        one_of("skew", self.skew, get_args(Skew))
        one_of("end", self.end, get_args(End))
        if self.end == "open" and replace(self, end="final") != BatchOptions():
            raise QueryError(
                "INVALID_OPTION",
                'sort, memory_budget and skew are for batches with end="final"',
                hint='with end="open", Spark sorts and each task matches whole keys: leave them out',
            )


@dataclass(frozen=True, slots=True)
class ClauseOptions:
    """The options of a caller."""

    limits: Limits = Limits()
    batch: BatchOptions = BatchOptions()
    stream: StreamSettings = StreamSettings()
    ids: IdColumns = NO_IDS
    history: Any = None
    """The archive, a batch DataFrame, after which a stream starts."""

    def changed(self, changes: Mapping[str, Any]) -> ClauseOptions:
        """The options with some of them changed, by their names."""

        def part(one: T) -> T:
            of_part = {name: value for name, value in changes.items() if name in one.__slots__}  # type: ignore[attr-defined]
            return replace(one, **of_part)  # type: ignore[type-var]

        history = changes.get("history", self.history)
        return ClauseOptions(part(self.limits), part(self.batch), part(self.stream), part(self.ids), history)


DEFAULT_OPTIONS = ClauseOptions()
