"""The sources of a console, and what its page may do with them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST_ROWS = 10_000
"""The rows that the page keeps."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The folders and files that a console reads. None: the page leaves that part out."""

    log: Path | None = None
    """The change log: the only folder that the console writes to."""
    matches: Path | None = None
    metrics: Path | None = None
    states: Path | None = None
    table: Path | None = None
    """Rows to test rules on."""
    stage: str = "files"
    """Where the rows come from: files, in process, or Spark. The page says so."""
    note: str = ""
    """One sentence about the stage."""

    def to_json(self) -> dict[str, Any]:
        """The values for the page. It never learns paths, only the last names."""
        names = {"log": self.log, "matches": self.matches, "metrics": self.metrics, "states": self.states}
        return {
            **{name: None if path is None else path.name for name, path in names.items()},
            "table": None if self.table is None else self.table.name,
            "stage": self.stage,
            "note": self.note,
        }
