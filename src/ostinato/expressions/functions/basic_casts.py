"""The casts between types that aren't nested: a table from (family of source, family of target) to a kernel."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.expressions.nodes import ANSI_HINT, Site, checked, null_where
from ostinato.expressions.values import text_values as text
from ostinato.expressions.values import zones
from ostinato.expressions.values.decimals import as_double, fitted, rescaled, truncated
from ostinato.expressions.values.vectors import Vector, of_list
from ostinato.kernels.numbers.python_numbers import decimal_text

CastKernel = Callable[[Site, pa.DataType, Vector], Vector]


def _to_int(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    dtype = kind.to_pandas_dtype()
    info = np.iinfo(dtype)
    if site.settings.ansi and np.iinfo(vector.values.dtype).max > info.max:
        outside = (vector.values < info.min) | (vector.values > info.max)
        valid = checked(site, outside, vector.valid, "CAST_OVERFLOW", _overflow(vector, kind))
        return Vector(kind, vector.values.astype(dtype), valid)
    return Vector(kind, vector.values.astype(dtype), vector.valid)


def _overflow(vector: Vector, kind: pa.DataType) -> str:
    return f"a value of type {t.spark_name(vector.type)} doesn't fit {t.spark_name(kind)}"


def _float_to_int(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    info = np.iinfo(kind.to_pandas_dtype())
    integers = np.trunc(vector.values.astype(np.float64))
    if site.settings.ansi:
        # Spark compares with the largest value as a double. For BIGINT that is 2^63, which becomes 2^63 - 1.
        bad = ~((integers >= float(info.min)) & (integers <= float(info.max)))
        valid = checked(site, bad, vector.valid, "CAST_OVERFLOW", _overflow(vector, kind))
        beyond = integers >= 2.0**63
        return Vector(kind, np.where(beyond, info.max, np.where(bad | beyond, 0, integers).astype(info.dtype)), valid)
    wide = np.int64 if kind == t.INT64 else np.int32  # Java saturates to int or long, then drops high bits
    edge = np.iinfo(wide)
    inside = (integers >= edge.min) & (integers < float(edge.max) + 1)
    result = np.where(inside, integers, 0).astype(wide)
    result = np.where(integers >= float(edge.max) + 1, edge.max, result)
    result = np.where(integers < edge.min, edge.min, result)
    return Vector(kind, result.astype(info.dtype), vector.valid)


def _decimal_to_int(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    integers, info = truncated(vector), np.iinfo(kind.to_pandas_dtype())
    bad = np.asarray((integers < info.min) | (integers > info.max), bool)
    if site.settings.ansi:
        valid = checked(site, bad, vector.valid, "CAST_OVERFLOW", _overflow(vector, kind))
        return Vector(kind, np.where(bad, 0, integers).astype(info.dtype), valid)
    low_bits = np.asarray(integers & 0xFFFFFFFFFFFFFFFF).astype(np.uint64) if integers.dtype == object else integers
    return Vector(kind, low_bits.astype(np.int64).astype(info.dtype), vector.valid)


def _to_float(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    with np.errstate(over="ignore"):
        return Vector(kind, vector.values.astype(kind.to_pandas_dtype()), vector.valid)


def _to_bool(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    return Vector(kind, np.asarray(vector.values != 0, bool), vector.valid)


def _int_to_decimal(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    numbers = vector.values.astype(np.int64)
    return fitted(site, kind, rescaled(numbers, 19 if vector.type == t.INT64 else 10, 0, kind.scale), vector.valid)


def _decimal_to_decimal(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    source = vector.type
    numbers = rescaled(vector.values, source.precision, source.scale, kind.scale)
    return fitted(site, kind, numbers, vector.valid)


def _float_to_decimal(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    single = vector.type == t.FLOAT
    numbers = np.zeros(len(vector), object)
    finite = np.isfinite(vector.values)
    bad = np.zeros(len(vector), bool)
    for row in np.flatnonzero(finite):
        written = text.write_double(float(vector.values[row]), single)
        number = text.unscaled(Decimal(written), kind.precision, kind.scale)
        numbers[row], bad[row] = number or 0, number is None
    valid = null_where(~finite, vector.valid)  # NaN and infinity become NULL, also with ANSI
    valid = checked(site, bad, valid, "NUMERIC_VALUE_OUT_OF_RANGE", _overflow(vector, kind))
    return Vector(kind, numbers.astype(t.storage_dtype(kind)), valid)


def _by_value(read: Callable[[Any, Site, pa.DataType], Any]) -> CastKernel:
    """A cast that reads one value at a time. `read` returns None for a bad value."""

    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        numbers = []
        for value in vector.to_list():
            result = None if value is None else read(value, site, kind)
            if value is not None and result is None and site.settings.ansi and not site.attempt:
                raise site.fault("CAST_INVALID_INPUT", f"{value!r} isn't a {t.spark_name(kind)}", ANSI_HINT)
            numbers.append(result)
        return _of_numbers(kind, numbers)

    return kernel


def _of_numbers(kind: pa.DataType, numbers: list[Any]) -> Vector:
    dtype = t.storage_dtype(kind)
    if dtype is None:
        return of_list(kind, numbers)
    valid = np.array([value is not None for value in numbers], bool)
    values = np.array([0 if value is None else value for value in numbers], dtype)
    return Vector(kind, values, None if valid.all() else valid)


def _read_int(value: str, site: Site, kind: pa.DataType) -> int | None:
    return text.read_integer(value, kind.bit_width, fraction=not site.settings.ansi)


def _read_decimal(value: str, site: Site, kind: pa.DataType) -> int | None:
    number = text.read_decimal(value)
    return None if number is None else text.unscaled(number, kind.precision, kind.scale)


def _write(spell: Callable[[Any], str]) -> CastKernel:
    def kernel(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
        ok = np.ones(len(vector), bool) if vector.valid is None else vector.valid
        words = [spell(value) if good else None for value, good in zip(vector.values.tolist(), ok, strict=True)]
        return of_list(t.STRING, words)

    return kernel


def _write_float(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    single = vector.type == t.FLOAT
    return _write(lambda value: text.write_double(value, single))(site, kind, vector)


def _write_decimal(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    scale, ansi = vector.type.scale, site.settings.ansi
    spell = decimal_text if ansi else text.write_decimal_scientific
    return _write(lambda number: spell(int(number), scale))(site, kind, vector)


def _write_timestamp(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    local = zones.to_local(vector.values, site.settings.timezone)
    return _write(text.write_clock)(site, kind, Vector(t.NTZ, local, vector.valid))


def _to_date(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    local = vector.values
    if t.is_timestamp(vector.type):
        local = zones.to_local(local, site.settings.timezone)
    return Vector(kind, (local // zones.DAY_US).astype(np.int32), vector.valid)


def _date_to_timestamp(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    micros = vector.values.astype(np.int64) * zones.DAY_US
    if t.is_timestamp(kind):
        micros = zones.to_utc(micros, site.settings.timezone)
    return Vector(kind, micros, vector.valid)


def _between_timestamps(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    if t.is_timestamp(kind) == t.is_timestamp(vector.type):
        return Vector(kind, vector.values, vector.valid)
    shift = zones.to_utc if t.is_timestamp(kind) else zones.to_local
    return Vector(kind, shift(vector.values, site.settings.timezone), vector.valid)


def _timestamp_to_number(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    if t.is_float(kind):
        return Vector(kind, (vector.values / 1e6).astype(kind.to_pandas_dtype()), vector.valid)
    if t.is_decimal(kind):
        exact = Vector(pa.decimal128(20, 6), vector.values.astype(object), vector.valid)
        return _decimal_to_decimal(site, kind, exact)
    return _to_int(site, kind, Vector(t.INT64, vector.values // 1_000_000, vector.valid))


def _number_to_timestamp(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    if t.is_integral(vector.type):
        limit = np.iinfo(np.int64).max // 1_000_000
        seconds = np.clip(vector.values.astype(np.int64), -limit, limit)  # Spark saturates
        return Vector(kind, seconds * 1_000_000, vector.valid)
    if t.is_decimal(vector.type):
        micros = truncated(Vector(pa.decimal128(38, vector.type.scale), vector.values.astype(object) * 1_000_000))
        return Vector(kind, micros.astype(np.int64), vector.valid)
    bad = ~np.isfinite(vector.values)
    valid = checked(site, bad, vector.valid, "CAST_INVALID_INPUT", "NaN and infinity aren't timestamps")
    micros = np.where(bad, 0, vector.values.astype(np.float64) * 1e6)
    return Vector(kind, np.clip(micros, -(2.0**63), 2.0**63 - 1024).astype(np.int64), valid)


def _bytes_to_text(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    return of_list(kind, [None if item is None else item.decode("utf-8", "replace") for item in vector.to_list()])


def _text_to_bytes(site: Site, kind: pa.DataType, vector: Vector) -> Vector:
    return of_list(kind, [None if item is None else item.encode() for item in vector.to_list()])


BASIC_CASTS: dict[tuple[str, str], CastKernel] = {
    ("int", "int"): _to_int,
    ("bool", "int"): _to_float,
    ("bool", "float"): _to_float,
    ("bool", "decimal"): _int_to_decimal,
    ("int", "float"): _to_float,
    ("float", "float"): _to_float,
    ("int", "bool"): _to_bool,
    ("float", "bool"): _to_bool,
    ("decimal", "bool"): _to_bool,
    ("int", "decimal"): _int_to_decimal,
    ("float", "decimal"): _float_to_decimal,
    ("decimal", "decimal"): _decimal_to_decimal,
    ("float", "int"): _float_to_int,
    ("decimal", "int"): _decimal_to_int,
    ("decimal", "float"): lambda site, kind, vector: _to_float(
        site, kind, Vector(t.DOUBLE, as_double(vector), vector.valid)
    ),
    ("string", "bool"): _by_value(lambda value, site, kind: text.read_boolean(value)),
    ("string", "int"): _by_value(_read_int),
    ("string", "float"): _by_value(lambda value, site, kind: text.read_double(value)),
    ("string", "decimal"): _by_value(_read_decimal),
    ("string", "date"): _by_value(lambda value, site, kind: text.read_date(value)),
    ("string", "timestamp"): _by_value(lambda value, site, kind: text.read_timestamp(value, site.settings.timezone)),
    ("string", "ntz"): _by_value(lambda value, site, kind: text.read_timestamp_ntz(value)),
    ("string", "binary"): _text_to_bytes,
    ("binary", "string"): _bytes_to_text,
    ("bool", "string"): _write(lambda value: "true" if value else "false"),
    ("int", "string"): _write(str),
    ("float", "string"): _write_float,
    ("decimal", "string"): _write_decimal,
    ("date", "string"): _write(text.write_date),
    ("ntz", "string"): _write(text.write_clock),
    ("timestamp", "string"): _write_timestamp,
    ("timestamp", "date"): _to_date,
    ("ntz", "date"): _to_date,
    ("date", "timestamp"): _date_to_timestamp,
    ("date", "ntz"): _date_to_timestamp,
    ("timestamp", "ntz"): _between_timestamps,
    ("ntz", "timestamp"): _between_timestamps,
    ("timestamp", "timestamp"): _between_timestamps,
    ("timestamp", "int"): _timestamp_to_number,
    ("timestamp", "float"): _timestamp_to_number,
    ("timestamp", "decimal"): _timestamp_to_number,
    ("int", "timestamp"): _number_to_timestamp,
    ("float", "timestamp"): _number_to_timestamp,
    ("decimal", "timestamp"): _number_to_timestamp,
}
