"""The demo on Spark, in a process of its own: `python -m ostinato.live_console.demo.demo_on_spark FOLDER`.

It reads the trades and the change log of the folder, and writes sink, metrics and states. It ends when its standard
input does, so it doesn't outlive the console.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.errors import unwrap
from ostinato.live_console.demo.demo_engine import DELAY_US, KEYS, TIME, DemoFolders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READY, FAILED = "ready", "failed"
"""The first words of the lines that the console reads."""
_STATES_EVERY_SECONDS, _LOOK_EVERY_SECONDS = 4.0, 0.5
_SCHEMA = "symbol string, ts timestamp, price double, volume long"


def main(folder: Path) -> int:
    """Runs until the standard input ends."""
    ended = threading.Event()
    threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
    try:
        spark = _session()
        try:
            run(spark, DemoFolders(folder), ended, _say)
        finally:
            spark.stop()
    except Exception as error:  # the console shows it in one line, and goes on in process
        ours = unwrap(error)
        words = f"{type(error).__name__}: {error}" if ours is None else ours.one_line()
        _say(f"{FAILED} {' '.join(words.split())[:500]}")
        return 1
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def _session() -> SparkSession:
    from ostinato.spark.session.session import local_session
    from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

    settings: dict[str, Any] = {STATE_STORE: ROCKSDB, "spark.sql.shuffle.partitions": "2"}
    settings["spark.sql.session.timeZone"] = "UTC"
    return local_session("ostinato console --demo", **settings)


def run(spark: SparkSession, folders: DemoFolders, ended: threading.Event, say: Callable[[str], None]) -> None:
    """Starts the stream, says when it has found something, and writes its open partial matches from time to time.

    Raises the error of a stream that fails.
    """
    from ostinato.api.rules import rules
    from ostinato.spark.checkpoints.open_partial_matches import stream_state
    from ostinato.spark.streams.stream_metrics import stream_metrics

    matches, metrics_file, states = folders.of_stage("spark")
    checkpoint = matches.parent / "checkpoint"
    matches.parent.mkdir(parents=True, exist_ok=True)
    metrics = stream_metrics(spark, metrics_file)
    trades = spark.readStream.schema(_SCHEMA).parquet(str(folders.events.absolute()))
    trades = trades.withWatermark(TIME[0], f"{DELAY_US // 1_000_000} seconds")
    found = rules(trades, folders.rules.absolute(), keys=KEYS, time=TIME, buckets=2)
    writer = found.writeStream.format("parquet").queryName("demo").option("path", str(matches.absolute()))
    writer = writer.option("checkpointLocation", str(checkpoint.absolute()))
    query = writer.trigger(processingTime="1 second").start()
    is_ready = False
    try:
        while query.isActive and not ended.wait(_STATES_EVERY_SECONDS if is_ready else _LOOK_EVERY_SECONDS):
            if query.lastProgress is None or query.lastProgress.batchId < 1:
                continue
            rows = stream_state(spark, str(checkpoint.absolute()))
            if not is_ready:
                is_ready = True
                say(READY)
            rows.coalesce(1).write.mode("overwrite").json(str(states.absolute()))
        error = query.exception()
        if error is not None:
            raise error
    finally:
        query.stop()
        spark.streams.removeListener(metrics)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
