"""A length of calendar months, for WITHIN: from 31 January, one month ends on the last day of February."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from ostinato.expressions.intervals import parse_interval, read_interval


@dataclass(frozen=True, slots=True)
class Months:
    """Calendar months. Their length depends on the day from which they count."""

    count: int

    @property
    def longest_days(self) -> int:
        """No such length is longer. Changes of the clock, such as a day left out at the date line, add two days."""
        return 31 * self.count + 2


def parse_within(text: str) -> timedelta | Months | None:
    """The length behind WITHIN; None for other text and for one below zero.

    >>> parse_within("INTERVAL '1-2' YEAR TO MONTH"), parse_within("10 minutes")
    (Months(count=14), datetime.timedelta(seconds=600))
    >>> parse_within("1 month 3 days") is None
    True
    """
    try:
        months = read_interval(text).months
    except ValueError:
        return None
    if months is not None:
        return Months(months) if months >= 0 else None
    length = parse_interval(text)
    return length if length is not None and length >= timedelta() else None
