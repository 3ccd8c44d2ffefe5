"""Matches of rules and reports about rules -> output rows of one fixed schema."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import MatchError
from ostinato.rows.batches import OutputRows
from ostinato.rows.column_names import MATCHED
from ostinato.rows.failing_rows import failing_rows
from ostinato.rows.json_text import as_json
from ostinato.rule_sets import compiled_rule
from ostinato.rule_sets.compiled_rule import CompiledRule
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.key_rows import KeyRows
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_columns import BEGAN, DECIDED, ENDED, ERROR, LATE, MATCH, MATCH_ID, UNMATCHED
from ostinato.rule_sets.rules_in_force import Report
from ostinato.streams.bucket_state import Rows


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
        failed: dict[int, MatchError] = {}
        try:
            self._add_measured(rule, results)
        except MatchError:
            failed = failing_rows(results.count, lambda begin, end: self._measured(rule, _part(results, begin, end)))
            good = np.setdiff1d(np.arange(results.count), list(failed))
            self._add_measured(rule, _chosen(results, good))
        for row, error in sorted(failed.items()):
            one = _part(results, row, row + 1)
            change = rule.change
            self._add(
                1,
                **{name: one.arrays[name] for name in self.declared.keys},
                **_own(rule, one),
                kind=ERROR,
                rule=change.id,
                version=change.version,
                message=error.one_line(),
            )

    def _add_measured(self, rule: CompiledRule, results: OutputRows) -> None:
        if not results.count:
            return
        measured = self._measured(rule, results)
        change = rule.change
        kinds: str | pa.Array = MATCH
        if MATCHED in results.arrays:
            kinds = pc.if_else(results.arrays[MATCHED], MATCH, UNMATCHED)
        self._add(
            results.count,
            **{name: results.arrays[name] for name in self.declared.keys},
            **_own(rule, results),
            kind=kinds,
            rule=change.id,
            version=change.version,
            measures=measured,
        )

    def _measured(self, rule: CompiledRule, results: OutputRows) -> pa.Array:
        """The measures as JSON."""
        table = rule.query.select(rule.plan.measured(results).select(list(rule.measured_columns)), rule.plan.settings)
        shown = [name for name in table.column_names if name not in self.declared.keys]
        return as_json(table.select(shown), rule.plan.settings)

    def add_error(self, change: RuleChange, error: MatchError, rows: KeyRows, row: int) -> None:
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
            message=error.one_line(),
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


def _chosen(results: OutputRows, rows: Rows) -> OutputRows:
    positions = pa.array(rows)
    return OutputRows(len(rows), {name: array.take(positions) for name, array in results.arrays.items()})


def _own(rule: CompiledRule, results: OutputRows) -> dict[str, pa.Array]:
    """The match's id and times. They are columns that matching returned, so they never fail."""
    measures = {BEGAN: compiled_rule.BEGAN, ENDED: compiled_rule.ENDED, MATCH_ID: compiled_rule.MATCH_ID}
    return {name: results.arrays[rule.slot(measure)] for name, measure in measures.items()}
