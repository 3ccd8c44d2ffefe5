"""Executors whose package has no compiled kernels: each machine compiles a kernel once, for all its Python workers."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path

import pytest
from tests.spark.cluster.conftest import Drivers
from tests.spark.cluster.standalone_cluster import CORES, WORKERS, StandaloneCluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

ENDING = ".kernel"
TASKS = WORKERS * CORES
SPREAD = {
    "spark.executor.cores": str(CORES),
    "spark.sql.shuffle.partitions": str(TASKS),
    "spark.sql.adaptive.enabled": "false",  # would put the few rows into one task
    "spark.locality.wait": "0s",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
}
"""All tasks run at the same time, half of them on each worker."""
PROGRAM = """
    KEYS = 40  # all tasks get some
    FOUND = [(key, 2) for key in range(KEYS)]
    CLAUSE = CLAUSE.replace("'5' SECOND", "'50' SECOND")
    spark = session()
    spark.sparkContext.addPyFile("{zip}")
    attempt("kernels", spark, batch)


    def origins_here(batches):
        import os

        import pyarrow as pa
        from ostinato.kernels.kernel_cache import origins

        for _ in batches:
            pass
        found = [(os.environ["HOME"], os.getpid(), *kernel) for kernel in origins.items()]
        columns = zip(["home", "pid", "kernel", "origin"], zip(*found))
        yield pa.RecordBatch.from_pydict(dict(columns))


    # The same Python processes run this job: Spark uses its workers again.
    asked = spark.range({tasks}).repartition({tasks}).mapInArrow(
        origins_here, "home string, pid long, kernel string, origin string")
    for home, pid, kernel, origin in sorted(set(map(tuple, asked.collect()))):
        tell("origin", home, pid, kernel, origin.split()[-1])
    spark.stop()
"""


def without_kernels(package: Path, path: Path) -> Path:
    """A copy of the package's archive without compiled kernels."""
    with zipfile.ZipFile(package) as archive, zipfile.ZipFile(path, "w") as copy:
        for name in archive.namelist():
            if not name.startswith("ostinato/kernels/compiled/"):
                copy.writestr(name, archive.read(name))
    return path


def kernel_files(folder: Path) -> Counter[str]:
    """How often each kernel is stored below the folder."""
    return Counter(path.name for path in folder.rglob(f"*{ENDING}"))


def test_each_machine_compiles_a_kernel_once(
    cluster: StandaloneCluster, drivers: Drivers, package_zip: Path, tmp_path: Path
) -> None:
    assert [kernel_files(home) for home in cluster.homes] == [Counter()] * WORKERS
    zipped = without_kernels(package_zip, tmp_path / "ostinato.zip")
    settings = {**drivers.settings(), **SPREAD}
    told = drivers.run(tmp_path, PROGRAM.format(zip=zipped, tasks=TASKS), settings=settings)
    assert told[0] == "kernels, batch: found"
    used = [line.split()[1:] for line in told[1:]]
    compiled = Counter((home, kernel) for home, _, kernel, origin in used if origin == "compiled")
    assert len({home for home, *_ in used}) == WORKERS and len({pid for _, pid, *_ in used}) > WORKERS
    assert compiled and set(compiled.values()) == {1}
    for home in cluster.homes:
        files = kernel_files(home)
        assert files, f"no kernel is stored below {home}"
        assert set(files.values()) == {1}, files
