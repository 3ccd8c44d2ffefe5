"""Events of a test as objects, CSV text and files: types, unknown columns, and paths that leave the folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from ostinato.errors import OstinatoError
from ostinato.expressions.types import Settings
from ostinato.rule_files.event_tables import events_table
from ostinato.rule_files.rule_file import RuleTest

SCHEMA = pa.schema(
    {"user": pa.string(), "ts": pa.timestamp("us", "UTC"), "amount": pa.decimal128(6, 2), "flag": pa.bool_()}
)
CSV = 'user,ts,amount,flag\nann,2024-03-01 09:00:00,1.5,true\n"",2024-03-01T09:00:01,,FALSE\n'


def table(root: Path, events: Any, schema: pa.Schema | None = SCHEMA) -> pa.Table:
    return events_table(RuleTest("t", events, True, None, None, 1), root, "sub/rule.sql", schema, Settings())


def rows(found: pa.Table) -> list[tuple[Any, ...]]:
    return [(row["user"], f"{row['ts']:%H:%M:%S}", str(row["amount"]), row["flag"]) for row in found.to_pylist()]


TWO = [("ann", "09:00:00", "1.50", True), ("", "09:00:01", "None", False)]


def test_the_same_events_in_all_forms(tmp_path: Path) -> None:
    (tmp_path / "sub" / "data").mkdir(parents=True)
    (tmp_path / "sub" / "data" / "e.csv").write_text(CSV)
    objects = [
        {"user": "ann", "ts": "2024-03-01 09:00:00", "amount": 1.5, "flag": True},
        {"ts": "2024-03-01T09:00:01", "flag": False, "user": ""},
    ]
    found = table(tmp_path, objects)
    pyarrow.parquet.write_table(found, tmp_path / "top.parquet")
    assert rows(found) == TWO and found.schema == SCHEMA
    assert rows(table(tmp_path, CSV)) == TWO
    assert rows(table(tmp_path, "data/e.csv")) == TWO
    assert rows(table(tmp_path, "../top.parquet")) == TWO


def test_without_a_schema_types_are_inferred(tmp_path: Path) -> None:
    found = table(tmp_path, [{"a": 1, "ts": "2024-03-01 09:00:00"}, {"a": 2.5}], None)
    assert found.schema.types == [pa.float64(), pa.timestamp("us")]
    csv = table(tmp_path, "a,ts\n1,2024-03-01 09:00:00\n", None)
    assert csv.schema.types == [pa.int64(), pa.timestamp("us")]


def test_columns_of_parquet_files_are_converted_without_loss(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    file = tmp_path / "sub" / "e.parquet"
    zone = Settings(timezone="Europe/Berlin")
    schema = pa.schema({"ts": pa.timestamp("us", "Europe/Berlin"), "n": pa.int8()})
    test = RuleTest("t", "e.parquet", True, None, None, 1)
    local = pa.array([datetime(2024, 7, 1, 9)], pa.timestamp("us"))
    pyarrow.parquet.write_table(pa.table({"ts": local, "n": pa.array([7], pa.int64())}), file)
    found = events_table(test, tmp_path, "sub/rule.sql", schema, zone)
    assert found["ts"].cast(pa.timestamp("us", "UTC")).to_pylist() == [datetime(2024, 7, 1, 7, tzinfo=UTC)]
    assert found["n"].to_pylist() == [7]
    pyarrow.parquet.write_table(pa.table({"n": [300]}), file)
    with pytest.raises(OstinatoError, match="INVALID_TEST: column 'n' of the events is BIGINT"):
        events_table(test, tmp_path, "sub/rule.sql", schema, zone)


def test_no_events(tmp_path: Path) -> None:
    assert table(tmp_path, []).schema == SCHEMA
    assert table(tmp_path, "user,ts\n").num_rows == 0


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([{"usr": "ann"}], r"UNKNOWN_COLUMN(.|\n)*did you mean 'user'"),
        ("usr,ts\nann,\n", r"UNKNOWN_COLUMN(.|\n)*did you mean 'user'"),
        ([{"user": 7}], "INVALID_TEST: 7 doesn't fit the type STRING of column 'user': put it into quotes"),
        ([{"amount": 1}, {"amount": "x"}], "INVALID_TEST: 'x' doesn't fit"),
        ([{"amount": 99999}], "INVALID_TEST: 99999 doesn't fit"),
        ([3], "INVALID_TEST: event 1 is a mapping"),
        ([{"user": "ann"}, {}], "INVALID_TEST: event 2 is a mapping"),
        ("user,ts\nann\n", "INVALID_TEST: the events aren't CSV"),
        ("user,user\na,b\n", "INVALID_TEST: two columns"),
        ("flag\nmaybe\n", "INVALID_TEST: 'maybe' doesn't fit"),
        ("none.csv", "INVALID_TEST: there is no file 'none.csv'"),
        ("", "INVALID_TEST: there is no file ''"),
        ("../../secret.csv", "INVALID_RULE_FILE: the file lies outside"),
        ("/etc/passwd", "INVALID_RULE_FILE: the file lies outside"),
        ("link.csv", "INVALID_RULE_FILE: the file lies outside"),
        ("rule.txt", "INVALID_TEST: events are in .csv or .parquet files"),
        ("bad.parquet", "INVALID_TEST: can't read 'bad.parquet' as Parquet"),
        ("other.parquet", "INVALID_TEST: column 'amount' of the events is STRING, and the schema has DECIMAL"),
        ("unknown.parquet", "UNKNOWN_COLUMN"),
    ],
)
def test_refused(tmp_path: Path, events: Any, words: str) -> None:
    root = tmp_path / "rules"
    (root / "sub").mkdir(parents=True)
    (tmp_path / "secret.csv").write_text(CSV)
    (root / "sub" / "link.csv").symlink_to(tmp_path / "secret.csv")
    (root / "sub" / "rule.txt").write_text("x")
    (root / "sub" / "bad.parquet").write_text("x")
    pyarrow.parquet.write_table(pa.table({"amount": ["x"]}), root / "sub" / "other.parquet")
    pyarrow.parquet.write_table(pa.table({"usr": ["x"]}), root / "sub" / "unknown.parquet")
    with pytest.raises(OstinatoError, match=words):
        table(root, events)
