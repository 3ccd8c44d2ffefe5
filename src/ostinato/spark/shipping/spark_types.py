"""Spark's types <-> Arrow's, as mapInArrow delivers and expects them."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import types as s

from ostinato.errors import QueryError

_SIMPLE: tuple[tuple[type[s.DataType], pa.DataType], ...] = (
    (s.BooleanType, pa.bool_()),
    (s.ByteType, pa.int8()),
    (s.ShortType, pa.int16()),
    (s.IntegerType, pa.int32()),
    (s.LongType, pa.int64()),
    (s.FloatType, pa.float32()),
    (s.DoubleType, pa.float64()),
    (s.StringType, pa.string()),
    (s.CharType, pa.string()),
    (s.VarcharType, pa.string()),
    (s.BinaryType, pa.binary()),
    (s.DateType, pa.date32()),
    (s.TimestampNTZType, pa.timestamp("us")),
    (s.DayTimeIntervalType, pa.duration("us")),
    (s.NullType, pa.null()),
)
_BINARY = "UTF8_BINARY"
"""The default collation of strings."""


def arrow_type(kind: s.DataType, timezone: str, column: str) -> pa.DataType:
    """The Arrow type in which a column of a Spark type reaches Python. Raises UNSUPPORTED_TYPE if there is none."""
    if isinstance(kind, s.StringType) and kind.collation != _BINARY:
        raise QueryError(
            "UNSUPPORTED_TYPE",
            f"'{column}' is of type {kind.simpleString()}, and values are compared byte by byte here",
            hint=f"write COLLATE {_BINARY} in a sub-query that feeds the clause, or leave it out there",
        )
    for spark, arrow in _SIMPLE:
        if isinstance(kind, spark):
            return arrow
    match kind:
        case s.TimestampType():
            return pa.timestamp("us", timezone)
        case s.DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case s.ArrayType():
            return pa.list_(arrow_type(kind.elementType, timezone, column))
        case s.MapType():
            return pa.map_(arrow_type(kind.keyType, timezone, column), arrow_type(kind.valueType, timezone, column))
        case s.StructType():
            return pa.struct(
                [pa.field(field.name, arrow_type(field.dataType, timezone, column)) for field in kind.fields]
            )
    raise QueryError(
        "UNSUPPORTED_TYPE",
        f"'{column}' is of type {kind.simpleString()}, which Spark doesn't hand to Python through Arrow",
        hint="cast it in a sub-query that feeds the clause, or leave it out there",
    )


def spark_schema(schema: pa.Schema) -> s.StructType:
    """The columns with the Spark types of values that leave Python."""
    return s.StructType([s.StructField(field.name, spark_type(field.type)) for field in schema])


def spark_type(kind: pa.DataType) -> s.DataType:
    """The Spark type of values that leave Python in an Arrow type."""
    for spark, arrow in _SIMPLE:
        if kind == arrow:
            return spark()
    if pa.types.is_timestamp(kind):
        return s.TimestampType()
    if pa.types.is_decimal(kind):
        return s.DecimalType(kind.precision, kind.scale)
    if pa.types.is_map(kind):
        return s.MapType(spark_type(kind.key_type), spark_type(kind.item_type))
    if pa.types.is_list(kind):
        return s.ArrayType(spark_type(kind.value_type))
    if pa.types.is_struct(kind):
        return spark_schema(pa.schema(list(kind)))
    raise QueryError("UNSUPPORTED_TYPE", f"no Spark type for {kind}")
