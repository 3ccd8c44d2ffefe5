"""A match of a sink + the input -> the match drawn on the rows of its key."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.clause.query.clause import MatchRecognize, Measure, Output
from ostinato.errors import OstinatoError, QueryError
from ostinato.explanation.explained_clauses import mentioned_columns
from ostinato.expressions.parsing import parse_expression
from ostinato.live_console.sources.sink_rows import SinkRow
from ostinato.local.local_clause import match_table
from ostinato.pictures.one_match import draw_one_match
from ostinato.pictures.plot_axis import axis_of
from ostinato.pictures.plot_roles import AskedColumns, first_number
from ostinato.pictures.plot_tables import labelled_matches, line_of
from ostinato.pictures.plotted_matches import Key, PlottedMatch
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_changes import RuleChange
from ostinato.rule_sets.rule_texts import read_rule

_LABEL, _NUMBER = "__console_label", "__console_number"
_MOST_ROWS = 20_000
_LENGTHS_AROUND = 12
_SHORTEST_MS = 1_000


def draw_match(row: SinkRow, change: RuleChange | None, table: pa.Table, declared: Declaration) -> str:
    """The SVG. The rows carry the labels of the matcher if the rule finds the same match in the input again; otherwise
    only the time between its first and its last row is marked. Raises PICTURE_MISSING if the input lacks its rows."""
    time, clause = declared.time[0], _clause(change, declared)
    types = {field.name: field.type for field in table.schema}
    axis = axis_of(types[time])
    if row.began_ms is None or row.ended_ms is None or axis is None or not pa.types.is_timestamp(types[time]):
        raise QueryError("PICTURE_MISSING", "the row has no times to look for in the input")
    in_define = () if clause is None else mentioned_columns(replace(clause, partition_by=(), order_by=(), measures=()))
    y = first_number(types, AskedColumns(x=time, keys=declared.keys), in_define)
    rows = _rows_around(row, table, declared.keys, time)
    if not rows.num_rows or y is None:
        lack = "no rows of this key at this time" if y else "no column of numbers to draw"
        raise QueryError("PICTURE_MISSING", f"the input has {lack}")
    key: Key = tuple(rows[name][0].as_py() for name in declared.keys)
    match = None if clause is None else _labelled(clause, row, rows, (time, y), declared.keys)
    if match is None:
        ends = np.array([row.began_ms, row.ended_ms])
        match = PlottedMatch(key, (ends * 1000).round().astype(np.int64), np.full(2, np.nan))
    return draw_one_match(match, line_of(rows, keys=declared.keys, key=key, x=time, y=y), axis)


def _rows_around(row: SinkRow, table: pa.Table, keys: tuple[str, ...], time: str) -> pa.Table:
    """The rows of the key, from some lengths of the match before it to some after it."""
    assert row.began_ms is not None and row.ended_ms is not None
    for name, value in row.keys:
        if name in keys:
            texts = pc.cast(table[name], pa.string())
            table = table.filter(pc.is_null(texts) if value is None else pc.equal(texts, value))
    around_ms = max(_SHORTEST_MS, row.ended_ms - row.began_ms) * _LENGTHS_AROUND
    times = _milliseconds(table[time])
    near = pc.and_(
        pc.greater_equal(times, int(row.began_ms - around_ms)), pc.less_equal(times, int(row.ended_ms + around_ms))
    )
    return table.filter(near).sort_by(time).slice(0, _MOST_ROWS)


def _milliseconds(times: pa.ChunkedArray) -> pa.ChunkedArray:
    microseconds = times.cast(pa.timestamp("us", times.type.tz)).cast(pa.int64())
    return pc.floor(pc.divide(microseconds.cast(pa.float64()), 1000.0))


def _clause(change: RuleChange | None, declared: Declaration) -> MatchRecognize | None:
    if change is None or not change.text:
        return None
    try:
        return read_rule(change.text, declared).query.clause
    except OstinatoError:  # a rule that was written for other columns
        return None


def _labelled(
    clause: MatchRecognize, row: SinkRow, rows: pa.Table, columns: tuple[str, str], keys: tuple[str, ...]
) -> PlottedMatch | None:
    """The rows of the match with their variables; None if the clause doesn't find it between these rows."""
    measures = (
        Measure(_LABEL, parse_expression("CLASSIFIER()")),
        Measure(_NUMBER, parse_expression("MATCH_NUMBER()")),
    )
    time, y = columns
    try:
        found = match_table(replace(clause, measures=measures, output=Output.ALL_ROWS_OMIT_EMPTY), rows)
    except OstinatoError:
        return None
    found = found.append_column("__ms", _milliseconds(found[time]))
    spans = found.group_by(_NUMBER).aggregate([("__ms", "min"), ("__ms", "max")]).to_pylist()
    ends = int(row.began_ms or 0), int(row.ended_ms or 0)
    for span in spans:
        if (int(span["__ms_min"]), int(span["__ms_max"])) == ends:
            one = found.filter(pc.equal(found[_NUMBER], span[_NUMBER]))
            drawn = labelled_matches(one, 1, keys=keys, number=_NUMBER, labels=_LABEL, x=time, y=y)
            return drawn.matches[0]
    return None
