"""A condition that guards another, for example against a division by zero, still does so after planning."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.reference.clause_oracle import match_rows

TABLE = pa.table({"id": [1, 2, 3, 4, 5], "x": [1, 0, 2, 4, 0]})


@pytest.mark.parametrize("pattern", ["A B", "A B+", "A B*"])
@pytest.mark.parametrize(
    "condition",
    [
        "x <> 0 AND 10 / x > 2",
        "PREV(x) <> 0 AND 10 / PREV(x) > 2",
        "A.x <> 0 AND 10 / A.x > 2",
        "x <> 0 AND A.x < 10 / x",
        "x = 0 OR 10 / x > A.x",
        "CASE WHEN A.x = 0 THEN FALSE ELSE 10 / A.x > 2 END",
        "IF(PREV(x) = 0, TRUE, 10 / PREV(x) > 2)",
        "COALESCE(NULLIF(x, x), A.x) <> 0 AND 10 % A.x >= 0",
        "NOT (1 BETWEEN PREV(x) AND 0)",
        "NOT (1 BETWEEN LAST(B.x, 1) AND 0)",
    ],
)
def test_guarded_conditions_give_the_rows_of_the_oracle(pattern: str, condition: str) -> None:
    text = (
        "ORDER BY id MEASURES FIRST(id) AS f, LAST(id) AS l AFTER MATCH SKIP TO NEXT ROW "
        f"PATTERN ({pattern}) DEFINE B AS {condition}"
    )
    assert ost.match(text, TABLE).to_pylist() == match_rows(parse_clause(text), TABLE.column_names, TABLE.to_pylist())


def test_an_unguarded_division_fails() -> None:
    with pytest.raises(ost.MatchError) as caught:
        ost.match("ORDER BY id MEASURES 1 AS x PATTERN (A B+) DEFINE B AS 10 / A.x > x AND x <> 0", TABLE)
    assert caught.value.code == "DIVIDE_BY_ZERO"
