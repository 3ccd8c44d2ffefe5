"""Questions a second: walked and answered in one process on one core, and through Spark."""

from __future__ import annotations

import functools

import pyarrow as pa
from pyspark.sql import DataFrame

import ostinato as ost
from benchmarks.experiment import Scale, best_seconds, expect, seconds
from benchmarks.paths.questions import load
from benchmarks.records import Baseline, Record
from ostinato.spark.session.session import local_session

FIGURE = "questions a second"
PROPOSALS = 3


def _write(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def measure_speed(scale: Scale) -> list[Record]:
    name, graph, sets = load(scale)
    records = []
    spark = local_session("paths", cores=2, **{"spark.sql.shuffle.partitions": 4})
    try:
        for asked in sets:
            questions = ost.GraphQuestions(graph, asked.learnt(PROPOSALS), limit=100)
            table = pa.table({"question": [one.text for one in asked.test], "topic": [one.topic for one in asked.test]})
            expected = {row["question"] + row["topic"]: row["answers"] for row in questions.run(table).to_pylist()}
            alone = len(asked.test) / best_seconds(functools.partial(questions.run, table), 3)
            df = spark.createDataFrame(table.to_pandas()).repartition(2).cache()
            found = {row["question"] + row["topic"]: row["answers"] for row in questions.run(df).collect()}
            expect(f"answers through Spark, {asked.hops} hops", found, expected)
            through = len(asked.test) / min(seconds(functools.partial(_write, questions.run(df))) for _ in range(2))
            case = f"{name}, {asked.hops} hops, {PROPOSALS} queries each"
            records.append(Record("paths", FIGURE, case, "in process, one core", alone, "questions/s"))
            records.append(
                Record("paths", FIGURE, case, "Spark, two cores", through, "questions/s", Baseline("in process", alone))
            )
    finally:
        spark.stop()
    return records
