"""A summary on a stream: its definition, kept beside the state, and the task that its workers run."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.event_queries.language.event_query import Selection
from ostinato.expressions.types import Settings
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.rows.column_names import PREFIX
from ostinato.spark.shipping.spark_types import arrow_type
from ostinato.spark.streams.stream_checkpoint import Checkpoint
from ostinato.spark.streams.stream_definition import StreamDefinition
from ostinato.spark.streams.stream_task import BucketTask
from ostinato.summaries.engine.summary_state import VERSION
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.task.summary_rows import SummaryColumns, SummaryInput, summary_input

if TYPE_CHECKING:
    from ostinato.summaries.stream.summary_stream import Asked, SummaryStreamWorker
    from ostinato.summaries.task.summary_answers import AnswerLayout

KEY_HASH = f"{PREFIX}hash"
TRIGGER = f"{PREFIX}asks"


@dataclass(frozen=True, slots=True)
class SummaryDefinition(StreamDefinition):
    """A summary with everything that its answers depend on."""

    kind: ClassVar[str] = "summary"
    keeps: ClassVar[tuple[str, str]] = ("summaries, and no partial matches to look at", "ost.ask asks them")

    query: SummaryQuery
    roles: SummaryColumns
    """Which columns are the types, the times, the values and the keys."""
    form: NumberForm
    buckets: int
    columns: str
    """The columns that it reads, as Spark's JSON."""
    trigger: str | None
    """The condition of the rows that ask; None: every micro-batch does."""
    settings: Settings

    @staticmethod
    def read(values: dict[str, Any]) -> SummaryDefinition:
        asked, roles = values["query"], values["roles"]
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
        return SummaryDefinition(
            **{
                **values,
                "query": query,
                "roles": SummaryColumns(**{**roles, "ties": tuple(roles["ties"]), "keys": tuple(roles["keys"])}),
                "form": NumberForm(values["form"]),
                "settings": Settings(**values["settings"]),
            }
        )

    def state_values(self) -> object:
        """The form of answers, and which rows ask, may change between runs; not whether rows ask at all."""
        return [
            asdict(self.query),
            asdict(self.roles),
            self.buckets,
            self.columns,
            self.trigger is not None,
            self.settings.timezone,
            VERSION,
        ]

    def finished(self, opened: Checkpoint) -> DataFrame:
        from ostinato.spark.summaries.summary_finish import finished_summary

        return finished_summary(self, opened)

    @property
    def spark_types(self) -> dict[str, s.DataType]:
        """Of the columns that it reads."""
        return {field.name: field.dataType for field in s.StructType.fromJson(json.loads(self.columns)).fields}

    def source(self) -> SummaryInput:
        """The columns as they reach a worker."""
        types = self.spark_types
        return summary_input(self.roles, list(types), lambda name: self.arrow(types[name], name), self.settings)

    def layout(self) -> AnswerLayout:
        """How answers look."""
        from ostinato.summaries.task.summary_answers import AnswerLayout

        return AnswerLayout(self.source(), self.query, self.form)

    def arrow(self, kind: s.DataType, name: str) -> pa.DataType:
        return arrow_type(kind, self.settings.timezone, name)


@dataclass(frozen=True, slots=True)
class SummaryBucketTask(BucketTask):
    """Sent to the executors with every batch."""

    query: SummaryQuery
    source: SummaryInput
    form: NumberForm

    def new_core(self) -> SummaryStreamWorker:
        from ostinato.summaries.stream.summary_stream import SummaryStreamWorker

        names = self.shipped.names
        return SummaryStreamWorker(
            self.query,
            self.source,
            key_hash=KEY_HASH if KEY_HASH in names else None,
            trigger=TRIGGER if TRIGGER in names else None,
            fingerprint=self.fingerprint,
        )

    def rows(self, results: tuple[Asked, ...]) -> pa.Table:
        from ostinato.summaries.task.summary_answers import AnswerLayout

        layout = AnswerLayout(self.source, self.query, self.form)
        answering = self.worker.answering
        tables = []
        for asked in results:
            found = layout.columns(answering, asked.answers, asked.asked_at_us)
            tables.append(pa.Table.from_arrays([*asked.keys, *found.values()], schema=self.output))
        return pa.concat_tables([self.output.empty_table(), *tables])
