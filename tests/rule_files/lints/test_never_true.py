"""Conditions that can't be true: as brute force over all values of small types says, and no false alarm for others."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ostinato.errors import OstinatoError
from ostinato.expressions.evaluate import evaluate_mask
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.render import render_expression
from ostinato.expressions.syntax import Column, ColumnRef, Expr, rebuild
from ostinato.rule_files.lints.never_true import contradiction

Draw = Callable[[st.SearchStrategy[Any]], Any]


def bound(text: str) -> Expr:
    def columns(expr: Expr) -> Expr:
        return Column(expr.parts[0].text, expr.span) if isinstance(expr, ColumnRef) else rebuild(expr, columns)

    return columns(parse_expression(text))


def parts(text: str, **types: pa.DataType) -> list[str]:
    return [render_expression(part).replace("`", "") for part in contradiction(bound(text), types.get)]


INT, DOUBLE, TEXT = pa.int32(), pa.float64(), pa.string()


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("x > 10 AND x < 5", DOUBLE, 2),
        ("x > 1 AND x < 2", INT, 2),
        ("x > 1 AND x < 2", DOUBLE, 0),
        ("x > 1 AND x < 2", pa.decimal128(5, 0), 2),
        ("x > 1 AND x < 2", pa.decimal128(5, 1), 0),
        ("x = 1 AND x = 2", INT, 2),
        ("x = NULL", INT, 1),
        ("x <> NULL", TEXT, 1),
        ("x <=> NULL", TEXT, 0),
        ("x IN (NULL, NULL)", INT, 1),
        ("x IN (1, NULL)", INT, 0),
        ("x IS NULL AND x > 3", INT, 2),
        ("x IS NULL AND y > 3", INT, 0),
        ("x = 200", pa.int8(), 1),
        ("x = -129 OR x > 127", pa.int8(), 1),
        ("x < 200", pa.int8(), 0),
        ("x = 1.5", INT, 1),
        ("x > 9007199254740993", pa.int64(), 0),
        ("x BETWEEN 5 AND 3", INT, 1),
        ("NOT (x >= 3) AND x > 3", INT, 2),
        ("NOT (x > 3 OR x <= 3)", INT, 1),
        ("x = 'a' AND x = 'b'", TEXT, 2),
        ("x > 'a' AND x < 'a '", TEXT, 0),
        ("x < ''", TEXT, 1),
        ("x AND NOT x", pa.bool_(), 2),
        ("x = DATE '2024-01-01' AND x > DATE '2024-01-02'", pa.date32(), 2),
        ("x > '2024-01-01' AND x < '2024-01-02'", pa.date32(), 2),
        ("x > '2024-01-01 00:00:00' AND x < '2024-01-01 00:00:00.000001'", pa.timestamp("us"), 2),
        ("x > '2024-01-02' AND x < '2024-01-01'", pa.timestamp("us", "UTC"), 0),  # other zones, other times
        ("x > 5 AND x = DOUBLE('NaN')", DOUBLE, 0),  # NaN is larger than all numbers
        ("x = 1e400", DOUBLE, 0),
        ("x > 5 AND abs(x) < 3", INT, 0),  # a function isn't judged
        ("x LIKE 'a%' AND x LIKE 'b%'", TEXT, 0),
        ("x = '1' AND x = 2", INT, 0),  # a text that is cast isn't judged
        ("x = 1.5F AND x = 2.5F", pa.int64(), 1),
        ("x > 9007199254740992D AND x < 9007199254740994D", pa.int64(), 0),  # the column would be rounded
        ("x > 1 AND (x < 0 OR x = 1)", INT, 2),
        ("x > 1 AND (x < 0 OR y = 1)", INT, 0),
        ("x > 1 AND x < 5 AND x <> 3 AND x < 0", INT, 2),
        ("1 = 2", INT, 1),
        ("NULL", INT, 1),
        ("x < x", INT, 1),
        ("x = y AND x <> y", INT, 0),  # two values aren't judged
        ("x > CURRENT_DATE", pa.date32(), 0),
        ("x = array(1)", INT, 0),
    ],
)
def test_conditions(text: str, kind: pa.DataType, found: int) -> None:
    assert len(parts(text, x=kind, y=INT)) == found


def test_the_fewest_parts_are_named() -> None:
    assert parts("x > 0 AND x > 7 AND y = 1 AND x <> 4 AND x < 3", x=INT, y=INT) == ["(x > 7)", "(x < 3)"]


# --- brute force ------------------------------------------------------------------------------------------------------

KINDS: dict[str, tuple[pa.DataType, list[str], list[Any]]] = {
    "tinyint": (
        pa.int8(),
        ["-129", "-128", "-1", "0", "1", "2", "3", "127", "128", "1.5", "2.5", "0.5D", "1.5F", "NULL", "300"],
        [None, *range(-128, 128)],
    ),
    "boolean": (pa.bool_(), ["true", "false", "NULL"], [None, True, False]),
    "decimal": (
        pa.decimal128(3, 1),
        ["0", "1", "0.1", "0.15", "0.2", "-0.05", "99.9", "100", "99.95", "NULL"],
        [None, *(Decimal(number) / 10 for number in range(-999, 1000))],
    ),
    "string": (
        pa.string(),
        ["''", "'a'", "'a\\0'", "'b'", "'aa'", "NULL", "'é'"],
        [None, "", "\0", "A", "a", "a\0", "a\0\0", "aa", "aa\0", "ab", "b", "b\0", "c", "é", "é\0", "\U0010ffff"],
    ),
    "double": (
        pa.float64(),
        ["0", "1", "1.5", "-1D", "0.1", "1e308", "-0D", "NULL", "1e-320D"],
        [None, math.nan, math.inf, -math.inf]
        + [
            float(near)
            for value in (0.0, 1.0, 1.5, -1.0, 0.1, 1e308, 1e-320)
            for near in (value, np.nextafter(value, np.inf), np.nextafter(value, -np.inf))
        ],
    ),
}


@st.composite
def formulas(draw: Draw, constants: list[str], levels: int = 2) -> str:
    if levels and draw(st.booleans()):
        form = draw(st.sampled_from(["({} AND {})", "({} OR {})", "({} AND {})", "NOT ({})", "({}) IS NULL"]))
        return form.format(*(draw(formulas(constants, levels - 1)) for _ in range(form.count("{}"))))
    constant = st.sampled_from(constants)
    forms = [*(f"x {op} {{}}" for op in ("=", "<>", "<", "<=", ">", ">=", "<=>"))]
    forms += ["{} < x", "x IS NULL", "x IN ({}, {})", "x BETWEEN {} AND {}", "x NOT IN ({})"]
    form = draw(st.sampled_from(forms))
    return form.format(*(draw(constant) for _ in range(form.count("{}"))))


@st.composite
def conditions(draw: Draw) -> tuple[str, str]:
    name = draw(st.sampled_from(sorted(KINDS)))
    count = draw(st.integers(1, 4))
    return name, " AND ".join(draw(formulas(KINDS[name][1])) for _ in range(count))


@given(conditions())
@settings(max_examples=examples(400), deadline=None)
def test_as_brute_force_says(condition: tuple[str, str]) -> None:
    """For these types, the values tell all regions apart: the judge must find each contradiction, and no other."""
    name, text = condition
    kind, _, values = KINDS[name]
    expr = bound(text)
    column = pa.array(values, kind)
    try:
        mask = evaluate_mask(expr, lambda node: column if node == Column("x") else None, len(column))
    except OstinatoError:
        assert not contradiction(expr, {"x": kind}.get)
        return
    assert bool(contradiction(expr, {"x": kind}.get)) == (not mask.any())


@given(conditions(), conditions())
@settings(max_examples=examples(60), deadline=None)
def test_no_false_alarm_over_two_columns(one: tuple[str, str], other: tuple[str, str]) -> None:
    text = f"({one[1]}) OR ({other[1].replace('x', 'y')})"
    columns = {"x": pa.array(KINDS[one[0]][2], KINDS[one[0]][0]), "y": pa.array(KINDS[other[0]][2], KINDS[other[0]][0])}
    first, second = len(columns["x"]), len(columns["y"])
    pairs = {
        "x": columns["x"].take(pa.array(np.repeat(np.arange(first), second))),
        "y": columns["y"].take(pa.array(np.tile(np.arange(second), first))),
    }
    expr = bound(text)
    if contradiction(expr, {name: column.type for name, column in columns.items()}.get):
        leaf = lambda node: pairs[node.name] if isinstance(node, Column) else None  # noqa: E731
        assert not evaluate_mask(expr, leaf, first * second).any()
