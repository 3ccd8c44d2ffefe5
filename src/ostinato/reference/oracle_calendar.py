"""A date or a time, moved by calendar months as Spark's add_months does it."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from typing import TypeVar
from zoneinfo import ZoneInfo


def plus_months(moment: date, months: int, timezone: str) -> date:
    """A day beyond the end of the month becomes its last day. A time with a zone moves on the clock of `timezone`.

    >>> plus_months(date(2024, 1, 31), 1, "UTC")
    datetime.date(2024, 2, 29)
    """
    if not isinstance(moment, datetime) or moment.tzinfo is None:
        return _moved(moment, months)
    local = moment.astimezone(ZoneInfo(timezone))
    clock = _moved(local.replace(tzinfo=None), months)
    offset = local.utcoffset() or timedelta()
    kept = (clock - offset).replace(tzinfo=UTC)
    if kept.astimezone(local.tzinfo).replace(tzinfo=None) == clock:
        return kept  # the clock shows this time, perhaps twice: the offset stays
    return clock.replace(tzinfo=local.tzinfo).astimezone(UTC)  # in a gap: later by its length


Moment = TypeVar("Moment", bound=date)


def _moved(moment: Moment, months: int) -> Moment:
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    return moment.replace(year=year, month=month + 1, day=min(moment.day, monthrange(year, month + 1)[1]))
