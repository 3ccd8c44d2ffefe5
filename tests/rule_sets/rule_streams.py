"""Rules over a stream fed by hand, without Spark: changes, rows and watermarks in, output rows out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ostinato.kernels.constants import NO_TIME
from ostinato.rule_sets.declaration import Declaration, RuleKind, RuleLimits
from ostinato.rule_sets.open_rules import open_rules
from ostinato.rule_sets.rule_changes import RuleChange, RuleOptions
from ostinato.rule_sets.rules_core import RulesCore, RulesStep
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.stream_settings import Late

LETTERS = pa.schema(
    [
        pa.field("k", pa.string()),
        pa.field("at", pa.timestamp("us")),
        pa.field("kind", pa.string()),
        pa.field("x", pa.int64()),
    ]
)


def rule(id: str, text: str, version: int = 1, *, enabled: bool = True, **options: Any) -> RuleChange:
    return RuleChange(id, version, text, enabled, RuleOptions.read(options))


def rows(letters: str, since: int = 1, key: str | None = "p") -> pa.Table:
    """One row for each microsecond: `rows("AB", 5)` has A at 5 and B at 6. `x` is the position of the letter."""
    count = len(letters)
    values = {
        "k": [key] * count,
        "at": [since + i for i in range(count)],
        "kind": list(letters),
        "x": list(range(count)),
    }
    return pa.table(
        {name: pa.array(values[name]).cast(kind) for name, kind in zip(LETTERS.names, LETTERS.types, strict=True)}
    )


class RuleStream:
    """One bucket. Between steps it keeps only bytes, and a new core reads them."""

    def __init__(
        self,
        schema: pa.Schema = LETTERS,
        *,
        keys: tuple[str, ...] = ("k",),
        time: tuple[str, ...] = ("at",),
        late: Late = "drop",
        kinds: tuple[RuleKind, ...] = ("clause",),
        forget_us: int | None = None,
        **limits: int,
    ) -> None:
        self.declared = Declaration(keys, time, schema, limits=RuleLimits(**limits), kinds=kinds, forget_us=forget_us)
        self.late = late
        self.state, self.rules = EMPTY, b""
        self.steps: list[RulesStep] = []

    def step(
        self,
        table: pa.Table | None = None,
        watermark_us: int = NO_TIME,
        *changes: RuleChange | str,
        finished: bool = False,
    ) -> list[dict[str, Any]]:
        """The output rows of one step, without empty columns."""
        return [
            {name: value for name, value in row.items() if value is not None and name != "decided"}
            for row in self.results(table, watermark_us, *changes, finished=finished).to_pylist()
        ]

    def results(
        self,
        table: pa.Table | None = None,
        watermark_us: int = NO_TIME,
        *changes: RuleChange | str,
        finished: bool = False,
    ) -> pa.Table:
        """The output of one step. A damaged state may have times that no Python object can have."""
        core = self.core()
        texts = [change if isinstance(change, str) else change.to_json() for change in changes]
        stored = BucketState(bytes(self.state.header), tuple(self.state.open_rows), tuple(self.state.waiting))
        step = core.advance(
            stored, table, watermark_us, finished=finished, changes=texts, read_rules=lambda: self.rules
        )
        self.state = step.state
        self.rules = self.rules if step.rules is None else step.rules
        self.steps.append(step)
        return step.results

    def core(self) -> RulesCore:
        return RulesCore(self.declared, "rules", self.late)

    def open_rules(self) -> list[tuple[str, str, str | None, int]]:
        """Rule, status, variable and number of keys."""
        found = open_rules(self.core(), self.state, self.rules).to_pylist()
        return [(row["rule"], row["status"], row["variable"], row["keys"]) for row in found]

    def finish(self) -> list[dict[str, Any]]:
        return self.step(finished=True)


def matches(output: Sequence[dict[str, Any]]) -> list[tuple[str, int, dict[str, Any]]]:
    """Rule, version and measures of the matches among output rows."""
    return [(row["rule"], row["version"], json.loads(row["measures"])) for row in output if row["kind"] == "match"]


def of_kind(output: Sequence[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [row for row in output if row["kind"] == kind]
