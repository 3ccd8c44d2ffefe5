"""Answers of stream summaries: the aggregate, and the kept events with their contributions.

Plain values, made in process and on Spark. `table()` and `svg()` show them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.calls.shown_objects import short_repr
from ostinato.errors import MatchError
from ostinato.kernels.numbers.number_columns import NumberForm, exact_column
from ostinato.pictures.html_blocks import svg_block
from ostinato.pictures.summary_svg import SummaryPicture, count_words, draw_summary

_TOO_LARGE_HINT = 'numbers="text" gives all digits, numbers="log10" the logarithm'
Time = Any
"""A value of the time column: a datetime, a date or an int."""


@dataclass(frozen=True, slots=True)
class KeptEvent:
    """One kept event of the summary."""

    number: int
    """Index of the event in its stream (of its key), from 0. Events of other types count."""
    time: Time
    type: str
    value: int | float | Decimal | None
    """None for NULL, or if the aggregate reads no column."""
    contribution: int
    """Number of matches that contain it."""


@dataclass(frozen=True, slots=True)
class AnsweredQuery:
    """The query, as pictures and tables show it."""

    expression: str
    aggregate: str
    window: timedelta | int
    """Longest duration of a match; a number of units if times are whole numbers."""
    size: int
    kept_type: pa.StructType = field(repr=False)
    """The columns of `SummaryAnswer.table`."""
    form: NumberForm = NumberForm.DECIMAL


@dataclass(frozen=True, slots=True)
class SummaryAnswer:
    """The answer of one summary, as of its last event."""

    value: int | float | Decimal | None
    """The aggregate: exact for COUNT and for SUM of whole numbers and decimals, else rounded once. None: no match."""
    count: int
    """Matches among the kept events."""
    seen: int
    """Events so far."""
    kept_events: tuple[KeptEvent, ...]
    """Oldest first."""
    asked_at: Time | None
    """The time of the last event; None if there was none."""
    key: Mapping[str, Any]
    """The values of the key columns; empty without key columns."""
    query: AnsweredQuery = field(repr=False)

    def table(self) -> pa.Table:
        """The kept events, one row each. Raises NUMBER_TOO_LARGE if `numbers` can't hold a contribution."""
        arrays = []
        for column in self.query.kept_type:
            values = [getattr(event, column.name) for event in self.kept_events]
            if column.name == "contribution":
                arrays.append(number_column(np.array(values, object), self.query.form, is_count=True))
            else:
                arrays.append(pa.array(values, column.type))
        return pa.Table.from_arrays(arrays, schema=pa.schema(list(self.query.kept_type)))

    def svg(self, exact: int | None = None) -> str:
        """The kept events on the time line, coloured by contribution. `exact` is the number of matches in the full
        stream (`StreamSummary.exact` counts them); with it, the picture shows the loss."""
        return draw_summary(self._picture(exact))

    def __repr__(self) -> str:
        return short_repr(self, f"{self._headline}, key={dict(self.key)!r}" if self.key else self._headline)

    def _repr_html_(self) -> str:
        return svg_block(self.svg())

    @property
    def _headline(self) -> str:
        value = f"{self.query.aggregate} = {_shortened(self.value)}, " if self.query.aggregate != "COUNT" else ""
        return f"{value}{_shortened(self.count)} matches among {len(self.kept_events):,} of {self.seen:,} events"

    def _picture(self, exact: int | None) -> SummaryPicture:
        positions = [_number(event.time) for event in self.kept_events]
        now = _number(self.asked_at) if self.asked_at is not None else 0.0
        window = self.query.window
        width = window.total_seconds() if isinstance(window, timedelta) else float(window)
        shown = ", ".join(f"{name} = {value}" for name, value in self.key.items())
        return SummaryPicture(
            title=self.query.expression + (f"   ({shown})" if shown else ""),
            headline=self._headline,
            types=[event.type for event in self.kept_events],
            positions=positions,
            labels=[str(event.time) for event in self.kept_events],
            contributions=[event.contribution for event in self.kept_events],
            now=now,
            now_label="" if self.asked_at is None else str(self.asked_at),
            window=width,
            window_label=str(window),
            count=self.count,
            exact=exact,
        )


def number_column(
    numbers: Any, form: NumberForm, present: NDArray[np.bool_] | None = None, *, scale: int = 0, is_count: bool = False
) -> pa.Array:
    """Counts, or sums of whole numbers that are multiplied by 10 ** scale.

    Raises NUMBER_TOO_LARGE and NEGATIVE_LOGARITHM.
    """
    try:
        return exact_column(numbers, present, form, lambda row: "the summary", scale=scale, is_count=is_count)
    except MatchError as error:
        if error.code != "NUMBER_TOO_LARGE":
            raise
        raise MatchError(error.code, error.message, hint=_TOO_LARGE_HINT) from None


def _number(time: Time) -> float:
    """A position on the time line: seconds for dates and timestamps."""
    if isinstance(time, int):
        return float(time)
    naive = datetime(time.year, time.month, time.day) if not isinstance(time, datetime) else time.replace(tzinfo=None)
    return (naive - datetime(1970, 1, 1)).total_seconds()


def _shortened(number: int | float | Decimal | None) -> str:
    """A number that may have hundreds of digits, shortened.

    >>> _shortened(1234567), _shortened(10**40), _shortened(-2.5), _shortened(None)
    ('1,234,567', '1.0·10^40', '-2.5', 'NULL')
    """
    if number is None:
        return "NULL"
    if isinstance(number, int):
        return f"-{count_words(-number)}" if number < 0 else count_words(number)
    return f"{number:,.6g}"


__all__ = ["AnsweredQuery", "KeptEvent", "SummaryAnswer", "number_column"]
