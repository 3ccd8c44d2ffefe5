"""What a stream was asked, as JSON beside its state: enough to plan it again without the program that started it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.errors import MatchError, QueryError
from ostinato.expressions.types import Settings
from ostinato.streams.step import fingerprint_of
from ostinato.streams.stored_state import reading

if TYPE_CHECKING:
    from ostinato.spark.streams.stream_checkpoint import Checkpoint

FORMAT = 2
"""Of definitions."""


class StreamDefinition(ABC):
    """A query with everything that its answers depend on: a dataclass of plain values, never a pickle."""

    kind: ClassVar[str]
    """Tells the definitions of different systems apart."""
    settings: Settings
    columns: str
    """The columns of the input as Spark's JSON."""

    @staticmethod
    @abstractmethod
    def read(values: dict[str, Any]) -> StreamDefinition:
        """From the values of `to_json`."""

    @abstractmethod
    def state_values(self) -> object:
        """The values that decide what a state means. Others may change between two runs of a stream."""

    @abstractmethod
    def finished(self, opened: Checkpoint) -> DataFrame:
        """The rows that the end of input would still give."""

    keeps: ClassVar[tuple[str, str]]
    """Where there are no partial matches of one clause to look at: what the state holds instead, and a hint."""

    def open_partial_matches(self, opened: Checkpoint) -> DataFrame:
        """The partial matches that rows to come decide."""
        held, hint = self.keeps
        raise QueryError("NO_STATE", f"the stream of {opened.path} keeps {held}", hint=hint)

    def to_json(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return json.dumps({"format": FORMAT, "kind": self.kind, **values}, sort_keys=True, default=_plain)

    @property
    def fingerprint(self) -> str:
        """Differs where the state of the one can't be carried on by the other."""
        return fingerprint_of([self.kind, self.state_values()], _plain)

    def empty_input(self, spark: SparkSession) -> DataFrame:
        """An input of the same columns that has no rows."""
        return spark.createDataFrame([], s.StructType.fromJson(json.loads(self.columns)))


Definition = TypeVar("Definition", bound=StreamDefinition)


def read_definition(text: str, kinds: Iterable[type[Definition]]) -> Definition | None:
    """What was kept; None where it is of another kind than these. Raises STATE_FORMAT where it can't be read."""
    with reading("the definition of this stream"):
        values = json.loads(text)
        check_format(values.pop("format", None), FORMAT)
        kind = values.pop("kind")
        readers = {reader.kind: reader for reader in kinds}
        return readers[kind].read(values) if kind in readers else None  # type: ignore[return-value]


def columns_as_json(schema: s.StructType) -> str:
    """Names and types of the input's columns, without what Spark notes beside them."""
    return s.StructType([s.StructField(field.name, field.dataType) for field in schema.fields]).json()


def _plain(value: Any) -> Any:
    """What JSON doesn't know: sets, members of enumerations, dataclasses, and values that write themselves."""
    if isinstance(value, frozenset):
        return sorted(value)
    if hasattr(value, "to_values"):
        return value.to_values()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value.value


def check_format(form: Any, reads: int) -> None:
    """Raises for what another version wrote."""
    if form != reads:
        raise MatchError(
            "STATE_FORMAT",
            f"the state was written in format {form}, this version reads format {reads}",
            hint="use the version of Ostinato that wrote it",
        )


def check_same_columns(shipped: str, definition: Any) -> None:
    """Raises where a definition that was kept would ship other columns now."""
    if shipped != definition.shipped:
        raise MatchError(
            "STATE_OF_OTHER_QUERY",
            f"the kept rows have the columns {definition.shipped}, but this version would keep {shipped}",
            hint="use the versions of Spark and Ostinato that the stream ran with",
        )
