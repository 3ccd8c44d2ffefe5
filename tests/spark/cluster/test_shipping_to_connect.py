"""Recipes of docs/deployment.md on a Spark Connect server, whose Python and whose executors' Python lack Ostinato."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.cluster.conftest import Drivers
from tests.spark.cluster.test_shipping import MISSING, SMALL

from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

pytestmark = [pytest.mark.slow, pytest.mark.timeout(700)]

ARTIFACTS = """
    import shutil

    PARTITIONS = 2
    spark = session()
    attempt("nothing", spark, batch)
    try:
        spark.addArtifacts(shutil.copy("{zip}", "{wheel}"), pyfile=True)
    except Exception as error:
        tell("wheel:", error)
    spark.addArtifacts("{zip}", pyfile=True)
    attempt("addArtifacts", spark, batch, stream)
    spark.stop()
"""
ON_THE_SERVER = """
    PARTITIONS = 2
    spark = session()
    attempt("archives", spark, batch, stream)
    spark.stop()
"""


def told_by(drivers: Drivers, folder: Path, program: str, more: dict[str, str]) -> dict[str, str]:
    """The lines of a program whose session is on a new server with these settings."""
    settings = {**drivers.settings(), **SMALL, **more}
    with drivers.cluster.connect_server(folder, settings, drivers.without_package) as address:
        client = {"spark.remote": address, "spark.sql.session.timeZone": "UTC", STATE_STORE: ROCKSDB}
        lines = drivers.run(folder, program, settings=client)
    return dict(line.split(": ", 1) for line in lines)


def test_a_zip_as_an_artifact_reaches_batches_only(drivers: Drivers, package_zip: Path, tmp_path: Path) -> None:
    """Spark 4.3 copies artifacts to a folder for each session, and leaves that folder out on the path of streams."""
    wheel = tmp_path / "ostinato-0.1.0-py3-none-any.whl"
    told = told_by(drivers, tmp_path, ARTIFACTS.format(zip=package_zip, wheel=wheel), {})
    assert told["nothing, batch"].startswith(MISSING)
    assert told["wheel"].startswith("[UNSUPPORTED_OPERATION]")
    assert told["addArtifacts, batch"] == "found"
    assert told["addArtifacts, stream"].startswith(MISSING)


def test_an_archive_among_the_settings_of_the_server(drivers: Drivers, package_zip: Path, tmp_path: Path) -> None:
    """On Connect, workers of a batch run in a folder of the session, one level below the archive. Streams' don't."""
    settings = {"spark.archives": f"{package_zip}#shipped", "spark.executorEnv.PYTHONPATH": "shipped:../shipped"}
    told = told_by(drivers, tmp_path, ON_THE_SERVER, settings)
    assert told == {"archives, batch": "found", "archives, stream": "found"}
