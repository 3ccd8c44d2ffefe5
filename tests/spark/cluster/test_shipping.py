"""Recipes of docs/deployment.md on a cluster whose executors run a Python without Ostinato."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from tests.spark.cluster.conftest import Drivers

import ostinato as ost

pytestmark = [pytest.mark.slow, pytest.mark.timeout(700)]

MISSING = "WORKERS_DIFFER: the workers' Python has no module 'ostinato'"
SMALL = {"spark.executorEnv.NUMBA_DISABLE_JIT": "1", "spark.executor.cores": "1", "spark.cores.max": "2"}
"""Kernels stay Python: compiling them takes long, and these programs have few rows. One task at a time on a worker."""

CLASSIC = """
    PARTITIONS = 2
    spark = session()
    attempt("nothing", spark, batch, stream)
    spark.sparkContext.addPyFile("{wheel}")
    attempt("addPyFile of a wheel", spark, batch, stream)
    spark.stop()

    spark = session()
    spark.sparkContext.addPyFile("{zip}")
    attempt("addPyFile of a zip", spark, batch, stream)
    spark.stop()

    spark = session()
    spark.addArtifacts("{zip}", pyfile=True)  # calls addPyFile
    attempt("addArtifacts", spark, batch)
    spark.stop()

    spark = session(**{{"spark.archives": "{zip}#shipped", "spark.executorEnv.PYTHONPATH": "shipped"}})
    attempt("archives", spark, batch, stream)
    spark.stop()

    os.environ["PYSPARK_PYTHON"] = "{with_package}"
    spark = session(**{{"spark.archives": "", "spark.executorEnv.PYTHONPATH": ""}})
    attempt("installed", spark, batch, stream)
    spark.stop()

    os.environ["PYSPARK_PYTHON"] = "./environment/bin/python"
    spark = session(**{{"spark.archives": "{environment}#environment", "spark.executorEnv.PYTHONPATH": ""}})
    attempt("environment", spark, batch, stream)
    os.symlink("{unpacked}", "environment")
    attempt("environment beside the driver", spark, stream)
    spark.stop()
"""


@pytest.fixture(scope="module")
def told(drivers: Drivers, package_zip: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All recipes of classic sessions in one driver, one session after the other: starting a JVM takes longer."""
    folder = tmp_path_factory.mktemp("classic")
    wheel = folder / f"ostinato-{ost.__version__}-py3-none-any.whl"
    shutil.copy(package_zip, wheel)
    unpacked = drivers.with_package.parents[1]
    environment = folder / "environment.tar.gz"
    with tarfile.open(environment, "w:gz") as archive:
        archive.add(unpacked, ".")
    program = CLASSIC.format(
        zip=package_zip,
        wheel=wheel,
        with_package=drivers.with_package,
        environment=environment,
        unpacked=unpacked,
    )
    lines = drivers.run(folder, program, settings={**drivers.settings(), **SMALL})
    return dict(line.split(": ", 1) for line in lines)


@pytest.mark.parametrize("kind", ["batch", "stream"])
def test_without_the_package_the_error_is_ours(told: dict[str, str], kind: str) -> None:
    assert told[f"nothing, {kind}"].startswith(MISSING)


@pytest.mark.parametrize("kind", ["batch", "stream"])
@pytest.mark.parametrize("recipe", ["installed", "archives", "addPyFile of a zip", "addPyFile of a wheel"])
def test_recipes_ship_the_package(told: dict[str, str], recipe: str, kind: str) -> None:
    assert told[f"{recipe}, {kind}"] == "found"


def test_a_zip_as_an_artifact_of_a_classic_session(told: dict[str, str]) -> None:
    assert told["addArtifacts, batch"] == "found"


def test_an_environment_as_an_archive_is_also_needed_beside_the_driver_of_a_stream(told: dict[str, str]) -> None:
    assert told["environment, batch"] == "found"
    missing = "WORKERS_DIFFER: Spark can't start './environment/bin/python', on an executor or beside the driver"
    assert told["environment, stream"].startswith(missing)
    assert told["environment beside the driver, stream"] == "found"
