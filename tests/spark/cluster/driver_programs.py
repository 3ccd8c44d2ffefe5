"""The beginning of every driver program: a query in a batch and in a stream, and one printed line for each attempt."""

from __future__ import annotations

TOLD = "> "
"""What a program tells its test starts like this. Spark prints lines, too."""

COMMON = """
import itertools
import os
import time

import ostinato as ost

KEYS, STEPS, PARTITIONS = 4, 3, 4
CLAUSE = '''
    PARTITION BY k ORDER BY ts MEASURES count(*) AS n PATTERN (A B) WITHIN INTERVAL '5' SECOND
    DEFINE B AS id > PREV(id)'''
FOUND = [(key, 2) for key in range(KEYS)]
streams = itertools.count()


def tell(*words):
    print(">", *words, flush=True)


def session(**more):
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in {**SETTINGS, **more}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def rows(spark):
    numbers = spark.range(0, KEYS * STEPS, 1, PARTITIONS)
    return numbers.selectExpr("id", f"id % {KEYS} AS k", "timestamp_seconds(id) AS ts")


def batch(spark):
    return rows(spark).transform(ost.match_recognize(CLAUSE)).collect()


def stream(spark):
    folder = f"{FOLDER}/stream-{next(streams)}"
    rows(spark).write.parquet(f"{folder}/rows")
    arriving = spark.readStream.schema("id long, k long, ts timestamp").parquet(f"{folder}/rows")
    found = arriving.transform(ost.match_recognize(CLAUSE, buckets=2, eager=True))
    written = found.writeStream.format("parquet").option("path", f"{folder}/out")
    written.option("checkpointLocation", f"{folder}/state").trigger(availableNow=True).start().awaitTermination()
    return spark.read.parquet(f"{folder}/out").collect()


def attempt(name, spark, *runs):
    for run in runs:
        started = time.monotonic()
        try:
            found = sorted(map(tuple, run(spark)))
            told = "found" if found == FOUND else f"wrong: {found}"
        except Exception as error:
            ours = ost.unwrap(error)
            told = f"{type(error).__name__}: {error}".replace("\\n", " | ") if ours is None else ours.one_line()
        print(f"{name}, {run.__name__}: {time.monotonic() - started:.1f} s", flush=True)
        tell(f"{name}, {run.__name__}:", told[:1000])
"""
