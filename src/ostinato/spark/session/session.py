"""A quiet Spark session on this machine, for the command line, the tests and the documentation."""

from __future__ import annotations

import atexit
import functools
import os
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from importlib.resources import as_file, files
from pathlib import Path

from pyspark.sql import SparkSession

from ostinato.spark.session.java import prepare_java
from ostinato.spark.session.jvm_warnings import without_start_warnings

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"


def local_session(app_name: str = "ostinato", *, cores: int | None = None, **settings: object) -> SparkSession:
    """A session in Spark's local mode, or the one that already runs in this process.

    `cores` defaults to all of them. `settings` are Spark's own, and override ours:
    `local_session(cores=2, **{"spark.sql.shuffle.partitions": 4})`.
    """
    builder = SparkSession.builder
    if SparkSession.getActiveSession() is None:  # a running session keeps its own settings
        prepare_machine()
        cores = cores or os.cpu_count() or 1
        builder = builder.appName(app_name).master(f"local[{cores}]")
        settings = {**local_settings(cores), **settings}
    for name, value in settings.items():
        builder = builder.config(name, str(value).lower() if isinstance(value, bool) else str(value))
    with without_start_warnings():
        return builder.getOrCreate()


def session_elsewhere(
    app_name: str, *, master: str | None = None, remote: str | None = None, settings: Mapping[str, str]
) -> SparkSession:
    """A session on a cluster, or of a Spark Connect server, with the caller's settings only."""
    builder = SparkSession.builder.appName(app_name)
    if remote is None:
        prepare_java()
        builder = builder.master(str(master))
    else:
        builder = builder.remote(remote)
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def local_settings(cores: int) -> dict[str, str]:
    """Settings of a classic session: few log lines, reachable from this machine only, few partitions."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.shuffle.partitions": str(2 * cores),
        _JAVA_OPTIONS: f"-Dlog4j2.configurationFile={_log_settings().as_uri()}",
    }


@functools.cache
def _log_settings() -> Path:
    """The log settings as a file on disk, also if the package is a zip. It stays until this process ends."""
    until_exit = ExitStack()
    atexit.register(until_exit.close)
    return until_exit.enter_context(as_file(files("ostinato.spark.session") / "log4j2.properties"))


def prepare_machine() -> None:
    """Finds Java, and makes workers run this process's Python. Call it before the JVM starts, classic or Connect."""
    prepare_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Otherwise Spark warns about the host's name before it reads any log setting.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
