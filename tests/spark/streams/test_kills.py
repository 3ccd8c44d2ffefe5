"""Killed at random moments inside micro-batches, again and again: no row is lost, none is there twice."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import DataStreamWriter
from tests.rule_sets.rule_streams import RuleStream
from tests.spark.correlations.spark_correlations import comparable, in_process
from tests.spark.correlations.test_correlation_restart import NAMED as CORRELATED
from tests.spark.event_queries.test_event_streaming import QUERIES, answer
from tests.spark.rules.test_rules_restart import CHANGES, add_changes, changing
from tests.spark.streams.kill_campaign import KillCampaign
from tests.spark.streams.spark_streams import Source, matching, pieces, rows, split, trades
from tests.spark.streams.stream_processes import Start, in_a_process
from tests.spark.streams.test_streaming_history import lifetimes
from tests.spark.streams.test_streaming_restart import CLAUSE

import ostinato as ost

__all__ = ["in_a_process"]  # a fixture
pytestmark = pytest.mark.slow

EVENTS = QUERIES["sums"]
DIVIDING = """PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l PATTERN (A B+)
    WITHIN INTERVAL '1' HOUR DEFINE A AS 12 / (price - 2) > 0, B AS price <= PREV(price)"""


SILENCE = "5 seconds"
"""Of the keys of `trades`, most are silent for longer now and then."""


def clause(source: Source) -> DataStreamWriter:
    """The earlier rows are in an archive, and all of them in the stream: there, they are late."""
    found = source.read().transform(matching(CLAUSE, history=archive(source)))
    return found.writeStream.format("parquet").option("path", source.output)


def skipping(source: Source) -> DataStreamWriter:
    found = source.read().transform(matching(DIVIDING, on_error="skip", match_id="id", forget_keys_after=SILENCE))
    return found.writeStream.format("parquet").option("path", source.output)


def rules(source: Source) -> DataStreamWriter:
    """Each of the first batches brings changes."""
    found = changing(source, forget_keys_after=SILENCE)
    return found.writeStream.format("parquet").option("path", source.output)


def archive(source: Source) -> DataFrame:
    return source.session.read.parquet(str(source.folder / "archive"))


def correlation(source: Source) -> DataStreamWriter:
    found = ost.correlate(CORRELATED, buckets=4, recent_rows=3)(source.read())
    return found.writeStream.format("parquet").option("path", source.output)


def events(source: Source) -> DataStreamWriter:
    found = source.read().transform(answer(EVENTS))
    return found.writeStream.format("parquet").option("path", source.output)


def upserted(source: Source) -> DataStreamWriter:
    """Early results: most of them are replaced by later ones."""
    found = source.read().transform(matching(CLAUSE, run_id="run", emit="early"))
    return found.writeStream.foreachBatch(early_results(source))


def early_results(source: Source) -> ost.Upsert:
    return ost.upsert(source.output, key="run", status="status")


def json_lines(source: Source) -> DataStreamWriter:
    ost.register_sinks(source.session)
    halves = source.read(delay=None).repartition(2)
    return halves.writeStream.format("ostinato-json-lines").option("path", source.output)


STREAMS = {
    "clause": clause,
    "skipping": skipping,
    "rules": rules,
    "correlation": correlation,
    "events": events,
    "upserted": upserted,
    "json_lines": json_lines,
}


@pytest.mark.timeout(900)  # four processes with kernels of their own
def test_killed_streams_give_the_rows_of_a_batch(streaming: SparkSession, tmp_path: Path, in_a_process: Start) -> None:
    table = trades()
    files, (past, _) = pieces(table, *range(70, 600, 70)), split(table, 150)
    campaign = KillCampaign(tmp_path, streaming, STREAMS, in_a_process)
    for source in campaign.sources.values():
        source.add(*files)
        pq.write_table(past, source.folder / "archive")
        add_changes(source)
    of_clause, of_skipping, of_rules, of_correlation, of_events, of_upsert, of_lines = campaign.sources.values()
    campaign.kill(inside={"clause", "skipping"})
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SETTLED"):
        of_clause.finish()
    campaign.kill(inside={"rules", "correlation"})
    campaign.kill(inside={"upserted", "json_lines"})

    campaign.settle()
    decided = archive(of_clause).transform(ost.match_recognize(CLAUSE, end="open")).toArrow()
    assert rows(decided, output(of_clause), of_clause.finish()) == rows(ost.match(CLAUSE, table))
    assert found_skipping(output(of_skipping), of_skipping.finish()) == judged_skipping(table)
    of_rule = [*output(of_rules).to_pylist(), *of_rules.finish().to_pylist()]
    assert found_rows(of_rule) == judged_rules(files) != []
    assert comparable(output(of_correlation), of_correlation.finish()) == in_process(CORRELATED, table)
    assert rows(output(of_events), of_events.finish()) == rows(ost.match(ost.events(EVENTS), table))
    latest = early_results(of_upsert).read(streaming).drop("run", "status").toArrow()
    assert rows(latest) == rows(ost.match(CLAUSE, table))
    versions = output(of_upsert).group_by(["run", "upsert_write"]).aggregate([([], "count_all")])
    assert set(versions["count_all"].to_pylist()) == {1}
    schema = streaming.read.parquet(of_lines.input).schema
    lines = streaming.read.schema(schema).json(of_lines.output).toArrow()
    assert rows(lines.select(table.column_names)) == rows(table.cast(lines.schema))


def judged_skipping(table: pa.Table) -> list[str]:
    """The rows of a batch. Rows that fail are in no lifetime; for the others, each lifetime is a key of its own."""
    fails = pc.equal(table["price"], 2)
    good, bad = table.filter(pc.invert(fails)), table.filter(fails)
    by_life = DIVIDING.replace("BY symbol", "BY symbol, life")
    found = ost.match(by_life, lifetimes(good, timedelta(seconds=5)), on_error="skip").drop_columns("life")
    errors = ost.match(DIVIDING, bad, on_error="skip")
    assert found["error"].null_count == found.num_rows
    assert errors.num_rows == bad.num_rows > 0
    return rows(found, errors)


def found_skipping(*parts: pa.Table) -> list[str]:
    """Ids aren't compared: those of the batch depend on its further key."""
    ids = [id for part in parts for id in part["id"].drop_null().to_pylist()]
    assert len(set(ids)) == len(ids)
    return rows(*(part.drop_columns("id") for part in parts))


def judged_rules(files: list[pa.Table]) -> list[str]:
    """The rows that the rules find, without Spark: one file and its changes in each step, in one bucket."""
    stream = RuleStream(files[0].schema, keys=("symbol",), time=("ts", "id"), forget_us=5_000_000)
    watermark_us, found = 0, []
    for number, file in enumerate(files):
        changes = CHANGES[number] if number < len(CHANGES) else []
        found += stream.step(file, watermark_us, *changes)
        watermark_us = pc.max(file["ts"]).cast(pa.int64()).as_py() - 5_000_000
    return found_rows([*found, *stream.step(None, watermark_us), *stream.finish()])


def found_rows(rows: list[dict[str, Any]]) -> list[str]:
    """Matches, and errors of rows. Reports about rules differ between buckets."""
    names = ("kind", "rule", "version", "match_id", "symbol", "measures", "message")
    return sorted(repr([row.get(name) for name in names]) for row in rows if not row["kind"].startswith("rule_"))


def output(source: Source) -> pa.Table:
    return source.session.read.parquet(source.output).toArrow()
