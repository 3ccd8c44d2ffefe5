"""The measured decision: state grouped by the user's key against rows packed into buckets of keys.

The rows of the one batch have almost as many keys as there are rows, as devices or sessions do.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.experiment import Scale, expect
from benchmarks.match.events import keyed_events
from benchmarks.records import Baseline, Goal, Record, Sense
from benchmarks.streaming.streams import Ran, fresh_folder, read_files, run_stream, streaming_session, write_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = {Scale.SMALL: 20_000, Scale.FULL: 100_000}
"""Keys are drawn from as many, so that 63 % of them come."""
WARM_UP_ROWS = 500
FASTER = Goal(Sense.BELOW, 1.0, of_ratio=True)


def measure_buckets(scale: Scale) -> list[Record]:
    from benchmarks.streaming.grouping import by_bucket, by_key
    from ostinato.streams.stream_settings import DEFAULT_BUCKETS

    spark = streaming_session()
    events = keyed_events(ROWS[scale], ROWS[scale])
    keys = len(events["key"].unique())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files([keyed_events(WARM_UP_ROWS, WARM_UP_ROWS)], folder / "few")
        write_files([events], folder / "all")
        packed = _seconds(spark, by_bucket, folder, groups=DEFAULT_BUCKETS, rows=events.num_rows)
        grouped = _seconds(spark, by_key, folder, groups=keys, rows=events.num_rows)
    case = f"one batch of {events.num_rows:,} rows, {keys:,} keys"
    baseline = Baseline("grouped by key", grouped)
    return [Record("streaming", "buckets", case, f"time, {DEFAULT_BUCKETS} buckets", packed, "s", baseline, FASTER)]


def _seconds(
    spark: SparkSession, build: Callable[[DataFrame], DataFrame], folder: Path, *, groups: int, rows: int
) -> float:
    """Of the batch with all rows, after a stream of a few to warm up."""
    _run(build(read_files(spark, folder / "few")), folder)
    ran = _run(build(read_files(spark, folder / "all")), folder)
    expect(f"groups and rows, {build.__name__}", (ran.total("groups"), ran.total("rows")), (groups, rows))
    return ran.seconds_with_rows


def _run(counts: DataFrame, folder: Path) -> Ran:
    from pyspark.sql import functions as F

    observed = counts.observe("counted", *(F.sum(name).alias(name) for name in ("groups", "rows")))
    return run_stream(observed, fresh_folder(folder))
