"""Spark's progress events of streams -> metrics as objects and as Prometheus text."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from pyspark.sql import Row, SparkSession
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)
from pyspark.sql.streaming.query import StreamingQuery

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.options import a_path
from ostinato.spark.session.session_settings import check_spark
from ostinato.spark.streams.stream_processor import COUNTS, DETAILS

OBSERVED = "ostinato"
"""Observed metrics of Ostinato have this prefix, then the clause's fingerprint and a number."""

_HELP = {
    "rows_total": "Rows taken in, late ones included.",
    "late_rows_total": "Rows that came behind the watermark.",
    "matches_total": "Matches found.",
    "open_runs": "Keys with an undecided partial match; counted from when this listener was added.",
    "forgotten_keys_total": "Keys that were silent for longer than forget_keys_after.",
    "waiting_rows": "Rows that wait for the watermark; counted from when this listener was added.",
    "keys_kept_for_prev": "Keys without a partial match that stay for rows before a match; counted as open_runs. A key "
    "counts for each rule.",
    "keys_kept_for_start": "Keys without a partial match that stay for ^; counted as open_runs.",
    "keys_kept_for_number": "Keys without a partial match that stay for MATCH_NUMBER(); counted as open_runs.",
    "keys_kept_for_ids": "Keys without a partial match that stay for ids of matches; counted as open_runs.",
    "state_bytes": "Bytes of Ostinato's state; counted from when this listener was added.",
    "batches_total": "Batches done.",
    "batch_seconds": "The last batch, by Spark's phases.",
    "rule_seconds_total": "Processor time of a rule. In each batch, every bucket counts its slowest 8 rules.",
    "watermark_seconds": "The watermark, in seconds since 1970.",
    "watermark_unmoved_seconds": "How long the watermark has stood still: a stalled one releases no rows.",
    "watermark_behind_seconds": "The latest event time of the last batch less the watermark.",
}
_METRIC_OF_COUNT = {
    "rows": "rows_total",
    "late_rows": "late_rows_total",
    "matches": "matches_total",
    "forgotten_keys": "forgotten_keys_total",
    "open_runs_change": "open_runs",
    "waiting_rows_change": "waiting_rows",
    "kept_for_prev_change": "keys_kept_for_prev",
    "kept_for_start_change": "keys_kept_for_start",
    "kept_for_number_change": "keys_kept_for_number",
    "kept_for_ids_change": "keys_kept_for_ids",
    "state_bytes_change": "state_bytes",
}


def observed_counts(row: Row) -> dict[str, int]:
    """The sums of the buckets' counts in one batch. NULL is 0: no bucket had anything to do."""
    values = _observed_values(row)
    return {count: values[count] or 0 for count in COUNTS}


def observed_rule_seconds(row: Row) -> dict[str, float]:
    """The processor time of rules in one batch; empty for other queries."""
    seconds = dict[str, float]()
    for line in (_observed_values(row).get(DETAILS) or "").splitlines():
        for rule, spent_ns in json.loads(line).items():
            seconds[rule] = seconds.get(rule, 0.0) + spent_ns / 1e9
    return seconds


def _observed_values(row: Row) -> dict[str, Any]:
    values = row.asDict()
    if "schema" in values:  # Connect returns the values and the schema separately
        values = dict(zip((field["name"] for field in values["schema"]["fields"]), values["values"], strict=True))
    return values


@dataclass(slots=True)
class QueryMetrics:
    """The metrics of one running query, by the names in `_HELP`."""

    name: str
    of_clause: dict[str, dict[str, int]] = field(default_factory=dict)
    of_phase: dict[str, float] = field(default_factory=dict)
    of_rule: dict[str, float] = field(default_factory=dict)
    """Seconds of all batches."""
    rules_of_batch: dict[str, float] = field(default_factory=dict)
    """Seconds of the last batch."""
    of_query: dict[str, float] = field(default_factory=lambda: {"batches_total": 0})
    moved_at: datetime | None = None
    last_batch: int = -1

    def take(self, progress: Mapping[str, Any]) -> None:
        """Adds a batch that Spark reports. A batch that was added before is ignored."""
        if progress["batchId"] <= self.last_batch:
            return
        self.last_batch = progress["batchId"]
        self.of_query["batches_total"] += 1
        self.of_phase = {phase: ms / 1000 for phase, ms in progress["durationMs"].items()}
        self.rules_of_batch = {}
        for observed, row in progress["observedMetrics"].items():
            prefix, _, rest = observed.partition("-")
            if prefix != OBSERVED:
                continue
            counts = self.of_clause.setdefault(rest.partition("-")[0], dict.fromkeys(_METRIC_OF_COUNT.values(), 0))
            for count, value in observed_counts(row).items():
                counts[_METRIC_OF_COUNT[count]] += value
            for rule, seconds in observed_rule_seconds(row).items():
                self.rules_of_batch[rule] = self.rules_of_batch.get(rule, 0.0) + seconds
        for rule, seconds in self.rules_of_batch.items():
            self.of_rule[rule] = self.of_rule.get(rule, 0.0) + seconds
        self._take_event_time(progress["eventTime"], _moment(progress["timestamp"]))

    def _take_event_time(self, event_time: Mapping[str, str], now: datetime) -> None:
        if "watermark" not in event_time:
            return
        watermark = _moment(event_time["watermark"]).timestamp()
        if watermark != self.of_query.get("watermark_seconds") or self.moved_at is None:
            self.moved_at = now
        self.of_query["watermark_seconds"] = watermark
        if "max" in event_time:
            self.of_query["watermark_behind_seconds"] = _moment(event_time["max"]).timestamp() - watermark
        self.pass_time(now)

    def pass_time(self, now: datetime) -> None:
        """Updates the age of the watermark: no rows arrived until `now`."""
        if self.moved_at is not None:
            self.of_query["watermark_unmoved_seconds"] = (now - self.moved_at).total_seconds()

    def samples(self) -> Iterator[tuple[str, str, float]]:
        """Name, labels, value."""
        query = f'query="{_escaped(self.name)}"'
        for clause, counts in self.of_clause.items():
            for name, count in counts.items():
                yield name, f'{query},clause="{clause}"', count
        for rule, seconds in self.of_rule.items():
            yield "rule_seconds_total", f'{query},rule="{_escaped(rule)}"', seconds
        for phase, seconds in self.of_phase.items():
            yield "batch_seconds", f'{query},phase="{phase}"', seconds
        for name, value in self.of_query.items():
            yield name, query, value


class StreamMetrics(StreamingQueryListener):
    """Follows all streaming queries of a session. `text()` is for Prometheus and is also written to `path`."""

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.queries: dict[str, QueryMetrics] = {}
        self._path = None if path is None else Path(path)
        self._lock = threading.Lock()  # Spark calls from a thread of its own

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        with self._lock:
            self.queries.setdefault(str(event.id), QueryMetrics(event.name or str(event.id)))
        self._write()

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._take([event.progress])

    def catch_up(self, query: StreamingQuery) -> None:
        """Adds the latest batches of a query. Spark notifies listeners some time after a batch ended, and perhaps
        never of the last batches if the listener is removed."""
        self._take(query.recentProgress)

    def _take(self, batches: Sequence[StreamingQueryProgress]) -> None:
        with self._lock:
            for batch in batches:
                metrics = self.queries.setdefault(str(batch.id), QueryMetrics(batch.name or str(batch.id)))
                metrics.take(batch)
        self._write()

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        with self._lock:
            if str(event.id) in self.queries:
                self.queries[str(event.id)].pass_time(_moment(event.timestamp))
        self._write()

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """Counts stay: a query that is started again continues them."""

    def rule_seconds(self, query: StreamingQuery | str) -> dict[str, float]:
        """The processor time of a query's rules in its last micro-batch, the slowest first.

        `query` is the query or its id. A rule that is too slow can be suspended with `ost.suspend_rule`. Every bucket
        reports its slowest 8 rules.

        >>> metrics.rule_seconds(query)  # doctest: +SKIP
        {'velocity': 1.8, 'dip': 0.2}
        """
        with self._lock:
            metrics = self.queries.get(query if isinstance(query, str) else str(query.id))
            seconds = {} if metrics is None else metrics.rules_of_batch
            return dict(sorted(seconds.items(), key=lambda item: -item[1]))

    def text(self) -> str:
        """All metrics in Prometheus' text format."""
        with self._lock:
            samples = [sample for query in self.queries.values() for sample in query.samples()]
        lines = []
        for name, about in _HELP.items():
            values = [f"ostinato_{name}{{{labels}}} {value}" for metric, labels, value in samples if metric == name]
            if values:
                kind = "counter" if name.endswith("_total") else "gauge"
                lines += [f"# HELP ostinato_{name} {about}", f"# TYPE ostinato_{name} {kind}", *values]
        return "".join(f"{line}\n" for line in lines)

    def _write(self) -> None:
        if self._path is not None:
            new_file = self._path.with_name(f".{self._path.name}.new")
            new_file.write_text(self.text(), encoding="utf-8")
            new_file.replace(self._path)  # atomic: a reader never sees half a file


@only_our_errors()
def stream_metrics(spark: SparkSession, path: str | os.PathLike[str] | None = None) -> StreamMetrics:
    """Starts to follow the session's streaming queries. `spark.streams.removeListener(...)` stops it.

    >>> metrics = stream_metrics(spark, "metrics.prom")  # doctest: +SKIP
    """
    check_spark(spark)
    metrics = StreamMetrics(None if path is None else a_path("path", path))
    spark.streams.addListener(metrics)
    return metrics


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
