"""+ - * / between dates, timestamps and intervals. Other operands go to plain arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.functions.arithmetic import ARITHMETIC, INTEGER_OPS, negated
from ostinato.expressions.functions.casts import implicit
from ostinato.expressions.functions.comparisons import type_list
from ostinato.expressions.nodes import FunctionRule, Kernel, Site, Typed, checked, eager, strict
from ostinato.expressions.values import zones
from ostinato.expressions.values.vectors import Vector, both_valid, broadcast_length, nulls_of

# --- + - * / with intervals -------------------------------------------------------------------------------------------


def _plus_duration(sign: int) -> Kernel:
    """Timestamp plus a day-time interval: adds its days in the session's calendar and the rest as time."""

    def kernel(site: Site, kind: pa.DataType, moment: Vector, step: Vector) -> Vector:
        step = Vector(t.INT64, step.values * sign, step.valid)
        strictly = always_ansi(site)
        start, zone = moment.values, _zone(site, kind)
        if zone != "UTC":
            days = np.sign(step.values) * (np.abs(step.values) // zones.DAY_US) * zones.DAY_US
            if days.any():
                start = zones.moved(np.broadcast_arrays(start, days)[0], lambda clock: clock + days, zone)
                step = Vector(t.INT64, step.values - days, step.valid)
        total = INTEGER_OPS["+"](strictly, t.INT64, Vector(t.INT64, start, moment.valid), step)
        return Vector(kind, total.values, total.valid)

    return strict(kernel)


def _zone(site: Site, kind: pa.DataType) -> str:
    """The zone of the calendar: the session's for TIMESTAMP, UTC for other types."""
    return site.settings.timezone if t.is_timestamp(kind) else "UTC"


def always_ansi(site: Site) -> Site:
    """The site with ANSI rules: in Spark, overflow of times is always an error."""
    return Site(site.name, replace(site.settings, ansi=True), site.span)


def plus_months(days: Any, months: Any) -> Any:
    """Days since 1970 moved by months. A day beyond the end of a month becomes its last day."""
    date = days.astype("M8[D]")
    month = date.astype("M8[M]")
    day = (date - month.astype("M8[D]")).astype(np.int64)
    target = month + months.astype("m8[M]")
    last = ((target + np.timedelta64(1, "M")).astype("M8[D]") - target.astype("M8[D]")).astype(np.int64) - 1
    return (target.astype("M8[D]") + np.minimum(day, last).astype("m8[D]")).astype(np.int64)


def moved_by_months(times_us: zones.Micros, months: Any, zone: str) -> zones.Micros:
    """Times moved by months in the calendar of the zone."""

    def shift(clock: Any) -> Any:
        days, rest = np.divmod(clock, zones.DAY_US)
        return plus_months(days, months) * zones.DAY_US + rest

    return zones.moved(times_us, shift, zone)


def _plus_months(sign: int) -> Kernel:
    def kernel(site: Site, kind: pa.DataType, moment: Vector, step: Vector) -> Vector:
        valid, months = both_valid(moment, step), np.asarray(step.values * sign, np.int64)
        if kind == t.DATE:
            return Vector(kind, plus_months(moment.values.astype(np.int64), months).astype(np.int32), valid)
        return Vector(kind, moved_by_months(moment.values, months, _zone(site, kind)), valid)

    return strict(kernel)


def _plus_days(sign: int) -> Kernel:
    def kernel(site: Site, kind: pa.DataType, date: Vector, days: Vector) -> Vector:
        return Vector(kind, date.values + (sign * days.values).astype(np.int32), both_valid(date, days))

    return strict(kernel)


def _difference(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    """Timestamp minus timestamp, in local time: from noon to noon is one day, also when summer time begins."""
    one, two = left.values, right.values
    if t.is_timestamp(left.type):
        zone = site.settings.timezone
        one, two = zones.to_local(one, zone), zones.to_local(two, zone)
    return Vector(kind, one - two, both_valid(left, right))


def _date_difference(site: Site, kind: pa.DataType, left: Vector, right: Vector) -> Vector:
    days = left.values.astype(np.int64) - right.values
    return Vector(kind, days * zones.DAY_US, both_valid(left, right))


def _plan_moment_step(op: str, site: Site, moment: Typed, step: Typed) -> Typed:
    """A date or timestamp, plus or minus an interval or a number of days."""
    sign = 1 if op == "+" else -1
    if moment.type == t.STRING:
        moment = implicit(moment, site.settings.timestamp, site.settings)
    if step.type == t.NULL:
        kind = site.settings.timestamp if moment.type == t.DATE else moment.type
        return Typed(kind, lambda frame: nulls_of(kind), span=site.span)
    if step.type == t.MONTHS:
        return eager(site, moment.type, _plus_months(sign), (moment, step))
    if step.type == t.DURATION:
        if moment.type == t.DATE and not step.days_only:
            moment = implicit(moment, site.settings.timestamp, site.settings)
        if moment.type == t.DATE:
            return eager(site, t.DATE, _plus_duration_days(sign), (moment, step))
        return eager(site, moment.type, _plus_duration(sign), (moment, step))
    if moment.type == t.DATE and step.type in (t.INT8, t.INT16, t.INT32):
        return eager(site, t.DATE, _plus_days(sign), (moment, implicit(step, t.INT32, site.settings)))
    raise site.mismatch(f"{op} doesn't take {type_list((moment, step))}", "add an INTERVAL")


def _plus_duration_days(sign: int) -> Kernel:
    def kernel(site: Site, kind: pa.DataType, date: Vector, step: Vector) -> Vector:
        days = (step.values // zones.DAY_US * sign).astype(np.int32)
        return Vector(kind, date.values + days, both_valid(date, step))

    return strict(kernel)


def _plan_sum(op: str) -> FunctionRule:
    """+ and -: for dates, timestamps and intervals, otherwise plain arithmetic."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        left, right = args
        intervals = (t.DURATION, t.MONTHS)
        if (left.type in intervals and right.type in intervals) or (
            t.NULL in (left.type, right.type) and (left.type in intervals or right.type in intervals)
        ):
            return _interval_sum(op, site, left, right)
        if t.is_datetime(left.type) and (t.is_datetime(right.type) or right.type == t.STRING) and op == "-":
            return _plan_difference(site, left, right)
        if op == "-" and left.type == t.NULL and t.is_datetime(right.type):
            return Typed(t.DURATION, lambda frame: nulls_of(t.DURATION), span=site.span)
        if op == "-" and left.type == t.STRING and t.is_datetime(right.type):
            return _plan_difference(site, left, right)
        if t.is_datetime(left.type) or (left.type == t.STRING and right.type in intervals):
            return _plan_moment_step(op, site, left, right)
        if op == "+" and (t.is_datetime(right.type) or (right.type == t.STRING and left.type in intervals)):
            return _plan_moment_step(op, site, right, left)
        return ARITHMETIC[op].plan(site, args)

    return FunctionRule(2, 2, plan)


def _interval_sum(op: str, site: Site, left: Typed, right: Typed) -> Typed:
    kind = right.type if left.type == t.NULL else left.type
    if t.NULL not in (left.type, right.type) and left.type != right.type:
        raise site.mismatch("months and days can't be added: months differ in length")

    def kernel(site: Site, kind: pa.DataType, one: Vector, two: Vector) -> Vector:
        strictly = always_ansi(site)
        plain = [Vector(t.INT64, vector.values, vector.valid) for vector in (one, two)]
        total = INTEGER_OPS[op](strictly, t.INT64, *plain)
        return Vector(kind, total.values, total.valid)

    both = (implicit(left, kind, site.settings), implicit(right, kind, site.settings))
    return replace(eager(site, kind, strict(kernel), both), days_only=left.days_only and right.days_only)


def _plan_difference(site: Site, left: Typed, right: Typed) -> Typed:
    if left.type == t.DATE and right.type == t.DATE:
        return replace(eager(site, t.DURATION, strict(_date_difference), (left, right)), days_only=True)
    if t.STRING in (left.type, right.type) and t.DATE in (left.type, right.type):
        both = [implicit(side, t.DATE, site.settings) for side in (left, right)]
        return replace(eager(site, t.DURATION, strict(_date_difference), both), days_only=True)
    if t.STRING in (left.type, right.type) and not site.settings.ansi:
        raise site.mismatch(f"- doesn't take {type_list((left, right))}", "cast the text to TIMESTAMP")
    common = t.common_type(left.type, right.type, site.settings, comparing=True)
    kind = site.settings.timestamp if common is None else common
    both = [implicit(side, kind, site.settings) for side in (left, right)]
    return eager(site, t.DURATION, strict(_difference), both)


def _plan_scaled(op: str) -> FunctionRule:
    """* and / of an interval by a number."""

    def plan(site: Site, args: Sequence[Typed]) -> Typed:
        left, right = args
        if op == "*" and right.type == t.DURATION:
            left, right = right, left
        if left.type != t.DURATION:
            return ARITHMETIC[op].plan(site, args)
        if not (t.is_numeric(right.type) or right.type in (t.NULL, t.STRING)):
            raise site.mismatch(f"{op} doesn't take {type_list(args)}")
        factor = implicit(right, t.DOUBLE, site.settings) if right.type in (t.NULL, t.STRING) else right
        return eager(site, t.DURATION, _scaled(op), (left, factor))

    return FunctionRule(2, 2, plan)


def _scaled(op: str) -> Kernel:
    def kernel(site: Site, kind: pa.DataType, step: Vector, factor: Vector) -> Vector:
        strictly = always_ansi(site)
        valid = both_valid(step, factor)
        length = broadcast_length((step, factor))
        ok = np.broadcast_to(True if valid is None else valid, length)
        micros, numbers = step.expanded(length).values.tolist(), factor.expanded(length).to_list()
        result = np.zeros(length, object)
        for row in np.flatnonzero(ok):
            if op == "/" and numbers[row] == 0:
                raise strictly.fault("DIVIDE_BY_ZERO", "an interval divided by zero")
            exact = Fraction(numbers[row])
            moved = micros[row] * exact if op == "*" else micros[row] / exact
            size = int(abs(moved) + Fraction(1, 2))
            result[row] = -size if moved < 0 else size
        bad = np.array([not -(2**63) <= number < 2**63 for number in result], bool)
        checked(strictly, bad, valid, "ARITHMETIC_OVERFLOW", "an interval left its range")
        return Vector(kind, result.astype(np.int64), valid)

    return strict(kernel)


def _plan_negation(site: Site, args: Sequence[Typed]) -> Typed:
    if args[0].type in (t.DURATION, t.MONTHS):
        return replace(eager(site, args[0].type, strict(negated), args), days_only=args[0].days_only)
    return ARITHMETIC["neg"].plan(site, args)


TIME_OPERATORS: dict[str, FunctionRule] = {
    "+": _plan_sum("+"),
    "-": _plan_sum("-"),
    "*": _plan_scaled("*"),
    "/": _plan_scaled("/"),
    "neg": FunctionRule(1, 1, _plan_negation),
}
