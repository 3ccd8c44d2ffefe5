"""Trades and a change log -> the files of a running stream: sink, metrics and states. The engine is the stream's own.

One bucket runs in this process, without Spark. The page reads the same kinds of files as for a stream on Spark.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ostinato.kernels.constants import NO_TIME
from ostinato.live_console.demo.demo_trades import SCHEMA, DemoTrades
from ostinato.live_console.sources.folder_watch import FolderWatch, inside
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.open_rules import open_rules
from ostinato.rule_sets.rules_core import RulesCore, RulesStep
from ostinato.streams.bucket_state import EMPTY, BucketState

DELAY_US = 1_000_000
KEYS, TIME = ("symbol",), ("ts",)


@dataclass(frozen=True, slots=True)
class DemoFolders:
    """The folder of the demo."""

    root: Path

    @property
    def rules(self) -> Path:
        return self.root / "rules"

    @property
    def events(self) -> Path:
        return self.root / "events"

    def of_stage(self, stage: str) -> tuple[Path, Path, Path]:
        """Sink, metrics file and states of a stage."""
        folder = self.root / stage
        return folder / "matches", folder / "metrics.prom", folder / "states"


class EventFiles:
    """Writes trades as Parquet files, each whole or not at all."""

    def __init__(self, folder: Path, trades: DemoTrades) -> None:
        self._folder = folder
        self._trades = trades
        self._numbers = itertools.count()
        folder.mkdir(parents=True, exist_ok=True)

    def write_until(self, now_us: int) -> pa.Table:
        """The new trades, after they were written."""
        table = self._trades.until(now_us)
        if table.num_rows:
            write_whole(self._folder / f"trades-{next(self._numbers):08d}.parquet", table)
        return table


def write_whole(path: Path, content: pa.Table | str) -> None:
    """Writes under a hidden name first: a reader sees the whole file or none."""
    hidden = path.with_name(f".{path.name}.new")
    if isinstance(content, str):
        hidden.write_text(content, encoding="utf-8")
    else:
        pq.write_table(content, hidden)
    os.replace(hidden, path)


class DemoEngine:
    """The rules of the demo over its trades, step by step."""

    def __init__(self, folders: DemoFolders, *, now: Callable[[], float] = time.perf_counter) -> None:
        self._matches, self._metrics, states = folders.of_stage("in_process")
        self._states = states / "states.json"
        for folder in (self._matches, states):
            folder.mkdir(parents=True, exist_ok=True)
        self._watch = FolderWatch(folders.rules, (".json",))
        self._rules_folder = folders.rules
        self._core = RulesCore(Declaration(KEYS, TIME, SCHEMA), "demo")
        self._state: BucketState = EMPTY
        self._rules = b""
        self._now = now
        self._watermark_us = NO_TIME
        self._latest_us = NO_TIME
        self._totals = dict.fromkeys(("rows_total", "late_rows_total", "matches_total", "batches_total"), 0)
        self._rule_seconds: dict[str, float] = {}

    def step(self, arrived: pa.Table) -> None:
        """One micro-batch: its rows, and the changes of rules that came meanwhile."""
        began = self._now()
        changes = [self._text(file.name) for file in self._watch.look().new]
        if arrived.num_rows:
            self._latest_us = max(self._latest_us, pc.max(arrived["ts"].cast(pa.int64())).as_py())
        step = self._core.advance(
            self._state, arrived, self._watermark_us, changes=changes, read_rules=lambda: self._rules
        )
        self._state = step.state
        self._rules = self._rules if step.rules is None else step.rules
        if step.results.num_rows:
            write_whole(self._matches / f"part-{self._totals['batches_total']:08d}.parquet", step.results)
        self._count(step)
        write_whole(self._metrics, self._metrics_text(step, self._now() - began))
        rows = open_rules(self._core, self._state, self._rules).to_pylist()
        write_whole(self._states, "".join(json.dumps(row) + "\n" for row in rows))
        self._watermark_us = max(self._watermark_us, self._latest_us - DELAY_US)  # as on Spark: for the next step

    def _text(self, name: str) -> str:
        return inside(self._rules_folder, name).read_text(encoding="utf-8", errors="replace")

    def _count(self, step: RulesStep) -> None:
        counts = step.counts
        self._totals["rows_total"] += counts.rows
        self._totals["late_rows_total"] += counts.late_rows
        self._totals["matches_total"] += counts.matches
        self._totals["batches_total"] += 1
        for rule, spent_ns in step.rule_ns.items():
            self._rule_seconds[rule] = self._rule_seconds.get(rule, 0.0) + spent_ns / 1e9

    def _metrics_text(self, step: RulesStep, seconds: float) -> str:
        """The metrics under the names that `ost.stream_metrics` gives them."""
        state_bytes = len(self._state.header) + sum(map(len, (*self._state.open_rows, *self._state.waiting)))
        numbers: dict[str, float] = {
            **self._totals,
            "open_runs": step.counts.open_runs,
            "waiting_rows": step.counts.waiting_rows,
            "state_bytes": state_bytes,
        }
        if self._watermark_us > NO_TIME:
            numbers["watermark_seconds"] = self._watermark_us / 1e6
            numbers["watermark_behind_seconds"] = (self._latest_us - self._watermark_us) / 1e6
        lines = [f'ostinato_{name}{{query="demo"}} {value}' for name, value in numbers.items()]
        lines += [
            f'ostinato_batch_seconds{{query="demo",phase="{phase}"}} {seconds}'
            for phase in ("triggerExecution", "addBatch")
        ]
        lines += [
            f'ostinato_rule_seconds_total{{query="demo",rule="{_label(rule)}"}} {spent}'
            for rule, spent in self._rule_seconds.items()
        ]
        return "\n".join(lines) + "\n"


def _label(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
