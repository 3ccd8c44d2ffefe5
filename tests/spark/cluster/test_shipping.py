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
FOUND = "found"
SMALL = {"spark.cores.max": "1"}
"""One executor with one task at a time: a second executor gets the package in the same way."""

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


EXPECTED = {
    "nothing, batch": MISSING,
    "nothing, stream": MISSING,
    "addPyFile of a wheel, batch": FOUND,
    "addPyFile of a wheel, stream": FOUND,
    "addPyFile of a zip, batch": FOUND,
    "addPyFile of a zip, stream": FOUND,
    "addArtifacts, batch": FOUND,
    "archives, batch": FOUND,
    "archives, stream": FOUND,
    "installed, batch": FOUND,
    "installed, stream": FOUND,
    "environment, batch": FOUND,
    "environment, stream": "WORKERS_DIFFER: Spark can't start './environment/bin/python'",
    "environment beside the driver, stream": FOUND,
}
"""How the answer to each attempt starts."""


def test_recipes_in_classic_sessions(drivers: Drivers, package_zip: Path, tmp_path: Path) -> None:
    """One driver for all recipes, one session after the other: starting a JVM takes longer.

    The package is sent with its compiled kernels, so the workers compile nothing.
    """
    compiled_before = {path for home in drivers.cluster.homes for path in home.rglob("*.kernel")}
    wheel = tmp_path / f"ostinato-{ost.__version__}-py3-none-any.whl"
    shutil.copy(package_zip, wheel)
    unpacked = drivers.with_package.parents[1]
    environment = tmp_path / "environment.tar.gz"
    with tarfile.open(environment, "w:gz") as archive:
        archive.add(unpacked, ".")
    program = CLASSIC.format(
        zip=package_zip,
        wheel=wheel,
        with_package=drivers.with_package,
        environment=environment,
        unpacked=unpacked,
    )
    lines = drivers.run(tmp_path, program, settings={**drivers.settings(), **SMALL})
    told = dict(line.split(": ", 1) for line in lines)
    assert told.keys() == EXPECTED.keys()
    assert {name: answer for name, answer in told.items() if not answer.startswith(EXPECTED[name])} == {}
    assert {path for home in drivers.cluster.homes for path in home.rglob("*.kernel")} == compiled_before
