"""Spark's types as pyarrow DataTypes: their names, the common type of two types, and the types of decimals."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

MAX_PRECISION = 38
NULL, BOOL, STRING, BINARY, DATE = pa.null(), pa.bool_(), pa.string(), pa.binary(), pa.date32()
INT8, INT16, INT32, INT64 = pa.int8(), pa.int16(), pa.int32(), pa.int64()
FLOAT, DOUBLE = pa.float32(), pa.float64()
NTZ, DURATION = pa.timestamp("us"), pa.duration("us")
MONTHS = pa.month_day_nano_interval()
"""A year-month interval. The evaluator holds it as a number of months. Spark ships no such column through Arrow."""

INTEGRAL = (INT8, INT16, INT32, INT64)
_INTEGER_DIGITS = {INT8: 3, INT16: 5, INT32: 10, INT64: 20}
_PRECEDENCE = (INT8, INT16, INT32, INT64, FLOAT, DOUBLE)


@dataclass(frozen=True, slots=True)
class Settings:
    """The session's rules for expressions."""

    ansi: bool = True
    timezone: str = "UTC"
    double_quoted_identifiers: bool = False
    case_sensitive: bool = False

    def fold(self, name: str) -> str:
        """Equal texts for names of tables, columns and fields that are the same."""
        return name if self.case_sensitive else name.lower()

    def same_name(self, one: str, other: str) -> bool:
        return self.fold(one) == self.fold(other)

    @property
    def timestamp(self) -> pa.DataType:
        """TIMESTAMP in this session's time zone."""
        return pa.timestamp("us", self.timezone)


def is_integral(kind: pa.DataType) -> bool:
    return kind in INTEGRAL


def is_decimal(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind))


def is_float(kind: pa.DataType) -> bool:
    return kind in (FLOAT, DOUBLE)


def is_numeric(kind: pa.DataType) -> bool:
    return is_integral(kind) or is_float(kind) or is_decimal(kind)


def is_timestamp(kind: pa.DataType) -> bool:
    """TIMESTAMP, a point in time; not TIMESTAMP_NTZ."""
    return bool(pa.types.is_timestamp(kind)) and kind.tz is not None


def is_datetime(kind: pa.DataType) -> bool:
    return kind == DATE or bool(pa.types.is_timestamp(kind))


def is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind))


def is_struct(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind))


def is_map(kind: pa.DataType) -> bool:
    return bool(pa.types.is_map(kind))


def is_nested(kind: pa.DataType) -> bool:
    return is_list(kind) or is_struct(kind) or is_map(kind)


def spark_name(kind: pa.DataType) -> str:
    """The type as Spark's errors and casts write it.

    >>> spark_name(pa.decimal128(10, 2)), spark_name(pa.list_(pa.int32()))
    ('DECIMAL(10,2)', 'ARRAY<INT>')
    """
    plain = {
        NULL: "VOID", BOOL: "BOOLEAN", STRING: "STRING", BINARY: "BINARY", DATE: "DATE", INT8: "TINYINT",
        INT16: "SMALLINT", INT32: "INT", INT64: "BIGINT", FLOAT: "FLOAT", DOUBLE: "DOUBLE", NTZ: "TIMESTAMP_NTZ",
        DURATION: "INTERVAL DAY TO SECOND", MONTHS: "INTERVAL YEAR TO MONTH",
    }  # fmt: skip
    if kind in plain:
        return plain[kind]
    if is_timestamp(kind):
        return "TIMESTAMP"
    if is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if is_list(kind):
        return f"ARRAY<{spark_name(kind.value_type)}>"
    if is_map(kind):
        return f"MAP<{spark_name(kind.key_type)}, {spark_name(kind.item_type)}>"
    if is_struct(kind):
        return "STRUCT<" + ", ".join(f"{field.name}: {spark_name(field.type)}" for field in kind) + ">"
    return str(kind).upper()


def normalise(kind: pa.DataType, settings: Settings) -> pa.DataType:
    """The type that the evaluator uses for a column of this Arrow type: one of the types that Spark ships."""
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return STRING
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind):
        return BINARY
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return normalise(kind.value_type, settings)
    if isinstance(kind, pa.BaseExtensionType):
        return normalise(kind.storage_type, settings)
    if pa.types.is_timestamp(kind):
        return NTZ if kind.tz is None else settings.timestamp
    if pa.types.is_duration(kind):
        return DURATION
    if pa.types.is_date64(kind):
        return DATE
    if pa.types.is_unsigned_integer(kind):
        return {8: INT16, 16: INT32, 32: INT64}.get(kind.bit_width, pa.decimal128(20, 0))
    if pa.types.is_float16(kind):
        return FLOAT
    if is_decimal(kind):
        return pa.decimal128(kind.precision, kind.scale)
    if pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind) or is_list(kind):
        return pa.list_(pa.field("element", normalise(kind.value_type, settings)))
    if is_struct(kind):
        return pa.struct([pa.field(field.name, normalise(field.type, settings)) for field in kind])
    if is_map(kind):
        return pa.map_(normalise(kind.key_type, settings), normalise(kind.item_type, settings))
    return kind


def array_of(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", kind))


# --- decimals ---------------------------------------------------------------------------------------------------------


def decimal_of(kind: pa.DataType) -> pa.DataType:
    """The decimal type that holds every value of a number type; for floats, the type that Spark takes."""
    if is_decimal(kind):
        return kind
    if kind in (FLOAT, DOUBLE):
        return pa.decimal128(14, 7) if kind == FLOAT else pa.decimal128(30, 15)
    return pa.decimal128(_INTEGER_DIGITS[kind], 0)


def bounded(precision: int, scale: int) -> pa.DataType:
    """A decimal with precision and scale limited to 38."""
    return pa.decimal128(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def adjusted(precision: int, scale: int) -> pa.DataType:
    """Spark's rule when a result needs more than 38 digits: give up fraction digits, but keep six of them.

    >>> adjusted(77, 20)
    Decimal128Type(decimal128(38, 6))
    """
    if precision <= MAX_PRECISION:
        return pa.decimal128(precision, scale)
    whole_digits = precision - scale
    return pa.decimal128(MAX_PRECISION, max(MAX_PRECISION - whole_digits, min(scale, 6)))


def wider_decimal(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    scale = max(left.scale, right.scale)
    whole_digits = max(left.precision - left.scale, right.precision - right.scale)
    if whole_digits + scale > MAX_PRECISION:  # whole digits win, as in Spark's boundedPreferIntegralDigits
        return pa.decimal128(MAX_PRECISION, max(0, min(scale, MAX_PRECISION - whole_digits)))
    return pa.decimal128(whole_digits + scale, scale)


# --- common types -----------------------------------------------------------------------------------------------------


def wider_numeric(left: pa.DataType, right: pa.DataType, ansi: bool) -> pa.DataType:
    """The common type of two numeric types."""
    if is_decimal(left) or is_decimal(right):
        if is_float(left) or is_float(right):
            return DOUBLE
        return wider_decimal(decimal_of(left), decimal_of(right))
    wider = max(left, right, key=_PRECEDENCE.index)
    if ansi and wider == FLOAT and left != right:
        return DOUBLE  # an integer may not fit a float exactly
    return wider


def _wider_datetime(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    if is_timestamp(left) or is_timestamp(right):
        return left if is_timestamp(left) else right
    return NTZ


def _with_string(other: pa.DataType, ansi: bool, comparing: bool) -> pa.DataType | None:
    """The common type of a string and another type."""
    if other in (DURATION, MONTHS) or is_nested(other):
        return None
    if ansi:
        return INT64 if is_integral(other) else DOUBLE if is_numeric(other) else other
    if comparing:
        return DOUBLE if is_decimal(other) else other
    return None if other in (BOOL, BINARY) else STRING


def common_type(
    left: pa.DataType, right: pa.DataType, settings: Settings, *, comparing: bool = False, strings: bool = True
) -> pa.DataType | None:
    """The type to which both operands are cast, or None where Spark refuses.

    `comparing` selects the rule of `=` and `<` instead of that of CASE, COALESCE and IN. `strings` allows a string
    with another type; GREATEST doesn't.
    """
    if left == right:
        return left
    if NULL in (left, right):
        return right if left == NULL else left
    if is_numeric(left) and is_numeric(right):
        return wider_numeric(left, right, settings.ansi)
    if is_datetime(left) and is_datetime(right):
        return _wider_datetime(left, right)
    if STRING in (left, right):
        return _with_string(right if left == STRING else left, settings.ansi, comparing) if strings else None
    inner = functools.partial(common_type, settings=settings, comparing=comparing, strings=strings)
    if is_list(left) and is_list(right):
        element = inner(left.value_type, right.value_type)
        return None if element is None else array_of(element)
    if is_map(left) and is_map(right):
        key, item = inner(left.key_type, right.key_type), inner(left.item_type, right.item_type)
        return None if key is None or item is None else pa.map_(key, item)
    if is_struct(left) and is_struct(right) and left.num_fields == right.num_fields:
        kinds = [inner(one.type, two.type) for one, two in zip(left, right, strict=True)]
        if all(kind is not None for kind in kinds):
            return pa.struct([pa.field(one.name, kind) for one, kind in zip(left, kinds, strict=True)])
    return None


def common_of_all(kinds: Iterable[pa.DataType], settings: Settings, *, strings: bool = True) -> pa.DataType | None:
    """The common type of several types, from left to right as in Spark; without ANSI, strings come last."""
    ordered = list(kinds)
    if not settings.ansi:
        ordered.sort(key=lambda kind: kind != STRING)
    result: pa.DataType | None = NULL
    for kind in ordered:
        if result is not None:
            result = common_type(result, kind, settings, strings=strings)
    return result


# --- types as written -------------------------------------------------------------------------------------------------

_WORDS = {
    "boolean": BOOL, "tinyint": INT8, "byte": INT8, "smallint": INT16, "short": INT16, "int": INT32, "integer": INT32,
    "bigint": INT64, "long": INT64, "float": FLOAT, "real": FLOAT, "double": DOUBLE, "double precision": DOUBLE,
    "string": STRING, "text": STRING, "binary": BINARY, "date": DATE, "timestamp_ntz": NTZ,
    "timestamp without time zone": NTZ, "interval day to second": DURATION, "void": NULL,
}  # fmt: skip


MAX_TYPE_DEPTH = 50
"""Largest depth of the types of a CAST."""


def parse_type(text: str, settings: Settings) -> pa.DataType | None:
    """The type that CAST names; None if the evaluator doesn't cast to it.

    >>> parse_type("Decimal(10, 2)", Settings()), parse_type("array<int>", Settings()).value_type
    (Decimal128Type(decimal128(10, 2)), DataType(int32))
    >>> parse_type("VARCHAR(7)", Settings()), parse_type("varchar", Settings())
    (DataType(string), None)
    """
    word = " ".join(text.lower().split())
    if word.count("<") > MAX_TYPE_DEPTH:
        return None
    if word in _WORDS:
        return _WORDS[word]
    if word in ("timestamp", "timestamp_ltz", "timestamp with local time zone"):
        return settings.timestamp
    matched = re.fullmatch(r"(?:decimal|dec|numeric)(?: ?\( ?0*(\d{1,9}) ?(?:, ?0*(\d{1,9}) ?)?\))?", word, re.ASCII)
    if matched:
        precision, scale = int(matched[1] or 10), int(matched[2] or 0)
        return pa.decimal128(precision, scale) if 1 <= precision <= MAX_PRECISION and scale <= precision else None
    if re.fullmatch(r"(?:varchar|char|character) ?\( ?\d+ ?\)", word, re.ASCII):
        return STRING  # Spark's CAST takes them as STRING, whatever the length
    matched = re.fullmatch(r"array ?< ?(.+) ?>", word)
    if matched:
        element = parse_type(matched[1], settings)
        return None if element is None else array_of(element)
    return None


def storage_dtype(kind: pa.DataType) -> np.dtype[Any] | None:
    """The numpy dtype of a Vector's values of this type; None if the Vector holds an Arrow array."""
    if kind in (BOOL, NULL):
        return np.dtype(bool)
    if is_numeric(kind) and not is_decimal(kind):
        plain: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return plain
    if is_decimal(kind):
        return np.dtype(np.int64) if kind.precision <= 18 else np.dtype(object)
    if kind == DATE:
        return np.dtype(np.int32)
    if pa.types.is_timestamp(kind) or kind in (DURATION, MONTHS):
        return np.dtype(np.int64)
    return None
