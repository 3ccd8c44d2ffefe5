"""The numbers of a stream, second by second -> the tiles of the page and their short histories."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from ostinato.live_console.sources.metrics_reader import StreamNumbers

_KEPT_SAMPLES = 240
SERIES = ("matches", "open", "behind", "batch", "state", "rows")
"""The columns of a sample."""


@dataclass(slots=True)
class StreamSeries:
    """The latest numbers of the metrics file, and one sample for each second."""

    numbers: StreamNumbers = field(default_factory=StreamNumbers)
    read_at: float | None = None
    samples: deque[tuple[int, list[float | None]]] = field(default_factory=lambda: deque(maxlen=_KEPT_SAMPLES))
    _sampled_at: float | None = None
    _matches: int = 0
    _rows: float | None = None

    def take(self, numbers: StreamNumbers, now: float) -> None:
        """A metrics file that has changed."""
        self.numbers, self.read_at = numbers, now

    def set_matches(self, matches: int) -> None:
        """Matches from before the console, which no rate counts."""
        self._matches = matches

    def sample(self, matches: int, now: float, revision: int) -> bool:
        """Adds a sample, at most one a second. The first one only sets the counters that later ones differ from."""
        if self._sampled_at is not None and now - self._sampled_at < 1:
            return False
        rows = self.numbers.sum("rows_total")
        seconds = None if self._sampled_at is None else now - self._sampled_at
        values = [
            None if seconds is None else _rate(matches, self._matches, seconds),
            self.numbers.sum("open_runs"),
            self.numbers.most("watermark_behind_seconds"),
            self.phase("triggerExecution"),
            self.numbers.sum("state_bytes"),
            None if seconds is None or rows is None or self._rows is None else _rate(rows, self._rows, seconds),
        ]
        self._sampled_at, self._matches, self._rows = now, matches, rows
        self.samples.append((revision, values))
        return True

    def rows_per_second(self) -> float | None:
        """The mean of the last ten samples."""
        rates = [values[-1] for _, values in list(self.samples)[-10:] if values[-1] is not None]
        return sum(rates) / len(rates) if rates else None

    def phase(self, name: str) -> float | None:
        """The seconds of a phase of the last micro-batch, of the slowest query."""
        return max((phases[name] for phases in self.numbers.phases.values() if name in phases), default=None)

    def tiles(self, now: float) -> dict[str, Any]:
        """The numbers that the page shows beside the histories."""
        numbers = self.numbers
        return {
            "open": numbers.sum("open_runs"),
            "rows": numbers.sum("rows_total"),
            "rows_per_second": self.rows_per_second(),
            "late": numbers.sum("late_rows_total"),
            "waiting": numbers.sum("waiting_rows"),
            "state": numbers.sum("state_bytes"),
            "watermark": numbers.least("watermark_seconds"),
            "behind": numbers.most("watermark_behind_seconds"),
            "unmoved": numbers.most("watermark_unmoved_seconds"),
            "batches": numbers.sum("batches_total"),
            "batch": self.phase("triggerExecution"),
            "processing": self.phase("addBatch"),
            "age": None if self.read_at is None else round(now - self.read_at, 1),
            "queries": sorted(numbers.totals)[:20],
        }


def _rate(now: float, before: float, seconds: float) -> float:
    """A counter that starts anew gives 0."""
    return max(0.0, round((now - before) / seconds, 3))
