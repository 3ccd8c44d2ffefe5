"""Columns + prepared expressions -> Batch: Spark's part of a query, done in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa

from ostinato.expressions.evaluate import PreparedExpression
from ostinato.rows.batches import Batch
from ostinato.rows.column_leaves import by_column_name


def evaluated_batch(
    columns: Mapping[str, pa.Array],
    count: int,
    inputs: Mapping[str, PreparedExpression],
    conditions: Sequence[PreparedExpression],
) -> Batch:
    """The rows, with these inputs and row conditions evaluated over them."""
    leaf = by_column_name(columns)
    arrays = {**columns, **{name: ready.evaluate(leaf, count) for name, ready in inputs.items()}}
    return Batch(count, arrays, [condition.mask(leaf, count) for condition in conditions])
