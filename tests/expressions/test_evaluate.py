"""The evaluator's own promises: laziness, errors before rows, masks, numpy columns. Values are tested against Spark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.expressions.expression_values import expression, values

from ostinato.errors import MatchError, QueryError
from ostinato.expressions.evaluate import evaluate, evaluate_mask, prepare
from ostinato.expressions.syntax import Column, Expr, Literal, Operator
from ostinato.expressions.types import Settings
from ostinato.expressions.typing import type_of
from ostinato.expressions.values.vectors import Vector

I32, F64 = pa.int32(), pa.float64()
NAN = float("nan")
LAX = Settings(ansi=False)


def ints(*items: int | None) -> pa.Array:
    return pa.array(items, I32)


def test_three_valued_logic() -> None:
    b, c = pa.array([True, False, None] * 3), pa.array([True] * 3 + [False] * 3 + [None] * 3)
    assert values("b AND c", b=b, c=c) == [True, False, None, False, False, False, None, False, None]
    assert values("b OR c", b=b, c=c) == [True, True, True, True, False, None, True, None, None]


def test_nan_is_greatest_and_equals_itself() -> None:
    d = pa.array([1.0, NAN, None])
    assert values("d > 5", d=d) == [False, True, None]
    assert values("d = CAST('NaN' AS DOUBLE)", d=d) == [False, True, None]
    assert values("d < CAST('NaN' AS DOUBLE)", d=d) == [True, False, None]
    assert values("0.0D = -0.0D") == [True]


def test_fields_of_a_struct_are_named_by_columns_fields_and_aliases() -> None:
    columns = {"i": ints(1), "s": pa.array([{"x": 2}])}
    assert values("struct(i, s.x, i + 1, i AS `a b`)", **columns) == [{"i": 1, "x": 2, "col3": 2, "a b": 1}]
    assert values("(I, s.x)", I=ints(1), s=columns["s"]) == [{"I": 1, "x": 2}]
    assert values("named_struct('u', i)", **columns) == [{"u": 1}]
    for text in ("(i, i) IN ((1, 2), (1, 1))", "(i, i) < (i, s.x)", "array_contains(array((i, i)), (1, 1))"):
        assert values(text, **columns) == [True]  # two fields of one name


def test_an_interval_of_months_and_days_is_refused() -> None:
    months, mixed = (pa.array([pa.MonthDayNano(item)]) for item in ([14, 0, 0], [1, 2, 3]))
    assert values("k", k=months) == [pa.MonthDayNano([14, 0, 0])]
    with pytest.raises(QueryError) as error:
        values("k", k=mixed)
    assert error.value.code == "UNSUPPORTED_TYPE"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("i + 2147483647", "ARITHMETIC_OVERFLOW"),
        ("i * 2000000000", "ARITHMETIC_OVERFLOW"),
        ("i / 0", "DIVIDE_BY_ZERO"),
        ("i % 0", "DIVIDE_BY_ZERO"),
        ("CAST('x' AS INT)", "CAST_INVALID_INPUT"),
        ("CAST(i * 100L AS TINYINT)", "CAST_OVERFLOW"),
        ("array(1)[i]", "INVALID_ARRAY_INDEX"),
    ],
)
def test_errors_under_ansi_only(text: str, code: str) -> None:
    i = ints(5)
    with pytest.raises(MatchError) as error:
        values(text, i=i)
    assert error.value.code == code
    assert error.value.span is not None
    values(text, i=i, settings=LAX)


def test_errors_are_for_rows_that_get_there() -> None:
    i = ints(0, 2, None)
    assert values("CASE WHEN i <> 0 THEN 10 div i END", i=i) == [None, 5, None]
    assert values("i <> 0 AND 10 / i > 1", i=i) == [False, True, None]
    assert values("i = 0 OR 10 / i > 1", i=i) == [True, True, None]
    assert values("coalesce(i, 1 div 0)", i=ints(1, 2)) == [1, 2]
    assert values("if(i > 100, 1 div 0, i)", i=i) == [0, 2, None]
    with pytest.raises(MatchError):
        values("10 / i", i=i)


def test_null_rows_never_overflow() -> None:
    garbage = Vector(I32, np.array([2**31 - 1, 1], np.int32), np.array([False, True]))
    expr = expression("i + 1")
    assert evaluate(expr, {Column("i"): garbage}.get, 2).to_pylist() == [None, 2]


def test_nothing_is_evaluated_over_no_rows() -> None:
    assert evaluate(expression("1 / 0"), lambda node: None, 0).to_pylist() == []


def test_mask_counts_null_as_false_and_takes_numpy() -> None:
    columns = {Column("x"): np.array([1.0, 200.0, NAN]), Column("y"): pa.array([1, None, 3])}
    assert evaluate_mask(expression("x > 110"), columns.get, 3).tolist() == [False, True, True]
    assert evaluate_mask(expression("y < 2"), columns.get, 3).tolist() == [True, False, False]
    assert evaluate_mask(expression("TRUE"), columns.get, 3).tolist() == [True] * 3
    assert evaluate_mask(expression("x > 110 AND NULL"), columns.get, 3).tolist() == [False] * 3


def test_prepared_over_batches_with_declared_types() -> None:
    ready = prepare(expression("ts > TIMESTAMP '1970-01-01 00:00:01'"), {Column("ts"): pa.timestamp("us", "UTC")}.get)
    for batch in ([0, 2_000_000], [5_000_000]):
        leaf = {Column("ts"): np.array(batch, np.int64)}.get
        assert ready.mask(leaf, len(batch)).tolist() == [value > 1_000_000 for value in batch]


def test_slices_and_scalars_as_columns() -> None:
    sliced = pa.array([9, None, 3, 4], I32).slice(1, 2)
    strings = pa.array(["x", "ab", None, "c"]).slice(1, 2)
    assert values("i + 1", i=sliced) == [None, 4]
    assert values("upper(s)", s=strings) == ["AB", None]
    leaf = {Column("i"): sliced, Column("k"): pa.scalar(10)}.get
    assert evaluate(expression("i * k"), leaf, 2).to_pylist() == [None, 30]
    assert values("arr[1]", arr=pa.array([[1, 2], [3, 4], [5, 6]]).slice(1)) == [4, 6]
    assert values("st.x", st=pa.array([{"x": 1}, {"x": 2}, None]).slice(1)) == [2, None]


def types(node: Expr) -> pa.DataType | None:
    column_types = {"i": I32, "s": pa.string(), "arr": pa.list_(I32), "d": F64, "ts": pa.timestamp("us", "UTC")}
    return column_types.get(node.name) if isinstance(node, Column) else None


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ("1 + uper(s)", "UNKNOWN_FUNCTION", "uper(s)"),
        ("sha2(s, 256) = 'x'", "UNSUPPORTED_FUNCTION", "sha2(s, 256)"),
        ("d > rand()", "NONDETERMINISTIC_FUNCTION", "rand()"),
        ("ts > now()", "NONDETERMINISTIC_FUNCTION", "now()"),
        ("i > 0 AND i = arr", "TYPE_MISMATCH", "i = arr"),
        ("arr + 1", "TYPE_MISMATCH", "arr + 1"),
        ("upper(s, s)", "WRONG_NUMBER_OF_ARGUMENTS", "upper(s, s)"),
        ("nope > 1", "UNKNOWN_COLUMN", "nope"),
        ("CAST(i AS BLOB)", "UNSUPPORTED_TYPE", "CAST(i AS BLOB)"),
        ("s RLIKE '('", "INVALID_REGEX", "s RLIKE '('"),
        ("DATE '2020-13-01' > ts", "INVALID_LITERAL", "DATE '2020-13-01'"),
    ],
)
def test_errors_before_any_row(text: str, code: str, underlined: str) -> None:
    with pytest.raises(QueryError) as error:
        type_of(expression(text), types)
    assert error.value.code == code
    assert error.value.span is not None
    assert text[error.value.span.start : error.value.span.end] == underlined


def test_unknown_function_names_the_nearest() -> None:
    with pytest.raises(QueryError, match="upper"):
        try:
            type_of(expression("uper(s)"), types)
        except QueryError as error:
            raise QueryError(error.code, str(error)) from None


def test_deep_trees_are_refused() -> None:
    deep: Expr = Column("i")
    for _ in range(5000):
        deep = Operator("+", (deep, Literal("number", "1")))
    with pytest.raises(QueryError) as error:
        type_of(deep, types)
    assert error.value.code == "TOO_DEEP"


def test_strings_keep_their_characters() -> None:
    s = pa.array(["日本😀", "", None])
    assert values("length(s)", s=s) == [3, 0, None]
    assert values("reverse(s) || '!'", s=s) == ["😀本日!", "!", None]
    assert values("s LIKE '日%'", s=s) == [True, False, None]


def test_time_zones_follow_javas_rules() -> None:
    berlin = Settings(timezone="Europe/Berlin")
    gap, overlap = "CAST('2024-03-31 02:30:00' AS TIMESTAMP)", "CAST('2024-10-27 02:30:00' AS TIMESTAMP)"
    assert values(f"unix_timestamp({gap})", settings=berlin) == [1711848600]
    assert values(f"unix_timestamp({overlap})", settings=berlin) == [1729989000]
    assert values(f"CAST({gap} AS STRING)", settings=berlin) == ["2024-03-31 03:30:00"]


# --- type_of and evaluate agree, on random expressions ----------------------------------------------------------------

COLUMNS = {
    Column("b"): pa.array([True, None, False]),
    Column("t"): pa.array([1, None, -3], pa.int8()),
    Column("i"): ints(1, None, -3),
    Column("l"): pa.array([7, None, 0]),
    Column("f"): pa.array([0.5, None, NAN], pa.float32()),
    Column("d"): pa.array([2.5, None, NAN]),
    Column("p"): pa.array(["1.25", None, "-3.50"]).cast(pa.decimal128(10, 2)),
    Column("s"): pa.array(["12", None, "x"]),
    Column("dt"): pa.array([0, None, 20000], pa.int32()).cast(pa.date32()),
    Column("ts"): pa.array([0, None, 10**15]).cast(pa.timestamp("us", "UTC")),
}
_binary = st.sampled_from("+ - * / % div || = <> < <= > >= <=> and or & in is_distinct".split())


def _trees(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    ops = _binary.map(lambda op: "is distinct from" if op == "is_distinct" else op)
    unary = st.sampled_from(["neg", "not", "is null", "is true"])
    return st.one_of(
        st.builds(lambda op, a, b: Operator(op, (a, b)), ops, inner, inner),
        st.builds(lambda op, a: Operator(op, (a,)), unary, inner),
        st.builds(lambda a, b, c: Operator("between", (a, b, c)), inner, inner, inner),
    )


_leaves: st.SearchStrategy[Expr] = st.one_of(
    st.sampled_from(list(COLUMNS)),
    st.sampled_from(["1", "2.5", "3L", "1e2", "0"]).map(lambda text: Literal("number", text)),
    st.sampled_from([Literal("null", "NULL"), Literal("string", "'5'"), Literal("interval", "INTERVAL 1 DAY")]),
)


@given(st.recursive(_leaves, _trees, max_leaves=6), st.booleans())
def test_type_of_and_evaluate_agree(expr: Expr, ansi: bool) -> None:
    settings = Settings(ansi=ansi)
    leaf_type = {node: array.type for node, array in COLUMNS.items()}.get
    try:
        kind = type_of(expr, leaf_type, settings)
    except QueryError:
        with pytest.raises(QueryError):
            evaluate(expr, COLUMNS.get, 3, settings)
        return
    try:
        array = evaluate(expr, COLUMNS.get, 3, settings)
    except MatchError:
        return  # only a row could show it
    array.validate(full=True)
    assert array.type == kind
    assert len(array) == 3
