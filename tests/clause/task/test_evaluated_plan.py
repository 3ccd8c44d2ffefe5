"""Errors of rows in process name the expression, the key and the time."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost

ROWS = pa.table({"k": ["a", "b", None], "t": [1, 2, 3], "x": [4, 0, 5]})


@pytest.mark.parametrize(
    ("measures", "output", "define", "where"),
    [
        ("12 / LAST(x) AS q", "", "x >= 0", " in 12 / LAST(x), in the measure 'q', in the row with k = 'b'"),
        (
            "12 / x AS q",
            "ALL ROWS PER MATCH",
            "x >= 0",
            " in 12 / x, in the measure 'q', in the row with k = 'b', t = 2",
        ),
        ("x AS q", "", "12 / x > 0", " in 12 / x, in the row with k = 'b', t = 2"),
        ("x AS q", "", "12 / (x - 5) > 0", " in 12 / (x - 5), in the row with k = NULL, t = 3"),
        ("x AS q", "", "sum(A.x) / x >= 0", " in DEFINE, in the partition k = 'b', from the row with t = 2"),
    ],
)
def test_an_error_names_its_place(measures: str, output: str, define: str, where: str) -> None:
    clause = f"PARTITION BY k ORDER BY t MEASURES {measures} {output} PATTERN (A) DEFINE A AS {define}"
    with pytest.raises(ost.MatchError) as caught:
        ost.match(clause, ROWS)
    assert caught.value.code == "DIVIDE_BY_ZERO"
    assert caught.value.message.endswith(f" by zero{where}")


def test_a_measure_isnt_evaluated_for_rows_outside_of_matches() -> None:
    clause = """PARTITION BY k ORDER BY t MEASURES 12 / x AS q ALL ROWS PER MATCH WITH UNMATCHED ROWS
        PATTERN (A) DEFINE A AS x > 0"""
    assert ost.match(clause, ROWS)["q"].to_pylist() == [3.0, None, 2.4]
