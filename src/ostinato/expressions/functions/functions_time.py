"""Functions on dates and timestamps: fields, truncation, counting days or seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.functions.arithmetic_time import plus_months
from ostinato.expressions.functions.casts import implicit
from ostinato.expressions.functions.functions_math import as_int
from ostinato.expressions.nodes import FunctionRule, Kernel, Site, Typed, checked, eager, strict
from ostinato.expressions.values import zones
from ostinato.expressions.values.vectors import Vector, both_valid, nulls_of

SECOND_US = 1_000_000


def as_date(site: Site, node: Typed) -> Typed:
    if not (t.is_datetime(node.type) or node.type in (t.STRING, t.NULL)):
        raise site.mismatch(f"{site.name} needs a date, not {t.spark_name(node.type)}")
    return implicit(node, t.DATE, site.settings)


def as_moment(site: Site, node: Typed) -> Typed:
    """The argument as TIMESTAMP or TIMESTAMP_NTZ. Dates and text become TIMESTAMP."""
    if node.type == t.NTZ:
        return node
    if not (t.is_datetime(node.type) or node.type in (t.STRING, t.NULL)):
        raise site.mismatch(f"{site.name} needs a timestamp, not {t.spark_name(node.type)}")
    return implicit(node, site.settings.timestamp, site.settings)


def local_clock(site: Site, vector: Vector) -> Any:
    """Microseconds in the session's local time."""
    return zones.to_local(vector.values, site.settings.timezone) if t.is_timestamp(vector.type) else vector.values


# --- fields -----------------------------------------------------------------------------------------------------------


def _months(days: Any) -> Any:
    return days.astype("M8[D]").astype("M8[M]").astype(np.int64)


def _day_of_year(days: Any) -> Any:
    date = days.astype("M8[D]")
    return (date - date.astype("M8[Y]").astype("M8[D]")).astype(np.int64) + 1


def _day_of_month(days: Any) -> Any:
    date = days.astype("M8[D]")
    return (date - date.astype("M8[M]").astype("M8[D]")).astype(np.int64) + 1


def _week(days: Any) -> Any:
    """ISO week number, that of the week's Thursday."""
    thursday = days - (days + 3) % 7 + 3
    return (_day_of_year(thursday) - 1) // 7 + 1


def _iso_year(days: Any) -> Any:
    return _months(days - (days + 3) % 7 + 3) // 12 + 1970


DAY_FIELDS: dict[str, Callable[[Any], Any]] = {
    "year": lambda days: _months(days) // 12 + 1970,
    "quarter": lambda days: _months(days) % 12 // 3 + 1,
    "month": lambda days: _months(days) % 12 + 1,
    "day": _day_of_month,
    "dayofweek": lambda days: (days + 4) % 7 + 1,
    "weekday": lambda days: (days + 3) % 7,
    "dayofyear": _day_of_year,
    "weekofyear": _week,
    "yearofweek": _iso_year,
    "dayofweek_iso": lambda days: (days + 3) % 7 + 1,
}
CLOCK_FIELDS: dict[str, Callable[[Any], Any]] = {
    "hour": lambda micros: micros // (3600 * SECOND_US) % 24,
    "minute": lambda micros: micros // (60 * SECOND_US) % 60,
    "second": lambda micros: micros // SECOND_US % 60,
}
_UNIT_FIELDS = {
    "year": "year", "y": "year", "years": "year", "yr": "year", "yrs": "year", "quarter": "quarter", "qtr": "quarter",
    "month": "month", "mon": "month", "mons": "month", "months": "month", "week": "weekofyear", "w": "weekofyear",
    "weeks": "weekofyear", "day": "day", "d": "day", "days": "day", "dayofweek": "dayofweek", "dow": "dayofweek",
    "dayofweek_iso": "dayofweek_iso", "dow_iso": "dayofweek_iso", "doy": "dayofyear", "yearofweek": "yearofweek",
    "hour": "hour", "h": "hour", "hours": "hour", "hr": "hour", "hrs": "hour", "minute": "minute", "m": "minute",
    "min": "minute", "mins": "minute", "minutes": "minute", "second": "second", "s": "second", "sec": "second",
    "seconds": "second", "secs": "second",
}  # fmt: skip


def _day_field(name: str) -> FunctionRule:
    compute = DAY_FIELDS[name]

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        return Vector(kind, compute(vector.values.astype(np.int64)).astype(np.int32), vector.valid)

    return FunctionRule(1, 1, lambda site, args: eager(site, t.INT32, strict(kernel), [as_date(site, args[0])]))


def _clock_field(name: str) -> FunctionRule:
    compute = CLOCK_FIELDS[name]

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        return Vector(kind, compute(local_clock(site, vector)).astype(np.int32), vector.valid)

    return FunctionRule(1, 1, lambda site, args: eager(site, t.INT32, strict(kernel), [as_moment(site, args[0])]))


def _exact_second(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    return Vector(kind, (local_clock(site, vector) % (60 * SECOND_US)).astype(np.int64), vector.valid)


def _interval_field(site: Site, field: str, node: Typed) -> Typed:
    """EXTRACT from a day-time interval: its days, or the hours, minutes, seconds below a day, with its sign."""
    sizes = {"day": (zones.DAY_US, None), "hour": (3600 * SECOND_US, 24), "minute": (60 * SECOND_US, 60)}

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        size = np.abs(vector.values)
        if field == "second":
            return Vector(kind, np.sign(vector.values) * (size % (60 * SECOND_US)), vector.valid)
        unit, wrap = sizes[field]
        count = size // unit if wrap is None else size // unit % wrap
        return Vector(kind, (np.sign(vector.values) * count).astype(kind.to_pandas_dtype()), vector.valid)

    if field not in ("day", "hour", "minute", "second"):
        raise site.mismatch(f"an interval has no {field}")
    kinds = {"day": t.INT32, "second": pa.decimal128(8, 6)}
    return eager(site, kinds.get(field, t.INT8), strict(kernel), (node,))


def plan_extract(site: Site, unit: str, node: Typed) -> Typed:
    """EXTRACT(unit FROM node)."""
    field = _UNIT_FIELDS.get(unit.lower())
    if field is None:
        raise QueryError(
            "UNSUPPORTED_FUNCTION", f"EXTRACT has no unit {unit}", span=site.span, hint="YEAR, MONTH, DAY, HOUR, ..."
        )
    if node.type == t.DURATION:
        return _interval_field(site, field, node)
    if field == "second":
        return eager(site, pa.decimal128(8, 6), strict(_exact_second), [as_moment(site, node)])
    return (_day_field(field) if field in DAY_FIELDS else _clock_field(field)).plan(site, (node,))


def _date_part(site: Site, args: Sequence[Typed]) -> Typed:
    return plan_extract(site, _unit(site, args[0]), args[1])


def _unit(site: Site, node: Typed) -> str:
    """The text of a unit, which has to be a literal."""
    if node.constant is None or node.type != t.STRING or node.constant.valid is not None:
        raise QueryError("UNSUPPORTED_FUNCTION", f"the unit of {site.name} has to be a literal", span=site.span)
    return str(node.constant.values[0].as_py())


# --- counting and truncating ------------------------------------------------------------------------------------------


def _days_kernel(compute: Callable[[Any, Any], Any], dtype: Any = np.int32) -> Kernel:
    def kernel(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
        return Vector(kind, np.asarray(compute(left.values, right.values)).astype(dtype), both_valid(left, right))

    return strict(kernel)


def _moved_by(compute: Callable[[Any, Any], Any]) -> FunctionRule:
    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        return eager(site, t.DATE, _days_kernel(compute), (as_date(site, args[0]), as_int(site, args[1])))

    return FunctionRule(2, 2, plan)


def _datediff(site: Site, args: Sequence[Typed]) -> Typed:
    return eager(site, t.INT32, _days_kernel(np.subtract), [as_date(site, arg) for arg in args])


def _last_day(site: Site, args: Sequence[Typed]) -> Typed:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        following = vector.values.astype("M8[D]").astype("M8[M]") + np.timedelta64(1, "M")
        return Vector(kind, (following.astype("M8[D]").astype(np.int64) - 1).astype(np.int32), vector.valid)

    return eager(site, t.DATE, strict(kernel), [as_date(site, args[0])])


def _floor_days(unit: str, days: Any) -> Any:
    """Days since 1970, moved back to the start of the week, month, quarter or year."""
    if unit == "week":
        return days - (days + 3) % 7
    months = _months(days)
    months = months - months % {"year": 12, "quarter": 3, "month": 1}[unit]
    return months.astype("M8[M]").astype("M8[D]").astype(np.int64)


_TRUNCATIONS = {
    "year": "year", "yyyy": "year", "yy": "year", "quarter": "quarter", "month": "month", "mon": "month",
    "mm": "month", "week": "week",
}  # fmt: skip
_CLOCK_TRUNCATIONS = {
    "day": zones.DAY_US, "dd": zones.DAY_US, "hour": 3600 * SECOND_US, "minute": 60 * SECOND_US,
    "second": SECOND_US, "millisecond": 1000, "microsecond": 1,
}  # fmt: skip


def _date_trunc(site: Site, args: Sequence[Typed]) -> Typed:
    unit = _unit(site, args[0]).lower()
    moment = implicit(as_moment(site, args[1]), site.settings.timestamp, site.settings)

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        local = local_clock(site, vector)
        if unit in _CLOCK_TRUNCATIONS and _CLOCK_TRUNCATIONS[unit] < zones.DAY_US:
            # Subtracting keeps the offset, also in the hour that summer time repeats.
            return Vector(kind, vector.values - local % _CLOCK_TRUNCATIONS[unit], vector.valid)
        if unit in _CLOCK_TRUNCATIONS:
            start = local - local % zones.DAY_US
        else:
            start = _floor_days(_TRUNCATIONS[unit], local // zones.DAY_US) * zones.DAY_US
        return Vector(kind, zones.to_utc(start, site.settings.timezone), vector.valid)

    if unit not in _TRUNCATIONS and unit not in _CLOCK_TRUNCATIONS:
        return Typed(moment.type, lambda frame: nulls_of(moment.type), span=site.span)
    return eager(site, moment.type, strict(kernel), (moment,))


def _trunc(site: Site, args: Sequence[Typed]) -> Typed:
    unit = _TRUNCATIONS.get(_unit(site, args[1]).lower())

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        assert unit is not None
        return Vector(kind, _floor_days(unit, vector.values.astype(np.int64)).astype(np.int32), vector.valid)

    if unit is None:
        return Typed(t.DATE, lambda frame: nulls_of(t.DATE), span=site.span)
    return eager(site, t.DATE, strict(kernel), [as_date(site, args[0])])


def _unix(unit_us: int, towards_zero: bool = False) -> FunctionRule:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        count = vector.values // unit_us
        if towards_zero:
            count = count + ((vector.values < 0) & (count * unit_us != vector.values))
        return Vector(kind, count, vector.valid)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        moment = implicit(as_moment(site, args[0]), site.settings.timestamp, site.settings)
        return eager(site, t.INT64, strict(kernel), (moment,))

    return FunctionRule(1, 1, plan)


def _of_unix(unit_us: int) -> FunctionRule:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        wide = vector.values.astype(object) * unit_us
        if any(not -(2**63) <= int(number) < 2**63 for number in wide):
            raise site.fault("ARITHMETIC_OVERFLOW", f"{site.name} left the range of TIMESTAMP")
        return Vector(kind, wide.astype(np.int64), vector.valid)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        if not t.is_integral(args[0].type) and args[0].type != t.NULL:
            raise site.mismatch(f"{site.name} needs a whole number")
        number = implicit(args[0], t.INT64, site.settings)
        return eager(site, site.settings.timestamp, strict(kernel), (number,))

    return FunctionRule(1, 1, plan)


def _casting(target: Callable[[Site], pa.DataType]) -> FunctionRule:
    """to_date(x) and to_timestamp(x) without a format: a cast."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        node = args[0]
        if not (t.is_datetime(node.type) or node.type in (t.STRING, t.NULL)):
            raise site.mismatch(f"{site.name} doesn't take {t.spark_name(node.type)}")
        return implicit(node, target(site), site.settings, site.span)

    return FunctionRule(1, 1, plan)


def _make_date(site: Site, args: Sequence[Typed]) -> Typed:
    def kernel(site: Site, kind: pa.DataType, year: Vector, month: Vector, day: Vector) -> Vector:
        valid = both_valid(year, month, day)
        months = (year.values.astype(np.int64) - 1970) * 12 + month.values - 1
        start = months.astype("M8[M]").astype("M8[D]").astype(np.int64)
        length = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64) - start
        bad = (month.values < 1) | (month.values > 12) | (day.values < 1) | (day.values > length)
        valid = checked(site, np.asarray(bad), valid, "DATETIME_FIELD_OUT_OF_BOUNDS", "there is no such date")
        return Vector(kind, (start + day.values - 1).astype(np.int32), valid)

    return eager(site, t.DATE, strict(kernel), [as_int(site, arg) for arg in args])


TIME: dict[str, FunctionRule] = {
    **{name: _day_field(name) for name in ("year", "quarter", "month", "day", "dayofweek", "weekday", "dayofyear")},
    "weekofyear": _day_field("weekofyear"),
    "dayofmonth": _day_field("day"),
    **{name: _clock_field(name) for name in CLOCK_FIELDS},
    "extract": FunctionRule(2, 2, _date_part),
    "date_part": FunctionRule(2, 2, _date_part),
    "datepart": FunctionRule(2, 2, _date_part),
    "date_add": _moved_by(np.add),
    "dateadd": _moved_by(np.add),
    "date_sub": _moved_by(np.subtract),
    "add_months": _moved_by(lambda days, months: plus_months(days.astype(np.int64), months.astype(np.int64))),
    "datediff": FunctionRule(2, 2, _datediff),
    "date_diff": FunctionRule(2, 2, _datediff),
    "last_day": FunctionRule(1, 1, _last_day),
    "date_trunc": FunctionRule(2, 2, _date_trunc),
    "trunc": FunctionRule(2, 2, _trunc),
    "unix_timestamp": _unix(SECOND_US, towards_zero=True),
    "to_unix_timestamp": _unix(SECOND_US, towards_zero=True),
    "unix_seconds": _unix(SECOND_US),
    "unix_millis": _unix(1000),
    "unix_micros": _unix(1),
    "timestamp_seconds": _of_unix(SECOND_US),
    "timestamp_millis": _of_unix(1000),
    "timestamp_micros": _of_unix(1),
    "to_date": _casting(lambda site: t.DATE),
    "to_timestamp": _casting(lambda site: site.settings.timestamp),
    "to_timestamp_ntz": _casting(lambda site: t.NTZ),
    "make_date": FunctionRule(3, 3, _make_date),
}
