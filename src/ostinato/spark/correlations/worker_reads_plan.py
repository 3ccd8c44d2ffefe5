"""A correlation whose workers read its archive -> their reads. Raises if they can't evaluate the query."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from ostinato.errors import QueryError, errors_quoting
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.typing import type_of
from ostinato.rows.packed_conditions import BITS_PER_COLUMN, bits_columns
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.stream_archive import ArchiveFolder
from ostinato.spark.correlations.worker_reads import Shipped, WorkerReads


def worker_reads(folder: ArchiveFolder, batch: int, correlation: SparkCorrelation, schema: pa.Schema) -> WorkerReads:
    """The reads of a batch from the folder of earlier batches."""
    stored = correlation.live.source.arrow_schema(folder.stored)
    path = folder.path.removeprefix("file://")
    return WorkerReads(
        path, batch, stored, correlation.archive_keys, _columns(correlation), schema, correlation.live.settings
    )


def check_worker_reads(correlation: SparkCorrelation, path: str) -> None:
    """Raises if workers can't read the archive, or can't evaluate the query's expressions."""
    if "://" in path.removeprefix("file://"):
        raise QueryError("INVALID_OPTION", f"workers read local paths only, not {path}", hint='reads="spark"')
    if correlation.clocks.archive.start != correlation.clocks.live.start:
        raise QueryError(
            "INVALID_OPTION", "workers read by one clock, and the two clauses have different ones", hint='reads="spark"'
        )
    types = {
        name: correlation.live.source.arrow(kind, name) for name, kind in correlation.live.source.column_types.items()
    }

    def leaf(node: Expr) -> pa.DataType | None:
        return types.get(node.name) if isinstance(node, Column) else None

    for query in (correlation.live, correlation.archive):
        with errors_quoting(query.bound.clause.text):
            for shipped in _shipped(query).values():
                for expr in shipped if isinstance(shipped, tuple) else (shipped,):
                    type_of(expr, leaf, query.settings)


def _columns(correlation: SparkCorrelation) -> dict[str, Shipped]:
    """The shipped columns of rows that both sides read."""
    columns = _shipped(correlation.live)
    for name, shipped in _shipped(correlation.archive).items():
        columns.setdefault(correlation.sides.archive_names[name], shipped)
    return {name: columns[name] for name in correlation.sides.shared_columns}


def _shipped(query: SparkQuery) -> dict[str, Shipped]:
    """As `SparkQuery.shipped`, as expressions instead of SQL."""
    return dict(_shipped_columns(query))


def _shipped_columns(query: SparkQuery) -> Iterator[tuple[str, Shipped]]:
    for name in (*query.bound.partition_by, *(key.column for key in query.bound.order_by)):
        yield name, Column(name)
    for item in query.plan.inputs:
        yield item.name, item.expr
    conditions = query.plan.row_conditions
    for i, name in enumerate(bits_columns(len(conditions))):
        yield name, tuple(conditions[i * BITS_PER_COLUMN : (i + 1) * BITS_PER_COLUMN])
