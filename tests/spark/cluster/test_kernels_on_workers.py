"""Executors whose package has no compiled kernels: each machine compiles a kernel once, for all its Python workers."""

from __future__ import annotations

import zipfile
from collections import Counter
from pathlib import Path

import pytest
from tests.spark.cluster.conftest import Drivers
from tests.spark.cluster.standalone_cluster import CORES, WORKERS, StandaloneCluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

pytest.importorskip("ostinato.kernels.user_kernels", reason="needs the kernel cache with one file for each kernel")

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
    assert drivers.run(tmp_path, PROGRAM.format(zip=zipped), settings=settings) == ["kernels, batch: found"]
    for home in cluster.homes:
        files = kernel_files(home)
        assert files, f"no kernel is stored below {home}"
        assert set(files.values()) == {1}, files
