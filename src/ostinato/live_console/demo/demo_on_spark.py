"""The demo on Spark, in a process of its own: `python -m ostinato.live_console.demo.demo_on_spark FOLDER`.

It reads the trades and the change log of the folder, and writes sink, metrics and states. It ends when its standard
input does, so it doesn't outlive the console.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

from ostinato.errors import OstinatoError
from ostinato.live_console.demo.demo_engine import DELAY_US, KEYS, TIME, DemoFolders

READY, FAILED = "ready", "failed"
_STATES_EVERY_SECONDS, _LOOK_EVERY_SECONDS = 4.0, 0.5
_SCHEMA = "symbol string, ts timestamp, price double, volume long"


def main(folder: Path) -> int:
    """Runs until the standard input ends."""
    ended = threading.Event()
    threading.Thread(target=_wait_for_end, args=(ended,), daemon=True).start()
    try:
        run(DemoFolders(folder), ended)
    except Exception as error:  # the console shows it in one line, and goes on in process
        words = error.one_line() if isinstance(error, OstinatoError) else f"{type(error).__name__}: {error}"
        sys.stdout.write(f"{FAILED} {' '.join(words.split())[:500]}\n")
        sys.stdout.flush()
        return 1
    return 0


def _wait_for_end(ended: threading.Event) -> None:
    sys.stdin.read()
    ended.set()


def run(folders: DemoFolders, ended: threading.Event) -> None:
    """Starts the stream, and writes its open partial matches from time to time."""
    from ostinato.api.rules import rules
    from ostinato.spark.checkpoints.open_partial_matches import stream_state
    from ostinato.spark.session.session import local_session
    from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE
    from ostinato.spark.streams.stream_metrics import stream_metrics

    settings: dict[str, Any] = {
        STATE_STORE: ROCKSDB,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = local_session("ostinato console --demo", **settings)
    matches, metrics_file, states = folders.of_stage("spark")
    matches.parent.mkdir(parents=True, exist_ok=True)
    metrics = stream_metrics(spark, metrics_file)
    trades = spark.readStream.schema(_SCHEMA).parquet(str(folders.events.absolute()))
    found = rules(
        trades.withWatermark(TIME[0], f"{DELAY_US // 1_000_000} seconds"),
        folders.rules.absolute(),
        keys=KEYS,
        time=TIME,
        buckets=2,
    )
    checkpoint = matches.parent / "checkpoint"
    query = (
        found.writeStream.format("parquet")
        .queryName("demo")
        .option("path", str(matches.absolute()))
        .option("checkpointLocation", str(checkpoint.absolute()))
        .trigger(processingTime="1 second")
        .start()
    )
    try:
        is_ready = False
        while query.isActive and not ended.wait(_STATES_EVERY_SECONDS if is_ready else _LOOK_EVERY_SECONDS):
            if query.lastProgress is None or query.lastProgress.batchId < 1:
                continue
            if not is_ready:
                is_ready = True
                sys.stdout.write(f"{READY}\n")
                sys.stdout.flush()
            rows = stream_state(spark, str(checkpoint.absolute()))
            rows.coalesce(1).write.mode("overwrite").json(str(states.absolute()))
        error = query.exception()
        if error is not None:
            raise error
    finally:
        query.stop()
        spark.streams.removeListener(metrics)
        spark.stop()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
