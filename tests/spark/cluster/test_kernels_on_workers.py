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
PROGRAM = f"""
    spark = session(**{{{{"spark.sql.shuffle.partitions": "{WORKERS * CORES}"}}}})
    spark.sparkContext.addPyFile("{{zip}}")
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
    settings = {**drivers.settings(), "spark.executor.cores": str(CORES)}
    assert drivers.run(tmp_path, PROGRAM.format(zip=zipped), settings=settings) == ["kernels, batch: found"]
    for home in cluster.homes:
        files = kernel_files(home)
        assert files, f"no kernel is stored below {home}"
        assert set(files.values()) == {1}, files
