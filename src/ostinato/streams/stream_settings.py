"""What a caller may set for a stream, and what is refused before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ostinato.calls.options import a_text, one_of, true_or_false, whole_number

Late = Literal["drop", "show"]


DEFAULT_BUCKETS = 64
"""A constant, not a multiple of the session's partitions: state must be found again after a restart elsewhere."""


MOST_BUCKETS = 2**31 - 1
"""Spark numbers them as INT."""


LATE_COLUMN = "late"
"""The output column that marks late rows where they are shown."""


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Options of `ost.sql` and `ost.match_recognize` that only a stream knows."""

    late: Late = "drop"
    """What becomes of rows that come behind the watermark; they are counted in any case."""
    eager: bool = False
    """The stream is ordered by construction: rows are matched as they come, without waiting for the watermark."""
    buckets: int = DEFAULT_BUCKETS
    """Into how many groups the keys are hashed; fixed for the life of a checkpoint."""
    decision_time: str | None = None
    """The name of an output column to add: when a row could be known, for operators that follow."""

    def __post_init__(self) -> None:
        one_of("late", self.late, get_args(Late))
        true_or_false("eager", self.eager)
        whole_number("buckets", self.buckets, most=MOST_BUCKETS)
        if self.decision_time is not None:
            a_text("decision_time", self.decision_time, hint="the name of a column to add")

    @property
    def is_default(self) -> bool:
        return self == StreamSettings()
