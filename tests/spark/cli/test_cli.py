"""`ostinato run` and `ostinato demo` with Spark, in the tests' own session."""

import gzip
import json
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import ostinato as ost
from ostinato.cli import main, progress
from ostinato.cli.arguments import RUN_EXAMPLE

TRADES = pa.table(
    {
        "symbol": ["A"] * 5 + ["B"] * 3,
        "ts": [1, 2, 3, 4, 5, 1, 2, 3],
        "price": [10.0, 8.0, 7.5, 9.0, 9.5, 3.0, 2.0, 4.0],
    }
)
QUERY = """
SELECT * FROM trades MATCH_RECOGNIZE (
    PARTITION BY symbol ORDER BY ts
    MEASURES FIRST(price) AS top, LAST(DOWN.price) AS bottom, count(*) AS rows
    PATTERN (S DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)
) ORDER BY symbol;
"""
EXPECTED = [
    {"symbol": "A", "top": 10.0, "bottom": 7.5, "rows": 5},
    {"symbol": "B", "top": 3.0, "bottom": 2.0, "rows": 3},
]


@pytest.fixture
def folder(spark, tmp_path, monkeypatch) -> Path:
    """A folder with the query and its input in every format, as the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "FIRST_LOG_LINE_SECONDS", 3600.0)  # stderr stays empty on a slow machine
    Path("q.sql").write_text(QUERY)
    pq.write_table(TRADES, "trades.parquet")
    pa.csv.write_csv(TRADES, "trades.csv")
    Path("trades.jsonl").write_text("".join(json.dumps(row) + "\n" for row in TRADES.to_pylist()))
    return tmp_path


def run(capsys, *argv: object) -> tuple[int, str, str]:
    code = main([str(word) for word in argv])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.mark.parametrize("file", ["trades.parquet", "trades.csv", "trades.jsonl"])
def test_a_table_from_every_format(folder, capsys, file) -> None:
    code, out, err = run(capsys, "run", "q.sql", "--input", f"trades={file}")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "symbol  top  bottom  rows",
        "------  ---  ------  ----",
        "A        10     7.5     5",
        "B         3       2     3",
    ]


TEXTS = {
    "t.csv": 'k,ts,v,note\nA,2024-01-01 09:30:00,1.5,"say ""hi"", you"\n',
    "t.tsv": 'k\tts\tv\tnote\nA\t2024-01-01 09:30:00\t1.5\t"say ""hi"", you"\n',
    "t.jsonl": json.dumps({"k": "A", "ts": "2024-01-01T09:30:00.000", "v": 1.5, "note": 'say "hi", you'}) + "\n",
}


@pytest.mark.parametrize("file", [*TEXTS, *(f"{name}.gz" for name in TEXTS)])
def test_types_are_inferred_from_text(folder, capsys, file) -> None:
    text = TEXTS[file.removesuffix(".gz")]
    Path(file).write_bytes(gzip.compress(text.encode()) if file.endswith(".gz") else text.encode())
    query = "SELECT typeof(k) AS k, typeof(ts) AS ts, typeof(v) AS v, note, minute(ts) AS m FROM t"
    code, out, err = run(capsys, "run", "-e", query, "--input", f"t={file}", "--format", "json")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"k": "string", "ts": "timestamp", "v": "double", "note": 'say "hi", you', "m": 30}


def test_digits_in_json_text_are_no_year_and_an_array_is_no_json_lines(folder, capsys) -> None:
    Path("t.jsonl").write_text('{"card": "1001", "ts": "2024-01-01 09:30"}\n')
    words = ["--input", "t=t.jsonl", "--format", "csv"]
    assert run(capsys, "run", "-e", "SELECT typeof(card), typeof(ts) FROM t", *words)[1].endswith(
        "\nstring,timestamp\n"
    )
    Path("t.jsonl").write_text('[\n{"card":\n"1001"}\n]\n')
    code, _, err = run(capsys, "run", "-e", "SELECT * FROM t", *words)
    assert (code, err) == (2, "INPUT_UNREADABLE: t.jsonl has no JSON lines\nhint: write one object in each line\n")


def test_hostile_names_and_values_are_escaped_in_a_table(folder, capsys) -> None:
    code, out, _ = run(capsys, "run", "-e", "SELECT '\x1b[2Ja\u202eb' AS `x\x9b`")
    assert (code, out.splitlines()[0].rstrip(), out.splitlines()[2]) == (0, "x\\x9b", "\\x1b[2Ja\\u202eb")
    code, out, err = run(capsys, "run", "-e", "SELECT `no\x1b[31m` FROM trades", "--input", "trades=trades.csv")
    assert (code, out) == (1, "")
    assert "\\x1b[31m" in err and "\x1b" not in err


def test_the_example_of_the_help(folder, capsys) -> None:
    code, out, err = run(capsys, *shlex.split(RUN_EXAMPLE)[1:])
    assert (code, err) == (0, "")
    assert out.splitlines()[2:] == ["A        10     7.5       3"]


def test_a_limit_shows_the_number_of_hidden_rows(folder, capsys) -> None:
    code, out, _ = run(capsys, "run", "q.sql", "--input", "trades=trades.parquet", "--limit", 1)
    assert code == 0
    assert out.splitlines()[2:] == ["A        10     7.5     5", "… 1 more row"]


def test_rows_as_json(folder, capsys) -> None:
    _, out, _ = run(capsys, "run", "q.sql", "--input", "trades=trades.parquet", "--format", "json")
    assert [json.loads(line) for line in out.splitlines()] == EXPECTED
    _, out, _ = run(capsys, "run", "q.sql", "--input", "trades=trades.parquet", "--format", "csv", "--limit", 1)
    assert out == "symbol,top,bottom,rows\nA,10.0,7.5,5\n"


def test_output_is_one_file_by_its_ending(folder, capsys) -> None:
    for name in ("out.parquet", "out.csv", "out.json"):
        code, out, err = run(capsys, "run", "q.sql", "--input", "trades=trades.parquet", "--output", name)
        assert (code, out, err) == (0, "", f"wrote {name}\n")
        assert Path(name).is_file()
    assert pq.read_table("out.parquet").to_pylist() == EXPECTED
    assert pa.csv.read_csv("out.csv").to_pylist() == EXPECTED
    assert [json.loads(line) for line in Path("out.json").read_text().splitlines()] == EXPECTED
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


def test_output_without_rows_keeps_its_columns(folder, capsys) -> None:
    query = QUERY.replace("UP AS price > PREV(price)", "UP AS price > 1000")
    for name in ("out.parquet", "out.csv"):
        assert run(capsys, "run", "-e", query, "--input", "trades=trades.parquet", "--output", name)[0] == 0
    assert pq.read_table("out.parquet").schema.names == ["symbol", "top", "bottom", "rows"]
    assert pq.read_table("out.parquet").num_rows == 0
    assert Path("out.csv").read_text() == "symbol,top,bottom,rows\n"


def test_a_table_may_have_the_name_of_an_argument(folder, capsys) -> None:
    query = "SELECT max(sort.price) AS m FROM sort JOIN args USING (symbol, ts)"
    words = ["--input", "sort=trades.parquet", "--input", "args=trades.csv", "--format", "csv"]
    assert run(capsys, "run", "-e", query, *words) == (0, "m\n10.0\n", "")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (QUERY.replace("price < PREV", "prcie < PREV"), "UNKNOWN_COLUMN"),
        (QUERY.replace("DOWN+ UP+", "DOWN{3,1} UP+"), "{3,1}"),
        (QUERY.replace("trades MATCH", "nothing MATCH"), "nothing"),
        ("SELECT nope FROM trades", "nope"),
        ("this is not SQL", "this"),
    ],
)
def test_wrong_queries_end_with_1_and_without_a_trace(folder, capsys, query, words) -> None:
    code, out, err = run(capsys, "run", "-e", query, "--input", "trades=trades.parquet")
    assert (code, out) == (1, "")
    assert words in err
    for noise in ("Traceback", "\tat org.", "JVM stacktrace", "py4j"):
        assert noise not in err


def test_errors_of_data_are_shown_without_a_trace(folder, capsys) -> None:
    query = QUERY.replace("PATTERN (S DOWN+ UP+)", "AFTER MATCH SKIP TO FIRST S PATTERN (S DOWN+ UP+)")
    code, out, err = run(capsys, "run", "-e", query, "--input", "trades=trades.parquet")
    assert (code, out) == (1, "")
    assert err.startswith("SKIP_TO_FIRST_ROW: ") or err.split(":")[0].startswith("SKIP_")
    assert err.count("\n") <= 3


def test_an_unreadable_input(folder, capsys) -> None:
    Path("broken.parquet").write_text("not parquet")
    code, out, err = run(capsys, "run", "-e", "SELECT * FROM t", "--input", "t=broken.parquet")
    assert (code, out) == (2, "")
    assert err.startswith("INPUT_UNREADABLE: can't read broken.parquet as parquet: ")
    assert "org.apache" not in err
    assert "Traceback" not in err


def test_the_demo_prints_draws_and_writes_files(folder, capsys) -> None:
    code, out, err = run(capsys, "demo", "--out", "show", "--rows", 12_000)
    assert (code, err) == (0, "")
    for words in (
        "Head and shoulders",
        "V shapes",
        "Card fraud",
        "PATTERN (A B* C D* E F* G H* I J* K L* M)",
        "report.html",
    ):
        assert words in out
    assert "The query found all of them" in out
    page = Path("show/report.html").read_text()
    assert page.count("<section") == 3
    assert 'class="path tone-1"' in page
    code, table, _ = run(capsys, "run", "show/v_shapes.sql", "--input", "trades=show/trades.parquet")
    assert code == 0
    assert table.startswith("symbol")


def test_an_event_query_is_run(folder, capsys) -> None:
    text = "TYPE symbol TIME ts PATTERN SEQ(A, B) RETURN COUNT(*) AS n"
    assert main(["run", "-e", text, "--input", "trades=trades.csv", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"n": "3"}
    inputs = ["--input", "trades=trades.csv", "--input", "others=trades.csv"]
    assert main(["run", "-e", f"FROM trades {text}", *inputs, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"n": "3"}
    assert main(["run", "-e", text, *inputs]) == 2
    assert "FROM name" in capsys.readouterr().err


def test_ids_of_matches_as_columns(folder, capsys) -> None:
    arguments = ("run", "q.sql", "--input", "trades=trades.parquet", "--format", "json")
    code, out, err = run(capsys, *arguments, "--match-id", "id", "--run-id", "run")
    assert (code, err) == (0, "")
    found = [json.loads(line) for line in out.splitlines()]
    clause = QUERY.partition("MATCH_RECOGNIZE (")[2].partition(") ORDER BY symbol")[0]
    assert found == ost.match(clause, TRADES, match_id="id", run_id="run").to_pylist()
    code, out, err = run(capsys, *arguments, "--emit", "early")
    assert (code, out) == (1, "")
    assert "streaming DataFrames" in err
