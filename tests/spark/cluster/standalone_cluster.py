"""A standalone Spark cluster on loopback from the installed PySpark: one master, two workers.

Each worker stands for a machine. It has a folder of its own, in which its executors run, and an empty home folder. All
processes of a cluster are in process groups of their own, so that a failed test leaves none behind.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from tests.short_lived_jvms import SHORT_LIVED

SPARK_HOME = Path(pyspark.__path__[0])
LOOPBACK = "127.0.0.1"
WORKERS = 2
CORES = 2
"""For each worker. Two, so that an executor runs two Python workers side by side."""
_START_SECONDS = 60
_STOP_SECONDS = 10
_MASTER_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_CONNECT_ADDRESS = re.compile(r"Spark Connect server started at: (\S+)")
_REGISTERED = "Successfully registered with master"


@dataclass
class ProcessGroup:
    """A process, and all processes that it starts."""

    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def start(cls, command: Sequence[str], log: Path, environment: Mapping[str, str], folder: Path) -> ProcessGroup:
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, env=dict(environment), cwd=folder, stdout=output, stderr=output, start_new_session=True
            )
        return cls(process, log)

    def logged(self, pattern: str | re.Pattern[str]) -> re.Match[str]:
        """Waits until the log has the pattern."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline:
            text = self.log.read_text(errors="replace")
            if (found := re.search(pattern, text)) is not None:
                return found
            if self.process.poll() is not None:
                break
            time.sleep(0.05)
        raise AssertionError(f"{pattern} isn't in the log:\n{self.log.read_text(errors='replace')[-4000:]}")

    def stop(self) -> None:
        """Asks the group to end, and kills it after some seconds."""
        for by, seconds in ((signal.SIGTERM, _STOP_SECONDS), (signal.SIGKILL, None)):
            try:
                os.killpg(self.process.pid, by)
                self.process.wait(seconds)
            except ProcessLookupError:
                break
            except subprocess.TimeoutExpired:
                continue
        self.process.wait()


@dataclass
class StandaloneCluster:
    """`start` and `stop` it. Ports are chosen by the system, so several clusters can run side by side."""

    folder: Path
    url: str = ""
    groups: list[ProcessGroup] = field(default_factory=list)

    @property
    def homes(self) -> list[Path]:
        """The home folders of the workers, and so of their executors."""
        return [self._worker_folder(number) / "home" for number in range(WORKERS)]

    def _worker_folder(self, number: int) -> Path:
        return self.folder / f"worker-{number}"

    def start(self) -> None:
        listen = ["--host", LOOPBACK, "--port", "0", "--webui-port", "0"]
        master = self._daemon("master.Master", "master", *listen)
        self.url = master.logged(_MASTER_URL)[1]
        size = ["--cores", str(CORES), "--memory", "1g"]
        workers = []
        for number in range(WORKERS):
            folder = self._worker_folder(number)
            self.homes[number].mkdir(parents=True, mode=0o700)
            words = [*listen, *size, "--work-dir", str(folder), self.url]
            workers.append(self._daemon("worker.Worker", folder.name, *words, HOME=str(self.homes[number])))
        for worker in workers:
            worker.logged(_REGISTERED)

    @contextmanager
    def connect_server(self, folder: Path, settings: Mapping[str, str], python: Path) -> Iterator[str]:
        """A Spark Connect server whose executors are on this cluster. Gives its address."""
        settings = {
            **settings,
            "spark.driver.extraJavaOptions": SHORT_LIVED,  # and Spark's own log settings: the log has the address
            "spark.master": self.url,
            "spark.connect.grpc.binding.address": LOOPBACK,
            "spark.connect.grpc.binding.port": "0",
        }
        chosen = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
        program = ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", *chosen, "spark-internal"]
        command = [str(SPARK_HOME / "bin" / "spark-submit"), *program]
        environment = {**_environment(), "PYSPARK_PYTHON": str(python)}
        server = ProcessGroup.start(command, folder / "connect-server.log", environment, folder)
        try:
            yield f"sc://{server.logged(_CONNECT_ADDRESS)[1]}"
        finally:
            server.stop()

    def _daemon(self, name: str, log: str, *words: str, **variables: str) -> ProcessGroup:
        command = [str(SPARK_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{name}", *words]
        environment = {**_environment(), **variables}
        group = ProcessGroup.start(command, self.folder / f"{log}.log", environment, self.folder)
        self.groups.append(group)
        return group

    def stop(self) -> None:
        for group in reversed(self.groups):
            group.stop()

    def executor_logs(self) -> str:
        """The stderr of all executors, for the message of a failed test."""
        logs = sorted(self.folder.glob("worker-*/app-*/*/stderr"))
        return "\n".join(f"--- {log}\n{log.read_text(errors='replace')[-2000:]}" for log in logs[-WORKERS:])


def _environment() -> dict[str, str]:
    """The environment of the daemons. Executors inherit it."""
    return {
        **without_python_settings(os.environ),
        "SPARK_LOCAL_IP": LOOPBACK,  # web pages listen there, too
        "SPARK_DAEMON_MEMORY": "512m",  # also the memory of a Connect server, which needs that much
        "SPARK_DAEMON_JAVA_OPTS": f"{SHORT_LIVED} -Dspark.master.rest.enabled=false",
    }


def without_python_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without the variables that tell other processes about our packages and compiled kernels."""
    ours = ("PYTHONPATH", "PYSPARK_PYTHON", "NUMBA_CACHE_DIR", "XDG_CACHE_HOME")
    return {name: value for name, value in environment.items() if name not in ours}


def bare_python(folder: Path, *more_paths: Path) -> Path:
    """A Python that has the packages of the test environment, but not Ostinato. `more_paths` are on its path, too.

    Its `.pth` file names the test environment's site-packages. Python doesn't read `.pth` files in there, so it doesn't
    find packages that were installed in editable mode.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    paths = [SPARK_HOME.parent, *more_paths]
    (site_packages / "test_environment.pth").write_text("\n".join(map(str, paths)) + "\n")
    return folder / "bin" / "python"
