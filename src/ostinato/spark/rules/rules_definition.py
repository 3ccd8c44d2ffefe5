"""The definition of rules on a stream, stored beside their state. The rules themselves are state."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pyspark.sql import types as s

from ostinato.expressions.types import Settings
from ostinato.rule_sets.declaration import Declaration, RuleKind, RuleLimits
from ostinato.spark.shipping.spark_types import arrow_type
from ostinato.spark.streams.stream_definition import StreamDefinition, settings_values
from ostinato.streams.stream_settings import Late, silence_us


@dataclass(frozen=True, slots=True)
class RulesDefinition(StreamDefinition):
    """The stored definition of a stream of rules."""

    kind: ClassVar[str] = "rules"
    keeps: ClassVar[tuple[str, str]] = ("open partial matches of rules", "ost.finish_stream returns their last rows")

    keys: tuple[str, ...]
    time: tuple[str, ...]
    columns: str
    """The declared columns as Spark's JSON."""
    buckets: int
    late: Late
    settings: Settings
    limits: RuleLimits
    kinds: tuple[RuleKind, ...]
    fixed: tuple[str, ...] = ()
    """The changes of a static table, as JSON."""
    forget_keys_after: str | None = None

    @staticmethod
    def read(values: dict[str, Any]) -> RulesDefinition:
        return RulesDefinition(
            **{
                **values,
                "keys": tuple(values["keys"]),
                "time": tuple(values["time"]),
                "kinds": tuple(values["kinds"]),
                "fixed": tuple(values.get("fixed", ())),
                "settings": Settings(**values["settings"]),
                "limits": RuleLimits(**values["limits"]),
            }
        )

    def state_values(self) -> dict[str, Any]:
        """All but limits, kinds, the treatment of late rows, and the rules of a static table."""
        # A stream from before there was this option has the same state as one without it.
        forgets = {} if self.forget_keys_after is None else {"forget_keys_after": self.forget_keys_after}
        return {
            "keys": self.keys,
            "time": self.time,
            "columns": [f"{field.name} {field.dataType.simpleString()}" for field in self.fields],
            "buckets": self.buckets,
            **forgets,
            **settings_values(self.settings),
        }

    @property
    def fields(self) -> list[s.StructField]:
        return s.StructType.fromJson(json.loads(self.columns)).fields

    def declaration(self) -> Declaration:
        """The declaration for workers."""
        timezone = self.settings.timezone
        schema = [pa.field(field.name, arrow_type(field.dataType, timezone, field.name)) for field in self.fields]
        return Declaration(
            self.keys,
            self.time,
            pa.schema(schema),
            self.settings,
            self.limits,
            self.kinds,
            silence_us(self.forget_keys_after),
        )
