"""`ostinato doctor`: checks this machine, its Spark and the workers. Each line says how to mend what it finds."""

from __future__ import annotations

import argparse
import importlib.util
import platform
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, TypeVar

import ostinato
from ostinato.calls.foreign_errors import error_of_ours
from ostinato.cli.failures import ExitCode, described
from ostinato.cli.progress import Progress, progress_on_stderr
from ostinato.cli.terminal import say
from ostinato.errors import EnvironmentFault, OstinatoError, unwrap

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STREAMING_MODULES = {"google.protobuf": "protobuf", "pandas": "pandas"}
_CONNECT_MODULES = {"grpc": "grpcio", "grpc_status": "grpcio-status", "zstandard": "zstandard"}
_OLDEST_PYTHON = (3, 11)
_LONGEST_SECONDS = 120.0
T = TypeVar("T")


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
    """Checks one thing after the other. Later checks need what earlier ones have found."""
    yield from machine()
    try:
        yield from kernels()
    except Exception as error:  # a numba that can't be imported
        yield _refused("kernels", error)
    if options.no_spark:
        return
    yield from spark_packages()
    if importlib.util.find_spec("pyspark") is None:
        return
    if not options.remote:
        yield java()
    with progress("starting Spark"):
        started = _within(_LONGEST_SECONDS, lambda: _session(options))
    if isinstance(started, Exception):
        yield _refused("session", started)
        return
    spark, version_there = started
    yield Finding("session", State.GOOD, f"Spark {version_there}")
    with progress("asking the workers"):
        asked = _within(_LONGEST_SECONDS, lambda: list(workers(spark)))
    if isinstance(asked, Exception):
        yield _refused("workers", asked)
        return
    yield from asked
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
    from ostinato.kernels.package_kernels import ENDING, package_kernels
    from ostinato.kernels.signatures import stored

    yield Finding("cpu", State.GOOD, f"{cpu_name()}, {len(cpu_features())} features")
    store = package_kernels()
    yield _of_kernels("kernels", stored(), store.problem, "run `ostinato warm`")
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
    fewest = min(found, key=lambda one: int(one["stored"][0]))
    mend = "send an archive that `ostinato archive` made, or run `ostinato warm` in their image: docs/deployment.md"
    yield _of_kernels("workers", tuple(fewest["stored"]), fewest["problem"], mend)


def _of_kernels(topic: str, counts: tuple[int, int], problem: str | None, mend: str) -> Finding:
    """`counts`: how many kernels are compiled, and how many there are. `problem`: why not those of the package."""
    compiled, count = counts
    origin = f"not from the package: {problem}" if problem else "those of the package are used"
    words = f"{compiled} of {count} kernels are compiled; {origin}"
    if compiled == count:
        return Finding(topic, State.GOOD, words)
    hint = f"install the wheel for this platform, or {mend}: else the first query of each kind compiles for 5 to 60 s"
    return Finding(topic, State.SLOW, words, hint)


def stream_settings(spark: SparkSession) -> Finding:
    """Whether the session can run streams."""
    from ostinato.spark.streams.stream_checks import check_machine

    try:
        check_machine(spark)
    except OstinatoError as error:
        return Finding("streams", State.MISSING, error.message, error.hint or "")
    except Exception as error:
        return _refused("streams", error)
    return Finding("streams", State.GOOD, "the session keeps their state in RocksDB")


def _session(options: argparse.Namespace) -> tuple[SparkSession, str]:
    """The session that the options name, and its version of Spark. Only the version makes Connect call its server."""
    from ostinato.spark.session.session import local_session, session_elsewhere

    settings = dict(options.conf)
    if options.master or options.remote:
        spark = session_elsewhere("ostinato doctor", master=options.master, remote=options.remote, settings=settings)
    else:
        spark = local_session("ostinato doctor", **settings)
    return spark, spark.version


def _within(seconds: float, ask: Callable[[], T]) -> T | Exception:
    """The answer, or the exception that ended it. Spark may wait without end for a server or for free executors."""
    answers: list[T | Exception] = []

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:
            answers.append(error)

    asking = threading.Thread(target=run, daemon=True)
    asking.start()
    asking.join(seconds)
    if answers:
        return answers[0]
    return EnvironmentFault(
        "NO_ANSWER",
        f"no answer within {seconds:.0f} s",
        hint="check the address, whether the cluster has free executors, and whether they can reach this machine "
        "(spark.driver.host)",
    )


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
