"""Microseconds since 1970 in UTC <-> on the clock of a time zone, by Java's rules for gaps and overlaps."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Micros = npt.NDArray[np.int64]
DAY_US = 86_400_000_000
_RULES_END_US = 2_145_916_800_000_000  # 2038-01-01
_YEAR_9000_US = 221_845_392_000_000_000
_CYCLE_US = 146_097 * DAY_US  # 400 years, after which the calendar repeats
_UTC_NAMES = {"UTC", "Etc/UTC", "Z", "GMT", "+00:00"}


def to_local(utc_us: Micros, zone: str) -> Micros:
    """The local times of these instants in the zone."""
    if zone in _UTC_NAMES:
        return utc_us
    array = pa.array(utc_us).cast(pa.timestamp("us", zone))
    local = _numbers(pc.local_timestamp(array))
    return _with_far_future(utc_us, local, zone, 1)


def to_utc(local_us: Micros, zone: str) -> Micros:
    """The instants at which the zone's clock shows these times. Of two the earlier; in a gap, later by its length."""
    if zone in _UTC_NAMES:
        return local_us
    clock = pa.array(local_us).cast(pa.timestamp("us"))
    before = pc.assume_timezone(clock, zone, ambiguous="earliest", nonexistent="earliest")
    offset = _numbers(pc.local_timestamp(before)) - _numbers(before)
    return _with_far_future(local_us, np.asarray(local_us - offset, np.int64), zone, -1)


def _with_far_future(times_us: Micros, converted: Micros, zone: str, sign: int) -> Micros:
    """Corrects times after 2037, for which Arrow knows no summer time. zoneinfo converts them in an equal year."""
    far = np.flatnonzero(times_us >= _RULES_END_US)
    if not len(far) or not (zone_info := parse_zone(zone)):
        return converted
    result = converted.copy()
    for row in far:
        cycles = max(0, (int(times_us[row]) - _YEAR_9000_US) // _CYCLE_US + 1)
        moment = datetime(1970, 1, 1) + timedelta(microseconds=int(times_us[row]) - cycles * _CYCLE_US)
        local = moment.replace(tzinfo=UTC).astimezone(zone_info) if sign > 0 else moment.replace(tzinfo=zone_info)
        result[row] = times_us[row] + sign * ((local.utcoffset() or timedelta()) // timedelta(microseconds=1))
    return result


def moved(utc_us: Micros, shift: Callable[[Micros], Micros], zone: str) -> Micros:
    """The instants after `shift` has moved their local times. The offset stays if the new local time allows it."""
    if zone in _UTC_NAMES:
        return shift(utc_us)
    local = to_local(utc_us, zone)
    target = shift(local)
    shifted = target - (local - utc_us)
    return np.asarray(np.where(to_local(shifted, zone) == target, shifted, to_utc(target, zone)), np.int64)


def _numbers(array: Any) -> Micros:
    return np.asarray(array.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)


def parse_zone(text: str) -> tzinfo | None:
    """A zone as written in timestamps: `Z`, `UTC`, `+02:00`, `+2`, `Europe/Berlin`; None for other text.

    >>> parse_zone("+02:00")
    datetime.timezone(datetime.timedelta(seconds=7200))
    """
    word = text.strip()
    if word in ("Z", "UTC", "GMT", "UT"):
        return UTC
    word = re.sub(r"^(?:UTC|GMT|UT)(?=[+-])", "", word)
    matched = re.fullmatch(r"([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?", word, re.ASCII)
    if matched:
        shift = timedelta(hours=int(matched[2]), minutes=int(matched[3] or 0), seconds=int(matched[4] or 0))
        if shift > timedelta(hours=18):
            return None
        return timezone(-shift if matched[1] == "-" else shift)
    try:
        return ZoneInfo(word)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def instant(local_us: int, zone: tzinfo | None, session: str) -> int:
    """A local time in the zone, or in the session's zone, as microseconds in UTC."""
    if zone is None:
        return int(to_utc(np.array([local_us], np.int64), session)[0])
    if isinstance(zone, ZoneInfo):
        return int(to_utc(np.array([local_us], np.int64), zone.key)[0])
    offset = zone.utcoffset(datetime(2000, 1, 1))
    return local_us - (0 if offset is None else offset // timedelta(microseconds=1))
