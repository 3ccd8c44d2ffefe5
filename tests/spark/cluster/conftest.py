"""One cluster for the tests of a process, Pythons with and without Ostinato, and a way to run programs as drivers."""

from __future__ import annotations

import os
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.short_lived_jvms import SHORT_LIVED
from tests.spark.cluster.driver_programs import COMMON, TOLD
from tests.spark.cluster.standalone_cluster import (
    ProcessGroup,
    StandaloneCluster,
    bare_python,
    without_python_settings,
)

import ostinato
from ostinato.spark.session.session import local_settings, prepare_machine
from ostinato.spark.shipping.package_archive import write_archive
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

_MOST_SECONDS = 600
"""It takes a tenth of that on a free machine."""


@dataclass(frozen=True)
class Drivers:
    """Runs programs as drivers of the cluster. A driver has Ostinato; by default, the executors' Python lacks it."""

    cluster: StandaloneCluster
    with_package: Path
    without_package: Path

    def run(self, folder: Path, program: str, *, settings: Mapping[str, str]) -> list[str]:
        """The lines that the program told."""
        names = f"SETTINGS = {dict(settings)!r}\nFOLDER = {str(folder)!r}\n"
        (folder / "program.py").write_text(names + COMMON + textwrap.dedent(program))
        environment = {**without_python_settings(os.environ), "PYSPARK_PYTHON": str(self.without_package)}
        driver = ProcessGroup.start([str(self.with_package), "program.py"], folder / "log", environment, folder)
        try:
            driver.process.wait(_MOST_SECONDS)
        finally:
            driver.stop()
        log = driver.log.read_text(errors="replace")
        assert driver.process.returncode == 0, f"{log}\n{self.cluster.executor_logs()}"
        return [line.removeprefix(TOLD) for line in log.splitlines() if line.startswith(TOLD)]

    def settings(self) -> dict[str, str]:
        """Settings of a session on the cluster. An attempt that fails isn't repeated."""
        local = local_settings(cores=1)
        return {
            **local,
            "spark.driver.extraJavaOptions": f"{local['spark.driver.extraJavaOptions']} {SHORT_LIVED}",
            "spark.executor.extraJavaOptions": SHORT_LIVED,
            "spark.master": self.cluster.url,
            "spark.executor.memory": "512m",
            "spark.task.maxFailures": "1",
            "spark.sql.session.timeZone": "UTC",
            STATE_STORE: ROCKSDB,
        }


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    prepare_machine()
    running = StandaloneCluster(tmp_path_factory.mktemp("cluster"))
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="session")
def without_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python without Ostinato."""
    python = bare_python(tmp_path_factory.mktemp("without_package") / "environment")
    program = "import numba, pandas, pyarrow, pyspark; import ostinato"
    environment = without_python_settings(os.environ)
    run = subprocess.run([python, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert run.stderr.splitlines()[-1:] == ["ModuleNotFoundError: No module named 'ostinato'"]
    return python


@pytest.fixture(scope="session")
def with_package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python in which Ostinato is installed."""
    return bare_python(tmp_path_factory.mktemp("with_package") / "environment", Path(ostinato.__file__).parents[1])


@pytest.fixture(scope="session")
def drivers(cluster: StandaloneCluster, with_package: Path, without_package: Path) -> Drivers:
    return Drivers(cluster, with_package, without_package)


@pytest.fixture(scope="session")
def package_zip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_archive(tmp_path_factory.mktemp("package") / "ostinato.zip")
