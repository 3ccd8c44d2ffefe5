"""`ostinato run --stream` over a folder of files: its output, a restart, and Ctrl-C."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.spark.streams.spark_streams import Source, pieces, rows, trades

import ostinato as ost
from ostinato.cli import main

CLAUSE = """
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l
    PATTERN (TOP FALL+ RISE+) WITHIN INTERVAL '40' SECOND
    DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""
QUERY = f"SELECT * FROM trades MATCH_RECOGNIZE ({CLAUSE})"


def arguments(source: Source, *more: str) -> list[str]:
    folders = ["--input", f"trades={source.input}", "--checkpoint", source.checkpoint, "--output", source.output]
    return ["run", "-e", QUERY, "--stream", *folders, "--delay", "5 seconds", *more]


def test_once_and_once_more(source: Source, capsys: pytest.CaptureFixture[str]) -> None:
    table = trades()
    first, second = pieces(table, 300)
    metrics = source.folder / "metrics.prom"
    assert main(arguments(source.add(first), "--once", "--metrics", str(metrics))) == 0
    written = source.session.read.parquet(source.output).count()  # ONE ROW PER MATCH
    assert written > 10
    assert capsys.readouterr().err.endswith(f"done: 2 batches, 300 rows, {written} matches, 0 late\n")
    output = {line.partition("{")[0]: line.rpartition(" ")[2] for line in metrics.read_text().splitlines()}
    counts = [output[f"ostinato_{name}"] for name in ("batches_total", "rows_total", "matches_total")]
    assert counts == ["2", "300", str(written)]  # the last batch is there, though Spark tells listeners of it later
    assert main(arguments(source.add(second), "--once")) == 0
    result = source.session.read.parquet(source.output).toArrow()
    assert rows(result, source.finish()) == rows(ost.match(CLAUSE, table))


@pytest.mark.parametrize("format", ["csv", "json"])
def test_folders_of_text(source: Source, tmp_path: Path, format: str) -> None:
    table = trades(200)
    folder = tmp_path / f"in.{format}"
    source.session.createDataFrame(table.to_pandas()).write.format(format).option("header", True).save(str(folder))
    words = ["--input", f"trades={folder}", "--checkpoint", source.checkpoint, "--output", source.output]
    assert main(["run", "-e", QUERY, "--stream", *words, "--delay", "5 seconds", "--once"]) == 0
    result = source.session.read.parquet(source.output).toArrow()
    expected = rows(ost.match(CLAUSE, table))
    assert result.num_rows > 10
    assert rows(result, source.finish()) == expected


def test_folders_are_asked_for(source: Source, capsys: pytest.CaptureFixture[str]) -> None:
    source.add(trades(40))
    assert main(["run", "-e", QUERY, "--stream", "--input", f"trades={source.input}"]) == 2
    assert "STREAM_NEEDS_FOLDERS" in capsys.readouterr().err
    empty = source.folder / "empty"
    empty.mkdir()
    assert main([*arguments(source)[:4], "--input", f"trades={empty}", *arguments(source)[6:]]) == 2
    assert "INPUT_MISSING" in capsys.readouterr().err
