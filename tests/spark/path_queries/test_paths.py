"""Path queries on Spark, by rounds of joins and for many questions at once, give the paths of one process."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import ostinato as ost

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = {
    "one": "a / ^a",
    "two": "(a|^b)+",
    "three": "./c?",
    "typed": "a[P] / .{0,2}",
    "empty": "b*",
    "unknown": "nobody / a",
}


def graph_of(seed: int) -> tuple[pa.Table, pa.Table]:
    chance = random.Random(seed)
    nodes = [f"n{i}" for i in range(12)]
    rows = [(chance.choice(nodes), chance.choice("abcd"), chance.choice(nodes)) for _ in range(30)]
    rows += [rows[0], (None, "a", "n1"), ("n1", None, "n2")]
    head, relation, tail = zip(*rows, strict=True)
    types = [(node, kind) for node in nodes for kind in "PQ" if chance.random() < 0.5]
    return (
        pa.table({"head": head, "relation": relation, "tail": tail}),
        pa.table({"node": [node for node, _ in types], "kind": [kind for _, kind in types]}),
    )


def rows_of(result: Any) -> list[tuple[Any, ...]]:
    return sorted(
        (row["query"], row["start"], tuple(row["nodes"]), tuple(row["relations"]), row["end"]) for row in result
    )


@pytest.mark.parametrize("simple", [False, True])
def test_rounds_of_joins_equal_one_process(spark: SparkSession, simple: bool) -> None:
    triples, types = graph_of(7)
    starts = ["n0", "n1", "n5", "nowhere"]
    options: dict[str, Any] = {"start": starts, "simple": simple, "max_hops": 3}
    expected = ost.paths(QUERIES, node_types=types, **options).run(triples)
    df, kinds = spark.createDataFrame(triples.to_pandas()), spark.createDataFrame(types.to_pandas())
    result = ost.paths(QUERIES, node_types=kinds, **options).run(df).table
    assert expected.table.num_rows > 30
    assert rows_of(row.asDict() for row in result.collect()) == rows_of(expected.table.to_pylist())
    ends = ost.paths(QUERIES, node_types=kinds, **options, end=["n2", "n3"]).run(df).table
    assert rows_of(row.asDict() for row in ends.collect()) == [
        row for row in rows_of(expected.table.to_pylist()) if row[-1] in ("n2", "n3")
    ]


def test_starts_may_be_a_dataframe(spark: SparkSession) -> None:
    triples, _ = graph_of(3)
    df = spark.createDataFrame(triples.to_pandas())
    starts = spark.createDataFrame([("n1",), ("n1",), (None,)], "who string")
    expected = ost.paths("a / ^a", start="n1").run(triples)
    assert rows_of(row.asDict() for row in ost.paths("a / ^a", start=starts).run(df).table.collect()) == rows_of(
        expected.table.to_pylist()
    )


def test_types_that_are_numbers(spark: SparkSession) -> None:
    triples, _ = graph_of(3)
    types = pa.table({"node": ["n1", "n2", "n3", "n4"], "kind": [1, 2, 1, None]})
    starts = [f"n{i}" for i in range(12)]
    expected = ost.paths(".[`1`]", start=starts, node_types=types).run(triples)
    df = spark.createDataFrame(triples.to_pandas())
    kinds = spark.createDataFrame([("n1", 1), ("n2", 2), ("n3", 1), ("n4", None)], "node string, kind int")
    result = ost.paths(".[`1`]", start=starts, node_types=kinds).run(df).table
    assert expected.table.num_rows > 0
    assert rows_of(row.asDict() for row in result.collect()) == rows_of(expected.table.to_pylist())
    many = [f"a[t{i}]" for i in range(40)]
    with pytest.raises(ost.QueryError, match="different tests of node types"):
        ost.paths(many, start="n1", node_types=kinds).run(df)
    with pytest.raises(ost.QueryError, match="node_types is a DataFrame"):
        ost.paths("a[P]", start="n1", node_types=types).run(df)
    assert ost.paths(many, start="n1").run(df).table.count() == 0  # no node has a type


def test_bounds_and_very_long_paths_are_refused(spark: SparkSession) -> None:
    df = spark.createDataFrame(graph_of(3)[0].to_pandas())
    with pytest.raises(ost.QueryError, match="walked by joins"):
        ost.paths("a", start="n1", latency_bound="5 ms").run(df)
    with pytest.raises(ost.QueryError, match="walked by joins"):
        ost.paths("a", start="n1", max_partial_paths=5).run(df)
    with pytest.raises(ost.QueryError, match="100 edges far") as caught:
        ost.paths("a*", start="n1", max_hops=10**9).run(df)
    assert caught.value.code == "PATTERN_TOO_LARGE"


def test_many_questions_at_once(spark: SparkSession) -> None:
    triples, _ = graph_of(5)
    learnt = ost.LearntProposer(
        [("what is a of n0", "n0", "a"), ("who shares a with n0", "n0", "a / ^a"), ("b of n0", "n0", "b")]
    )
    graph_questions = ost.GraphQuestions(ost.graph(triples), learnt, simple=True)
    questions = [
        (f"{text} {node}", node) for node in ("n1", "n2", "n3") for text in ("what is a of", "who shares a with")
    ]
    questions += [("nothing about n9", "nowhere"), (None, "n1")]
    table = pa.table({"question": [one for one, _ in questions], "topic": [two for _, two in questions]})
    expected = graph_questions.run(table).to_pylist()
    df = spark.createDataFrame(questions, "question string, topic string").repartition(3)
    result = [row.asDict(recursive=True) for row in graph_questions.run(df).collect()]
    key = lambda row: (row["question"] or "", row["topic"])  # noqa: E731
    assert sorted(result, key=key) == sorted(expected, key=key)
    assert any(row["answers"] for row in expected)
    with pytest.raises(ost.QueryError, match="no column 'topic'"):
        graph_questions.run(df.drop("topic"))
