"""The declaration that all rules of one stream share: keys, order, columns, and limits for each rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from ostinato.calls.options import whole_number
from ostinato.clause.plan.typed_plan import DEFAULT_MAX_PARTIAL_MATCHES, MOST_PARTIAL_MATCHES
from ostinato.expressions.types import Settings
from ostinato.rule_sets.rule_changes import MOST_ERRORS, MOST_STATE_BYTES

RuleKind = Literal["clause", "funnel"]
"""Kinds that one operator runs: a funnel is translated into a clause."""


@dataclass(frozen=True, slots=True)
class RuleLimits:
    """Counted for each rule and bucket, never timed: a replay counts the same."""

    max_rules: int = 1_000
    """The rules in force at one time. Further ones are rejected."""
    max_partial_matches: int = 10 * DEFAULT_MAX_PARTIAL_MATCHES
    """The partial matches that one rule may try in one bucket in one micro-batch."""
    max_state_bytes: int = 64 << 20
    """The bytes of open rows that one rule may hold in one bucket."""
    max_errors: int = 1_000
    """The rows of one micro-batch in one bucket that one rule may fail to evaluate."""

    def __post_init__(self) -> None:
        whole_number("max_rules", self.max_rules, most=1_000_000)
        whole_number("max_partial_matches", self.max_partial_matches, most=MOST_PARTIAL_MATCHES)
        whole_number("max_state_bytes", self.max_state_bytes, most=MOST_STATE_BYTES)
        whole_number("max_errors", self.max_errors, most=MOST_ERRORS)


@dataclass(frozen=True, slots=True)
class Declaration:
    """The columns that rules may use. The first of `time` has the watermark."""

    keys: tuple[str, ...]
    time: tuple[str, ...]
    schema: pa.Schema
    """All declared columns, keys and times included, with their types. Stored rows have these columns."""
    settings: Settings = Settings()
    limits: RuleLimits = RuleLimits()
    kinds: tuple[RuleKind, ...] = ("clause",)
    """The kinds of queries that rules may be."""
    forget_us: int | None = None
    """`forget_keys_after` in microseconds."""
