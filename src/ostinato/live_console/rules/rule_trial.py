"""The text of a rule + a table -> what the rule would give on it. The engine is the one of the stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.calls.interruptible import interruptible
from ostinato.errors import OstinatoError
from ostinato.kernels.constants import NO_TIME
from ostinato.live_console.sources.sink_rows import SinkRow, rows_of_table
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_columns import ERROR, KIND, MATCH, SUPPRESSED
from ostinato.rule_sets.rules_core import RulesCore
from ostinato.streams.bucket_state import EMPTY

_LONGEST_TEST = "20 seconds"
_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Trial:
    """The rows of one rule over the whole table, as if the stream had read it and ended."""

    rows: int
    """Rows of the table."""
    matches: int
    suppressed: int
    """Matches that the option `suppress` keeps from the output."""
    errors: int
    keys: tuple[str, ...]
    time: tuple[str, ...]
    """The columns that divide and order the rows: the user sees whether they are those of the stream."""
    shown: tuple[SinkRow, ...]
    refused: str = ""
    """The error of a rule that a stream would reject, with its caret."""

    def to_json(self) -> dict[str, Any]:
        """The answer for the page."""
        shown = [
            {
                "key": ", ".join("NULL" if value is None else value for _, value in row.keys),
                "kind": row.kind,
                "began": row.began_ms,
                "ended": row.ended_ms,
                "text": (row.message or row.measures)[:400],
            }
            for row in self.shown
        ]
        counts = {"rows": self.rows, "matches": self.matches, "suppressed": self.suppressed, "errors": self.errors}
        return {**counts, "keys": self.keys, "time": self.time, "refused": self.refused, "shown": shown}


def try_rule(change: RuleChange, table: pa.Table, declared: Declaration) -> Trial:
    """Runs one version of a rule over the table in this process, with its options. Raises DEADLINE_PASSED for a rule
    that takes too long."""

    def work() -> pa.Table:
        core = RulesCore(declared, "console")
        return core.advance(EMPTY, table, NO_TIME, finished=True, changes=[change.to_json()]).results

    results = interruptible(work, _LONGEST_TEST)
    kinds = Counter(results.column(KIND).to_pylist())
    refused = next((row.message for row in _first(results, ("rule_rejected", "rule_suspended"), 1)), "")
    shown = _first(results, (MATCH, ERROR), _MOST_SHOWN)
    return Trial(
        rows=table.num_rows,
        matches=kinds[MATCH],
        suppressed=kinds[SUPPRESSED],
        errors=kinds[ERROR],
        keys=declared.keys,
        time=declared.time,
        shown=tuple(shown),
        refused=refused,
    )


def _first(results: pa.Table, kinds: Sequence[str], most: int) -> list[SinkRow]:
    chosen = pc.is_in(results.column(KIND), pa.array(kinds, pa.string()))
    return rows_of_table(results.filter(chosen).slice(0, most))


def error_as_json(error: OstinatoError) -> dict[str, str]:
    """An error for the page: its code, its whole text with the caret, and its hint."""
    return {"code": error.code, "message": error.message, "text": str(error), "hint": error.hint or ""}
