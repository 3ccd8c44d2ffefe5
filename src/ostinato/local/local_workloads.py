"""A workload over a table in this process: event queries and MATCH_RECOGNIZE, each with its rows, and all in one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.event_queries.enumeration.event_matches import MatchLimits
from ostinato.expressions import types as t
from ostinato.local.local_events import LocalEvents
from ostinato.rows.arrow_tables import as_table
from ostinato.rows.workload_layout import OutputColumn, common_table, make_layout
from ostinato.workloads.workload_rows import WorkloadRows

if TYPE_CHECKING:
    from ostinato.api.workloads import Workload
    from ostinato.workloads.shedding.report import Report


@dataclass(frozen=True, slots=True)
class _Answers:
    """The tables of the queries of one form, by their names."""

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    """As each query alone gives it."""
    columns: Mapping[str, list[OutputColumn]] = field(default_factory=dict)
    whole: Mapping[str, pa.Table] = field(default_factory=dict)
    """The columns that only the common table has are included."""
    reports: tuple[Report, ...] = ()
    statistics: Mapping[str, int] = field(default_factory=dict)


def workload_tables(workload: Workload, table: Any, settings: t.Settings) -> WorkloadRows[pa.Table]:
    """The rows of all queries of a workload."""
    arrow = as_table(table, settings)
    events = _events(workload, arrow, settings) if workload.events else _Answers()
    clauses = _clauses(workload, arrow, settings) if workload.clauses else _Answers()
    tables, columns, whole = (
        {name: {**one, **other}[name] for name in workload.names}
        for one, other in (
            (events.tables, clauses.tables),
            (events.columns, clauses.columns),
            (events.whole, clauses.whole),
        )
    )
    layout = make_layout(list(columns.values()))
    rows = common_table(layout, workload.names, list(whole.values()), settings)
    reports = (*events.reports, *clauses.reports)
    return WorkloadRows(rows, tables, events.statistics, arrow.schema, reports)


def _events(workload: Workload, arrow: pa.Table, settings: t.Settings) -> _Answers:
    names = tuple(workload.events)
    local = LocalEvents(
        tuple(workload.events.values()), names, arrow.schema, workload.options, settings, workload.request
    )
    answers = local.run(arrow)
    return _Answers(
        tables=dict(zip(names, local.tables(answers.columns), strict=True)),
        columns=dict(zip(names, local.columns, strict=True)),
        whole=dict(zip(names, local.all_columns(answers.columns), strict=True)),
        reports=answers.reports,
        statistics=answers.statistics,
    )


def _clauses(workload: Workload, arrow: pa.Table, settings: t.Settings) -> _Answers:
    from ostinato.local.local_clauses import LocalClauses  # loads kernels that event queries don't need

    names, options = tuple(workload.clauses), workload.options
    limits = MatchLimits(None, options.max_matches, options.max_partial_matches)
    queries = tuple(workload.clauses.values())
    local = LocalClauses(queries, names, arrow.schema, settings, workload.request, limits, options.sharing)
    answers = local.run(arrow)
    tables = dict(zip(names, answers.tables, strict=True))
    return _Answers(tables, dict(zip(names, answers.columns, strict=True)), tables, answers.reports)
