"""`on_change=`: a stream restarted with another clause. Its output after the change is that of the changed clause."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import DataFrame
from tests.spark.streams.spark_streams import Source, matching, rows, split, trades

import ostinato as ost

CLAUSE = """
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l
    PATTERN (TOP FALL+ RISE+) WITHIN INTERVAL '40' SECOND
    DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""
CHANGED = CLAUSE.replace("LAST(id) AS l", "LAST(id) AS l, LAST(price) - FIRST(price) AS gain").replace(
    "DEFINE", "DEFINE TOP AS id >= 0 AND price < 100,"
)
"""Another measure and another condition, which all rows meet. Stored rows have the columns of both, but not its bit."""


def test_a_changed_clause_goes_on_with_the_state(source: Source) -> None:
    """Some buckets get no row after the change, so `finish_stream` and `stream_state` meet states of both clauses. The
    stream began with an archive, which it isn't given again."""
    table = trades(symbols=11)
    past, live = split(table, 100)
    first, rest = live.slice(0, 300), live.slice(300, 60)
    last = rest.filter(pc.is_in(rest["symbol"], pa.array(["A", "B"])))
    source.add(first)
    archive = source.session.createDataFrame(past)
    source.run(source.read().transform(matching(CLAUSE, buckets=16, history=archive)))
    source.add(last)
    with pytest.raises(Exception, match=r"STATE_OF_OTHER_QUERY.*clause: MEASURES .* became MEASURES .*`gain`"):
        source.run(source.read().transform(matching(CHANGED, buckets=16)))
    unstored = ost.match_recognize(CLAUSE.replace("price > PREV", "note > PREV"), buckets=16, on_change="keep")
    report = ost.explain(unstored, source.read().selectExpr("*", "1D AS note"), checkpoint=source.checkpoint).text
    assert "can't go on" in report
    assert "- the state doesn't hold the column note" in report
    keeping = matching(CHANGED, buckets=16, on_change="keep")
    report = ost.explain(keeping, source.read(), checkpoint=source.checkpoint).text
    assert "every key goes on from its first open row" in report
    assert "history: True became False" in report
    result = source.run(source.read().transform(keeping))
    assert source.count("late_rows") == 0
    open_keys = ost.stream_state(source.session, source.checkpoint).toArrow()
    rest = source.finish()
    assert rest.column_names == ["symbol", "f", "l", "gain"]
    assert open_keys.num_rows > 0
    decided = archive.transform(ost.match_recognize(CLAUSE, end="open")).toArrow()
    expected = ost.match(CHANGED, pa.concat_tables([past, first, last]))
    names = ["symbol", "f", "l"]
    assert rows(decided, result.select(names), rest.select(names)) == rows(expected.select(names))
    gains = {row["f"]: row["gain"] for row in expected.to_pylist()}
    after = [row for row in (*result.to_pylist(), *rest.to_pylist()) if row["gain"] is not None]
    assert len(after) > rest.num_rows > 0
    assert all(row["gain"] == gains[row["f"]] for row in after)


def report(source: Source, query: ost.MatchRecognizeQuery | str, rows: DataFrame | None = None) -> str:
    """The text about a restart with another query."""
    return ost.explain(query, source.read() if rows is None else rows, checkpoint=source.checkpoint).text


def refuses_each(source: Source, changes: dict[Callable[[DataFrame], DataFrame], str]) -> None:
    """The stream can't be restarted with these queries, and the messages say why."""
    for changed, message in changes.items():
        with pytest.raises(Exception, match=message):
            source.run(source.read().transform(changed))


def test_what_cannot_change(source: Source) -> None:
    source.add(trades(50))
    source.run(source.read().transform(matching(CLAUSE, run_id="run")))
    source.add(trades(50, seed=8))
    archive = source.session.read.parquet(source.input)  # too late: the stream has begun
    numbered = CLAUSE.replace("f,", "f, MATCH_NUMBER() AS n,")
    changes = {
        matching(CLAUSE, run_id="run", history=archive): "history: False became True",
        matching(CLAUSE, run_id="run", buckets=8, on_change="keep"): r"query: buckets: 4 became 8",
        matching(numbered, run_id="run", on_change="keep"): r"can't go on: MATCH_NUMBER\(\)",
        matching(CLAUSE, run_id="run", emit="early"): "STATE_OF_OTHER_QUERY.*emit: final became early",
    }
    refuses_each(source, changes)
    skipping = ost.match_recognize(CHANGED, run_id="run", buckets=4, on_error="skip")
    assert 'needs a new checkpoint:\n- on_error="skip" and on_change="keep" don\'t' in report(source, skipping)
    by_expression = ost.match_recognize(CLAUSE.replace("BY symbol", "BY lower(symbol)"), run_id="run", buckets=4)
    assert "another PARTITION BY needs other keys" in report(source, by_expression)
    computed = CLAUSE.replace("FALL AS price", "FALL AS price + 0")
    retyped = source.read().selectExpr("symbol", "ts", "id", "CAST(price AS FLOAT) AS price")
    assert "- the column price is double in the state, and float now" in report(
        source, ost.match_recognize(computed, run_id="run", buckets=4), retyped
    )
    with pytest.raises(Exception, match="can't go on: the column price is double in the state, and float now"):
        source.run(retyped.transform(matching(computed, run_id="run", on_change="keep")))


def test_early_results_cannot_end(source: Source) -> None:
    source.add(trades(50))
    early = matching(CLAUSE, run_id="run", emit="early")
    source.run(source.read().transform(early))
    source.add(trades(50, seed=8))
    changes = {
        matching(CLAUSE, run_id="run"): "STATE_OF_OTHER_QUERY.*emit: early became final",
        matching(CHANGED, run_id="run", on_change="keep"): "STATE_OF_OTHER_QUERY.*emit: early became final",
        matching(CHANGED, run_id="run", emit="early"): "STATE_OF_OTHER_QUERY.*clause: MEASURES .* became MEASURES",
    }
    refuses_each(source, changes)
    refused = 'needs a new checkpoint:\n- emit="early" and on_change="keep" don\'t'
    assert refused in report(source, ost.match_recognize(CHANGED, run_id="run", emit="early", buckets=4))
    assert refused in report(source, CHANGED.replace("MEASURES", "MEASURES 1 AS one,"))
