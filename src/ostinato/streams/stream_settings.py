"""Options of a stream, checked before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ostinato.calls.options import a_text, one_of, true_or_false, whole_number

Late = Literal["drop", "show"]


DEFAULT_BUCKETS = 64
"""A constant, not a multiple of the session's partitions: a restart elsewhere must find the same buckets."""


MOST_BUCKETS = 2**31 - 1
"""Spark numbers them as INT."""


LATE_COLUMN = "late"
"""The output column that marks late rows where they are shown."""


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Options of `ost.sql` and `ost.match_recognize` for streams only."""

    late: Late = "drop"
    """Whether late rows (behind the watermark) are dropped or shown; they are counted in any case."""
    eager: bool = False
    """Whether rows are matched as they arrive, without waiting for the watermark. The stream must be in order; rows of
    one time that arrive in different steps are matched in the order of arrival."""
    buckets: int = DEFAULT_BUCKETS
    """The number of groups into which keys are hashed; fixed for the life of a checkpoint."""
    decision_time: str | None = None
    """The name of an output column to add, with the decision time of the row, for operators that follow."""

    def __post_init__(self) -> None:
        one_of("late", self.late, get_args(Late))
        true_or_false("eager", self.eager)
        whole_number("buckets", self.buckets, most=MOST_BUCKETS)
        if self.decision_time is not None:
            a_text("decision_time", self.decision_time, hint="the name of a column to add")

    @property
    def is_default(self) -> bool:
        return self == StreamSettings()
