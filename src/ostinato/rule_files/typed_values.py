"""Plain values of a rule file -> a column or a value of one type. Texts are read as Spark's CAST reads them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ostinato.calls.options import shown
from ostinato.errors import OstinatoError, QueryError
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Column
from ostinato.expressions.types import Settings


def typed_column(name: str, values: Sequence[Any], kind: pa.DataType, settings: Settings) -> pa.Array:
    """The values as a column. Raises INVALID_TEST for a value that doesn't fit.

    >>> typed_column("n", ["2024-03-01 09:00", None], pa.timestamp("us"), Settings())[0].as_py()
    datetime.datetime(2024, 3, 1, 9, 0)
    """
    try:
        return _column(values, kind, settings)
    except (OstinatoError, pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError) as error:
        if len(values) > 1:
            for value in values:
                typed_column(name, [value], kind, settings)
            raise
        reason = error.message if isinstance(error, OstinatoError) else "; ".join(str(error).splitlines()[:1])
        message = f"{shown(values[0])} doesn't fit the type {t.spark_name(kind)} of column '{name}'"
        raise QueryError("INVALID_TEST", f"{message}: {reason}") from None


def _column(values: Sequence[Any], kind: pa.DataType, settings: Settings) -> pa.Array:
    present = [value for value in values if value is not None]
    if t.is_nested(kind):
        return pa.array([None if value is None else _nested(value, kind, settings) for value in values], kind)
    if kind in (t.STRING, t.BOOL) or not present:
        _all_are(present, str if kind == t.STRING else bool)
        return pa.array(values, kind)
    if any(isinstance(value, bool | list | dict) for value in present):
        raise TypeError("it is of another kind")
    if t.is_numeric(kind) and not any(isinstance(value, str) for value in present):
        return _numbers(values, kind)
    if not all(isinstance(value, str) for value in present):
        raise TypeError("it isn't a text that can be cast")
    texts = pa.array(values, t.STRING)
    column = Column("x")
    cast = Cast(column, t.spark_name(kind))
    return evaluate(cast, lambda node: texts if node == column else None, len(texts), settings)


def _numbers(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    if t.is_decimal(kind):
        try:
            return pa.array([None if value is None else Decimal(str(value)) for value in values]).cast(kind)
        except pa.ArrowException:
            digits = f"its values have at most {kind.precision} digits, {kind.scale} of them behind the point"
            raise TypeError(digits) from None
    if t.is_float(kind):
        return pa.array([None if value is None else float(value) for value in values], kind)
    if any(isinstance(value, float) and not value.is_integer() for value in values):
        raise TypeError("it isn't a whole number")
    bits = kind.bit_width - 1
    if any(value is not None and not -(2**bits) <= value < 2**bits for value in values):
        raise TypeError(f"its values are from {-(2**bits)} to {2**bits - 1}")
    return pa.array([None if value is None else int(value) for value in values], kind)


def _all_are(values: Sequence[Any], kind: type) -> None:
    for value in values:
        if not isinstance(value, kind):
            raise TypeError("put it into quotes" if kind is str else "it is true or false")


def _nested(value: Any, kind: pa.DataType, settings: Settings) -> Any:
    """A list, struct or map whose scalars have their types."""
    if t.is_list(kind):
        return typed_column("its values", list(value), kind.value_type, settings).to_pylist()
    if not isinstance(value, dict):
        raise TypeError("it is a mapping of fields")
    if t.is_map(kind):
        keys = typed_column("its keys", list(value), kind.key_type, settings).to_pylist()
        items = typed_column("its values", list(value.values()), kind.item_type, settings).to_pylist()
        return list(zip(keys, items, strict=True))
    known = {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}
    if unknown := [name for name in value if name not in known]:
        raise TypeError(f"it has no field {shown(unknown[0])}")
    return {name: typed_column(name, [value.get(name)], part, settings).to_pylist()[0] for name, part in known.items()}


def inferred_type(name: str, values: Sequence[Any]) -> pa.DataType:
    """The type of a column that no schema declares. A text that is a time makes a timestamp without zone.

    >>> inferred_type("n", [1, None, 2.5]), inferred_type("ts", ["2024-03-01 09:00"]), inferred_type("x", ["a"])
    (DataType(double), TimestampType(timestamp[us]), DataType(string))
    """
    present = [value for value in values if value is not None]
    for kinds, kind in ((bool, t.BOOL), (int, t.INT64), (int | float, t.DOUBLE), (str, t.STRING)):
        if all(isinstance(value, kinds) and (kinds is bool or not isinstance(value, bool)) for value in present):
            is_time = kind == t.STRING and present and all(_is_time(value) for value in present)
            return t.STRING if not present else pa.timestamp("us") if is_time else kind
    message = f"the values of column '{name}' have no common type: {shown(json.dumps(present[:3], default=str))}"
    raise QueryError("INVALID_TEST", message, hint="declare the columns in rules.yaml: schema: {user: string}")


def _is_time(text: str) -> bool:
    if len(text) < len("2024-01-01 00:00"):
        return False
    try:
        return datetime.fromisoformat(text).tzinfo is None
    except ValueError:
        return False
