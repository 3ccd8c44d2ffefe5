"""Matches of rules and reports about rules -> output rows of one fixed schema."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import MatchError
from ostinato.rows.batches import OutputRows
from ostinato.rows.column_names import MATCHED, ROW_ERROR
from ostinato.rows.failing_rows import failing_rows
from ostinato.rows.json_text import as_json
from ostinato.rule_sets import compiled_rule
from ostinato.rule_sets.change_reports import Report
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_columns import (
    BEGAN,
    DECIDED,
    ENDED,
    ERROR,
    LATE,
    MATCH,
    MATCH_ID,
    SUPPRESSED,
    UNMATCHED,
)
from ostinato.rule_sets.suppressed_results import IS_SUPPRESSED


class OutputTable:
    """Collects the output rows of one step."""

    def __init__(self, declared: Declaration, schema: pa.Schema, decided_us: int) -> None:
        self.declared = declared
        self.schema = schema
        self.decided = pa.scalar(decided_us, pa.timestamp("us", "UTC"))
        self._tables: list[pa.Table] = []

    def _add(self, count: int, **columns: object) -> None:
        """Rows with these columns: arrays, or one value for all rows. Other columns are NULL."""
        if not count:
            return
        columns[DECIDED] = self.decided
        arrays = [_as_array(columns.get(field.name), field.type, count) for field in self.schema]
        self._tables.append(pa.Table.from_arrays(arrays, schema=self.schema))

    def add_report(self, report: Report) -> None:
        message = report.message.encode(errors="replace").decode()  # it may quote half a character of a hostile change
        self._add(1, kind=report.kind, rule=report.rule, version=report.version, message=message)

    def table(self) -> pa.Table:
        return pa.concat_tables(self._tables) if self._tables else self.schema.empty_table()

    def add_matches(self, rule: CompiledRule, results: OutputRows) -> None:
        """The output rows of a rule. A row whose measures can't be evaluated becomes a row of kind `error`."""
        if not results.count:
            return
        errors = dict(enumerate(results.arrays[ROW_ERROR].to_pylist()))
        failed: dict[int, str] = {row: error for row, error in errors.items() if error is not None}
        good = _without(results, failed)
        try:
            self._add_measured(rule, good)
        except MatchError:
            number = np.delete(np.arange(results.count), list(failed))
            more = failing_rows(good.count, lambda begin, end: self._measured(rule, _part(good, begin, end)))
            failed |= {int(number[row]): error.one_line() for row, error in more.items()}
            self._add_measured(rule, _without(results, failed))
        for row, error in sorted(failed.items()):
            one = _part(results, row, row + 1)
            self._add_of_rule(rule, one, kind=ERROR, message=error)

    def _add_measured(self, rule: CompiledRule, results: OutputRows) -> None:
        if not results.count:
            return
        kinds: str | pa.Array = MATCH
        if IS_SUPPRESSED in results.arrays:
            kinds = pc.if_else(results.arrays[IS_SUPPRESSED], SUPPRESSED, MATCH)
        if MATCHED in results.arrays:
            kinds = pc.if_else(results.arrays[MATCHED], kinds, UNMATCHED)
        self._add_of_rule(rule, results, kind=kinds, measures=self._measured(rule, results))

    def _add_of_rule(self, rule: CompiledRule, results: OutputRows, **more: object) -> None:
        """Rows with the keys, times and ids of matches. Matching returned these as columns, so they never fail."""
        own = {BEGAN: compiled_rule.BEGAN, ENDED: compiled_rule.ENDED, MATCH_ID: compiled_rule.MATCH_ID}
        self._add(
            results.count,
            **{name: results.arrays[name] for name in self.declared.keys},
            **{name: results.arrays[rule.slot(measure)] for name, measure in own.items()},
            rule=rule.change.id,
            version=rule.change.version,
            **more,
        )

    @staticmethod
    def _measured(rule: CompiledRule, results: OutputRows) -> pa.Array:
        """The measures as JSON."""
        return rule.measures(rule.plan.measured(results))

    def add_error(self, change: RuleChange, message: str, rows: KeyRows, row: int) -> None:
        time = rows.columns[self.declared.time[0]].slice(row, 1)
        self._add(
            1,
            **{name: rows.columns[name].slice(row, 1) for name in self.declared.keys},
            kind=ERROR,
            rule=change.id,
            version=change.version,
            began=time,
            ended=time,
            measures=as_json(self._one_row(rows, row), self.declared.settings),
            message=message,
        )

    def _one_row(self, rows: KeyRows, row: int) -> pa.Table:
        return pa.table({name: rows.columns[name].slice(row, 1) for name in self.declared.schema.names})

    def add_late(self, late: pa.RecordBatch) -> None:
        time = late.column(self.declared.time[0])
        self._add(
            late.num_rows,
            **{name: late.column(name) for name in self.declared.keys},
            kind=LATE,
            began=time,
            ended=time,
            measures=as_json(pa.Table.from_batches([late]), self.declared.settings),
        )


def _as_array(value: object, kind: pa.DataType, count: int) -> pa.Array:
    if isinstance(value, pa.Array | pa.ChunkedArray):
        array = value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value
        return array if array.type == kind else array.cast(kind)
    if value is None:
        return pa.nulls(count, kind)
    return pa.repeat(value if isinstance(value, pa.Scalar) else pa.scalar(value, kind), count)


def _part(results: OutputRows, begin: int, end: int) -> OutputRows:
    return OutputRows(end - begin, {name: array.slice(begin, end - begin) for name, array in results.arrays.items()})


def _without(results: OutputRows, rows: Collection[int]) -> OutputRows:
    if not rows:
        return results
    positions = pa.array(np.delete(np.arange(results.count), list(rows)))
    return OutputRows(len(positions), {name: array.take(positions) for name, array in results.arrays.items()})
