"""Conditions over a few rows, answered for blocks of rows: the same matches as row by row, with fewer evaluations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import ostinato as ost
from ostinato.clause.task import general_conditions
from ostinato.expressions.evaluate import PreparedExpression

CONDITIONS = (
    "contains(B.s, A.s)",
    "concat(FIRST(B.s), B.s) <> 'aab'",
    "concat(LAST(X.s, 1), B.s, A.s) LIKE '%a'",
    "startswith(PREV(LAST(A.s)), s)",
    "concat(NEXT(FIRST(X.s), 1), B.s) = 'aba'",
    "coalesce(concat(A.s, PREV(B.s, 2)), 'b') > LAST(X.s)",
    "(A.x = 0 OR repeat(A.s, 6 DIV A.x) <> concat(s, s))",
    "contains(B.s, A.s) AND cardinality(array_agg(X.s)) < 2",
)
SHAPES = (
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (A X* B)",
    "AFTER MATCH SKIP TO NEXT ROW PATTERN (A X*? B+)",
    "PATTERN (A (X | B)* B)",
    "ALL MATCHES PATTERN (A X* B X? B)",
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    count = draw(st.integers(0, 9))
    texts = st.sampled_from([None, "a", "b", "ab", ""])
    return pa.table({
        "k": draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)),
        "t": list(range(count)),
        "x": pa.array(draw(st.lists(st.integers(0, 3), min_size=count, max_size=count)), pa.int32()),
        "s": pa.array(draw(st.lists(texts, min_size=count, max_size=count)), pa.string()),
    })  # fmt: skip


def result(query: str, table: pa.Table) -> Any:
    try:
        return ost.match(query, table).to_pylist()
    except ost.MatchError as error:
        return error.code


@contextmanager
def row_by_row() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(general_conditions, "block_condition", lambda *_: None)
        yield


@given(st.sampled_from(CONDITIONS), st.sampled_from(CONDITIONS), st.sampled_from(SHAPES), tables())
@settings(max_examples=examples(150))
def test_blocks_give_the_matches_of_single_rows(b: str, x: str, shape: str, table: pa.Table) -> None:
    gap = x.replace("B.", "X.")
    query = f"""PARTITION BY k ORDER BY t MEASURES A.t AS a, LAST(t) AS b, count(X.t) AS n {shape}
        DEFINE B AS {b}, X AS ({gap}) IS NOT FALSE"""
    found = result(query, table)
    with row_by_row():
        assert result(query, table) == found


def test_an_error_of_a_row_that_is_never_tried_is_none() -> None:
    table = pa.table({"t": range(20), "x": [0, 1, 1, 0] + [1] * 16, "s": ["a"] * 20})
    query = """ORDER BY t MEASURES B.t AS b PATTERN (^ A X*? B)
        DEFINE B AS repeat(A.s, 6 DIV (B.x - A.x)) {} 'aaaaaa'"""
    assert ost.match(query.format("="), table)["b"].to_pylist() == [1]
    with pytest.raises(ost.MatchError, match="DIVIDE_BY_ZERO"):
        ost.match(query.format("<>"), table)


@pytest.mark.parametrize("gap", ["X*", "X*?"])
def test_a_long_gap_takes_few_evaluations(gap: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, lengths = 2_000, list[int]()
    mask = PreparedExpression.mask

    def counted(self: PreparedExpression, leaf: Any, length: int) -> Any:
        lengths.append(length)
        return mask(self, leaf, length)

    monkeypatch.setattr(PreparedExpression, "mask", counted)
    table = pa.table({"t": range(rows), "s": ["a"] + ["b"] * (rows - 2) + ["ca"]})
    query = f"ORDER BY t MEASURES B.t AS b PATTERN (^ A {gap} B) DEFINE B AS contains(B.s, A.s)"
    assert ost.match(query, table)["b"].to_pylist() == [rows - 1]
    assert len(lengths) < 20
