"""Rows of rules with any keys, and rows of event queries -> rows of one schema, with severities. Arrow only.

The keys are JSON text, because rules with other keys have rows in the same output.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Cast, Column
from ostinato.expressions.types import Settings
from ostinato.rows.batches import one_array
from ostinato.rows.json_text import as_json
from ostinato.rows.workload_layout import Role
from ostinato.rule_sets import compiled_rule
from ostinato.rule_sets.rule_columns import BEGAN, ENDED, KIND, MATCH, MATCH_ID, MEASURES, MESSAGE, RULE, VERSION

SEVERITY, KEYS = "severity", "keys"
AGGREGATE = "aggregate"
"""The kind of a row of an event query that returns no matches."""


def run_schema(settings: Settings) -> pa.Schema:
    """The columns of the output, whatever rules there are.

    >>> run_schema(Settings()).names
    ['kind', 'rule', 'severity', 'version', 'match_id', 'keys', 'began', 'ended', 'measures', 'message']
    """
    texts, time = pa.string(), pa.timestamp("us", settings.timezone)
    return pa.schema(
        [
            *((name, texts) for name in (KIND, RULE, SEVERITY)),
            (VERSION, pa.int64()),
            *((name, texts) for name in (MATCH_ID, KEYS)),
            *((name, time) for name in (BEGAN, ENDED)),
            *((name, texts) for name in (MEASURES, MESSAGE)),
        ]
    )


@dataclass(frozen=True, slots=True)
class RunRows(ABC):
    """Puts the rows of one operator into the schema of a run."""

    severities: Mapping[str, str]
    """By rule. Rules that aren't here have none."""
    settings: Settings

    @abstractmethod
    def columns(self, rows: pa.Table) -> dict[str, object]:
        """The columns of the output: arrays, or one value for all rows. Those that are missing are NULL."""

    def of(self, rows: pa.Table) -> pa.Table:
        columns, schema = self.columns(rows), run_schema(self.settings)
        rules = self._array(columns[RULE], pa.string(), rows.num_rows)
        columns[SEVERITY] = pa.array([self.severities.get(rule) for rule in rules.to_pylist()], pa.string())
        arrays = [self._array(columns.get(field.name), field.type, rows.num_rows) for field in schema]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _array(self, value: object, kind: pa.DataType, count: int) -> pa.Array:
        if value is None:
            return pa.nulls(count, kind)
        if isinstance(value, str | int):
            return pa.repeat(pa.scalar(value, kind), count)
        array: pa.Array = one_array(value) if isinstance(value, pa.ChunkedArray) else value
        if pa.types.is_timestamp(kind):
            array = self._moments(array)
        return array if array.type == kind else array.cast(kind)

    def _moments(self, times: pa.Array) -> pa.Array:
        """A DATE, or a time without time zone, is one of the session's."""
        if pa.types.is_timestamp(times.type) and times.type.tz is not None:
            return times
        column = Column("x")
        cast = Cast(column, "TIMESTAMP")
        return evaluate(cast, lambda node: times if node == column else None, len(times), self.settings)


@dataclass(frozen=True, slots=True)
class RowsOfRules(RunRows):
    """For the output of an operator of rules (`rule_columns.py`)."""

    keys: tuple[str, ...]

    def columns(self, rows: pa.Table) -> dict[str, object]:
        same = (KIND, RULE, VERSION, MATCH_ID, BEGAN, ENDED, MEASURES, MESSAGE)
        keys = as_json(rows.select(list(self.keys)), self.settings)
        is_report = pc.starts_with(one_array(rows[KIND]), "rule_")  # about a rule, not about a key
        keys = pc.if_else(is_report, pa.scalar(None, pa.string()), keys)
        return {KEYS: keys, **{name: rows[name] for name in same}}


@dataclass(frozen=True, slots=True)
class RowsOfEventQuery(RunRows):
    """For the rows of one event query, with a column `compiled_rule.MATCH_ID` if it returns matches."""

    rule: str
    keys: tuple[str, ...]

    def columns(self, rows: pa.Table) -> dict[str, object]:
        has_matches = compiled_rule.MATCH_ID in rows.column_names
        edges = (Role.MATCH_START, Role.MATCH_END) if has_matches else (Role.WINDOW_START, Role.WINDOW_END)
        began, ended = (rows[role.value] if role.value in rows.column_names else None for role in edges)
        elsewhere = {*(role.value for role in edges), *self.keys}
        if has_matches:  # streams don't number matches
            elsewhere |= {compiled_rule.MATCH_ID, Role.MATCH_NUMBER.value}
        keys = [name for name in self.keys if name in rows.column_names]
        measures = [name for name in rows.column_names if name not in elsewhere]
        return {
            KIND: MATCH if has_matches else AGGREGATE,
            RULE: self.rule,
            VERSION: 1,
            MATCH_ID: rows[compiled_rule.MATCH_ID] if has_matches else None,
            KEYS: as_json(rows.select(keys), self.settings),
            MEASURES: as_json(rows.select(measures), self.settings),
            BEGAN: began,
            ENDED: ended,
        }
