"""A file of a sink -> the numbers of its rows by rule and kind, and its last rows as the page shows them.

Rows of `ost.rules` and of `ostinato rules run` have a rule and a kind. Rows of any other stream are matches of one
nameless rule, whose measures are all columns.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from ostinato.expressions.types import Settings
from ostinato.rows.json_text import as_json
from ostinato.rule_sets.rule_columns import (
    BEGAN,
    DECIDED,
    ENDED,
    KIND,
    MATCH,
    MATCH_ID,
    MEASURES,
    MESSAGE,
    OWN_COLUMNS,
    RULE,
    VERSION,
)
from ostinato.rule_sets.run_rows import KEYS, SEVERITY

ENDINGS = (".parquet", ".json", ".jsonl", ".json.gz", ".jsonl.gz")
MOST_LETTERS = 4_000
"""Of one text of a row. The page keeps many rows in memory."""
_BATCH_ROWS = 8_192
_REPORT = "rule_"
"""The kinds of reports begin with it."""
_MOST_REPORTS = 1_000
"""Of one file, the last ones."""
_LONGEST_LINE = 1 << 22
_STARTS, _ENDS = ("began", "match_start", "start", "started"), ("ended", "match_end", "end")


class Milliseconds(float):
    """A value of a time column. A float of any other column is no time."""


@dataclass(frozen=True, slots=True)
class SinkRow:
    """A row of the output. Times are milliseconds since 1970, and NULL where the order isn't a time."""

    kind: str
    rule: str
    version: int | None
    match_id: str
    keys: tuple[tuple[str, str | None], ...]
    began_ms: float | None
    ended_ms: float | None
    decided_ms: float | None
    measures: str
    message: str
    severity: str = ""
    """Only rows of `ostinato rules run` have one."""


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of one file."""

    counts: Mapping[tuple[str, str], int]
    """By rule and kind."""
    last: tuple[SinkRow, ...]
    is_of_rules: bool = True
    reports: tuple[SinkRow, ...] = ()
    """The rows that say what happened to versions of rules, from the whole file."""


def read_sink_file(path: Path, name: str, most: int, keys: Sequence[str] = ()) -> FileRows:
    """All rows counted, and the last `most` of them. `name` is the path inside the sink: folders may hold values of
    partition columns. Those that are no columns of the output are keys only if `keys` names them: most of them are
    days. Raises OSError, ValueError (Arrow's errors are ones) for a file that can't be read."""
    constants = _constants(name, keys)
    if path.name.endswith(".parquet"):
        return _of_parquet(path, constants, most)
    return _of_json(path, constants, most)


def read_reports(path: Path, name: str, keys: Sequence[str] = ()) -> tuple[SinkRow, ...]:
    """Only the reports of a file: of Parquet, the column of kinds is read first. Raises as `read_sink_file` does."""
    constants = _constants(name, keys)
    if path.name.endswith(".parquet"):
        with pq.ParquetFile(path) as file:
            return _reports_of_parquet(file, constants)
    has_report = _REPORT if KIND not in constants else ""
    reports = (row for row in _json_rows(path, constants, containing=has_report) if _is_report(row.get(KIND)))
    return tuple(map(_sink_row, deque(reports, maxlen=_MOST_REPORTS)))


def rows_of_table(table: pa.Table) -> list[SinkRow]:
    """The output rows of rules that never were in a file."""
    return [_sink_row(row) for row in _plain_rows(table)]


def partition_values(name: str) -> dict[str, str]:
    """The values of partition columns in a path, as Spark writes them.

    >>> partition_values("rule=card%2Fvelocity/part-0.parquet")
    {'rule': 'card/velocity'}
    """
    pairs = (part.partition("=") for part in PurePosixPath(name).parts[:-1])
    return {unquote(column): unquote(value) for column, equals, value in pairs if equals and column}


def _constants(name: str, keys: Sequence[str]) -> dict[str, str]:
    columns = {*OWN_COLUMNS, SEVERITY, *keys}
    return {column: value for column, value in partition_values(name).items() if column in columns}


def _of_parquet(path: Path, constants: Mapping[str, str], most: int) -> FileRows:
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        last, counted = _last_rows(file, most), [name for name in (RULE, KIND) if name in names]
        counts: Counter[tuple[str, str]] = Counter()
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=counted):
            values = [batch.column(name).to_pylist() if name in counted else None for name in (RULE, KIND)]
            rules = values[0] or [constants.get(RULE)] * batch.num_rows
            kinds = values[1] or [constants.get(KIND, MATCH)] * batch.num_rows
            counts.update((_text(rule), _text(kind)) for rule, kind in zip(rules, kinds, strict=True))
        has_reports = any(_is_report(kind) for _, kind in counts)
        reports = _reports_of_parquet(file, constants) if has_reports else ()
    is_of_rules = KIND in names or KIND in constants
    rows = _plain_rows(last)
    if not is_of_rules:
        for row, text in zip(rows, as_json(last, Settings(), iso_times=True).to_pylist(), strict=True):
            row[MEASURES] = text
    shown = tuple(_sink_row({**constants, **row}) for row in rows)
    counted_rows = counts if counted else Counter({("", MATCH): file.metadata.num_rows})
    return FileRows(counted_rows, shown, is_of_rules, reports)


def _reports_of_parquet(file: pq.ParquetFile, constants: Mapping[str, str]) -> tuple[SinkRow, ...]:
    """Reads the rows of those row groups only that have reports."""
    if KIND not in file.schema_arrow.names and not _is_report(constants.get(KIND)):
        return ()
    reports: list[SinkRow] = []
    for number in reversed(range(file.num_row_groups)):
        rows = []
        if KIND not in file.schema_arrow.names or any(
            map(_is_report, file.read_row_group(number, columns=[KIND]).column(KIND).unique().to_pylist())
        ):
            rows = [{**constants, **row} for row in _plain_rows(file.read_row_group(number))]
        reports = [*(_sink_row(row) for row in rows if _is_report(row.get(KIND))), *reports][-_MOST_REPORTS:]
        if len(reports) == _MOST_REPORTS:
            break
    return tuple(reports)


def _is_report(kind: object) -> bool:
    return isinstance(kind, str) and kind.startswith(_REPORT)


def _last_rows(file: pq.ParquetFile, most: int) -> pa.Table:
    """The last rows of a file, from as few row groups as they need."""
    groups: list[int] = []
    count = 0
    for number in reversed(range(file.num_row_groups)):
        groups.insert(0, number)
        count += file.metadata.row_group(number).num_rows
        if count >= most:
            break
    table = file.read_row_groups(groups)
    return table.slice(max(0, table.num_rows - most))


def _plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """The rows as Python values; times as milliseconds, because Python's end at the year 9999."""
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if pa.types.is_timestamp(column.type):
            microseconds = column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
            columns[name] = [
                None if value is None else Milliseconds(value / 1000) for value in microseconds.to_pylist()
            ]
        else:
            columns[name] = column.to_pylist()
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _of_json(path: Path, constants: Mapping[str, str], most: int) -> FileRows:
    counts: Counter[tuple[str, str]] = Counter()
    last: deque[dict[str, Any]] = deque(maxlen=most)
    reports: deque[dict[str, Any]] = deque(maxlen=_MOST_REPORTS)
    is_of_rules = True
    for row in _json_rows(path, constants):
        is_of_rules = is_of_rules and KIND in row
        if _is_report(row.get(KIND)):
            reports.append(row)
        counts[_text(row.get(RULE)), _text(row.get(KIND, MATCH))] += 1
        last.append(row)
    return FileRows(counts, tuple(map(_sink_row, last)), is_of_rules, tuple(map(_sink_row, reports)))


def _json_rows(path: Path, constants: Mapping[str, str], containing: str = "") -> Iterator[dict[str, Any]]:
    """The rows with the constants of the path. Lines without the text `containing` aren't parsed."""
    open_file = gzip.open if path.suffix == ".gz" else open
    with open_file(path, "rt", encoding="utf-8") as lines:
        while line := lines.readline(_LONGEST_LINE):
            if containing not in line or not line.strip():
                continue
            row = json.loads(line, parse_constant=str)  # NaN is a text, as in Spark's `to_json`
            if not isinstance(row, dict):
                raise ValueError("a line is no JSON object")
            if KIND not in row:
                row[MEASURES] = json.dumps(row, ensure_ascii=False)
            yield {**constants, **row}


def _sink_row(row: Mapping[str, Any]) -> SinkRow:
    keys, severity = _keys_and_severity(row) if KIND in row else ({}, None)
    version = row.get(VERSION)
    return SinkRow(
        kind=_text(row.get(KIND, MATCH)),
        rule=_text(row.get(RULE)),
        version=version if isinstance(version, int) else None,
        match_id=_text(row.get(MATCH_ID)),
        keys=tuple((name, None if value is None else _text(value)) for name, value in list(keys.items())[:8]),
        began_ms=_first_time(row, (BEGAN, *_STARTS)),
        ended_ms=_first_time(row, (ENDED, *_ENDS)),
        decided_ms=milliseconds(row.get(DECIDED)),
        measures=_text(row.get(MEASURES)),
        message=_text(row.get(MESSAGE)),
        severity=_text(severity),
    )


def _keys_and_severity(row: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
    """The keys of `ost.rules` are columns. Those of `ostinato rules run`, whose rows have no `decided`, are the text of
    a JSON object.

    >>> _keys_and_severity({"kind": "match", "rule": "r", "severity": "high", "keys": '{"user":"ann","shop":7}'})
    ({'user': 'ann', 'shop': '7'}, 'high')
    >>> _keys_and_severity({"kind": "match", "rule": "r", "user": "ann", "decided": None})
    ({'user': 'ann'}, None)
    """
    columns = {name: value for name, value in row.items() if name not in OWN_COLUMNS}
    if DECIDED in row or not {SEVERITY, KEYS} & columns.keys():
        return columns, None
    severity = columns.pop(SEVERITY, None)
    try:
        keys = json.loads(columns.pop(KEYS, None) or "{}")
    except (TypeError, ValueError, RecursionError):
        keys = None
    if not isinstance(keys, dict):
        return {**columns, KEYS: row[KEYS]}, severity
    texts = {name: each if each is None or isinstance(each, str) else json.dumps(each) for name, each in keys.items()}
    return {**columns, **texts}, severity


def _first_time(row: Mapping[str, Any], names: Sequence[str]) -> float | None:
    return next((time for name in names if (time := milliseconds(row.get(name))) is not None), None)


def milliseconds(value: Any) -> float | None:
    """A time as milliseconds since 1970; times without a zone count as UTC.

    >>> milliseconds("2024-03-01T09:00:00Z"), milliseconds(Milliseconds(5)), milliseconds(5.0), milliseconds("soon")
    (1709283600000.0, 5.0, None, None)
    """
    if isinstance(value, Milliseconds):
        return float(value)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp() * 1000
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp() * 1000
    return None


def _text(value: Any) -> str:
    words = "" if value is None else value if isinstance(value, str) else str(value)
    return words if len(words) <= MOST_LETTERS else words[: MOST_LETTERS - 1] + "…"
