"""A workload on a DataFrame, batch or streaming: each query with its rows, and all in one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostinato.spark.event_queries.event_dataframes import SparkEvents
from ostinato.workloads.report_rows import REPORT_NAME
from ostinato.workloads.workload_rows import WorkloadRows

if TYPE_CHECKING:
    from ostinato.api.workloads import Workload


def workload_dataframes(workload: Workload, df: DataFrame) -> WorkloadRows[DataFrame]:
    """The rows of all queries of a workload, together and one by one; nothing runs yet."""
    parts = [*_events(workload, df), *_clauses(workload, df)]
    queries = {name: frame for part in parts for name, frame in part.queries.items()}
    queries = {name: queries[name] for name in workload.names}
    rows = _together([part.rows for part in parts])
    if workload.request.is_empty:
        return WorkloadRows(rows, queries, input=df)
    everything = _together([part.rows if part.with_metrics is None else part.with_metrics for part in parts])
    metrics = everything.where(F.col(REPORT_NAME).isNotNull()).select(f"{REPORT_NAME}.*")
    return WorkloadRows(rows, queries, input=df, metrics=metrics, with_metrics=everything)


def _events(workload: Workload, df: DataFrame) -> list[WorkloadRows[DataFrame]]:
    if not workload.events:
        return []
    names, asked = tuple(workload.events), tuple(workload.events.values())
    request = workload.request.for_queries(names)
    found = SparkEvents(asked, names, df, workload.options, request, for_stream=df.isStreaming)
    queries = {name: found.of_query(number) for number, name in enumerate(names)}
    everything = found.common(reports=True) if found.reports else None
    return [WorkloadRows(found.common(), queries, with_metrics=everything)]


def _clauses(workload: Workload, df: DataFrame) -> list[WorkloadRows[DataFrame]]:
    if not workload.clauses:
        return []
    from ostinato.spark.workloads.clause_dataframes import SparkClauses

    names, asked = tuple(workload.clauses), tuple(workload.clauses.values())
    found = SparkClauses(asked, names, df, workload.options, workload.request)
    queries = {name: found.of_query(number) for number, name in enumerate(names)}
    is_bounded = not workload.request.for_queries(names).is_empty
    everything = found.common(reports=True) if is_bounded else None
    return [WorkloadRows(found.common(), queries, with_metrics=everything)]


def _together(frames: list[DataFrame]) -> DataFrame:
    """Event queries and clauses have columns of their own, NULL for the others."""
    whole, *others = frames
    for other in others:
        whole = whole.unionByName(other, allowMissingColumns=True)
    return whole
