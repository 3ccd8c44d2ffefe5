"""A folder with the rows of `ost.stream_state` -> the open partial matches of each rule, by state of its automaton.

Counting them reads the checkpoint, which is a Spark job. So the stream's own program writes them when it likes:
`ost.stream_state(spark, checkpoint).coalesce(1).write.mode("overwrite").json("states")`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ostinato.live_console.sources.folder_watch import FolderWatch, inside
from ostinato.live_console.sources.problems import Problem, missing, unreadable

SOURCE = "states"
_MOST_BYTES = 16 << 20
_MOST_STATES = 64
"""Of one rule."""


@dataclass(frozen=True, slots=True)
class OpenStates:
    """The open partial matches of one rule."""

    keys: int
    """Keys with an open partial match."""
    status: str
    """`suspended` if at least one bucket has suspended the highest version."""
    states: tuple[tuple[int, str, int], ...] = ()
    """Number of the automaton state, its variable, and the keys that are in it. A key may be in several."""
    version: int = 0
    """The version that has the status; 0 if the rows have none."""


@dataclass(frozen=True, slots=True)
class NewStates:
    """The outcome of one look: `rules` is None if nothing has changed or the files can't be read."""

    rules: Mapping[str, OpenStates] | None = None
    problems: tuple[Problem, ...] = ()


@dataclass(slots=True)
class OpenStatesReader:
    """Reads the folder's files whenever one is new. All files together are one result of `ost.stream_state`."""

    folder: Path
    _watch: FolderWatch | None = None
    _names: set[str] = field(default_factory=set)
    _problem: Problem | None = None

    def look(self) -> NewStates:
        """Never raises: a file that can't be read is a problem. While Spark replaces the files, the old counts stay."""
        try:
            if not self.folder.is_dir():
                waits = self._problem is None and not self._names
                text = missing(SOURCE, f"folder {self.folder.name} with open partial matches", "--states")
                return NewStates(problems=(text,) if waits else self._problems())
            if self._watch is None:
                self._watch = FolderWatch(self.folder, (".json",))
            listing = self._watch.look()
            self._names -= set(listing.removed)
            if not (listing.new or listing.edited):
                return NewStates(problems=self._problems())
            self._names |= {file.name for file in (*listing.new, *listing.edited)}
            rows = [row for name in sorted(self._names) for row in _rows(inside(self.folder, name))]
            rules = open_states(rows)
        except Exception as error:  # a file may hold anything
            self._problem = unreadable(SOURCE, f"the folder {self.folder.name}", error)
            return NewStates(problems=self._problems())
        self._problem = None
        return NewStates(rules)

    def _problems(self) -> tuple[Problem, ...]:
        return () if self._problem is None else (self._problem,)


def open_states(rows: list[dict[str, Any]]) -> dict[str, OpenStates]:
    """Rows of `ost.stream_state` by rule: the row without a state counts the keys of the whole rule.

    >>> open_states(
    ...     [{"rule": "r", "keys": 3, "status": "active"}, {"rule": "r", "state": 1, "variable": "B", "keys": 2}]
    ... )
    {'r': OpenStates(keys=3, status='active', states=((1, 'B', 2),), version=0)}
    """
    keys: dict[str, int] = {}
    status: dict[str, tuple[int, str]] = {}
    states: dict[str, list[tuple[int, str, int]]] = {}
    for row in rows:
        rule, count = str(row.get("rule", "")), int(row["keys"])  # one clause alone has no name
        if row.get("state") is None:
            keys[rule] = keys.get(rule, 0) + count
            # Buckets may differ. The highest version counts, and "suspended" sorts behind "active".
            of_bucket = int(row.get("version") or 0), str(row.get("status", ""))
            status[rule] = max(of_bucket, status.get(rule, of_bucket))
        elif len(of_rule := states.setdefault(rule, [])) < _MOST_STATES:
            of_rule.append((int(row["state"]), str(row.get("variable") or ""), count))
    return {
        rule: OpenStates(count, status[rule][1], tuple(sorted(states.get(rule, ()))), status[rule][0])
        for rule, count in keys.items()
    }


def _rows(file: Path) -> list[dict[str, Any]]:
    with file.open("rb") as content:
        lines = content.read(_MOST_BYTES).decode().splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("a line is no JSON object")
    return rows
