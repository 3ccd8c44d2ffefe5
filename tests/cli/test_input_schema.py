"""Column names and types of files, as `explain` reads them."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ostinato.cli.arrow_inputs import input_rows, input_schema
from ostinato.cli.failures import UsageFault
from ostinato.cli.files import parse_inputs

CSV = 'symbol,ts,price,n\n"A ""x"", y",2024-01-01 09:30:00,10.5,1\n'
JSON = (
    '{"symbol": "1001", "ts": "2024-01-01T09:30:00", "price": 10.5, "n": 1}\n'
    '{"symbol": "1002", "ts": "2024-01-01 09:30:00.25Z", "price": 9, "n": 2}\n'
)
TEXTS = {"t.csv": CSV, "t.tsv": CSV.replace(",", "\t").replace('"\t y', '", y'), "t.jsonl": JSON, "t.json": JSON}


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        Path(name).write_text(text)
        Path(f"{name}.gz").write_bytes(gzip.compress(text.encode()))
    Path("folder.csv").mkdir()
    Path("folder.csv/part-1").write_text(CSV)
    pq.write_table(pa.table({"symbol": ["A"], "ts": [0], "price": [1.5], "n": [1]}), "t.parquet")
    return tmp_path


def types(path: str) -> dict[str, str]:
    schema = input_schema(parse_inputs([f"t={path}"])[0])
    return {name: str(kind).partition("[")[0] for name, kind in zip(schema.names, schema.types, strict=True)}


@pytest.mark.parametrize("path", [*TEXTS, *(f"{name}.gz" for name in TEXTS), "folder.csv", "?.csv"])
def test_types_of_text_files(files, path) -> None:
    assert types(path) == {"symbol": "string", "ts": "timestamp", "price": "double", "n": "int64"}


def test_types_of_parquet(files) -> None:
    assert types("t.parquet") == {"symbol": "string", "ts": "int64", "price": "double", "n": "int64"}


@pytest.mark.parametrize(
    ("path", "code"),
    [("none*.csv", "INPUT_MISSING"), ("bad.jsonl", "INPUT_UNREADABLE"), ("bad.csv.gz", "INPUT_UNREADABLE")],
)
def test_files_that_are_not_what_they_seem(files, path, code) -> None:
    Path("bad.jsonl").write_text("[\n1,\n2]\n")
    Path("bad.csv.gz").write_text("not compressed")
    with pytest.raises(UsageFault, match=code):
        types(path)


@pytest.mark.parametrize("path", ["t.csv", "t.tsv", "t.jsonl", "t.jsonl.gz"])
def test_rows_have_the_types_of_the_schema(files, path) -> None:
    table = parse_inputs([f"t={path}"])[0]
    rows, schema = input_rows(table), input_schema(table)
    assert [str(kind).partition("[")[0] for kind in rows.schema.types] == list(types(path).values())
    assert rows.column_names == schema.names
    assert {moment.isoformat()[:16] for moment in rows.column("ts").to_pylist()} == {"2024-01-01T09:30"}
