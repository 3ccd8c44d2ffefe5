"""`history=`: an archive, then a live stream. Every match is found once, also across the border."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.spark.streams.spark_streams import Source, matching, pieces, rows, split, trades

import ostinato as ost

CLAUSE = """
    PARTITION BY symbol ORDER BY ts, id MEASURES FIRST(id) AS f, LAST(id) AS l, MATCH_NUMBER() AS number
    PATTERN (TOP FALL+ RISE+) WITHIN INTERVAL '40' SECOND
    DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)"""


def archive_of(source: Source, table: pa.Table) -> DataFrame:
    pq.write_table(table, source.folder / "archive.parquet")
    return source.session.read.parquet(str(source.folder / "archive.parquet"))


def test_matches_across_the_border_are_found_once(source: Source) -> None:
    """The live source repeats rows of the archive; the stream is restarted with the same archive, then without."""
    table = trades()
    past, live = split(table, 250)
    archive = archive_of(source, past).repartition(3)
    decided = archive.transform(ost.match_recognize(CLAUSE, end="open")).toArrow()
    with_history = matching(CLAUSE, history=archive)
    first, second, third = pieces(live, 100, 200)
    source.add(pa.concat_tables([past.slice(past.num_rows - 20), first]))
    source.run(source.read().transform(with_history))
    assert source.count("late_rows") == 20
    source.add(second, third)
    result = source.run(source.read().transform(with_history))
    last = source.finish()
    assert rows(decided, result, last) == rows(ost.match(CLAUSE, table))
    crossing = [row for row in result.to_pylist() if row["f"] < past.num_rows <= row["l"]]
    assert decided.num_rows and crossing and last.num_rows


def test_a_statement_runs_on_the_archive_as_on_the_stream(source: Source) -> None:
    """The input of the clause is a query. No row follows the archive in most buckets; a timer ends their matches."""
    table = trades(300)
    past, live = split(table, 280)
    archive = archive_of(source, past.append_column("unused", pa.nulls(past.num_rows, pa.int8())))
    text = f"""
        SELECT symbol, l FROM (SELECT symbol, ts, id, 2 * price AS price FROM trades WHERE price <> 3)
        MATCH_RECOGNIZE ({CLAUSE.replace("FALL AS price", "FALL AS PRICE < 9 AND price")}) WHERE l >= 0"""
    source.add(live, live.slice(0, 1).set_column(1, "ts", pa.array([table["ts"][299].as_py().replace(hour=2)])))
    result = source.run(ost.sql(text, trades=source.read(), history=archive, buckets=4))
    decided = ost.sql(text, trades=archive, end="open").toArrow()
    both = pa.concat_tables([table, pq.read_table(source.folder / "in" / "1.parquet")])
    expected = ost.sql(text, trades=source.session.createDataFrame(both)).toArrow()
    assert rows(decided, result, source.finish()) == rows(expected)
    assert source.count("open_runs_change") >= 0  # the open runs of the archive count as new


def lifetimes(table: pa.Table, silence: timedelta) -> pa.Table:
    """The rows of each symbol, numbered anew in `life` after each silence that is longer."""
    last: dict[str | None, datetime] = {}
    life: dict[str | None, int] = {}
    numbers = []
    for symbol, ts in zip(table["symbol"].to_pylist(), table["ts"].to_pylist(), strict=True):
        life[symbol] = life.get(symbol, 0) + (symbol in last and ts - last[symbol] > silence)
        last[symbol] = ts
        numbers.append(life[symbol])
    return table.append_column("life", pa.array(numbers))


@pytest.mark.filterwarnings("ignore:keys are forgotten")
def test_the_archive_forgets_the_same_keys_as_the_stream(source: Source) -> None:
    table = trades()
    past, live = split(table, 250)
    archive = archive_of(source, past)
    forgets = {"forget_keys_after": "6 seconds"}
    decided = archive.transform(ost.match_recognize(CLAUSE, end="open", **forgets)).toArrow()
    source.add(*pieces(live, 200))
    result = source.run(source.read().transform(matching(CLAUSE, history=archive, **forgets)))
    by_life = ost.match(CLAUSE.replace("symbol", "symbol, life"), lifetimes(table, timedelta(seconds=6)))
    assert rows(decided, result, source.finish()) == rows(by_life.drop_columns("life"))
    assert by_life["life"].to_pylist().count(0) < by_life.num_rows
    without = archive.transform(ost.match_recognize(CLAUSE, end="open")).toArrow()
    assert rows(decided) != rows(without)


def test_refused(source: Source) -> None:
    source.add(trades(20))
    stream, archive = source.read(), source.session.read.parquet(source.input)
    clause = f"trades MATCH_RECOGNIZE ({CLAUSE})"

    def refuses(message: str, action: Callable[[], Any]) -> None:
        with pytest.raises(ost.QueryError, match=message):
            action()

    renamed = archive.withColumnRenamed("price", "cost")
    refuses("HISTORY_DIFFERS: the stream has price double, and history= has no such column",
            lambda: stream.transform(matching(CLAUSE, history=renamed)))  # fmt: skip
    retyped = archive.withColumn("price", F.lit(1))
    refuses("HISTORY_DIFFERS: .* history= has price int",
            lambda: stream.transform(matching(CLAUSE, history=retyped)))  # fmt: skip
    refuses("this one is a stream", lambda: stream.transform(matching(CLAUSE, history=stream)))
    refuses("not 'archive'", lambda: ost.sql(f"SELECT * FROM {clause}", trades=stream, history="archive"))
    refuses("for streaming", lambda: archive.transform(ost.match_recognize(CLAUSE, history=archive)))
    refuses("for batch", lambda: stream.transform(ost.match_recognize(CLAUSE, end="open")))
    refuses("can't be 'closed'", lambda: ost.match_recognize(CLAUSE, end="closed"))
    refuses('with end="final"', lambda: ost.match_recognize(CLAUSE, end="open", sort="spark"))
    refuses("are for Spark", lambda: ost.match(ost.match_recognize(CLAUSE, end="open"), trades(20)))
    refuses(
        "can't follow history", lambda: stream.transform(matching(CLAUSE, history=archive, emit="early", run_id="run"))
    )
    refuses('with emit="final"', lambda: matching(CLAUSE, on_change="keep", emit="early"))
    refuses("can't be 'always'", lambda: matching(CLAUSE, on_change="always"))
    refuses("the streaming DataFrame", lambda: ost.explain(CLAUSE, trades(20), checkpoint="nowhere"))
    refuses("NO_STATE", lambda: ost.explain(CLAUSE, stream, checkpoint=source.input))
    refuses("given 0", lambda: ost.sql(f"SELECT * FROM {clause}", trades=archive, history=archive))
    two = f"SELECT * FROM {clause} AS a, {clause} AS b"
    refuses("this one has 2", lambda: ost.sql(two, trades=stream, history=archive))


def test_another_number_of_buckets(source: Source) -> None:
    """A second stream takes over at the watermark of the first one. Its source begins again from its first row."""
    table = trades(300)
    source.add(*pieces(table.slice(0, 200), 100))
    before = source.run(source.read().transform(matching(CLAUSE)))
    watermark = source.progress[-1].eventTime["watermark"]
    decided = source.session.read.parquet(source.input).where(F.col("ts") <= F.to_timestamp(F.lit(watermark)))
    decided.write.parquet(str(source.folder / "decided"))
    taken_over = Source(source.folder / "again", source.session)
    taken_over.folder.mkdir()
    taken_over.add(table)
    archive = source.session.read.parquet(str(source.folder / "decided"))
    after = taken_over.run(taken_over.read().transform(matching(CLAUSE, buckets=7, history=archive)))
    assert taken_over.count("late_rows") == archive.count() > 100
    assert rows(before, after, taken_over.finish()) == rows(ost.match(CLAUSE, table))
