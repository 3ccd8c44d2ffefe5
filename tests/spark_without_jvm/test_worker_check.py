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
from ostinato.spark.shipping.package_archive import write_archive
from ostinato.spark.shipping.worker_check import Checked
from ostinato.spark.streams.stream_packing import PackByBucket
from ostinato.spark.streams.stream_processor import BucketProcessor

SCHEMA = pa.schema([("x", pa.int64())])
PROCESSOR = BucketProcessor(PackByBucket(SCHEMA), has_watermark=True)  # type: ignore[arg-type]
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

    received = load(sys.stdin.buffer)
"""
DECLARE = """
    class Handle:
        def __getattr__(self, method):
            return lambda name, *schemas: print(method, name)

    received.init(Handle())
    received.close()
"""
GIVE_ROWS = """
    received.handleInputRows(("key",), iter([]), None)
"""


def in_a_worker(sent: object, setup: str, then: str = "") -> subprocess.CompletedProcess[bytes]:
    """A Python with this setup, which unpickles the driver's task, and goes on with the last part."""
    program = "".join(textwrap.dedent(part) for part in (setup, READ, then))
    return subprocess.run([sys.executable, "-c", program], input=dumps(sent), capture_output=True, check=False)


def read_by_a_worker(sent: object, setup: str, then: str = "") -> str:
    """The stderr of a worker that fails."""
    done = in_a_worker(sent, setup, then)
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


def test_the_processor_of_a_stream_arrives_as_it_was() -> None:
    same = loads(dumps(PROCESSOR))
    assert (type(same), same.task.shipped, same.has_watermark) == (BucketProcessor, SCHEMA, True)


def test_a_worker_without_the_package_can_declare_the_state_of_a_stream() -> None:
    """Spark starts such a worker beside the driver, without the files of `addPyFile`."""
    done = in_a_worker(PROCESSOR, LACKS.format(module="ostinato"), DECLARE)
    assert done.returncode == 0, done.stderr
    states = ["getValueState bucket", "getListState open_rows", "getListState waiting", "getValueState definition"]
    assert done.stdout.decode().splitlines() == states


def test_a_worker_without_the_package_gets_no_rows_of_a_stream() -> None:
    assert "WORKERS_DIFFER: " in read_by_a_worker(PROCESSOR, LACKS.format(module="ostinato"), GIVE_ROWS)


def test_a_wheel_on_the_workers_path_is_found(tmp_path: Path) -> None:
    """Spark copies a wheel of `addPyFile` to a folder on the path, and doesn't add the wheel itself."""
    (tmp_path / "ostinato-0.0.1-py3-none-any.whl").write_text("a wheel of another version")
    wheel = write_archive(tmp_path / "ostinato.zip").rename(tmp_path / f"ostinato-{ost.__version__}-py3-none-any.whl")
    only_there = f"""
        import os, sys
        sys.path = [path for path in sys.path if not os.path.exists(os.path.join(path, "ostinato"))]
        sys.path.append({str(tmp_path)!r})
    """
    done = in_a_worker(Checked(PackByBucket(SCHEMA)), only_there, "import ostinato; print(ostinato.__file__)")
    assert done.stdout.decode().startswith(str(wheel)), done.stderr


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


def test_a_python_that_spark_cannot_start_unwraps() -> None:
    trace = 'STREAM_FAILED: Cannot run program "./environment/bin/python": error=2, No such file or directory'
    error = ost.unwrap(RuntimeError(trace))
    assert isinstance(error, ost.EnvironmentFault)
    assert error.message == "Spark can't start './environment/bin/python', on an executor or beside the driver"
    assert ost.unwrap(RuntimeError('Cannot run program "theirs": error=2')) is None


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
