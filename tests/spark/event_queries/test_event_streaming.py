"""Event queries on streams: the rows of closed windows and those of `ost.finish_stream` are the rows of a batch."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from tests.spark.streams.spark_streams import Source, pieces, rows, seconds, trades

import ostinato as ost
from ostinato.errors import QueryError

HEAD = "TYPE Low AS price < 3, Mid AS price = 3, High AS price > 3 TIME ts"
QUERIES = {
    "sums": f"""{HEAD} PATTERN SEQ(Low l, High+ h) GROUP BY symbol WITHIN 20 SECONDS SLIDE 10 SECONDS
        RETURN symbol, COUNT(*), COUNT(h), SUM(h.id), AVG(h.price), MIN(l.id), MAX(h.ts)""",
    "an order between neighbours": f"""{HEAD} PATTERN SEQ(Low l, High+ h) WHERE NEXT(h).id > h.id + 1
        GROUP BY symbol WITHIN 30 SECONDS TUMBLE RETURN symbol, COUNT(*)""",
    "a test of pairs": f"""{HEAD} PATTERN SEQ(Low l, High+ h) WHERE (NEXT(h).id + h.id) % 3 <> 0
        GROUP BY symbol WITHIN 20 SECONDS SLIDE 15 SECONDS RETURN symbol, COUNT(*), SUM(h.price)""",
    "NOT, SAME and no group": f"""{HEAD} PATTERN SEQ(Low l, NOT Mid m, High h) WHERE SAME[symbol]
        WITHIN 10 SECONDS TUMBLE RETURN COUNT(*), MIN(h.id)""",
    "the very next": f"""{HEAD} PATTERN SEQ(Low+ l, High h) STRICT GROUP BY symbol WITHIN 40 SECONDS SLIDE 20 SECONDS
        RETURN symbol, COUNT(*)""",
    "counted, WITHOUT and arithmetic": f"""{HEAD} PATTERN SEQ(Low l, High{{1,3}} h WITHOUT Mid m) GROUP BY symbol
        WITHIN 30 SECONDS SLIDE 15 SECONDS RETURN symbol, COUNT(*) * 2 AS n, SUM(h.id) / COUNT(h) AS mean""",
    "consecutive among some types": f"""{HEAD} PATTERN SEQ(Low l, High h) STRICT ON (Low, High) WHERE Low.id % 3 > 0
        GROUP BY symbol WITHIN 20 SECONDS TUMBLE RETURN symbol, COUNT(*)""",
    "matches": f"""{HEAD} PATTERN SEQ(Low l, High h) WHERE l.id + 5 > h.id GROUP BY symbol
        WITHIN 12 SECONDS SLIDE 6 SECONDS RETURN MATCHES""",
}


def answer(text: str) -> ost.EventsQuery:
    """Few buckets, because tests have few groups."""
    return ost.events(text, buckets=4, match_id="found" if "RETURN MATCHES" in text else None)


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_stream_and_finish_are_batch(source: Source, text: str) -> None:
    table = trades(400)
    source.add(*pieces(table, 150, 300))
    result = source.run(source.read().transform(answer(text)))
    rest = source.finish()
    assert rest.schema.names == result.schema.names
    assert rows(result, rest) == rows(ost.match(answer(text), table))
    assert result.num_rows > 5 and rest.num_rows > 0


def test_a_workload_is_one_stream(source: Source) -> None:
    table = trades(400)
    source.add(*pieces(table, 150, 300))
    texts = [QUERIES["sums"], QUERIES["sums"].replace("SEQ(Low l,", "SEQ(Mid l,")]
    workload = ost.Workload(texts, buckets=4)
    result = source.run(workload.run(source.read()).table)
    expected = workload.run(table).table
    assert result.schema.names == expected.schema.names
    assert rows(result, source.finish()) == rows(expected)


def test_the_window_of_an_idle_group_is_emitted(source: Source) -> None:
    quiet = pa.table({"symbol": ["Q"] * 2, "ts": seconds(0, 1), "price": [1.0, 5.0], "id": [0, 1]})
    others = [
        pa.table({"symbol": list("ABCDEF"), "ts": seconds(*[at] * 6), "price": [3.0] * 6, "id": range(6)})
        for at in (20, 40, 60)
    ]
    source.add(quiet, *others)
    text = f"{HEAD} PATTERN SEQ(Low, High) GROUP BY symbol WITHIN 10 SECONDS TUMBLE RETURN symbol, COUNT(*) AS n"
    result = source.run(source.read().transform(ost.events(text)))
    assert [(row["symbol"], row["n"]) for row in result.to_pylist()] == [("Q", Decimal(1))]


def test_late_rows_are_counted_and_dropped(source: Source) -> None:
    table = trades(400)
    late = pa.table({"symbol": ["A", "A"], "ts": seconds(1, 2), "price": [1.0, 5.0], "id": [-1, -2]}).cast(table.schema)
    first, second, third = pieces(table, 150, 300)
    source.add(first, second, pa.concat_tables([late, third]))
    result = source.run(source.read().transform(answer(QUERIES["sums"])))
    assert source.count("late_rows") == 2
    assert rows(result, source.finish()) == rows(ost.match(ost.events(QUERIES["sums"]), table))


def test_queries_that_a_stream_cannot_answer_are_refused(source: Source) -> None:
    source.add(trades(10))
    without_windows = f"{HEAD} PATTERN SEQ(Low, High) RETURN COUNT(*)"
    with pytest.raises(QueryError, match="STREAM_NEEDS_WINDOWS"):
        source.read().transform(answer(without_windows))
    with pytest.raises(QueryError, match="STREAM_NEEDS_WATERMARK"):
        source.read(None).transform(answer(QUERIES["sums"]))
    source.run(source.read().transform(answer(QUERIES["sums"])))
    with pytest.raises(QueryError, match="NO_STATE"):
        ost.stream_state(source.session, source.checkpoint)


def test_another_query_refuses_the_state(source: Source) -> None:
    table = trades(100)
    source.add(table)
    source.run(source.read().transform(answer(QUERIES["sums"])))
    source.add(trades(100, seed=8))
    other = QUERIES["sums"].replace("High+ h", "Mid+ h")
    with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY"):
        source.run(source.read().transform(answer(other)))
