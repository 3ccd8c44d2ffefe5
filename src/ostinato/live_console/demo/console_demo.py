"""`ostinato console --demo`: generated trades, first in process, and on Spark as soon as its stream is running."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ostinato.live_console.demo.demo_engine import KEYS, TIME, DemoEngine, DemoFolders, EventFiles
from ostinato.live_console.demo.demo_on_spark import FAILED, READY
from ostinato.live_console.demo.demo_rules import write_demo_rules
from ostinato.live_console.demo.demo_trades import DemoTrades
from ostinato.live_console.rules.rule_terms import RuleTerms
from ostinato.live_console.sources.page_settings import Sources

DEMO_TERMS = RuleTerms(KEYS, TIME)
IN_PROCESS, ON_SPARK = "in process", "spark"
_STEP_SECONDS = 0.5
_HISTORY_SECONDS = 180
_STARTING = "Spark is starting; the rows come from the same rules in this process"
_WITHOUT_SPARK = "Spark isn't installed, so the rules run in this process: pip install 'ostinato[spark]'"
_RUNNING = "a stream of ost.rules on Spark on this machine"


class Demo:
    """The parts of the demo that run beside the console."""

    def __init__(
        self,
        folder: Path,
        *,
        seed: int = 7,
        clock: Callable[[], float] = time.time,
        spark_command: Sequence[str] | None = None,
    ) -> None:
        """`spark_command` starts the stream on Spark; None: this Python does, if PySpark is installed."""
        self.folders = DemoFolders(folder)
        self._clock = clock
        write_demo_rules(self.folders.rules)
        since_us = int((clock() - _HISTORY_SECONDS) * 1e6)
        self._events = EventFiles(self.folders.events, DemoTrades(seed=seed, since_us=since_us))
        self._engine: DemoEngine | None = DemoEngine(self.folders)
        self._command = _command(folder) if spark_command is None else tuple(spark_command)
        self._spark: subprocess.Popen[str] | None = None
        self._words: list[str] = []
        self._stopped = threading.Event()
        self._next: Sources | None = None

    def sources(self, stage: str = IN_PROCESS, note: str = "") -> Sources:
        """The sources of a stage."""
        matches, metrics, states = self.folders.of_stage("in_process" if stage == IN_PROCESS else "spark")
        return Sources(self.folders.rules, matches, metrics, states, self.folders.events, stage, note)

    def first_sources(self) -> Sources:
        """The sources at the start."""
        return self.sources(note=_STARTING if self._command else _WITHOUT_SPARK)

    def start(self) -> None:
        """Takes two steps, so that the page has something to show: the second one has a watermark. Then starts Spark
        and the thread of steps."""
        self.step()
        self.step()
        if self._command:
            self._spark = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                start_new_session=True,  # Ctrl-C is for the console; this process ends with its standard input
            )
            threading.Thread(target=self._listen, daemon=True).start()
        threading.Thread(target=self._run, name="ostinato-console-demo", daemon=True).start()

    def stop(self) -> None:
        """Ends the stream on Spark and the thread."""
        self._stopped.set()
        if self._spark is not None:
            if self._spark.stdin is not None:
                self._spark.stdin.close()
            try:
                self._spark.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._spark.kill()

    def step(self) -> None:
        """Writes the next trades, and matches them in process while Spark isn't ready."""
        arrived = self._events.write_until(int(self._clock() * 1e6))
        self._hear()
        if self._engine is not None:
            self._engine.step(arrived)

    def next_sources(self) -> Sources | None:
        """Other sources than before, once; None if nothing has changed. The console asks in each round."""
        other, self._next = self._next, None
        return other

    def _hear(self) -> None:
        """Acts on what the process with Spark has said."""
        while self._words:
            word, _, rest = self._words.pop(0).partition(" ")
            if word == READY and self._engine is not None:
                self._engine = None
                self._next = self.sources(ON_SPARK, _RUNNING)
            elif word == FAILED:
                if self._engine is None:  # the stream ran before it failed
                    self._engine = DemoEngine(self.folders)
                self._next = self.sources(note=f"Spark can't run the stream, so the rules run in this process: {rest}")

    def _listen(self) -> None:
        assert self._spark is not None and self._spark.stdout is not None
        has_failed = False
        for line in self._spark.stdout:
            has_failed = has_failed or line.startswith(FAILED)
            if line.startswith((READY, FAILED)):
                self._words.append(line.strip())
        code = self._spark.wait()
        if not (has_failed or self._stopped.is_set()):
            self._words.append(f"{FAILED} its process ended with code {code}")

    def _run(self) -> None:
        while not self._stopped.wait(_STEP_SECONDS):
            self.step()


def _command(folder: Path) -> tuple[str, ...]:
    if importlib.util.find_spec("pyspark") is None:
        return ()
    return (sys.executable, "-m", "ostinato.live_console.demo.demo_on_spark", str(folder))
