"""Literals as written give Spark's value and type."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest

from ostinato.errors import QueryError
from ostinato.expressions.syntax import Literal
from ostinato.expressions.types import Settings
from ostinato.expressions.values.literals import literal_value

IN_UTC = pa.timestamp("us", "UTC")


@pytest.mark.parametrize(
    ("kind", "text", "value", "type_"),
    [
        ("number", "1", 1, pa.int32()),
        ("number", "2147483648", 2**31, pa.int64()),
        ("number", "-9223372036854775808", -(2**63), pa.int64()),
        ("number", "9223372036854775808", Decimal(2**63), pa.decimal128(19, 0)),
        ("number", "1.5", Decimal("1.5"), pa.decimal128(2, 1)),
        ("number", ".05", Decimal("0.05"), pa.decimal128(2, 2)),
        ("number", "1.5D", 1.5, pa.float64()),
        ("number", "1e3", 1000.0, pa.float64()),
        ("number", "1.5f", 1.5, pa.float32()),
        ("number", "7L", 7, pa.int64()),
        ("number", "7y", 7, pa.int8()),
        ("number", "1e3BD", Decimal(1000), pa.decimal128(4, 0)),
        ("string", "'it''s'", "it's", pa.string()),
        ("string", r"'a\tb\'c\%'", "a\tb'c\\%", pa.string()),
        ("string", r"r'a\tb'", r"a\tb", pa.string()),
        ("string", r"'\u00e9\101'", "éA", pa.string()),
        ("string", '"x"', "x", pa.string()),
        ("string", "'x' 'y'", "xy", pa.string()),
        ("boolean", "TRUE", True, pa.bool_()),
        ("null", "NULL", None, pa.null()),
        ("binary", "X'1F'", b"\x1f", pa.binary()),
        ("binary", "X'ABC'", b"\x0a\xbc", pa.binary()),
        ("date", "DATE '2020-02-03'", date(2020, 2, 3), pa.date32()),
        ("timestamp", "TIMESTAMP '2020-02-03 04:05:06+01:00'", datetime(2020, 2, 3, 3, 5, 6, tzinfo=UTC), IN_UTC),
        ("timestamp_ntz", "TIMESTAMP_NTZ '2020-02-03 04:05:06'", datetime(2020, 2, 3, 4, 5, 6), pa.timestamp("us")),
        ("interval", "INTERVAL '5' MINUTE", timedelta(minutes=5), pa.duration("us")),
        ("interval", "INTERVAL 5 minutes", timedelta(minutes=5), pa.duration("us")),
        ("interval", "INTERVAL -5 minutes", timedelta(minutes=-5), pa.duration("us")),
        ("interval", "interval 1 day 2 hours", timedelta(days=1, hours=2), pa.duration("us")),
        ("interval", "INTERVAL '1 02:03:04.5' DAY TO SECOND", timedelta(1, 7384, 500_000), pa.duration("us")),
        ("interval", "INTERVAL '-1:30' HOUR TO MINUTE", timedelta(minutes=-90), pa.duration("us")),
        ("interval", "INTERVAL '2 days 3 minutes'", timedelta(days=2, minutes=3), pa.duration("us")),
    ],
)
def test_value_and_type(kind: str, text: str, value: object, type_: pa.DataType) -> None:
    scalar = literal_value(Literal(kind, text))
    assert scalar.type == type_
    assert scalar.as_py() == value


def test_timestamp_is_in_the_zone_of_the_session() -> None:
    scalar = literal_value(Literal("timestamp", "TIMESTAMP '2020-02-03 04:05:06'"), Settings(timezone="Asia/Tokyo"))
    assert scalar.as_py() == datetime(2020, 2, 2, 19, 5, 6, tzinfo=UTC)


def test_months() -> None:
    assert literal_value(Literal("interval", "INTERVAL '1-2' YEAR TO MONTH")).as_py().months == 14


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("date", "DATE '2020-02-30'"),
        ("timestamp", "TIMESTAMP 'soon'"),
        ("number", "128Y"),
        ("number", "1e400"),
        ("interval", "INTERVAL '25:61' HOUR TO MINUTE"),
        ("interval", "INTERVAL 1 month 2 days"),
        ("interval", "INTERVAL 5 parsecs"),
        ("binary", "X'0G'"),
    ],
)
def test_bad_literals(kind: str, text: str) -> None:
    with pytest.raises(QueryError) as error:
        literal_value(Literal(kind, text))
    assert error.value.code == "INVALID_LITERAL"
