"""A DataFrame of questions -> the same rows with answers and paths.

Spark sends the graph to every task with the function of mapInArrow. There is no shuffle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.errors import QueryError
from ostinato.spark.shipping.spark_types import spark_schema
from ostinato.spark.shipping.worker_check import Checked

if TYPE_CHECKING:
    from ostinato.api.graph_questions import GraphQuestions


def answered_dataframe(
    graph_questions: GraphQuestions, questions: DataFrame, question: str, topic: str, replies: pa.Schema
) -> DataFrame:
    """Nothing runs yet. Raises RESERVED_NAME for columns with dots in their names."""
    for name in questions.columns:
        if "." in name:
            raise QueryError("RESERVED_NAME", f"the questions can't have a column '{name}'", hint="rename it")
    schema = s.StructType([*questions.schema.fields, *spark_schema(replies).fields])

    def answers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from graph_questions.answered(pa.Table.from_batches([batch]), question, topic).to_batches()

    return questions.mapInArrow(Checked(answers), schema)
