"""News of the sources -> the state of the page, and the differences from any earlier state.

One thread takes in what was read; others ask for differences. The memory is bounded: the last rows, counters, the
highest versions of each rule, and a few minutes of samples.
"""

from __future__ import annotations

import itertools
import secrets
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ostinato.live_console.model.recent_count import RecentCount
from ostinato.live_console.model.rule_line import RuleLine
from ostinato.live_console.model.stream_series import SERIES, StreamSeries
from ostinato.live_console.sources.match_reader import NewRows
from ostinato.live_console.sources.metrics_reader import StreamNumbers
from ostinato.live_console.sources.open_states_reader import OpenStates
from ostinato.live_console.sources.page_settings import MOST_ROWS, Sources
from ostinato.live_console.sources.problems import Problem
from ostinato.live_console.sources.sink_rows import FileRows, SinkRow
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_columns import ERROR, LATE, MATCH

MOST_RULES = 2_000
_ROWS_OF_DELTA = 1_000
_RULES_OF_DELTA = 500
_LETTERS_IN_TABLE = 240


@dataclass(frozen=True, slots=True)
class Cursor:
    """The last things that a page has seen."""

    instance: str = ""
    row: int = 0
    revision: int = 0
    rule: int = 0


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row of the sink, numbered in the order in which the console read it."""

    number: int
    seen_ms: float
    row: SinkRow

    def to_json(self) -> list[Any]:
        """The cells of the table."""
        row = self.row
        key = ", ".join("NULL" if value is None else value for _, value in row.keys)
        shown_key = f"{row.severity}: {key}".removesuffix(": ") if row.severity else key
        text = row.message if row.message and not row.measures else row.measures
        return [
            self.number,
            row.kind,
            row.rule,
            row.version,
            shown_key[:_LETTERS_IN_TABLE],
            row.began_ms,
            row.ended_ms,
            row.decided_ms,
            text[:_LETTERS_IN_TABLE],
            self.seen_ms,
        ]


class LiveModel:
    """The state of the page."""

    def __init__(
        self,
        sources: Sources,
        *,
        most_rows: int = MOST_ROWS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.most_rows = most_rows
        self._clock = clock
        self._lock = threading.Lock()
        self.restart(sources)

    def restart(self, sources: Sources) -> None:
        """Forgets everything and follows other sources. Pages notice it by the name of the instance."""
        with self._lock:
            self.sources = sources
            self.instance = secrets.token_hex(6)
            self.revision = 0
            self._rule_revision = 0
            self._rows: deque[StoredRow] = deque(maxlen=self.most_rows)
            self._row_number = 0
            self._counts: Counter[str] = Counter()
            self._recent = RecentCount()
            self._rules: dict[str, RuleLine] = {}
            self._series = StreamSeries()
            self._problems: tuple[Problem, ...] = ()
            self._reading: tuple[int, int] = (0, 0)
            self._head_revision = 0

    # --- taking in ---

    def take_rows(self, new: NewRows) -> None:
        """Rows of new files. Rates leave out the files that were there before the console."""
        now = self._clock()
        with self._lock:
            for file in new.files:
                self._take_file(file, now, is_live=not new.is_backlog)
            for report in new.older_reports:
                if report.rule and (line := self._line(report.rule)) is not None:
                    line.take_older_report(report)
                    self._touch(line)
            if (new.skipped_files, new.waiting_files) != self._reading:
                self._reading = new.skipped_files, new.waiting_files
                self._changed()
            if new.is_backlog:
                self._series.set_matches(self._counts[MATCH])

    def _take_file(self, file: FileRows, now: float, *, is_live: bool) -> None:
        self._changed()
        for (rule, kind), count in file.counts.items():
            self._counts[kind] += count
            line = self._line(rule) if rule or not file.is_of_rules else None
            if line is not None:
                line.counts[kind] = line.counts.get(kind, 0) + count
                self._touch(line)
                if kind == MATCH and is_live:
                    line.recent.add(count, now)
            if kind == MATCH and is_live:
                self._recent.add(count, now)
        for row in file.last:
            self._row_number += 1
            self._rows.append(StoredRow(self._row_number, round(now * 1000), row))
        for report in file.reports:
            if report.rule and (line := self._line(report.rule)) is not None:
                line.take_report(report)
                self._touch(line)

    def take_changes(self, changes: Iterable[RuleChange]) -> None:
        """New versions of rules."""
        with self._lock:
            for change in changes:
                if (line := self._line(change.id)) is not None:
                    line.take_change(change)
                    self._touch(line)

    def take_numbers(self, numbers: StreamNumbers) -> None:
        """A new metrics file."""
        with self._lock:
            self._series.take(numbers, self._clock())
            self._changed()
            for rule, seconds in numbers.rule_seconds.items():
                line = self._line(rule)
                if line is not None and line.seconds != seconds:
                    line.seconds = seconds
                    self._touch(line)

    def take_states(self, rules: dict[str, OpenStates]) -> None:
        """New counts of open partial matches. Rules that aren't there any more have none."""
        with self._lock:
            self._changed()
            for id in {*rules, *(id for id, line in self._rules.items() if line.open is not None)}:
                line = self._line(id)
                if line is not None and line.open != rules.get(id):
                    line.open = rules.get(id)
                    self._touch(line)

    def take_problems(self, problems: Sequence[Problem]) -> None:
        """All problems of now; others are solved."""
        with self._lock:
            if tuple(problems) != self._problems:
                self._problems = tuple(problems)
                self._head_revision = self._changed()

    def pass_time(self) -> None:
        """Adds a sample to the histories, and lets rates of the last minute fall."""
        now = self._clock()
        with self._lock:
            if self._series.sample(self._counts[MATCH], now, self.revision + 1):
                self._changed()
                for line in self._rules.values():
                    if not line.recent.is_empty:
                        self._touch(line)

    def _changed(self) -> int:
        self.revision += 1
        return self.revision

    def _touch(self, line: RuleLine) -> None:
        """Every change of a line has a number of its own, so that a page can get the lines in parts."""
        self._changed()
        self._rule_revision += 1
        line.revision = self._rule_revision

    def _line(self, id: str) -> RuleLine | None:
        line = self._rules.get(id)
        if line is None and len(self._rules) < MOST_RULES:
            line = self._rules[id] = RuleLine(id)
        return line

    # --- asking ---

    @property
    def last_row(self) -> int:
        """The number of the newest row."""
        return self._row_number

    def delta(self, cursor: Cursor) -> tuple[dict[str, Any], Cursor] | None:
        """The differences for a page since its cursor, and its next cursor; None if there are none.

        A page that followed another instance gets everything. Long differences come in several parts.
        """
        now = self._clock()
        with self._lock:
            starts = cursor.instance != self.instance
            if starts:
                cursor = Cursor(self.instance)
            if not starts and cursor == Cursor(self.instance, self._row_number, self.revision, self._rule_revision):
                return None
            oldest = self._rows[0].number if self._rows else self._row_number + 1
            skipped = max(0, cursor.row + 1 - oldest)
            rows = list(itertools.islice(self._rows, skipped, skipped + _ROWS_OF_DELTA))
            changed = sorted(
                (line for line in self._rules.values() if line.revision > cursor.rule),
                key=lambda line: line.revision,
            )
            lines = changed[:_RULES_OF_DELTA]
            delta: dict[str, Any] = {
                "instance": self.instance,
                "rows": [row.to_json() for row in rows],
                "rules": [line.to_json(now) for line in lines],
                "samples": [values for at, values in self._series.samples if at > cursor.revision],
                "tiles": self._tiles(now),
            }
            if starts:
                delta |= {"starts": True, "sources": self.sources.to_json(), "series": SERIES, "most": self.most_rows}
            if starts or self._head_revision > cursor.revision:
                delta["problems"] = [
                    {"source": each.source, "code": each.code, "message": each.message, "hint": each.hint}
                    for each in self._problems
                ]
            last_row = rows[-1].number if rows else cursor.row
            last_rule = lines[-1].revision if lines else cursor.rule
            return delta, Cursor(self.instance, last_row, self.revision, last_rule)

    def _tiles(self, now: float) -> dict[str, Any]:
        counts, (skipped, waiting) = self._counts, self._reading
        return {
            **self._series.tiles(now),
            "matches": counts[MATCH],
            "per_minute": self._recent.at(now),
            "errors": counts[ERROR],
            "late_shown": counts[LATE],
            "rejected": sum(1 for line in self._rules.values() if line.rejected),
            "suspended": sum(1 for line in self._rules.values() if line.status()[0] == "suspended"),
            "rules": len(self._rules),
            "skipped_files": skipped,
            "waiting_files": waiting,
        }

    def row(self, number: int) -> StoredRow | None:
        """A row that is still kept."""
        with self._lock:
            if not self._rows or not self._rows[0].number <= number <= self._rows[-1].number:
                return None
            return self._rows[number - self._rows[0].number]

    def seen_keys(self) -> tuple[str, ...] | None:
        """The names of the key columns of rules in the sink; None while no row tells them.

        JSON lines have no NULL: a report has no keys there, and a match lacks those that are NULL.
        """
        with self._lock:
            longest = max((stored.row.keys for stored in self._rows), key=len, default=())
            is_known = longest or any(stored.row.rule and stored.row.kind == MATCH for stored in self._rows)
            return tuple(name for name, _ in longest) if is_known else None

    def rule(self, id: str) -> RuleLine | None:
        """The line of a rule."""
        with self._lock:
            return self._rules.get(id)
