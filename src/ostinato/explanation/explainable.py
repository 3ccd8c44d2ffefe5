"""The public objects that `explain` accepts, as protocols: this room lies below the classes themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from ostinato.calls.bounds import Bounds
from ostinato.clause.query.clause import MatchRecognize
from ostinato.event_queries.language.event_binding import TypeArgument
from ostinato.event_queries.language.event_query import EventQuery
from ostinato.rows.loss_report import Report
from ostinato.summaries.language.summary_query import SummaryQuery
from ostinato.workloads.plan.clause_groups import Sharing


class HasSharing(Protocol):
    """The options of a query or a workload."""

    @property
    def sharing(self) -> Sharing: ...


class HasBounds(Protocol):
    """The bounds of a workload."""

    @property
    def is_empty(self) -> bool: ...
    def bounds(self, names: Sequence[str]) -> Bounds: ...
    def for_queries(self, names: Sequence[str]) -> HasBounds: ...


class HasClause(Protocol):
    """A query with MATCH_RECOGNIZE."""

    @property
    def clause(self) -> MatchRecognize: ...


@runtime_checkable
class ExplainableEvents(Protocol):
    """An `ost.events(...)`."""

    query: EventQuery
    type: TypeArgument
    time: str | None
    options: HasSharing


@runtime_checkable
class ExplainableWorkload(Protocol):
    """An `ost.Workload(...)`."""

    events: Mapping[str, ExplainableEvents]
    clauses: Mapping[str, HasClause]
    options: HasSharing
    request: HasBounds


@runtime_checkable
class RunWithLosses(Protocol):
    """The losses that `ost.Workload(...).run(...)` reports."""

    reports: tuple[Report, ...]
    """In process: one for each engine with a bound."""
    metrics: object | None
    """On Spark, under a bound: the DataFrame with the reports."""


@runtime_checkable
class ExplainableRun(RunWithLosses, Protocol):
    """The result of `ost.Workload(...).run(...)`."""

    workload: ExplainableWorkload
    statistics: Mapping[str, int]
    input: object | None
    """A table, a schema or a DataFrame."""


@runtime_checkable
class ExplainableCorrelation(Protocol):
    """An `ost.correlate(...)`."""

    @property
    def texts(self) -> Mapping[str, str]: ...
    @property
    def live(self) -> Any: ...
    @property
    def options(self) -> Any: ...


class SummaryColumnNames(Protocol):
    """The columns of a summary by their roles."""

    @property
    def type(self) -> str: ...
    @property
    def time(self) -> str: ...
    @property
    def value(self) -> str | None: ...
    @property
    def counts_units(self) -> bool: ...


@runtime_checkable
class ExplainableSummary(Protocol):
    """An `ost.summary(...)`."""

    @property
    def query(self) -> SummaryQuery: ...
    @property
    def columns(self) -> SummaryColumnNames: ...
    @property
    def buckets(self) -> int: ...
