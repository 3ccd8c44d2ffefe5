"""Running streams -> one line with their counters while they run, and one for each at the end."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ostinato.cli.terminal import ERASE_LINE

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from ostinato.spark.streams.stream_metrics import QueryMetrics

_LOOK_EVERY_SECONDS = 1
_STALLED_SECONDS = 60


def follow(
    queries: Mapping[str, StreamingQuery], on_failure: Callable[[str, Exception], None] | None = None
) -> dict[str, Exception]:
    """Shows progress until all queries have ended or Ctrl-C stops them. Returns the errors that ended queries.

    `on_failure` is called at once, with the name of the query; the others run on.
    """
    followed = [_Followed(name, query) for name, query in queries.items()]
    failures: dict[str, Exception] = {}
    with _live_line() as show, _interrupts() as interrupted:
        running = list(followed)
        while running:
            for one in list(running):
                try:
                    one.look(_LOOK_EVERY_SECONDS / len(running), stops=interrupted.is_set())
                except Exception as error:
                    failures[one.name] = error
                    if on_failure is not None:
                        on_failure(one.name, error)
                if one.is_over or one.name in failures:
                    running.remove(one)
            show("; ".join(one.line() for one in followed))
    for one in followed:
        if one.name not in failures:
            print(f"{'stopped' if interrupted.is_set() else 'done'}: {one.line()}", file=sys.stderr)
    return failures


class _Followed:
    """A query, and its counters."""

    def __init__(self, name: str, query: StreamingQuery) -> None:
        from ostinato.spark.streams.stream_metrics import QueryMetrics

        self.name, self.query, self.is_over = name, query, False
        self.counted = QueryMetrics(str(query.id))

    def look(self, seconds: float, *, stops: bool) -> None:
        """Waits so long for the end of the query. Raises the error that ended it."""
        self.is_over = bool(self.query.awaitTermination(seconds))  # type: ignore[arg-type]  # it takes a float
        new = [batch for batch in self.query.recentProgress if batch.batchId > self.counted.last_batch]
        for batch in new:
            self.counted.take(batch)
        if stops and not self.is_over and (new or not self.query.status["isTriggerActive"]):
            self.query.stop()

    def line(self) -> str:
        return f"{self.name}: {progress_line(self.counted)}" if self.name else progress_line(self.counted)


def progress_line(counted: QueryMetrics) -> str:
    """The counters so far, in one line."""
    if not counted.of_query["batches_total"]:
        return "waiting for the first batch"
    rows, matches, late = (
        sum(counts[name] for counts in counted.of_clause.values())
        for name in ("rows_total", "matches_total", "late_rows_total")
    )
    stalled = counted.of_query.get("watermark_unmoved_seconds", 0)
    still = f", watermark unmoved for {stalled:,.0f} s" if stalled >= _STALLED_SECONDS else ""
    return f"{counted.of_query['batches_total']:,.0f} batches, {rows:,} rows, {matches:,} matches, {late:,} late{still}"


@contextmanager
def _live_line() -> Iterator[Callable[[str], None]]:
    """On a terminal, one line that is overwritten; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda words: None
        return

    def show(words: str) -> None:
        print(f"{ERASE_LINE}{words}", end="", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        print(ERASE_LINE, end="", file=sys.stderr, flush=True)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Ctrl-C sets the event. A second Ctrl-C ends the process. Otherwise PySpark would cancel the batch at once."""
    event = threading.Event()

    def on_signal(number: int, frame: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(2, b"\nstopping after this batch; press Ctrl-C again to stop at once\n")

    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
