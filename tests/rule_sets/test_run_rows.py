"""Rows of different operators in one schema: keys and measures as JSON, times of any kind, severities."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

from ostinato.expressions.types import Settings
from ostinato.rule_sets.compiled_rule import MATCH_ID
from ostinato.rule_sets.declaration import Declaration
from ostinato.rule_sets.rule_columns import output_schema
from ostinato.rule_sets.run_rows import RowsOfEventQuery, RowsOfRules, run_schema

BERLIN = Settings(timezone="Europe/Berlin")
NINE = datetime(2024, 3, 1, 9)


def of_rules(time: pa.DataType, keys: dict[str, pa.DataType], *rows: dict[str, Any]) -> list[dict[str, Any]]:
    columns = pa.schema({**keys, "ts": time})
    schema = output_schema(Declaration(tuple(keys), ("ts",), columns, BERLIN))
    found = pa.Table.from_pylist([{"version": 1, **row} for row in rows], schema)
    result = RowsOfRules({"a": "high"}, BERLIN, tuple(keys)).of(found)
    assert result.schema == run_schema(BERLIN)
    return result.to_pylist()


def test_rows_of_rules() -> None:
    match = {"kind": "match", "rule": "a", "match_id": "m", "began": NINE.replace(tzinfo=UTC), "measures": "{}"}
    kinds = {"user": pa.string(), "n": pa.int64()}
    first, second, report = of_rules(
        pa.timestamp("us", BERLIN.timezone),
        kinds,
        {**match, "user": 'a"b', "n": 1 << 60},
        {**match, "rule": "b", "user": None, "n": None},
        {"kind": "rule_suspended", "rule": "b", "message": "why"},
    )
    assert (first["keys"], first["severity"]) == ('{"user":"a\\"b","n":1152921504606846976}', "high")
    assert (second["keys"], second["severity"]) == ('{"user":null,"n":null}', None)
    assert first["began"] == match["began"]
    assert first["ended"] is None
    assert (report["keys"], report["message"], report["severity"]) == (None, "why", None)


@pytest.mark.parametrize("time", [pa.timestamp("us"), pa.date32()])
def test_times_without_time_zone_are_those_of_the_session(time: pa.DataType) -> None:
    began = date(2024, 3, 1) if time == pa.date32() else datetime(2024, 3, 1)
    (row,) = of_rules(time, {}, {"kind": "match", "rule": "a", "began": began, "ended": began})
    assert row["began"] == row["ended"] == datetime(2024, 2, 29, 23, tzinfo=UTC)
    assert row["keys"] == "{}"


def test_rows_of_an_event_query_that_returns_matches() -> None:
    rows = RowsOfEventQuery({"q": "low"}, BERLIN, "q", ("user",))
    at = pa.array([NINE], pa.timestamp("us"))
    found = {"user": ["ann"], "match_number": [1], "match_start": at, "match_end": at, "total": [2.0], MATCH_ID: ["m"]}
    (row,) = rows.of(pa.table(found)).to_pylist()
    assert row == {
        "kind": "match",
        "rule": "q",
        "severity": "low",
        "version": 1,
        "match_id": "m",
        "keys": '{"user":"ann"}',
        "began": datetime(2024, 3, 1, 8, tzinfo=UTC),
        "ended": datetime(2024, 3, 1, 8, tzinfo=UTC),
        "measures": '{"total":2.0}',
        "message": None,
    }


def test_rows_of_an_event_query_with_aggregates() -> None:
    rows = RowsOfEventQuery({}, BERLIN, "q", ("user",))
    at = pa.array([NINE], pa.timestamp("us", "UTC"))
    (row,) = rows.of(pa.table({"window_start": at, "window_end": at, "user": ["ann"], "n": [7]})).to_pylist()
    assert (row["kind"], row["match_id"], row["keys"]) == ("aggregate", None, '{"user":"ann"}')
    assert (row["began"], row["measures"]) == (NINE.replace(tzinfo=UTC), '{"n":7}')
    (row,) = rows.of(pa.table({"n": [7]})).to_pylist()
    assert (row["keys"], row["began"], row["measures"]) == ("{}", None, '{"n":7}')
    assert rows.of(pa.table({"n": pa.array([], pa.int64())})).num_rows == 0
