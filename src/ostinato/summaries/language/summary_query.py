"""What a stream summary is asked to keep: expression, window, size, aggregate, and how it chooses.

The expression is text here; `summaries/language/type_expression.py` reads it. Everything is checked on the way in, so
whoever holds a `SummaryQuery` holds one that can be run.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from ostinato.errors import QueryError
from ostinato.event_queries.language.event_query import Selection

LARGEST_TIME_US = 1 << 60
"""Times and windows stay below it in size (36,000 years), so that sums of a few of them fit into 64 bits."""
PROBABILITY_SLACK = 1e-6
"""By how much given probabilities may miss 1: they are often printed with few digits."""


class SummaryAggregate(enum.Enum):
    COUNT = "COUNT"
    """The number of matches."""
    SUM = "SUM"
    """The values of all events of all matches added up; an event counts once for each match that it is in."""
    AVG = "AVG"
    """SUM divided by COUNT: the mean sum of a match, not the mean value of an event."""


class Strategy(enum.Enum):
    """Which event gives way to a newcomer when the summary is full."""

    CAPPED = "capped"
    """The lowest benefit; the future is looked at for at most as many events as could find a place (see the card)."""
    PUBLISHED = "published"
    """The lowest benefit as printed: the future lasts as long as the window, and all of it is taken as kept."""
    PRESENT = "present"
    """The fewest matches now."""
    FIFO = "fifo"
    """The oldest."""
    RANDOM = "random"
    """Anyone, by `seed` and the number of events seen so far."""


class UnknownTypes(enum.Enum):
    SKIP = "skip"
    """An event of a type that nobody named is never kept, but it counts as an event that came."""
    REFUSE = "refuse"
    """It is an error."""


@dataclass(frozen=True, slots=True)
class SummaryQuery:
    """One summary (for each key, if there are keys).

    `probabilities` of types are given, or None: learnt while the stream runs. Types of the stream that the expression
    doesn't name may be among them. `tick_us` is the mean time between two events, or None: learnt too.
    """

    expression: str
    window_us: int
    size: int
    aggregate: SummaryAggregate = SummaryAggregate.COUNT
    selection: Selection = Selection.ANY
    strategy: Strategy = Strategy.CAPPED
    types: tuple[str, ...] = ()
    """Types that may occur, beside those of the expression. Names of several letters are read as such if they are here,
    among the probabilities, or in backquotes."""
    probabilities: tuple[tuple[str, float], ...] | None = None
    tick_us: float | None = None
    unknown_types: UnknownTypes = UnknownTypes.SKIP
    partition_by: tuple[str, ...] = ()
    keyed_types: frozenset[str] | None = None
    """Types whose events must agree on `partition_by`; events of other types go with every key. None: all types."""
    half_life_events: int = 2000
    """After how many events one counts half, where probabilities or the tick are learnt."""
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
        """All names that are known to be types."""
        return frozenset(self.types) | frozenset(name for name, _ in self.probabilities or ())
