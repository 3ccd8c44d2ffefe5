"""Functions whose first argument is a unit of time without quotes: timestampadd(MINUTE, n, t), datediff(DAY, a, b)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.errors import QueryError
from ostinato.expressions import types as t
from ostinato.expressions.functions.arithmetic import INTEGER_OPS
from ostinato.expressions.functions.arithmetic_time import TIME_OPERATORS, always_ansi
from ostinato.expressions.functions.casts import implicit
from ostinato.expressions.functions.functions_time import TIME, as_moment, local_clock
from ostinato.expressions.nodes import FunctionRule, Site, Typed, eager, fail_where, strict
from ostinato.expressions.values.vectors import Vector, both_valid
from ostinato.expressions.values.zones import DAY_US

UNIT_US = {
    "MICROSECOND": 1, "MILLISECOND": 1_000, "SECOND": 1_000_000, "MINUTE": 60_000_000, "HOUR": 3_600_000_000,
    "DAY": DAY_US, "WEEK": 7 * DAY_US,
}  # fmt: skip
"""Units of a fixed length."""
_UNIT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MOST_MONTHS = 12 * 280_000
"""Moves by more months leave the range of TIMESTAMP."""
DIFFERENCES = ("timestampdiff", "datediff", "date_diff", "timediff")


def _unit(site: Site, args: Sequence[Typed]) -> str:
    vector = args[0].constant
    if vector is None or args[0].type != t.STRING or vector.valid is not None:
        hint = f"write {site.name}(MINUTE, ...), the unit without quotes"
        raise QueryError("INVALID_ARGUMENTS", f"the first argument of {site.name} is a unit", span=site.span, hint=hint)
    return str(vector.values[0].as_py())


# --- the time between two moments -------------------------------------------------------------------------------------


def _whole(amount: Any, unit: int) -> Any:
    """The number of whole units, towards zero."""
    return np.sign(amount) * (np.abs(amount) // unit)


def _months_between(start: Any, end: Any) -> Any:
    """Whole months from one local time to the other. A month is whole at the same day and time."""
    days, times = np.divmod(np.stack(np.broadcast_arrays(start, end)), DAY_US)
    days[1] -= (days[1] > days[0]) & (times[1] < times[0])
    days[1] += (days[1] < days[0]) & (times[1] > times[0])
    dates = days.astype("M8[D]")
    months = dates.astype("M8[M]")
    day_of_month = (dates - months.astype("M8[D]")).astype(np.int64)
    packed = months.astype(np.int64) * 32 + day_of_month
    return _whole(packed[1] - packed[0], 32)


def _difference(site: Site, args: Sequence[Typed]) -> Typed:
    """timestampdiff(unit, start, end): whole units on the session's clock."""
    unit = _unit(site, args)
    if unit not in UNIT_US and unit not in _UNIT_MONTHS:
        raise QueryError("INVALID_ARGUMENTS", f"{site.name} has no unit {unit}", span=site.span, hint="write DAY")

    def kernel(site: Site, kind: pa.DataType, start: Vector, end: Vector) -> Vector:
        begins, ends = local_clock(site, start), local_clock(site, end)
        if unit in UNIT_US:
            count = _whole(ends - begins, UNIT_US[unit])
        else:
            count = _whole(_months_between(begins, ends), _UNIT_MONTHS[unit])
        return Vector(kind, count, both_valid(start, end))

    moments = [implicit(as_moment(site, arg), site.settings.timestamp, site.settings) for arg in args[1:]]
    return eager(site, t.INT64, strict(kernel), moments)


# --- a moment, moved --------------------------------------------------------------------------------------------------


def _moved(site: Site, args: Sequence[Typed]) -> Typed:
    """timestampadd(unit, number, moment): plus that many units. A date becomes a timestamp."""
    unit = {"DAYOFYEAR": "DAY"}.get(_unit(site, args), _unit(site, args))
    number = args[1]
    if not (t.is_numeric(number.type) or number.type in (t.STRING, t.NULL)):
        raise site.mismatch(f"{site.name} needs a number, not {t.spark_name(number.type)}")
    size = UNIT_US.get(unit) or _UNIT_MONTHS[unit]
    most = (2**63 - 1) // size if unit in UNIT_US else _MOST_MONTHS // size

    def kernel(site: Site, kind: pa.DataType, count: Vector) -> Vector:
        beyond = (count.values > most) | (count.values < -most)
        fail_where(
            beyond, count.valid, lambda: site.fault("ARITHMETIC_OVERFLOW", f"{site.name} left the range of TIMESTAMP")
        )
        return Vector(kind, np.where(beyond, 0, count.values) * size, count.valid)

    moment = as_moment(site, args[2])
    kind = t.DURATION if unit in UNIT_US else t.MONTHS
    step = eager(site, kind, strict(kernel), [implicit(number, t.INT64, site.settings)])
    if size < DAY_US and unit in UNIT_US:  # 24 hours aren't a day where summer time begins
        return eager(site, moment.type, strict(_later), (moment, step))
    return TIME_OPERATORS["+"].plan(site, (moment, step))


def _later(site: Site, kind: pa.DataType, moment: Vector, step: Vector) -> Vector:
    micros = Vector(t.INT64, moment.values, moment.valid)
    total = INTEGER_OPS["+"](always_ansi(site), t.INT64, micros, Vector(t.INT64, step.values, step.valid))
    return Vector(kind, total.values, total.valid)


def _with_unit(name: str, planned: Callable[[Site, Sequence[Typed]], Typed]) -> FunctionRule:
    """The function with a unit; with two arguments the one of the same name without a unit."""
    plain = TIME.get(name)

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        return planned(site, args) if plain is None or len(args) == 3 else plain.plan(site, args)

    return FunctionRule(3 if plain is None else 2, 3, plan)


UNITS: dict[str, FunctionRule] = {
    **{name: _with_unit(name, _moved) for name in ("timestampadd", "dateadd", "date_add")},
    **{name: _with_unit(name, _difference) for name in DIFFERENCES},
}
