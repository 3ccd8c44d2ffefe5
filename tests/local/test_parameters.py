"""`args=`: values for the parameters `:name` and `?` of a clause."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost

TABLE = pa.table({"id": [1, 2, 3], "x": [5, 7, 9], "s": ["a", "it's", "' OR TRUE --"]})
NAMED = "ORDER BY id MEASURES id AS i, :label AS label PATTERN (A) DEFINE A AS {}"


def ids(condition: str, **args: Any) -> list[int]:
    rows = ost.match(NAMED.format(condition), TABLE, args={"label": "z", **args}).to_pylist()
    assert all(row["label"] == "z" for row in rows)
    return [row["i"] for row in rows]


def test_named_values() -> None:
    assert ids("x > :low", low=5) == [2, 3]
    assert ids("x > :low", low=7.5) == [3]
    assert ids("s = :s", s="' OR TRUE --") == [3]
    assert ids("s IN (:s, :t)", s="a", t=None) == [1]
    assert ids("array_contains(:list, s)", list=["a", "it's"]) == [1, 2]
    assert ids("PREV(x, :back) = 5", back=2) == [3]
    assert ids("x > :low OR x < - :low", low=-6) == [1, 2, 3]


def test_values_by_position_are_counted_without_the_quantifiers_of_the_pattern() -> None:
    clause = "ORDER BY id MEASURES id AS i, ? AS label PATTERN (A B??) DEFINE A AS x > ?"
    assert ost.match(clause, TABLE, args=["q", 7]).to_pylist() == [{"i": 3, "label": "q"}]
    select = f"SELECT i + ? AS j FROM t MATCH_RECOGNIZE ({clause}) AS m"
    assert ost.match(select, TABLE, args=[10, "q", 7]).to_pylist() == [{"j": 13}]


def test_a_query_object_has_its_values() -> None:
    query = ost.match_recognize("MEASURES id AS i PATTERN (A) DEFINE A AS s = :s", time="id", args={"s": "it's"})
    assert ost.match(query, TABLE).to_pylist() == [{"i": 2}]
    assert ost.match(query.to_sql(), TABLE).to_pylist() == [{"i": 2}]
    assert ost.match(query, TABLE, args={"s": "a"}).to_pylist() == [{"i": 1}]
    assert "it\\'s" in ost.explain(query).text


@pytest.mark.parametrize(
    ("text", "args", "message"),
    [
        ("A AS x > :low", {}, r"UNKNOWN_PARAMETER: :low has no value\n.*\n.*\^\^\^\^\n"),
        ("A AS x > :low", {"lwo": 1}, "did you mean 'lwo'"),
        ("A AS x > :low", [1], "UNKNOWN_PARAMETER: :low has no value"),
        ("A AS x > 1", {"low": 1}, "UNKNOWN_PARAMETER: args has 'low', and the query no :low"),
        ("A AS x > ?", [], "UNKNOWN_PARAMETER: .* number 1 has no value"),
        ("A AS x > ?", [1, 2], "UNKNOWN_PARAMETER: args has 2 values"),
        ("A AS x > ?", "1", "INVALID_OPTION: args is a dict or a list"),
    ],
)
def test_missing_and_unused_values(text: str, args: Any, message: str) -> None:
    with pytest.raises(ost.QueryError, match=message):
        ost.match(f"ORDER BY id MEASURES id AS i PATTERN (A) DEFINE {text}", TABLE, args=args)


def test_other_queries_have_no_parameters() -> None:
    with pytest.raises(ost.QueryError, match="INVALID_OPTION: the text of this event query"):
        ost.match("PATTERN SEQ(A, B) RETURN COUNT(*)", TABLE, type="s", time="id", args={"a": 1})
    with pytest.raises(ost.QueryError, match="UNSUPPORTED_IN_CLAUSE: a query of this kind has no parameters"):
        ost.Workload(["ORDER BY id MEASURES id AS i PATTERN (A) DEFINE A AS x > :low"])
