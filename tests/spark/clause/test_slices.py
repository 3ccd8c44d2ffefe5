"""One order cut over several tasks: the same rows as in process, whatever Spark does with partitions and tasks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from tests.cases import Case, load_cases
from tests.spark.clause.test_cases import dataframe, statement

import ostinato as ost

N = 20_000


def prices(seed: int = 7) -> pa.Table:
    rng = np.random.default_rng(seed)
    steps = rng.choice([-2, -1, -1, 0, 1, 1, 2], N)
    return pa.table({"ts": np.arange(N), "sym": rng.choice(["a", "b"], N, p=[0.95, 0.05]), "price": np.cumsum(steps)})


@contextmanager
def settings(spark: SparkSession, **values: object) -> Iterator[None]:
    names = {name.replace("_", "."): str(value).lower() for name, value in values.items()}
    before = {name: spark.conf.get(name) for name in names}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            spark.conf.set(name, str(old))


def in_eight_slices(spark: SparkSession) -> object:
    return settings(spark, **{"spark.sql.adaptive.enabled": False, "spark.sql.shuffle.partitions": 8})


def rows(df: DataFrame) -> Counter[str]:
    return Counter(repr(tuple(row)) for row in df.collect())


def rows_in_process(clause: str, table: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(row.values())) for row in ost.match(clause, table).to_pylist())


V = "PATTERN (A B+ C+) DEFINE B AS price < PREV(price), C AS price > PREV(price)"
QUERIES = {
    "skip past last row, numbered": f"MEASURES MATCH_NUMBER() AS n, FIRST(ts) AS f, LAST(ts) AS l {V}",
    "skip to next row": f"MEASURES MATCH_NUMBER() AS n, FIRST(ts) AS f, LAST(ts) AS l AFTER MATCH SKIP TO NEXT ROW {V}",
    "skip to last B": f"MEASURES MATCH_NUMBER() AS n, FIRST(ts) AS f AFTER MATCH SKIP TO LAST B {V}",
    "all rows": f"MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c, COUNT(B.*) AS b ALL ROWS PER MATCH {V}",
    "unmatched rows": f"MEASURES MATCH_NUMBER() AS n, CLASSIFIER() AS c ALL ROWS PER MATCH WITH UNMATCHED ROWS {V}",
    "no bound, conditions over the run": "MEASURES FIRST(ts) AS f, LAST(ts) AS l "
    "PATTERN (A B+ C) DEFINE B AS price > A.price, C AS price < A.price",
    "PREV and NEXT beyond the match": "MEASURES PREV(FIRST(ts), 2) AS f, NEXT(LAST(ts), 3) AS l, MATCH_NUMBER() AS n "
    "PATTERN (A B) DEFINE A AS price > PREV(price, 3), B AS price < NEXT(price, 2)",
    "all matches": "MEASURES FIRST(ts) AS f, LAST(ts) AS l ALL MATCHES PATTERN (A B+ C) MAXLENGTH 5 "
    "DEFINE B AS price <= PREV(price), C AS price > PREV(price)",
    "maximal matches": f"MEASURES FIRST(ts) AS f, LAST(ts) AS l, MATCH_NUMBER() AS n MAXIMAL MATCHES {V}",
    "incremental matches": f"MEASURES FIRST(ts) AS f, LAST(ts) AS l, MATCH_NUMBER() AS n INCREMENTAL MATCHES {V}",
    "anchors": "MEASURES FIRST(ts) AS f, LAST(ts) AS l PATTERN (^ A B* | C D $)",
}


@pytest.mark.parametrize("about", QUERIES)
def test_one_order_over_eight_tasks(spark: SparkSession, about: str) -> None:
    clause = f"ORDER BY ts {QUERIES[about]}"
    table = prices()
    expected = rows_in_process(clause, table)
    assert sum(expected.values()) > 0
    with in_eight_slices(spark):
        assert rows(spark.createDataFrame(table).transform(ost.match_recognize(clause))) == expected


@pytest.mark.parametrize("about", QUERIES)
def test_hot_keys(spark: SparkSession, about: str) -> None:
    clause = f"PARTITION BY sym ORDER BY ts {QUERIES[about]}"
    table = prices()
    with in_eight_slices(spark):
        df = spark.createDataFrame(table).repartition(5)
        assert rows(df.transform(ost.match_recognize(clause, skew="slice"))) == rows_in_process(clause, table)


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("sort", ["worker", "spark"])
def test_adaptive_execution_and_sorting_do_not_matter(spark: SparkSession, adaptive: bool, sort: str) -> None:
    """Adaptive execution, sorting by Spark, and a result that is used twice."""
    clause = f"ORDER BY ts {QUERIES['skip past last row, numbered']}"
    expected = rows_in_process(clause, prices())
    with settings(spark, **{"spark.sql.adaptive.enabled": adaptive, "spark.sql.shuffle.partitions": 5}):
        result = spark.createDataFrame(prices()).repartition(3).transform(ost.match_recognize(clause, sort=sort))
        assert rows(result) == expected
        assert result.union(result).count() == 2 * sum(expected.values())


FAILS_ONCE = """
import json
import sys
from pathlib import Path

from pyspark import TaskContext
from tests.spark.clause.test_slices import QUERIES, prices

import ostinato as ost
from ostinato.spark.clause import sliced
from ostinato.spark.session.session import local_session

folder = sys.argv[1]


def failing_once(task):
    # Defined inside a function, so that the class itself travels to the workers, not its name.
    class FailsOnce(task):
        def __call__(self, batches):
            context = TaskContext.get()

            def half():
                everything = list(batches)
                yield from everything[: len(everything) // 2]
                Path(folder, f"{task.__name__} {context.partitionId()}").touch()
                raise RuntimeError("half of the input is read")

            yield from super().__call__(half() if context.attemptNumber() == 0 else batches)

    return FailsOnce


for name in ("SliceTask", "StitchTask", "NumberTask"):
    setattr(sliced, name, failing_once(getattr(sliced, name)))
spark = local_session(
    **{
        "spark.master": "local[2,4]",  # a task may fail three times before its stage does
        "spark.sql.adaptive.enabled": False,
        "spark.sql.shuffle.partitions": 4,  # few: Spark starts a worker anew for each task that failed
        "spark.sql.execution.arrow.maxRecordsPerBatch": 500,
    }
)
clause = f"ORDER BY ts {QUERIES[sys.argv[2]]}"
result = spark.createDataFrame(prices()).transform(ost.match_recognize(clause)).collect()
Path(folder, "rows.json").write_text(json.dumps(result))
"""


@pytest.mark.slow
def test_failed_tasks_are_repeated_without_lost_or_duplicate_rows(tmp_path: Path) -> None:
    """Every task of every stage fails halfway at its first attempt."""
    about = "skip past last row, numbered"
    path = os.pathsep.join([str(Path(__file__).parents[3]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", FAILS_ONCE, str(tmp_path), about],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=170,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((tmp_path / "rows.json").read_text())
    expected = rows_in_process(f"ORDER BY ts {QUERIES[about]}", prices())
    assert Counter(repr(tuple(row)) for row in result) == expected
    failed = Counter(mark.name.split()[0] for mark in tmp_path.iterdir() if mark.suffix != ".json")
    assert failed["SliceTask"] == 4
    assert failed["StitchTask"] > 1
    assert failed["NumberTask"] > 1


def test_the_plan_is_lazy_and_shuffles_the_input_once(spark: SparkSession) -> None:
    df = spark.createDataFrame(prices()).transform(ost.match_recognize(f"ORDER BY ts {QUERIES['skip to next row']}"))
    plan = df._jdf.queryExecution().executedPlan().toString()  # type: ignore[operator]
    assert plan.count("rangepartitioning") == 1


def test_an_unknown_option_is_refused(spark: SparkSession) -> None:
    with pytest.raises(ost.QueryError) as caught:
        spark.createDataFrame(prices()).transform(
            ost.match_recognize("ORDER BY ts MEASURES ts AS t PATTERN (A)", skew="range")
        )  # type: ignore[arg-type]
    assert caught.value.code == "INVALID_OPTION"


SLICED = [case for case in load_cases() if not case.arrival_order and "PARTITION BY" in case.clause]


@pytest.mark.slow
@pytest.mark.parametrize("case", SLICED, ids=lambda case: case.id)
def test_cases(spark: SparkSession, case: Case) -> None:
    """Conformance cases with keys, cut into ranges."""
    with in_eight_slices(spark), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tables = {case.input_name or "input": dataframe(spark, case)}
        if case.error is not None:
            with pytest.raises(Exception) as caught:
                ost.sql(statement(case), skew="slice", **tables).collect()
            ours = ost.unwrap(caught.value)
            assert ours is not None and ours.code == case.error, str(caught.value)
            return
        result = ost.sql(statement(case), skew="slice", **tables)
        assert replace(case, ordered=False).difference(result.columns, [tuple(row) for row in result.collect()]) is None


def test_ids_are_those_of_a_match_in_process(spark: SparkSession) -> None:
    """By key, in slices, without PARTITION BY, and in another time zone. Many rows are equal in ORDER BY."""
    table = prices().slice(0, 4_000)
    at = pa.array(np.arange(4_000) // 3 * 1_000_000, pa.timestamp("us", "UTC"))
    table = table.append_column("at", at)
    df = spark.createDataFrame(table)
    options = {"match_id": "found", "run_id": "run"}
    for keys in ("PARTITION BY sym", ""):
        clause = f"{keys} ORDER BY at MEASURES CLASSIFIER() AS label ALL ROWS PER MATCH {V}"
        in_process = ost.match(clause, table, **options).select(["ts", "found", "run"]).to_pylist()
        expected = Counter(repr(tuple(row.values())) for row in in_process)
        assert len({row["found"] for row in in_process}) == len({row["run"] for row in in_process}) > 100
        by_key = df.transform(ost.match_recognize(clause, **options))
        assert rows(by_key.select("ts", "found", "run")) == expected
        with in_eight_slices(spark), settings(spark, **{"spark.sql.session.timeZone": "+09:00"}):
            text = f"SELECT ts, found, run FROM t MATCH_RECOGNIZE ({clause})"
            assert rows(ost.sql(text, t=df, skew="slice", **options)) == expected
