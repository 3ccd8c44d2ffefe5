"""`ostinato doctor`: checks this machine, its Spark and the workers. Each line says how to mend what it finds."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import ostinato
from ostinato.calls.foreign_errors import error_of_ours
from ostinato.cli.failures import ExitCode, described
from ostinato.cli.progress import Progress, progress_on_stderr
from ostinato.cli.terminal import say
from ostinato.errors import OstinatoError, unwrap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STREAMING_MODULES = {"google.protobuf": "protobuf", "pandas": "pandas"}
_CONNECT_MODULES = {"grpc": "grpcio", "grpc_status": "grpcio-status", "zstandard": "zstandard"}
_OLDEST_PYTHON = (3, 11)


class State(Enum):
    """The mark in front of a line."""

    GOOD = "ok"
    SLOW = "slow"
    MISSING = "missing"
    BAD = "error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report, and how to mend it."""

    topic: str
    state: State
    words: str
    mend: str = ""


def run_doctor(options: argparse.Namespace) -> int:
    """Prints the findings one by one. The exit code is 3 if a query couldn't run."""
    progress = progress_on_stderr()
    worst = ExitCode.DONE
    for finding in findings(options, progress):
        say(f"{finding.state.value:8}{finding.topic:12}{finding.words}")
        if finding.mend:
            say(f"{'':8}{'':12}-> {finding.mend}")
        if finding.state == State.BAD:
            worst = ExitCode.ENVIRONMENT
    return worst


def findings(options: argparse.Namespace, progress: Progress) -> Iterator[Finding]:
    """What the doctor finds, in the order in which one thing needs the other."""
    yield from machine()
    yield from kernels()
    if options.no_spark:
        return
    yield from spark_packages()
    if importlib.util.find_spec("pyspark") is None:
        return
    if not options.remote:
        yield java()
    try:
        with progress("starting Spark"):
            spark = _session(options)
    except Exception as error:
        yield _refused("session", error)
        return
    yield Finding("session", State.GOOD, f"Spark {spark.version}")
    with progress("asking the workers"):
        found = list(workers(spark))
    yield from found
    yield stream_settings(spark)


def machine() -> Iterator[Finding]:
    """Python, the packages that every query needs, and the CPU."""
    is_new = sys.version_info >= _OLDEST_PYTHON
    yield Finding("ostinato", State.GOOD, f"{ostinato.__version__} in {ostinato.__path__[0]}")
    yield Finding(
        "python",
        State.GOOD if is_new else State.BAD,
        f"{platform.python_version()} ({platform.system()}, {platform.machine()})",
        "" if is_new else f"install Python {'.'.join(map(str, _OLDEST_PYTHON))} or later",
    )
    packages = ", ".join(f"{name} {_version(name)}" for name in ("numba", "llvmlite", "numpy", "pyarrow"))
    yield Finding("packages", State.GOOD, packages)


def kernels() -> Iterator[Finding]:
    """Whether kernels are compiled, and where new ones go."""
    from ostinato.kernels.kernel_cache import used_kernels
    from ostinato.kernels.kernel_environment import cpu_features, cpu_name
    from ostinato.kernels.package_kernels import ENDING, package_kernels, package_sources

    yield Finding("cpu", State.GOOD, f"{cpu_name()}, {len(cpu_features())} features")
    store = package_kernels()
    if store.problem is None and store.sources != package_sources():
        yield Finding(
            "kernels",
            State.SLOW,
            f"the package brings {len(store.kernels)}, but its sources have changed since: some kernels don't fit",
            "run `make kernels` in a checkout, or `ostinato warm --package`",
        )
    elif store.problem is None:
        yield Finding("kernels", State.GOOD, f"the package brings {len(store.kernels)}, compiled for {store.cpu}")
    else:
        yield Finding(
            "kernels",
            State.SLOW,
            f"the package's own aren't used: {store.problem}",
            "install the wheel for this platform, or run `ostinato warm`: else the first query of each kind compiles "
            "for 5 to 60 s",
        )
    folder = used_kernels().folder
    if folder is None:
        yield Finding(
            "cache",
            State.SLOW,
            "no folder can be written by this user alone: each process compiles what the package doesn't bring",
            "set NUMBA_CACHE_DIR to an absolute folder of your own (chmod 700)",
        )
    else:
        count = len(list(folder.glob(f"*{ENDING}")))
        yield Finding("cache", State.GOOD, f"{count} kernels in {folder}")


def spark_packages() -> Iterator[Finding]:
    """PySpark, and what streams and Spark Connect need beside it."""
    if importlib.util.find_spec("pyspark") is None:
        yield Finding("pyspark", State.BAD, "isn't installed", "pip install 'ostinato[spark]'")
        return
    yield Finding("pyspark", State.GOOD, _version("pyspark", "pyspark-client"))
    for topic, modules in (("streams", _STREAMING_MODULES), ("connect", _CONNECT_MODULES)):
        missing = [package for module, package in modules.items() if not _is_there(module)]
        if missing:
            yield Finding(topic, State.MISSING, f"{', '.join(missing)} not installed", "pip install 'ostinato[spark]'")
        else:
            yield Finding(topic, State.GOOD, ", ".join(f"{name} {_version(name)}" for name in modules.values()))


def java() -> Finding:
    """The Java that Spark starts."""
    from ostinato.spark.session.java import prepare_java

    try:
        home = prepare_java()
    except OstinatoError as error:
        return _refused("java", error)
    return Finding("java", State.GOOD, f"{home.version} from {home.source}, in {home.path}")


def workers(spark: SparkSession) -> Iterator[Finding]:
    """Whether the workers have the package, and compiled kernels."""
    from ostinato.spark.shipping.worker_probe import ask_workers

    try:
        found = ask_workers(spark)
    except Exception as error:
        yield _refused("workers", error)
        return
    hosts = len({one["host"] for one in found})
    first = found[0]
    yield Finding(
        "workers", State.GOOD, f"{hosts} asked: same ostinato, Python {first['python']}, numba {first['numba']}"
    )
    problem = next((one["problem"] for one in found if one["problem"]), None)
    if problem is None:
        yield Finding("workers", State.GOOD, f"the package brings {first['kernels']} compiled kernels there")
    else:
        yield Finding(
            "workers",
            State.SLOW,
            f"the package's own kernels aren't used there: {problem}",
            "install the wheel for their platform, send an archive that `ostinato archive` made, or run `ostinato "
            "warm` in their image: docs/deployment.md",
        )


def stream_settings(spark: SparkSession) -> Finding:
    """Whether the session can run streams."""
    from ostinato.spark.streams.stream_checks import check_machine

    try:
        check_machine(spark)
    except OstinatoError as error:
        return Finding("streams", State.MISSING, error.message, error.hint or "")
    return Finding("streams", State.GOOD, "the session keeps their state in RocksDB")


def _session(options: argparse.Namespace) -> SparkSession:
    from ostinato.spark.session.session import connect_session, local_session

    if options.remote:
        return connect_session(options.remote)
    settings = dict(options.conf)
    if options.master:
        settings["spark.master"] = options.master
    return local_session("ostinato doctor", **settings)


def _refused(topic: str, error: Exception) -> Finding:
    """An exception as a finding."""
    ours = unwrap(error) or error_of_ours(error)
    if ours is not None:
        return Finding(topic, State.BAD, ours.message, ours.hint or "")
    return Finding(topic, State.BAD, described(error)[1])


def _is_there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the package that would contain it
        return False


def _version(*names: str) -> str:
    """The version of the first of these packages that is installed."""
    for name in names:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "unknown"
