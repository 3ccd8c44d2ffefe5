"""The file of `ost.stream_metrics` -> its numbers, by query and by rule. Only this form of Prometheus' text is read."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ostinato.live_console.sources.problems import Problem, missing, unreadable

SOURCE = "metrics"
_PREFIX = "ostinato_"
_MOST_BYTES = 8 << 20
_SAMPLE = re.compile(r"(?P<name>[a-zA-Z_:][\w:]*)\{(?P<labels>.*)\} (?P<value>\S+)")
_LABEL = re.compile(r'(?P<name>[a-zA-Z_]\w*)="(?P<value>(?:[^"\\]|\\.)*)"')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


@dataclass(frozen=True, slots=True)
class StreamNumbers:
    """The numbers of one file. A metric of several clauses of a query is their sum."""

    totals: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """By query, then by metric."""
    phases: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Seconds of the last micro-batch, by query and phase."""
    rule_seconds: Mapping[str, float] = field(default_factory=dict)
    """Processor time since the start, by rule."""

    def sum(self, metric: str) -> float | None:
        """Over all queries; None if no query has it."""
        values = [metrics[metric] for metrics in self.totals.values() if metric in metrics]
        return sum(values) if values else None

    def most(self, metric: str) -> float | None:
        """The largest of all queries."""
        return max((metrics[metric] for metrics in self.totals.values() if metric in metrics), default=None)

    def least(self, metric: str) -> float | None:
        """The smallest of all queries."""
        return min((metrics[metric] for metrics in self.totals.values() if metric in metrics), default=None)


@dataclass(frozen=True, slots=True)
class NewNumbers:
    """The outcome of one look: `numbers` is None if the file hasn't changed or can't be read."""

    numbers: StreamNumbers | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class MetricsReader:
    """Reads the file anew whenever it was replaced."""

    file: Path
    _seen: tuple[int, int, int] | None = None
    _problem: Problem | None = None

    def look(self) -> NewNumbers:
        """Never raises: a file that can't be read is a problem."""
        try:
            about = self.file.stat()
        except FileNotFoundError:
            return NewNumbers(problems=(missing(SOURCE, f"file {self.file.name} with metrics", "--metrics"),))
        except OSError as error:
            return NewNumbers(problems=(unreadable(SOURCE, f"the file {self.file.name}", error),))
        seen = about.st_mtime_ns, about.st_size, about.st_ino
        if seen == self._seen:
            return NewNumbers(problems=self._problems())
        try:
            with self.file.open("rb") as content:
                numbers = read_metrics(content.read(_MOST_BYTES).decode())
        except (OSError, ValueError) as error:
            self._problem = unreadable(SOURCE, f"the file {self.file.name}", error)
            return NewNumbers(problems=self._problems())
        self._seen, self._problem = seen, None
        return NewNumbers(numbers)

    def _problems(self) -> tuple[Problem, ...]:
        return () if self._problem is None else (self._problem,)


def read_metrics(text: str) -> StreamNumbers:
    """The numbers of the text. Metrics of others are left out, and so are NaN and infinities. Raises
    ValueError for a line that is no sample.

    >>> numbers = read_metrics('ostinato_rows_total{query="alerts",clause="a1"} 7\\n')
    >>> numbers.totals
    {'alerts': {'rows_total': 7.0}}
    """
    totals: dict[str, dict[str, float]] = {}
    phases: dict[str, dict[str, float]] = {}
    rule_seconds: dict[str, float] = {}
    for name, labels, value in _samples(text):
        query = labels.get("query", "")
        if name == "rule_seconds_total":
            rule = labels.get("rule", "")
            rule_seconds[rule] = rule_seconds.get(rule, 0.0) + value
        elif name == "batch_seconds":
            phases.setdefault(query, {})[labels.get("phase", "")] = value
        else:
            metrics = totals.setdefault(query, {})
            metrics[name] = metrics.get(name, 0.0) + value
    return StreamNumbers(totals, phases, rule_seconds)


def _samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#") or not line.startswith(_PREFIX):
            continue
        sample = _SAMPLE.fullmatch(line)
        if sample is None:
            raise ValueError(f"line {number} is no sample of a metric")
        labels = {label["name"]: _unescaped(label["value"]) for label in _LABEL.finditer(sample["labels"])}
        value = float(sample["value"])
        if math.isfinite(value):
            yield sample["name"].removeprefix(_PREFIX), labels, value


def _unescaped(value: str) -> str:
    return re.sub(r"\\.", lambda found: _ESCAPES.get(found[0], found[0]), value)
