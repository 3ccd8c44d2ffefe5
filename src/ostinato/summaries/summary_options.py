"""Options of a summary that belong together: how it chooses the events to drop, and the event types that it knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from ostinato.calls.foreign_errors import with_our_errors
from ostinato.calls.options import column_names, member_of, whole_number
from ostinato.errors import QueryError
from ostinato.summaries.language.summary_query import Strategy, UnknownTypes


@with_our_errors
@dataclass(frozen=True, slots=True)
class Eviction:
    """How a summary chooses the events that it drops. docs/summaries.md describes the strategies.

    `probabilities` of types and the `tick`, the time from one event to the next, are learnt where they aren't given.
    What is learnt halves its weight after `half_life` events. `seed` is for the strategies that draw random numbers.
    """

    strategy: str | Strategy = Strategy.CAPPED
    probabilities: Mapping[str, float] | None = None
    tick: str | timedelta | float | None = None
    half_life: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        member_of("strategy", self.strategy, Strategy)
        whole_number("half_life", self.half_life, code_below="SUMMARY_HALF_LIFE")
        whole_number("seed", self.seed, least=0)


@with_our_errors
@dataclass(frozen=True, slots=True)
class EventTypes:
    """The event types that a summary knows, beside those of its expression.

    `keyed`: the types whose events carry the key; None: all of them. Events of other types belong to every key.
    `declared`: further types that may occur. `unknown`: what happens to events of types that nobody declared.
    """

    keyed: Sequence[str] | None = None
    declared: Sequence[str] = ()
    unknown: str | UnknownTypes = UnknownTypes.SKIP

    def __post_init__(self) -> None:
        member_of("unknown", self.unknown, UnknownTypes)
        column_names("declared", self.declared)
        if self.keyed is not None and not column_names("keyed", self.keyed):
            raise QueryError("INVALID_OPTION", "keyed names no type", hint="leave it out where all types have the key")


ALL_TYPES = EventTypes()
CAPPED = Eviction()
