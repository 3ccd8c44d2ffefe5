"""The result of a workload: the rows of each query, all rows in one table, and the reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ostinato.rows.loss_report import Report

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkloadRows(Generic[T]):
    """`T` is a pyarrow Table in process, a lazy DataFrame on Spark."""

    rows: T
    queries: Mapping[str, T]
    statistics: Mapping[str, int] = field(default_factory=dict)
    """Counts of the engines, for runs in this process: bursts shared, split, merged and so on."""
    reports: tuple[Report, ...] = ()
    """In process, under a bound: the report of each engine."""
    metrics: T | None = None
    """On Spark, under a bound: the losses, a row for each task (or micro-batch and bucket) and query."""
    with_metrics: T | None = None
    """On Spark, under a bound: `rows` and `metrics` of the same run, to be written once. The losses are in the column
    `report`, which is NULL in the rows of matches."""
