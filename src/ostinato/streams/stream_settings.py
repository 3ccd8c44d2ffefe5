"""Options of a stream, checked before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, get_args

from ostinato.calls.options import a_text, one_of, shown, true_or_false, whole_number
from ostinato.errors import QueryError
from ostinato.expressions.intervals import parse_interval

Late = Literal["drop", "show"]
Emit = Literal["final", "early"]
OnChange = Literal["refuse", "keep"]
OnError = Literal["fail", "skip"]


DEFAULT_BUCKETS = 16
"""A constant, not a multiple of the session's partitions: a restart elsewhere must find the same buckets. Few, because
each bucket that a micro-batch touches costs some milliseconds (docs/decisions/010-stream-state-in-buckets.md)."""


MOST_BUCKETS = 2**31 - 1
"""Spark numbers them as INT."""


LATE_COLUMN = "late"
"""The output column that marks late rows where they are shown."""

STATUS_COLUMN = "status"
"""The output column with the status of a row, where preliminary rows are shown."""

OPEN, EXTENDED, FINAL, WITHDRAWN = "open", "extended", "final", "withdrawn"
"""The status of a row: a new preliminary row, a changed one, a decided row, and a preliminary row that is gone."""

LONGEST_SILENCE = timedelta(days=3_652_059)
"""10,000 years: added to any time, it fits into 64 bits."""


ERROR_COLUMN = "error"
"""The output column with the errors of rows where these don't stop the query."""


def check_on_error(value: OnError) -> None:
    """Raises INVALID_OPTION for a value that isn't one."""
    one_of("on_error", value, get_args(OnError))


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """Options of `ost.sql` and `ost.match_recognize` for streams. Batches take `on_error` too."""

    late: Late = "drop"
    """Whether late rows (behind the watermark) are dropped or shown; they are counted in any case."""
    eager: bool = False
    """Whether rows are matched as they arrive, without waiting for the watermark. The stream must be in order; rows of
    one time that arrive in different steps are matched in the order of arrival."""
    buckets: int = DEFAULT_BUCKETS
    """The number of groups into which keys are hashed; fixed for the life of a checkpoint."""
    decision_time: str | None = None
    """The name of an output column to add, with the decision time of the row, for operators that follow."""
    forget_keys_after: str | None = None
    """A key without rows for longer than this ends as at the end of input; later rows are those of a new key."""
    emit: Emit = "final"
    """Whether preliminary rows are shown too: those that the end of input would give now."""
    on_change: OnChange = "refuse"
    """Whether a restart with another clause is refused, or goes on with the rows of the state."""
    on_error: OnError = "fail"
    """Whether a row that can't be evaluated stops the query, or leaves with its error in a column `error`."""

    def __post_init__(self) -> None:
        one_of("emit", self.emit, get_args(Emit))
        check_on_error(self.on_error)
        if (self.emit, self.on_error) == ("early", "skip"):
            hint = "leave one of them out"
            raise QueryError("INVALID_OPTION", 'on_error="skip" and emit="early" don\'t go together', hint=hint)
        one_of("late", self.late, get_args(Late))
        one_of("on_change", self.on_change, get_args(OnChange))
        if self.emit == "early" and self.on_change == "keep":
            raise QueryError(
                "INVALID_OPTION",
                'on_change="keep" is for streams with emit="final"',
                hint="preliminary rows of another query can't be taken back: start with a new checkpoint",
            )
        true_or_false("eager", self.eager)
        whole_number("buckets", self.buckets, most=MOST_BUCKETS)
        if self.decision_time is not None:
            a_text("decision_time", self.decision_time, hint="the name of a column to add")
        silence_us(self.forget_keys_after)

    @property
    def shows_late(self) -> bool:
        """Whether the output has late rows, a column that marks them, and the ORDER BY columns."""
        return self.late == "show"

    @property
    def is_default(self) -> bool:
        """Whether there is no option that only streams have."""
        return self == StreamSettings(on_error=self.on_error)

    @property
    def forget_us(self) -> int | None:
        """`forget_keys_after` in microseconds."""
        return silence_us(self.forget_keys_after)


def silence_us(written: Any) -> int | None:
    """The option `forget_keys_after` in microseconds; None if it isn't given."""
    if written is None:
        return None
    length = parse_interval(written) if isinstance(written, str) else None
    if length is None or not timedelta(0) < length <= LONGEST_SILENCE:
        raise QueryError(
            "INVALID_OPTION",
            f"forget_keys_after is a length of time above zero, not {shown(written)}",
            hint='forget_keys_after="30 days"',
        )
    return length // timedelta(microseconds=1)
