"""`ostinato rules run` on Spark: a batch finds what a backtest finds, and streams what a batch finds."""

from __future__ import annotations

import io
import json
from collections import Counter
from contextlib import redirect_stderr
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from tests.rule_files.folders import LOGIN_PAY, SETTINGS, write

from ostinato.cli import main
from ostinato.rule_files.backtest import archive_table, backtest
from ostinato.rule_files.checks import check_folder
from ostinato.rule_files.rule_folder import read_folder
from ostinato.rule_files.rule_run import found_rows

START = datetime(2024, 3, 1, 9, tzinfo=UTC)
RULES = {
    "rules_yaml": SETTINGS,
    "pays_sql": f"---\nseverity: high\nsuppress: 1 hour by user\n---\n{LOGIN_PAY}",
    "funnel_yaml": "query: {steps: [login, pay], type: kind, within: 30 minutes}",
    "kinds_sql": "---\nkeys: [n, user]\nseverity: low\n---\nMEASURES 1 AS one PATTERN (A{2}) DEFINE A AS amount > 1",
    "pairs_sql": "TYPE kind PATTERN SEQ(login l, pay p) WITHIN 20 MINUTES RETURN MATCHES",
    "counts_sql": "TYPE kind PATTERN SEQ(login l, pay p) RETURN COUNT(*) AS found",
    "fails_sql": "TYPE kind PATTERN SEQ(login l, pay p) WHERE 1 / (l.n - l.n) > p.n WITHIN 1 HOUR RETURN MATCHES",
    "broken_sql": "PATTERN (A B",
    "limited_sql": "---\noptions: {max_partial_matches: 1}\n---\n"
    "PATTERN (A B* C) DEFINE B AS amount > A.amount, C AS amount < sum(B.amount) - 99",
}


def events(words: dict[str, str], first: int = 0) -> pa.Table:
    """For each user a row every five minutes: l is a login, p a payment, - anything else."""
    rows = [(user, minute, letter) for user, word in words.items() for minute, letter in enumerate(word, first)]
    kinds = {"l": "login", "p": "pay", "-": "view"}
    return pa.table(
        {
            "user": [user for user, _, _ in rows],
            "ts": pa.array([START + timedelta(minutes=5 * minute) for _, minute, _ in rows], pa.timestamp("us", "UTC")),
            "kind": [kinds[letter] for _, _, letter in rows],
            "amount": [float(minute % 5) for _, minute, _ in rows],
            "n": pa.array([minute % 2 for _, minute, _ in rows], pa.int8()),
        }
    )


EVENTS = events({"ann": "lplp--lpl-p--lp", "bob": "-l-p-lp--", 'c"d': "llpp"})


def written(rows: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    """The matches, comparable whatever their order."""
    names = ("kind", "rule", "severity", "version", "match_id", "keys", "began", "ended", "measures")
    return Counter(tuple(row[name] for name in names) for row in rows)


def streamed(folder: Path) -> list[dict[str, Any]]:
    """The rows of the output, with times as in a table."""
    rows = [json.loads(line) for file in sorted(folder.glob("*.jsonl")) for line in file.read_text().splitlines()]
    for row in rows:
        row |= {name: row[name] and datetime.fromisoformat(row[name]) for name in ("began", "ended")}
    return rows


@dataclass(frozen=True)
class BatchRun:
    """The rows of a batch, and what it said."""

    rows: list[dict[str, Any]]
    code: int
    said: str


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    return write(folder, **RULES)


@pytest.fixture(scope="module")
def batch(spark: SparkSession, rules: Path, tmp_path_factory: pytest.TempPathFactory) -> BatchRun:
    folder = tmp_path_factory.mktemp("batch")
    pq.write_table(EVENTS, folder / "in.parquet")
    call = ["rules", "run", str(rules), "--input", str(folder / "in.parquet"), "--output", str(folder / "out.parquet")]
    said = io.StringIO()
    with redirect_stderr(said):
        code = main(call)
    return BatchRun(pq.read_table(folder / "out.parquet").to_pylist(), code, said.getvalue())


def test_a_batch_finds_what_a_backtest_finds(batch: BatchRun, rules: Path) -> None:
    assert batch.code == 1
    assert "broken.sql:1: error: SYNTAX_ERROR" in batch.said
    assert "fails.sql: error: DIVIDE_BY_ZERO" in batch.said
    assert "limited: error: some of its rows are missing: TOO_MANY_PARTIAL_MATCHES" in batch.said
    read = read_folder(rules)
    assert read.settings.schema is not None
    archive = archive_table(EVENTS, read.settings.schema.names, read.settings.settings)
    checked = {rule.file.id: rule for rule in check_folder(read, archive.schema).rules}
    expected: Counter[tuple[Any, ...]] = Counter()
    for one in backtest([rule for id, rule in checked.items() if id not in ("counts", "fails", "limited")], archive):
        assert one.matches is not None
        for match in one.matches.to_pylist():
            kind = "suppressed" if match["suppressed"] else "match"
            keys = json.dumps({name: match[name] for name in sorted(one.rule.keys)}, separators=(",", ":"))
            expected[kind, one.rule.file.id, match["match_id"], keys, match["began"], match["ended"]] += 1
    names = ("kind", "rule", "match_id", "keys", "began", "ended")
    found = Counter(
        tuple(row[name] for name in names)
        for row in batch.rows
        if row["rule"] not in ("counts", "limited") and '"completed":false' not in (row["measures"] or "")
    )
    assert found == expected
    assert {kind for kind, *_ in found} == {"match", "suppressed"}
    assert {rule for _, rule, *_ in found} == {"pays", "funnel", "kinds", "pairs"}

    compiled = checked["pays"].compiled
    assert compiled is not None
    totals = Counter(row["total"] for row in found_rows(compiled, archive).to_pylist())
    pays = [row for row in batch.rows if row["rule"] == "pays"]
    assert Counter(json.loads(row["measures"])["total"] for row in pays) == totals
    assert {row["severity"] for row in pays} == {"high"}
    counts = {row["keys"]: json.loads(row["measures"]) for row in batch.rows if row["kind"] == "aggregate"}
    assert counts['{"user":"bob"}'] == {"found": 3}


def test_a_stream_finds_what_a_batch_finds(
    streaming: SparkSession, batch: BatchRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """But for event queries without windows."""
    rules, folder = tmp_path / "rules", tmp_path / "in.parquet"
    rules.mkdir()
    folder.mkdir()
    names = ("rules_yaml", "pays_sql", "funnel_yaml", "pairs_sql", "counts_sql")
    write(rules, **{name: RULES[name] for name in names})
    pq.write_table(pa.concat_tables([EVENTS, events({"zoe": "--"}, first=99)]), folder / "0.parquet")
    folders = ["--checkpoint", str(tmp_path / "checkpoint"), "--output", str(tmp_path / "out")]
    assert main(["rules", "run", str(rules), "--input", str(folder), "--stream", "--once", *folders]) == 1
    said = capsys.readouterr().err
    assert "event-query-counts" in said and "STREAM_NEEDS_WINDOWS" in said
    assert said.count("done: ") == 2
    stream = [row for row in streamed(tmp_path / "out") if row["kind"] != "rule_changed"]
    assert len(stream) > 10
    assert written(stream) == written([row for row in batch.rows if row["rule"] in ("pays", "funnel", "pairs")])


def test_a_stream_follows_the_log(streaming: SparkSession, tmp_path: Path) -> None:
    rules, log, folder = tmp_path / "rules", tmp_path / "log", tmp_path / "in.parquet"
    rules.mkdir()
    folder.mkdir()
    write(rules, rules_yaml=SETTINGS, pays_sql=RULES["pays_sql"])

    def run(words: str, first: int) -> Counter[tuple[Any, ...]]:
        pq.write_table(events({"ann": words}, first), folder / f"{first}.parquet")
        folders = ["--checkpoint", str(tmp_path / "checkpoint"), "--output", str(tmp_path / "out")]
        call = ["rules", "run", str(rules), "--input", str(folder), "--log", str(log), "--stream", "--once", *folders]
        assert main(["rules", "apply", str(rules), "--log", str(log)]) == 0
        assert main(call) == 0
        rows = [row for row in streamed(tmp_path / "out") if row["kind"] == "match"]
        return Counter((row["rule"], row["version"], row["severity"]) for row in rows)

    assert run("lp-", 0) == {("pays", 1, "high"): 1}
    write(rules, pays_sql=RULES["pays_sql"].replace("'pay'", "'view'").replace("high", "critical"))
    assert run("lp-l-" + "-" * 20, 40)[("pays", 2, "critical")] == 1
