"""Killed at random moments inside micro-batches, again and again: no row is lost, none is there twice."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming import DataStreamWriter
from tests.spark.correlations.spark_correlations import comparable, in_process
from tests.spark.correlations.test_correlation_restart import NAMED as CORRELATED
from tests.spark.event_queries.test_event_streaming import QUERIES, answer
from tests.spark.streams.kill_campaign import KillCampaign
from tests.spark.streams.spark_streams import Source, matching, pieces, rows, trades
from tests.spark.streams.stream_processes import Start, in_a_process
from tests.spark.streams.test_streaming_restart import CLAUSE

import ostinato as ost

__all__ = ["in_a_process"]  # a fixture
pytestmark = pytest.mark.slow

EVENTS = QUERIES["sums"]
DIVIDING = """PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l PATTERN (A B+)
    WITHIN INTERVAL '1' HOUR DEFINE A AS 12 / (price - 2) > 0, B AS price <= PREV(price)"""
RULES = {
    "low": "MEASURES FIRST(id) AS f, COUNT(*) AS n PATTERN (A B+) DEFINE A AS price > 3, B AS price < A.price",
    "numbered": "MEASURES LAST(id) AS l, MATCH_NUMBER() AS n PATTERN (A B) DEFINE B AS price = PREV(price)",
}


def clause(source: Source) -> DataStreamWriter:
    found = source.read().transform(matching(CLAUSE))
    return found.writeStream.format("parquet").option("path", source.output)


def skipping(source: Source) -> DataStreamWriter:
    found = source.read().transform(matching(DIVIDING, on_error="skip", match_id="id", forget_keys_after="1 hour"))
    return found.writeStream.format("parquet").option("path", source.output)


def rules(source: Source) -> DataStreamWriter:
    found = ost.rules(source.read(), str(source.folder / "rules"), keys="symbol", time=["ts", "id"], buckets=4)
    return found.writeStream.format("parquet").option("path", source.output)


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
    campaign = KillCampaign(tmp_path, streaming, STREAMS, in_a_process)
    for source in campaign.sources.values():
        source.add(*pieces(table, *range(70, 600, 70)))
    of_clause, of_skipping, of_rules, of_correlation, of_events, of_upsert, of_lines = campaign.sources.values()
    for name, text in RULES.items():
        ost.write_rule(of_rules.folder / "rules", name, text)
    campaign.kill(inside={"clause", "skipping"})
    with pytest.raises(ost.QueryError, match="STREAM_NOT_SETTLED"):
        of_clause.finish()
    campaign.kill(inside={"rules", "correlation"})
    campaign.kill(inside={"upserted", "json_lines"})

    campaign.settle()
    assert rows(output(of_clause), of_clause.finish()) == rows(ost.match(CLAUSE, table))
    skipped = ost.match(DIVIDING, table, on_error="skip", match_id="id")
    assert 0 < skipped["error"].null_count < skipped.num_rows
    assert rows(output(of_skipping), of_skipping.finish()) == rows(skipped)
    of_rule = pa.concat_tables([output(of_rules), of_rules.finish()])
    for name, text in RULES.items():
        measures = of_rule.filter((pc.field("rule") == name) & (pc.field("kind") == "match"))["measures"].to_pylist()
        expected = ost.match(text, table, keys="symbol", time=["ts", "id"]).drop_columns("symbol").to_pylist()
        assert sorted(map(json.loads, measures), key=repr) == sorted(expected, key=repr)
    assert comparable(output(of_correlation), of_correlation.finish()) == in_process(CORRELATED, table)
    assert rows(output(of_events), of_events.finish()) == rows(ost.match(ost.events(EVENTS), table))
    latest = early_results(of_upsert).read(streaming).drop("run", "status").toArrow()
    assert rows(latest) == rows(ost.match(CLAUSE, table))
    versions = output(of_upsert).group_by(["run", "upsert_write"]).aggregate([([], "count_all")])
    assert set(versions["count_all"].to_pylist()) == {1}
    schema = streaming.read.parquet(of_lines.input).schema
    lines = streaming.read.schema(schema).json(of_lines.output).toArrow()
    assert rows(lines.select(table.column_names)) == rows(table.cast(lines.schema))


def output(source: Source) -> pa.Table:
    return source.session.read.parquet(source.output).toArrow()
