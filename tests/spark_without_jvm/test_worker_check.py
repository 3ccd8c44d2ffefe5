"""Workers with another Python than the driver: one error of ours that says so, on its way through any Spark."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.cloudpickle import dumps, loads

import ostinato as ost
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_packing import PackByBucket
from ostinato.spark.streams.stream_processor import BucketProcessor

SCHEMA = pa.schema([("x", pa.int64())])
LACKS = """
    import sys

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "{module}":
                raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

    sys.meta_path.insert(0, Missing())
"""
OTHER_VERSION = """
    import ostinato

    ostinato.__version__ = "0.0.1"
"""
READ = """
    import sys
    from pickle import load

    load(sys.stdin.buffer)
"""


def read_by_a_worker(sent: object, setup: str) -> str:
    """The last line of output of a Python with this setup, which unpickles the driver's task."""
    program = textwrap.dedent(setup) + textwrap.dedent(READ)
    done = subprocess.run([sys.executable, "-c", program], input=dumps(sent), capture_output=True, check=False)
    assert done.returncode != 0
    return done.stderr.decode()


@pytest.mark.parametrize(
    ("setup", "problem"),
    [
        (LACKS.format(module="ostinato"), "the workers' Python has no module 'ostinato'"),
        (LACKS.format(module="numba"), "the workers' Python has no module 'numba'"),
        (OTHER_VERSION, f"the driver runs ostinato {ost.__version__}, the workers 0.0.1"),
    ],
)
def test_a_task_says_what_the_worker_lacks_before_it_is_read(setup: str, problem: str) -> None:
    trace = read_by_a_worker(Checked(PackByBucket(SCHEMA)), setup)
    assert trace.splitlines()[-1].startswith(f"RuntimeError: WORKERS_DIFFER: {problem} (hint: ")
    error = ost.unwrap(RuntimeError(f"[PYTHON_EXCEPTION] {trace} SQLSTATE: 38000"))
    assert isinstance(error, ost.EnvironmentFault)
    assert (error.code, error.message) == ("WORKERS_DIFFER", problem)
    assert error.hint is not None and "PYSPARK_PYTHON" in error.hint


def test_the_state_of_streams_is_read_behind_the_check_too() -> None:
    processor = BucketProcessor(PackByBucket(SCHEMA), has_watermark=True)  # type: ignore[arg-type]
    assert "WORKERS_DIFFER: " in read_by_a_worker(processor, LACKS.format(module="ostinato"))
    same = loads(dumps(processor))
    assert (type(same), same.task.shipped, same.has_watermark) == (BucketProcessor, SCHEMA, True)


def test_workers_get_the_task_itself() -> None:
    task = PackByBucket(SCHEMA)
    assert loads(dumps(Checked(task))) == task
    assert Checked(task).__name__ == "PackByBucket"


@pytest.mark.parametrize(
    ("last_line", "message"),
    [
        ("ModuleNotFoundError: No module named 'ostinato'", "the workers' Python has no module 'ostinato'"),
        ("ModuleNotFoundError: No module named 'numba'", "the workers' Python has no module 'numba'"),
        (
            "ModuleNotFoundError: No module named 'ostinato.spark.newer'",
            "the workers have another version of ostinato than the driver",
        ),
        (
            "AttributeError: Can't get attribute 'Newer' on <module 'ostinato.errors' from 'x'>",
            "the workers have another version of ostinato than the driver",
        ),
        (
            "pyspark.errors.exceptions.base.PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has "
            "different version: 3.13 than that in driver: 3.11, PySpark cannot run with different minor versions.",
            "the driver runs Python 3.11, the workers 3.13",
        ),
    ],
)
def test_traces_of_workers_unwrap(last_line: str, message: str) -> None:
    error = ost.unwrap(RuntimeError(f"Job aborted\nTraceback (most recent call last):\n  File x\n{last_line}\n"))
    assert isinstance(error, ost.EnvironmentFault)
    assert (error.code, error.message) == ("WORKERS_DIFFER", message)


def test_other_traces_and_the_drivers_own_are_not_taken_for_it() -> None:
    assert ost.unwrap(RuntimeError("Traceback (most recent call last):\nNo module named 'theirs'")) is None
    assert ost.unwrap(ModuleNotFoundError("No module named 'numba'")) is None


ON_SPARK = """
    import tempfile

    import ostinato as ost
    from ostinato.spark.session.session import local_session
    from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

    PATTERN = "PATTERN (A B) WITHIN INTERVAL '5' SECOND DEFINE B AS id > PREV(id)"
    query = ost.match_recognize(f"ORDER BY ts MEASURES count(*) AS n {PATTERN}")
    spark = local_session(cores=1, **{"spark.sql.shuffle.partitions": 1, STATE_STORE: ROCKSDB})
    folder = tempfile.mkdtemp(dir=".")
    rows = spark.range(2).selectExpr("id", "timestamp_seconds(id) AS ts")
    rows.write.parquet(f"{folder}/rows")
    stream = spark.readStream.schema(rows.schema).parquet(f"{folder}/rows").withWatermark("ts", "1 second")

    def streamed():
        writer = stream.transform(query).writeStream.format("memory").queryName("found").trigger(availableNow=True)
        writer.option("checkpointLocation", f"{folder}/checkpoint").start().awaitTermination()

    for run in (rows.transform(query).collect, streamed):
        try:
            run()
        except Exception as error:
            print(ost.unwrap(error).one_line())
"""


@pytest.mark.slow
@pytest.mark.spark
def test_batches_and_streams_on_a_spark_whose_workers_lack_the_package(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(LACKS.format(module="ostinato")))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path}:"$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(ON_SPARK)],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": str(python), "PYTHONPATH": str(Path(ost.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, done.stderr
    assert all(line.startswith("WORKERS_DIFFER: the workers' Python has no module 'ostinato'") for line in lines)
