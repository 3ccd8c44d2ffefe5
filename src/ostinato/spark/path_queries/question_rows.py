"""A DataFrame of questions -> the same rows with answers and paths.

Spark sends the graph to every task with the function of mapInArrow. There is no shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.shipping.worker_check import Checked


def answered_dataframe(questions: DataFrame, answered: Callable[[pa.Table], pa.Table], replies: pa.Schema) -> DataFrame:
    """The questions with the columns `replies`, which `answered` adds. Nothing runs yet.

    Raises RESERVED_NAME for columns with dots in their names.
    """
    for name in questions.columns:
        if "." in name:
            raise QueryError("RESERVED_NAME", f"the questions can't have a column '{name}'", hint="rename it")
    schema = s.StructType([*questions.schema.fields, *spark_schema(replies).fields])

    def answers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from answered(pa.Table.from_batches([batch])).to_batches()

    return questions.mapInArrow(Checked(answers), schema)
