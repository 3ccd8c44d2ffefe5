"""A workload on a DataFrame, batch or streaming -> the rows of each query, and of all queries in one DataFrame."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ostinato.spark.event_queries.event_dataframes import SparkEvents
from ostinato.spark.workload_rows.common_rows import OperatorRows, common_rows
from ostinato.spark.workloads.clause_dataframes import SparkClauses
from ostinato.workloads.report_rows import REPORT_NAME
from ostinato.workloads.workload_request import WorkloadRequest
from ostinato.workloads.workload_rows import WorkloadRows


def workload_dataframes(workload: WorkloadRequest, df: DataFrame) -> WorkloadRows[DataFrame]:
    """The rows of all queries, together and one by one. Nothing runs yet."""
    by_name: dict[str, DataFrame] = {}
    operators: list[OperatorRows] = []
    if workload.events:
        names = tuple(workload.events)
        request = workload.request.for_queries(names)
        events = SparkEvents(
            tuple(workload.events.values()), names, df, workload.options, request, for_stream=df.isStreaming
        )
        by_name |= {name: events.of_query(number) for number, name in enumerate(names)}
        operators += events.operator_rows()
    if workload.clauses:
        names = tuple(workload.clauses)
        clauses = SparkClauses(tuple(workload.clauses.values()), names, df, workload.options, workload.request)
        by_name |= {name: clauses.of_query(number) for number, name in enumerate(names)}
        operators += clauses.operator_rows()
    queries = {name: by_name[name] for name in workload.names}
    rows = common_rows(operators)
    if workload.request.is_empty:
        return WorkloadRows(rows, queries)
    everything = common_rows(operators, reports=True)
    metrics = everything.where(F.col(REPORT_NAME).isNotNull()).select(f"{REPORT_NAME}.*")
    return WorkloadRows(rows, queries, metrics=metrics, with_metrics=everything)
