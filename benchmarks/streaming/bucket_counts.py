"""The CPU time of a micro-batch by the number of buckets, which is fixed for the life of a checkpoint."""

from __future__ import annotations

from benchmarks.experiment import Scale, expect
from benchmarks.records import Baseline, Record
from benchmarks.streaming.micro_batch import ROUNDS, SIZES, cpu_seconds, input_of
from benchmarks.streaming.streams import answered, fresh_folder
from benchmarks.streaming.throughput import right_totals, totals_of_stream

BUCKETS = (4, 8, 16, 32, 64)


def measure_bucket_counts(scale: Scale) -> list[Record]:
    return [record for rows in SIZES[scale] for record in _measured(rows, ROUNDS[scale])]


def _measured(rows: int, rounds: int) -> list[Record]:
    from ostinato.streams.stream_settings import DEFAULT_BUCKETS

    with input_of(rows) as (table, clause, folder, stream):
        streams = {str(buckets): answered(stream, clause, buckets=buckets) for buckets in BUCKETS}
        right = right_totals(clause, table)
        for buckets, answer in streams.items():
            expect(f"{buckets} buckets", totals_of_stream(answer, fresh_folder(folder)), right)
        seconds = cpu_seconds(streams, folder, rounds)
    default = Baseline(f"{DEFAULT_BUCKETS} buckets", seconds[str(DEFAULT_BUCKETS)])
    return [
        Record(
            "streaming", "bucket counts", f"{rows:,} rows a batch", f"CPU time, {buckets} buckets", taken, "s", default
        )
        for buckets, taken in seconds.items()
    ]
