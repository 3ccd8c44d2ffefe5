"""`ost.rules` on Spark: rules from a folder, a stream or a table; changes between batches; restart; finish."""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from tests.spark.streams.spark_streams import Source, letters

import ostinato as ost
from ostinato.spark.streams.stream_metrics import observed_rule_seconds

AB = "MEASURES LAST(ts) AS at PATTERN (A B) DEFINE A AS x = 'a', B AS x = 'b'"
ABC = """MEASURES COUNT(B.x) AS bs PATTERN (A B* C) WITHIN INTERVAL '1' HOUR
    DEFINE A AS x = 'a', B AS x = 'b', C AS x = 'c'"""


def run(source: Source, **options: Any) -> DataFrame:
    """The rules of the source's folder."""
    folder = source.folder / "rules"
    folder.mkdir(exist_ok=True)
    found = ost.rules(source.read(), folder, keys="k", time="ts", buckets=2, **options)
    source.run(found)
    return source.session.read.schema(found.schema).parquet(source.output)


def kinds(rows: DataFrame | pa.Table) -> Counter[tuple[str, str, int]]:
    table = rows if isinstance(rows, pa.Table) else rows.toArrow()
    return Counter((row["kind"], row["rule"], row["version"]) for row in table.to_pylist())


def test_rules_change_between_batches_and_survive_restarts(source: Source) -> None:
    folder = source.folder / "rules"
    assert ost.write_rule(folder, "pairs", AB) == 1
    ost.write_rule(folder, "broken", "PATTERN (A")
    source.add(letters("k1", "abab", 0), letters("k2", "aabb", 12))
    found = kinds(run(source))
    assert found[("rule_rejected", "broken", 1)] == 1
    assert found[("rule_changed", "pairs", 1)] == 1
    before = found[("match", "pairs", 1)]
    assert before >= 1

    assert ost.write_rule(folder, "pairs", ABC) == 2
    ost.write_rule(folder, "runs", ABC)
    source.add(letters("k1", "abbc", 30), letters("k2", "xxxx", 60))
    rows = run(source)
    found = kinds(rows)
    assert found[("match", "pairs", 1)] >= before
    assert found[("match", "pairs", 2)] == found[("match", "runs", 1)] == 1
    (match,) = rows.where("kind = 'match' AND rule = 'runs'").collect()
    assert (match.k, json.loads(match.measures)) == ("k1", {"bs": 2})
    assert (match.ended - match.began).total_seconds() == 3
    assert match.decided > match.ended

    assert match.match_id is not None
    assert len(match.match_id) == 32
    states = ost.stream_state(source.session, source.checkpoint).where("status = 'active'").orderBy("rule", "state")
    assert [(row.rule, row.version, row.variable, row["keys"]) for row in states.collect()] == [  # k2 has a, a, b, b
        *(("pairs", 2, variable, 1) for variable in (None, "B", "C")),
        *(("runs", 1, variable, 1) for variable in (None, "B", "C")),
    ]
    reasons = ost.stream_state(source.session, source.checkpoint, by="reason").where("rule = 'runs'")
    assert [(row.version, row.reason, row["keys"], row["rows"]) for row in reasons.collect()] == [
        (1, "open partial match", 1, 3)
    ]
    with pytest.raises(ost.QueryError, match="of rules isn't counted by key"):
        ost.stream_state(source.session, source.checkpoint, by="key")
    with pytest.raises(ost.QueryError, match="forget_keys_after"):
        run(source, forget_keys_after="1 month")
    observed = [row for batch in source.progress for row in batch.observedMetrics.values()]
    seconds = [observed_rule_seconds(row) for row in observed]
    assert set().union(*seconds) == {"pairs", "runs"}
    assert all(spent > 0 for of_batch in seconds for spent in of_batch.values())

    last = ost.finish_stream(source.session, source.checkpoint)
    assert last.schema.simpleString() == rows.schema.simpleString()
    assert last.count() == 0


def test_a_static_table_of_rules(source: Source) -> None:
    table = source.session.createDataFrame([("pairs", 1, AB)], "id string, version int, text string")
    source.add(letters("k1", "ab", 0), letters("k1", "xx", 30))
    found = ost.rules(source.read(), table, keys="k", time="ts", columns="x", buckets=2)
    assert kinds(source.run(found))[("match", "pairs", 1)] == 1


def test_a_wrong_rule_of_a_static_table_is_an_error_at_once(source: Source) -> None:
    table = source.session.createDataFrame(
        [("wrong", 1, "PATTERN (A) DEFINE A AS price > 1")], "id string, version int, text string"
    )
    source.add(letters("k1", "ab", 0))
    with pytest.raises(ost.QueryError, match=r"UNKNOWN_COLUMN: the rule 'wrong' \(version 1\)"):
        ost.rules(source.read(), table, keys="k", time="ts")


def test_a_stream_of_rules(source: Source, tmp_path: Path) -> None:
    changes = tmp_path / "changes"
    rows = [("pairs", 1, AB, True, '{"start": "kept"}'), ("runs", 1, ABC, None, None)]
    source.session.createDataFrame(
        rows, "id string, version long, text string, enabled boolean, options string"
    ).write.json(str(changes))
    log = source.session.readStream.schema(
        "id string, version long, text string, enabled boolean, options string"
    ).json(str(changes))
    source.add(letters("k1", "abbc", 0), letters("k1", "xx", 60))
    found = ost.rules(source.read(), log, keys="k", time="ts", buckets=2)
    assert kinds(source.run(found)) == {
        ("rule_changed", "pairs", 1): 1,
        ("rule_changed", "runs", 1): 1,
        ("match", "pairs", 1): 1,
        ("match", "runs", 1): 1,
    }


def test_a_static_table_is_reduced_to_the_rules_in_force(source: Source) -> None:
    """A wrong version below the one in force doesn't matter. A restart applies the table's changes only."""
    schema = "id string, version int, text string, enabled boolean"

    def run_with(*rows: tuple[str, int, str, bool | None]) -> Counter[tuple[str, str, int]]:
        table = source.session.createDataFrame(rows, schema)
        return kinds(source.run(ost.rules(source.read(), table, keys="k", time="ts", buckets=1)))

    source.add(letters("k1", "ab", 0), letters("k1", "xx", 30))
    first = run_with(("pairs", 1, "PATTERN (A", None), ("pairs", 2, AB, None), ("gone", 1, AB, None))
    assert (
        first[("rule_changed", "pairs", 2)] == first[("rule_changed", "gone", 1)] == first[("match", "pairs", 2)] == 1
    )
    source.add(letters("k1", "ab", 60), letters("k1", "xx", 90))
    second = run_with(("pairs", 2, ABC, True), ("gone", 2, "", False)) - first
    assert second == {("rule_rejected", "pairs", 2): 1, ("rule_changed", "gone", 2): 1, ("match", "pairs", 2): 1}
    with pytest.raises(ost.QueryError, match=r"RULE_VERSION_EXISTS: the rule 'pairs' \(version 2\)"):
        run_with(("pairs", 2, AB, None), ("pairs", 2, ABC, None))
    with pytest.raises(ost.QueryError, match=r"SYNTAX_ERROR: the rule 'pairs' \(version 2\)"):
        run_with(("pairs", 1, AB, None), ("pairs", 2, "PATTERN (A", None))


def test_bad_values_of_a_table_are_rejected_rules(source: Source, tmp_path: Path) -> None:
    changes = tmp_path / "changes"
    schema = "id int, version string, text string, enabled string, options map<string, string>"
    rows = [(1, "1", AB, "TRUE", {"start": "kept"}), (2, "one", AB, None, None), (3, "1", AB, "off", None)]
    source.session.createDataFrame(rows, schema).write.json(str(changes))
    log = source.session.readStream.schema(schema).json(str(changes))
    source.add(letters("k1", "ab", 0), letters("k1", "xx", 60))
    found = source.run(ost.rules(source.read(), log, keys="k", time="ts", buckets=1))
    assert sorted((row["kind"], row["rule"]) for row in found.to_pylist()) == [
        ("match", "1"),
        ("rule_changed", "1"),
        ("rule_rejected", "2"),
        ("rule_rejected", "3"),
    ]


def test_old_files_of_rules_are_read(source: Source) -> None:
    """Spark's file source ignores files that are a week older than the newest, unless an option says otherwise."""
    folder = source.folder / "rules"
    ost.write_rule(folder, "pairs", AB)
    ost.write_rule(folder, "runs", ABC)
    for file in folder.glob("pairs*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    source.add(letters("k1", "ab", 0), letters("k1", "xx", 60))
    source.run(ost.rules(source.read(), folder, keys="k", time="ts", buckets=1))  # Spark starts with all files
    ost.write_rule(folder, "late", AB)
    for file in folder.glob("late*"):
        os.utime(file, (1_000_000_000, 1_000_000_000))
    source.add(letters("k1", "xx", 120))
    found = source.run(ost.rules(source.read(), folder, keys="k", time="ts", buckets=1))
    assert {"pairs", "runs", "late"} == {row["rule"] for row in found.to_pylist() if row["kind"] == "rule_changed"}


def test_refusals(source: Source) -> None:
    source.add(letters("k1", "ab", 0))
    stream, folder = source.read(), source.folder / "rules"
    folder.mkdir()
    with pytest.raises(ost.QueryError, match="UNKNOWN_COLUMN"):
        ost.rules(stream, folder, keys="key", time="ts")
    with pytest.raises(ost.QueryError, match="STREAM_NEEDS_WATERMARK"):
        ost.rules(source.read(None), folder, keys="k", time="ts")
    with pytest.raises(ost.QueryError, match="NOT_A_STREAM"):
        ost.rules(source.session.read.parquet(source.input), folder, keys="k", time="ts")
    with pytest.raises(ost.QueryError, match="RULES_NOT_READABLE"):
        ost.rules(stream, source.folder / "nothing", keys="k", time="ts")
    with pytest.raises(ost.QueryError, match="INVALID_OPTION"):
        ost.rules(stream, 7, keys="k", time="ts")  # type: ignore[arg-type]
    log = source.session.readStream.schema("id string, version int, text string, at timestamp").json(str(folder))
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SUPPORTED: the rules have a watermark, on the column 'at'"):
        ost.rules(stream, log.withWatermark("at", "1 minute"), keys="k", time="ts")
    with pytest.raises(ost.QueryError, match="DUPLICATE_COLUMN"):
        ost.rules(stream.withColumnRenamed("k", "Rule"), folder, keys="Rule", time="ts")
