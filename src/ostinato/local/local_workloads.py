"""A workload over a table in this process -> the rows of each of its queries, and of all in one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from ostinato.expressions import types as t
from ostinato.local.local_events import LocalEvents
from ostinato.rows.arrow_tables import as_table
from ostinato.rows.loss_report import Report
from ostinato.rows.workload_layout import OutputColumn, common_table, make_layout
from ostinato.workloads.workload_request import WorkloadRequest
from ostinato.workloads.workload_rows import WorkloadRows


@dataclass(frozen=True, slots=True)
class _Answers:
    """The tables of the queries of one form, by their names."""

    tables: Mapping[str, pa.Table] = field(default_factory=dict)
    """The output of each query."""
    columns: Mapping[str, list[OutputColumn]] = field(default_factory=dict)
    all_columns: Mapping[str, pa.Table] = field(default_factory=dict)
    """The same, with the columns that only the common table shows."""
    reports: tuple[Report, ...] = ()
    statistics: Mapping[str, int] = field(default_factory=dict)


def workload_tables(workload: WorkloadRequest, table: Any, settings: t.Settings) -> WorkloadRows[pa.Table]:
    """The rows of all queries of a workload."""
    arrow = as_table(table, settings)
    events = _events(workload, arrow, settings) if workload.events else _Answers()
    clauses = _clauses(workload, arrow, settings) if workload.clauses else _Answers()
    names = workload.names
    tables = {**events.tables, **clauses.tables}
    columns = {**events.columns, **clauses.columns}
    all_columns = {**events.all_columns, **clauses.all_columns}
    layout = make_layout([columns[name] for name in names])
    rows = common_table(layout, names, [all_columns[name] for name in names], settings)
    reports = (*events.reports, *clauses.reports)
    return WorkloadRows(rows, {name: tables[name] for name in names}, events.statistics, reports)


def _events(workload: WorkloadRequest, arrow: pa.Table, settings: t.Settings) -> _Answers:
    names = tuple(workload.events)
    local = LocalEvents(
        tuple(workload.events.values()), names, arrow.schema, workload.options, settings, workload.request
    )
    answers = local.run(arrow)
    return _Answers(
        tables=dict(zip(names, local.tables(answers.columns), strict=True)),
        columns=dict(zip(names, local.columns, strict=True)),
        all_columns=dict(zip(names, local.all_columns(answers.columns), strict=True)),
        reports=answers.reports,
        statistics=answers.statistics,
    )


def _clauses(workload: WorkloadRequest, arrow: pa.Table, settings: t.Settings) -> _Answers:
    from ostinato.local.local_clauses import LocalClauses  # loads kernels that event queries don't need

    names, options = tuple(workload.clauses), workload.options
    queries = tuple(workload.clauses.values())
    local = LocalClauses(queries, names, arrow.schema, settings, workload.request, options.limits(), options.sharing)
    answers = local.run(arrow)
    tables = dict(zip(names, answers.tables, strict=True))
    return _Answers(tables, dict(zip(names, answers.columns, strict=True)), tables, answers.reports)
