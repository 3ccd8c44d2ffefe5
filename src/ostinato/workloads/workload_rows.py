"""What a workload gives: the rows of each query, all rows in one, and what was given up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.workloads.shedding.report import Report

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkloadRows(Generic[T]):
    """`T` is a pyarrow Table in process, a lazy DataFrame on Spark."""

    rows: T
    queries: Mapping[str, T]
    statistics: Mapping[str, int] = field(default_factory=dict)
    """What the engines did, where the work was done in this process: bursts shared, split, merged and so on."""
    input: Any = None
    """Of what it was asked: a schema in process, a DataFrame on Spark."""
    reports: tuple[Report, ...] = ()
    """In process, under a bound: what each engine gave up."""
    metrics: DataFrame | None = None
    """On Spark, under a bound: what was given up, a row for each task (or micro-batch and bucket) and query."""
    with_metrics: DataFrame | None = None
    """On Spark, under a bound: `rows` and `metrics` of one and the same run, to be written once. What was given up
    stands in the column `report`, which is NULL in the rows of matches."""
