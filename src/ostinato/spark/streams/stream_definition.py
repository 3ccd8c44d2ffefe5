"""The definition of a stream's query, stored as JSON beside its state. It suffices to plan the query again."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import asdict, fields, is_dataclass
from typing import Any, ClassVar, TypeVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.errors import MatchError
from ostinato.expressions.types import Settings
from ostinato.streams.bucket_state import OTHER_QUERY
from ostinato.streams.step import fingerprint_of
from ostinato.streams.stored_definition import DEFINITION, FORMAT, STATE, check_format
from ostinato.streams.stored_state import reading


class StreamDefinition(ABC):
    """A query with everything that its results depend on. Subclasses are dataclasses of plain values."""

    kind: ClassVar[str]
    """The name of the system in the JSON."""
    settings: Settings
    columns: str
    """The columns of the input as Spark's JSON."""

    @staticmethod
    @abstractmethod
    def read(values: dict[str, Any]) -> StreamDefinition:
        """The definition with the values of `to_json`."""

    @abstractmethod
    def state_values(self) -> dict[str, Any]:
        """The values that a state depends on, by the names that messages use. Others may change between two runs."""

    keeps: ClassVar[tuple[str, str]]
    """For systems without open partial matches: the content of the state in words, and a hint."""

    def to_json(self) -> str:
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        values |= {"format": FORMAT, "kind": self.kind, STATE: self.state_values()}
        return json.dumps(values, sort_keys=True, default=_plain)

    @property
    def fingerprint(self) -> str:
        """Differs between definitions that can't continue each other's state."""
        return fingerprint_of([self.kind, self.state_values()], _plain)

    def empty_input(self, spark: SparkSession) -> DataFrame:
        """An empty input with the same columns."""
        return spark.createDataFrame([], s.StructType.fromJson(json.loads(self.columns)))


Definition = TypeVar("Definition", bound=StreamDefinition)


def read_definition(text: str, kinds: Iterable[type[Definition]]) -> Definition | None:
    """The stored definition; None if it is of another kind than these. Raises STATE_FORMAT if it is damaged."""
    with reading(DEFINITION):
        values = json.loads(text)
        check_format(values.pop("format", None))
        kind = values.pop("kind")
        del values[STATE]
        readers = {reader.kind: reader for reader in kinds}
        return readers[kind].read(values) if kind in readers else None  # type: ignore[return-value]


def settings_values(settings: Settings) -> dict[str, Any]:
    """The session's settings, by the names that messages use."""
    return {_SETTINGS[name]: value for name, value in asdict(settings).items()}


_SETTINGS = {
    "ansi": "ANSI mode",
    "timezone": "time zone",
    "double_quoted_identifiers": "double-quoted identifiers",
    "case_sensitive": "case-sensitive names",
}


def columns_as_json(schema: s.StructType) -> str:
    """Names and types of the input's columns, without Spark's metadata."""
    return s.StructType([s.StructField(field.name, field.dataType) for field in schema.fields]).json()


def _plain(value: Any) -> Any:
    """JSON values of sets, enumeration members, dataclasses, and objects with `to_values`."""
    if isinstance(value, frozenset):
        return sorted(value)
    if hasattr(value, "to_values"):
        return value.to_values()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value.value


def check_same_columns(shipped: str, definition: Any) -> None:
    """Raises if the stored definition now ships other columns than the state has."""
    if shipped != definition.shipped:
        raise MatchError(
            OTHER_QUERY,
            f"the stored rows have the columns {definition.shipped}, but this version would store {shipped}",
            hint="use the versions of Spark and Ostinato that the stream ran with",
        )
