"""One MATCH_RECOGNIZE clause as parsed, before its names are bound to a table."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from datetime import timedelta

from ostinato.calls.id_columns import NO_IDS, IdColumns
from ostinato.clause.query.months import Months
from ostinato.clause.query.pattern import Pattern
from ostinato.errors import Span
from ostinato.expressions.syntax import Expr, Name


@dataclass(frozen=True, slots=True)
class SortKey:
    """`column [ASC|DESC] [NULLS FIRST|LAST]`; NULLs are first when ascending unless written otherwise (Spark).

    `expression`: the key is an expression, and `column` is the name of the column that it is computed into.
    """

    column: Name
    descending: bool = False
    nulls_first: bool | None = None
    expression: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def puts_nulls_first(self) -> bool:
        return (not self.descending) if self.nulls_first is None else self.nulls_first


@dataclass(frozen=True, slots=True)
class Measure:
    """`expression AS name`. The span is that of the name."""

    name: str
    expression: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


class Output(enum.Enum):
    """The rows that a match puts out."""

    ONE_ROW = "ONE ROW PER MATCH"
    ALL_ROWS = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_ROWS_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_ROWS_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class MatchMode(enum.Enum):
    """The matches to return, of all possible ones."""

    PREFERRED = "PREFERRED"
    """The standard's mode: the first match in preferment order from each start that the skip rule leaves."""
    ALL = "ALL MATCHES"
    """Every match from every row in every labeling (RIP)."""
    INCREMENTAL = "INCREMENTAL MATCHES"
    """The longest match for each last row (DejaVu, Definition 10)."""
    MAXIMAL = "MAXIMAL MATCHES"
    """The longest match for each first row (DejaVu, Definition 11)."""


class SkipKind(enum.Enum):
    PAST_LAST_ROW = "SKIP PAST LAST ROW"
    TO_NEXT_ROW = "SKIP TO NEXT ROW"
    TO_FIRST = "SKIP TO FIRST"
    TO_LAST = "SKIP TO LAST"


@dataclass(frozen=True, slots=True)
class Skip:
    """Where the search goes on after a match; `target` is a variable or a union variable."""

    kind: SkipKind = SkipKind.PAST_LAST_ROW
    target: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Subset:
    """`name = (members)`: a union variable. The span is that of its name."""

    name: str
    members: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    member_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Definition:
    """`variable AS condition`. The span is that of the variable."""

    variable: str
    condition: Expr
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """`column`, or `expression [AS column]`: see `SortKey`."""

    column: Name
    expression: Expr | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ClauseSpans:
    """Where the parts of a clause without a node of their own stand in its text."""

    rows_per_match: Span | None = None
    timeouts: Span | None = None
    mode: Span | None = None
    pattern: Span | None = None
    within: Span | None = None


NO_SPANS = ClauseSpans()


@dataclass(frozen=True, slots=True)
class MatchRecognize:
    """The parsed clause. `text` is the source, for carets; equality ignores it."""

    pattern: Pattern
    partition_by: tuple[PartitionKey, ...] = ()
    order_by: tuple[SortKey, ...] = ()
    measures: tuple[Measure, ...] = ()
    output: Output = Output.ONE_ROW
    show_timeouts: bool = False
    """Whether partial matches that WITHIN cut off are shown too."""
    mode: MatchMode = MatchMode.PREFERRED
    skip: Skip = Skip()
    within: timedelta | Months | None = None
    max_length: int | None = None
    subsets: tuple[Subset, ...] = ()
    definitions: tuple[Definition, ...] = ()
    ids: IdColumns = NO_IDS
    """Columns that an option of the caller adds to the measures. The text of the clause doesn't have them."""
    input_name: str | None = None
    text: str | None = field(default=None, compare=False, repr=False)
    spans: ClauseSpans = field(default=NO_SPANS, compare=False, repr=False)

    @property
    def keys(self) -> tuple[PartitionKey | SortKey, ...]:
        """PARTITION BY, then ORDER BY."""
        return (*self.partition_by, *self.order_by)

    @property
    def within_us(self) -> int | None:
        """The longest time from the first to the last row of a match. With calendar months, most are shorter."""
        if isinstance(self.within, Months):
            return self.within.longest_days * (timedelta(days=1) // timedelta(microseconds=1))
        return None if self.within is None else self.within // timedelta(microseconds=1)

    @property
    def within_months(self) -> int | None:
        return self.within.count if isinstance(self.within, Months) else None
