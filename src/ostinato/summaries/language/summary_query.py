"""The query of a stream summary: expression, window, size, aggregate and strategy.

The expression is text here; `summaries/language/type_expression.py` parses it. The constructor checks everything else.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from ostinato.errors import QueryError
from ostinato.event_queries.language.event_query import Selection

LARGEST_TIME_US = 1 << 60
"""Bound of times and windows (36,000 years). Sums of a few of them fit into 64 bits."""
PROBABILITY_SLACK = 1e-6
"""Largest deviation of the sum of given probabilities from 1. They are often printed with few digits."""


class SummaryAggregate(enum.Enum):
    COUNT = "COUNT"
    """The number of matches."""
    SUM = "SUM"
    """The sum of the values of all events of all matches. An event counts once for each match that contains it."""
    AVG = "AVG"
    """SUM divided by COUNT: the mean sum of a match, not the mean value of an event."""


class Strategy(enum.Enum):
    """The rule that chooses the event to drop when the summary is full."""

    CAPPED = "capped"
    """Lowest benefit. It looks ahead for at most as many events as the summary has room for (see the paper card)."""
    PUBLISHED = "published"
    """Lowest benefit as published: it looks ahead for the full window, and assumes that all later events are kept."""
    PRESENT = "present"
    """Fewest matches so far."""
    FIFO = "fifo"
    """The oldest."""
    RANDOM = "random"
    """A random event, by `seed` and the number of events so far."""


class UnknownTypes(enum.Enum):
    SKIP = "skip"
    """Events of unnamed types are never kept, but they count as events."""
    REFUSE = "refuse"
    """An event of an unnamed type is an error."""


@dataclass(frozen=True, slots=True)
class SummaryQuery:
    """One summary (for each key, if there are keys).

    `probabilities` of types are given, or learnt from the stream (None). They may include types that the expression
    doesn't name. `tick_us` is the mean time between two events, given or learnt (None).
    """

    expression: str
    window_us: int
    size: int
    aggregate: SummaryAggregate = SummaryAggregate.COUNT
    selection: Selection = Selection.ANY
    strategy: Strategy = Strategy.CAPPED
    types: tuple[str, ...] = ()
    """Types that may occur besides those of the expression. A name of several letters must be here, among the
    probabilities, or in backquotes."""
    probabilities: tuple[tuple[str, float], ...] | None = None
    tick_us: float | None = None
    unknown_types: UnknownTypes = UnknownTypes.SKIP
    partition_by: tuple[str, ...] = ()
    keyed_types: frozenset[str] | None = None
    """Types whose events must agree on `partition_by`. Events of other types belong to every key. None: all types."""
    half_life_events: int = 2000
    """Number of events after which an event counts half, if probabilities or the tick are learnt."""
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size < 1:
            raise QueryError("SUMMARY_SIZE", f"a summary of {self.size} events keeps nothing", hint="size is 1 or more")
        if not 0 <= self.window_us < LARGEST_TIME_US:
            message = f"a window of {self.window_us} microseconds is none"
            raise QueryError("SUMMARY_WINDOW", message, hint="0 or more; 0 matches events of the same time only")
        if self.selection not in (Selection.ANY, Selection.NEXT):
            message = f"a summary can't select by {self.selection.value}"
            raise QueryError("SUMMARY_SELECTION", message, hint="skip-till-any or skip-till-next")
        if self.tick_us is not None and not (math.isfinite(self.tick_us) and self.tick_us > 0):
            raise QueryError("SUMMARY_TICK", f"events can't come every {self.tick_us} microseconds")
        if self.half_life_events < 1:
            raise QueryError("SUMMARY_HALF_LIFE", f"counts can't halve after {self.half_life_events} events")
        if self.keyed_types is not None and not self.partition_by:
            raise QueryError("SUMMARY_KEYS", "keyed types without columns to partition by")
        self._check_probabilities()

    def _check_probabilities(self) -> None:
        if self.probabilities is None:
            return
        names = [name for name, _ in self.probabilities]
        if len(set(names)) < len(names):
            raise QueryError("SUMMARY_PROBABILITIES", "a type has two probabilities")
        for name, probability in self.probabilities:
            if not 0.0 <= probability <= 1.0:
                raise QueryError("SUMMARY_PROBABILITIES", f"'{name}' can't have the probability {probability}")
        total = math.fsum(probability for _, probability in self.probabilities)
        if abs(total - 1.0) > PROBABILITY_SLACK:
            hint = "name types that the expression doesn't use too, or leave probabilities out: they are learnt then"
            raise QueryError("SUMMARY_PROBABILITIES", f"the probabilities add up to {total:.6g}, not to 1", hint=hint)

    def declared(self) -> frozenset[str]:
        """All declared names of types."""
        return frozenset(self.types) | frozenset(name for name, _ in self.probabilities or ())
