"""Expressions as Spark 4.3 evaluates them. (The evaluator proper is compared with Spark in tests/spark.)"""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from math import inf, nan

import pytest
from tests.reference.letters import ask

from ostinato.errors import MatchError


def value(expression: str, *, ansi: bool = True, **columns: object) -> object:
    return ask(f"MEASURES {expression} AS m PATTERN (A)", [columns or {"n": 0}], ansi=ansi)[0]["m"]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("10 / 4", 2.5),
        ("7 div -2", -3),
        ("-7 % 3", -1),
        ("-7.5D % 2", -1.5),
        ("7.5 % 2", Decimal("1.5")),
        ("1 + 1.5", Decimal("2.5")),
        ("1e3", 1000.0),
        ("0.5BD * 2", Decimal("1.0")),
        ("'it''s'", "it's"),
        (r"'a\tb\'c'", "a\tb'c"),
        ("'a' || 1", "a1"),
        ("concat('a', 'b', NULL)", None),
        ("TRUE AND NULL", None),
        ("FALSE AND NULL", False),
        ("NULL OR TRUE", True),
        ("NOT NULL", None),
        ("NULL <=> NULL", True),
        ("NULL IN (1)", None),
        ("1 IN (2, NULL)", None),
        ("1 IN (1, NULL)", True),
        ("1 NOT IN (2, 3)", True),
        ("1 BETWEEN NULL AND 0", False),
        ("1 BETWEEN 0 AND 1", True),
        ("1 IS NOT NULL", True),
        ("1 IS DISTINCT FROM NULL", True),
        (r"'a_b' LIKE 'a\\_b'", True),
        (r"'axb' LIKE 'a\\_b'", False),
        ("'axb' LIKE '%x_'", True),
        ("'abc' NOT LIKE 'b%'", True),
        ("CASE WHEN NULL THEN 1 ELSE 2 END", 2),
        ("CASE 3 WHEN 3 THEN 'x' END", "x"),
        ("CASE 4 WHEN 3 THEN 'x' END", None),
        ("coalesce(NULL, 2, 1 / 0)", 2),
        ("if(1 > 2, 'a', 'b')", "b"),
        ("nullif(1, 1)", None),
        ("abs(-1.5)", Decimal("1.5")),
        ("least(NULL, 2, 3)", 2),
        ("greatest(1, NULL, 3)", 3),
        ("upper('a') || lower('B')", "Ab"),
        ("length('abc')", 3),
        ("CAST(1.7D AS INT)", 1),
        ("CAST(-1.7 AS INT)", -1),
        ("CAST(TRUE AS INT)", 1),
        ("CAST(2.675 AS DECIMAL(10, 2))", Decimal("2.68")),
        ("CAST(1.5D AS STRING)", "1.5"),
        ("TRY_CAST('x' AS INT)", None),
        ("DATE '2020-01-02' + 1", date(2020, 1, 3)),
        ("DATE '2020-01-02' - DATE '2020-01-01'", timedelta(days=1)),
        ("TIMESTAMP '2020-01-01 00:00:00' + INTERVAL '5' MINUTE", datetime(2020, 1, 1, 0, 5)),
        ("DATE '2020-01-02' > '2020-01-01'", True),
    ],
)
def test_values(expression: str, expected: object) -> None:
    got = value(expression)
    assert got == expected
    assert type(got) is type(expected)


def test_nan_equals_itself_and_is_greatest() -> None:
    assert value("x = x AND x > y", x=nan, y=inf) is True
    assert str(value("greatest(x, y)", x=nan, y=inf)) == "nan"
    assert value("min(x)", x=nan) != 0


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("1 / 0", "DIVIDE_BY_ZERO"),
        ("1 % 0", "REMAINDER_BY_ZERO"),
        ("9223372036854775807 + 1", "ARITHMETIC_OVERFLOW"),
        ("CAST('x' AS INT)", "CAST_INVALID_INPUT"),
    ],
)
def test_ansi_errors(expression: str, code: str) -> None:
    with pytest.raises(MatchError) as failure:
        value(expression)
    assert failure.value.code == code


def test_without_ansi() -> None:
    assert value("1 / 0", ansi=False) is None
    assert value("9223372036854775807 + 1", ansi=False) == -(2**63)
    assert value("CAST('x' AS INT)", ansi=False) is None


def test_structs_and_arrays() -> None:
    assert value("address.City", address={"city": "Oslo"}) == "Oslo"
    assert value("A.address.city || '!'", address={"city": "Oslo"}) == "Oslo!"
    assert value("x[1]", x=[4, 5]) == 5


def test_what_it_does_not_know_it_does_not_guess() -> None:
    with pytest.raises(NotImplementedError):
        value("soundex('x')")
