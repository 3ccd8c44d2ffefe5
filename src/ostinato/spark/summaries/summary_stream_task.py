"""What a stream of summaries was asked, as JSON beside its state, and what its workers need."""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.event_queries.language.event_query import Selection
from ostinato.expressions.types import Settings
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.rows.column_names import PREFIX
from ostinato.spark.shipping.spark_types import arrow_type
from ostinato.spark.streams.stream_definition import SUMMARY
from ostinato.spark.streams.stream_workers import FORMAT, ByDefinition
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.task.summary_rows import SummaryColumns, SummaryInput, summary_input

if TYPE_CHECKING:
    from ostinato.summaries.stream.summary_stream import Asked, SummaryStreamWorker
    from ostinato.summaries.task.summary_answers import AnswerLayout

KEY_HASH = f"{PREFIX}hash"
TRIGGER = f"{PREFIX}asks"


@dataclass(frozen=True, slots=True)
class SummaryStreamDefinition:
    """A summary with everything that its answers depend on. Plain values only: never a pickle."""

    query: SummaryQuery
    columns: SummaryColumns
    form: NumberForm
    buckets: int
    schema: str
    """The columns that it reads, as Spark's JSON."""
    trigger: str | None
    """The condition of the rows that ask; None: every micro-batch does."""
    settings: Settings

    def to_json(self) -> str:
        return json.dumps({"format": FORMAT, "kind": SUMMARY, **asdict(self)}, sort_keys=True, default=_plain)

    @property
    def fingerprint(self) -> str:
        """Differs where the state of the one can't be carried on by the other.

        Which rows ask, and the form of answers, may change between runs; not whether rows ask at all.
        """
        settings = Settings(timezone=self.settings.timezone)
        kept = replace(self, form=NumberForm.DECIMAL, trigger=self.trigger and "", settings=settings)
        return hashlib.sha256(kept.to_json().encode()).hexdigest()[:32]

    @property
    def spark_types(self) -> dict[str, s.DataType]:
        """Of the columns that it reads."""
        return {field.name: field.dataType for field in s.StructType.fromJson(json.loads(self.schema)).fields}

    def empty(self, spark: SparkSession) -> DataFrame:
        """An input of the same columns that has no rows."""
        return spark.createDataFrame([], s.StructType.fromJson(json.loads(self.schema)))

    def source(self) -> SummaryInput:
        """The columns as they reach a worker."""
        types = self.spark_types
        return summary_input(self.columns, list(types), lambda name: self.arrow(types[name], name), self.settings)

    def layout(self) -> AnswerLayout:
        """How answers look."""
        from ostinato.summaries.task.summary_answers import AnswerLayout

        return AnswerLayout(self.source(), self.query, self.form)

    def arrow(self, kind: s.DataType, name: str) -> pa.DataType:
        return arrow_type(kind, self.settings.timezone, name)


def _plain(value: Any) -> Any:
    """What JSON doesn't know."""
    return sorted(value) if isinstance(value, frozenset) else value.value


def read_summary_definition(values: dict[str, Any]) -> SummaryStreamDefinition:
    """What was kept, from its JSON without format and kind."""
    asked, columns = values["query"], values["columns"]
    given, keyed = asked["probabilities"], asked["keyed_types"]
    query = SummaryQuery(
        **{
            **asked,
            "aggregate": SummaryAggregate(asked["aggregate"]),
            "selection": Selection(asked["selection"]),
            "strategy": Strategy(asked["strategy"]),
            "unknown_types": UnknownTypes(asked["unknown_types"]),
            "types": tuple(asked["types"]),
            "partition_by": tuple(asked["partition_by"]),
            "probabilities": None if given is None else tuple((name, share) for name, share in given),
            "keyed_types": None if keyed is None else frozenset(keyed),
        }
    )
    return SummaryStreamDefinition(
        query=query,
        columns=SummaryColumns(**{**columns, "ties": tuple(columns["ties"]), "keys": tuple(columns["keys"])}),
        form=NumberForm(values["form"]),
        buckets=values["buckets"],
        schema=values["schema"],
        trigger=values["trigger"],
        settings=Settings(**values["settings"]),
    )


@dataclass(frozen=True, slots=True)
class SummaryStreamTask:
    """Sent to the executors with every batch. A `BucketTask`."""

    query: SummaryQuery
    source: SummaryInput
    form: NumberForm
    shipped: pa.Schema
    output: pa.Schema
    fingerprint: str
    definition: str

    @property
    def worker(self) -> SummaryStreamWorker:
        """The same one for all batches that a Python worker serves."""
        return _worker(ByDefinition(self))

    def rows(self, results: tuple[Asked, ...]) -> pa.Table:
        """Answers as they leave."""
        from ostinato.summaries.task.summary_answers import AnswerLayout

        layout = AnswerLayout(self.source, self.query, self.form)
        answering = self.worker.answering
        tables = []
        for asked in results:
            found = layout.columns(answering, asked.answers, asked.asked_at_us)
            tables.append(pa.Table.from_arrays([*asked.keys, *found.values()], schema=self.output))
        return pa.concat_tables([self.output.empty_table(), *tables])


@functools.lru_cache(maxsize=8)
def _worker(key: ByDefinition[SummaryStreamTask]) -> SummaryStreamWorker:
    from ostinato.summaries.stream.summary_stream import SummaryStreamWorker

    task, names = key.task, key.task.shipped.names
    return SummaryStreamWorker(
        task.query,
        task.source,
        key_hash=KEY_HASH if KEY_HASH in names else None,
        trigger=TRIGGER if TRIGGER in names else None,
    )
