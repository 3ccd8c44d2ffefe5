"""A stream's rows and those of `ost.finish_stream` are the rows of a batch without late rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from tests.spark.streams.spark_streams import START, Source, letters, matching, pieces, rows, seconds, trades

import ostinato as ost

# --- the promise ------------------------------------------------------------------------------------------------------

CLAUSES = {
    "one row": """
        PARTITION BY symbol ORDER BY ts
        MEASURES FIRST(ts) AS began, LAST(ts) AS ended, count(*) AS n
        PATTERN (TOP FALL+ RISE+) WITHIN INTERVAL '40' SECOND
        DEFINE FALL AS price < PREV(price), RISE AS price > PREV(price)""",
    "a greedy tail, NEXT and a number": """
        PARTITION BY symbol ORDER BY ts, id
        MEASURES MATCH_NUMBER() AS number, FIRST(id) AS f, LAST(id) AS l, NEXT(LAST(id)) AS after
        PATTERN (A B*) DEFINE A AS price > 2, B AS price >= PREV(price)""",
    "all rows with unmatched ones": """
        PARTITION BY symbol ORDER BY ts, id
        MEASURES CLASSIFIER() AS label, RUNNING count(U.price) AS n
        ALL ROWS PER MATCH WITH UNMATCHED ROWS
        PATTERN ((A | B) C) WITHIN INTERVAL '20' SECOND SUBSET U = (A, B)
        DEFINE A AS price > 4, B AS price < 2, C AS price = 3""",
    "skip to the next row, over the run, with expressions as keys": """
        PARTITION BY lower(symbol) ORDER BY ts, id + 1
        MEASURES FIRST(id) AS f, LAST(id) AS l
        AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A B+ C) WITHIN INTERVAL '30' SECOND DEFINE B AS price < A.price, C AS price > A.price""",
    "timeouts": """
        PARTITION BY symbol ORDER BY ts, id
        MEASURES FIRST(id) AS f, LAST(id) AS l, count(B.id) AS n, B.price AS p
        ONE ROW PER MATCH SHOW TIMEOUT MATCHES
        PATTERN (A B{2}) WITHIN INTERVAL '6' SECOND DEFINE A AS price = 5, B AS price < 4""",
    "all matches without keys": """
        ORDER BY ts, id
        MEASURES FIRST(id) AS f, LAST(id) AS l
        ALL MATCHES PATTERN (A B C) DEFINE A AS price < 3, B AS price > 3, C AS price < 3""",
}

WITH_IDS = [
    CLAUSES[name] for name in ("one row", "all rows with unmatched ones", "timeouts", "all matches without keys")
]


@pytest.mark.parametrize("clause", CLAUSES.values(), ids=CLAUSES)
def test_stream_and_finish_are_batch(source: Source, clause: str) -> None:
    table = trades()
    options = {"match_id": "found", "run_id": "run"} if clause in WITH_IDS else {}
    source.add(*pieces(table, 200, 400))
    result = source.run(source.read().transform(matching(clause, **options)))
    rest = source.finish()
    assert rest.schema.names == result.schema.names
    assert rows(result, rest) == rows(ost.match(clause, table, **options))
    assert result.num_rows > 10


def test_rows_in_any_order_wait_for_the_watermark(source: Source) -> None:
    """No row is older than the delay of the watermark, so no row is late in any order."""
    table = trades()
    jittered = np.argsort(np.arange(table.num_rows) + np.random.default_rng(3).integers(0, 100, table.num_rows))
    source.add(*pieces(table.take(pa.array(jittered)), 200, 400))
    clause = CLAUSES["all rows with unmatched ones"]
    result = source.run(source.read("60 seconds").transform(matching(clause)))
    assert source.count("late_rows") == 0
    assert rows(result, source.finish()) == rows(ost.match(clause, table))


def test_the_match_of_an_idle_key_is_emitted(source: Source) -> None:
    """Only other buckets get rows. A timer releases waiting rows, and WITHIN ends open partial matches."""
    quiet = pa.table({"symbol": ["Q"] * 3, "ts": seconds(0, 1, 2), "price": [5.0, 3.0, 4.0], "id": [0, 1, 2]})
    others = [
        pa.table({"symbol": list("ABCDEF"), "ts": seconds(*[at] * 6), "price": [1.0] * 6, "id": range(6)})
        for at in (10, 30, 50)
    ]
    source.add(quiet, *others)
    answer = source.read().transform(matching(CLAUSES["one row"], buckets=64))
    assert source.run(answer).to_pylist() == [{"symbol": "Q", "began": START, "ended": seconds(2)[0].as_py(), "n": 3}]


# --- late rows --------------------------------------------------------------------------------------------------------


def with_late_rows() -> tuple[list[pa.Table], pa.Table]:
    """Files, and all rows that aren't late. The last file begins with very old rows, and one without a time."""
    table = trades(symbols=3)
    late = pa.table({"symbol": ["A", "A", "B"], "ts": [*seconds(1, 2), None], "price": [2.0] * 3, "id": [-1, -2, -3]})
    first, second, third = pieces(table, 200, 400)
    return [first, second, pa.concat_tables([late.cast(table.schema), third])], table


def test_late_rows_are_counted_and_dropped(source: Source) -> None:
    files, in_time = with_late_rows()
    clause = CLAUSES["all rows with unmatched ones"]
    result = source.add(*files).run(source.read().transform(matching(clause, buckets=1)))
    assert (source.count("rows"), source.count("late_rows")) == (603, 3)
    assert rows(result, source.finish()) == rows(ost.match(clause, in_time))


def test_late_rows_can_be_shown(source: Source) -> None:
    files, in_time = with_late_rows()
    clause = CLAUSES["all rows with unmatched ones"].replace("AS label", "AS label, coalesce(LAST(id), 0) AS last_id")
    result = source.add(*files).run(source.read().transform(matching(clause, buckets=1, late="show")))
    late = result.filter(pc.field("late"))
    assert sorted(late.column("id").to_pylist()) == [-3, -2, -1]
    assert set(late.column("label").to_pylist() + late.column("last_id").to_pylist()) == {None}
    others = pa.concat_tables([result, source.finish()]).filter(~pc.field("late")).drop_columns("late")
    assert rows(others) == rows(ost.match(clause, in_time))


# --- silent keys ------------------------------------------------------------------------------------------------------


def test_silent_keys_are_forgotten(source: Source) -> None:
    """Key 1 has b after a, is silent for two minutes, and begins anew. z moves the watermark, and timers fire."""
    clause = """PARTITION BY k ORDER BY ts MEASURES MATCH_NUMBER() AS n, PREV(FIRST(x)) AS p PATTERN (B)
        DEFINE B AS x = 'b' """
    source.add(pa.concat_tables([letters("1", "ab", 0), letters("2", "ab", 0)]), letters("z", "z", 30))
    source.add(letters("z", "z", 85), letters("1", "bb", 122), letters("z", "z", 140), letters("z", "z", 199))
    answer = source.read().transform(matching(clause, forget_keys_after="1 minute"))
    result = source.run(answer)
    assert rows(result) == rows(pa.table({"k": ["1", "1", "1", "2"], "n": [1, 1, 2, 1], "p": ["a", None, "b", "a"]}))
    assert source.count("forgotten_keys") == 3  # 1 twice, and 2
    assert (source.count("kept_for_prev_change"), source.count("waiting_rows_change")) == (1, 1)  # of z
    assert source.finish().num_rows == 0


# --- eager ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [None, "5 seconds"], ids=["without a watermark", "with one"])
def test_eager_streams_match_rows_on_arrival(source: Source, delay: str | None) -> None:
    """No row waits for the watermark. The matches of the last file are emitted in its own batch."""
    table = trades()
    clause = CLAUSES["skip to the next row, over the run, with expressions as keys"]
    result = source.add(*pieces(table, 200, 400)).run(source.read(delay).transform(matching(clause, eager=True)))
    rest = source.finish()
    assert rows(result, rest) == rows(ost.match(clause, table))
    decided_by_rows = ost.match(clause, table.slice(0, 590))
    assert result.num_rows >= decided_by_rows.num_rows


# --- types and names --------------------------------------------------------------------------------------------------


def test_odd_names_and_nullable_types_survive(source: Source) -> None:
    table = pa.table(
        {
            "my key": pa.array([None, 1 << 60, (1 << 60) + 1, None], pa.int64()),
            "ts": seconds(1, 2, 3, 4),
            "class": pa.array([[1, None], None, [], [2]], pa.list_(pa.int32())),
            "d.e": pa.array([None, "1.10", "2.25", "3.50"]).cast(pa.decimal128(9, 2)),
        }
    )
    clause = "PARTITION BY `my key` ORDER BY ts ALL ROWS PER MATCH PATTERN (A) DEFINE A AS TRUE"
    source.add(table, table.slice(0, 0))
    result = source.run(source.read("0 seconds").transform(matching(clause)))
    assert rows(result, source.finish()) == rows(ost.match(clause, table))


def test_a_clause_inside_sql_over_a_stream(source: Source) -> None:
    source.add(*pieces(trades(), 300))
    text = f"SELECT symbol, n * 2 AS twice FROM trades MATCH_RECOGNIZE ({CLAUSES['one row']}) AS m WHERE n > 3"
    answer = ost.sql(text, trades=source.read(), buckets=4)
    assert answer.isStreaming
    result = source.run(answer)
    rest = [row for row in source.finish().to_pylist() if row["n"] > 3]
    expected = [row for row in ost.match(CLAUSES["one row"], trades()).to_pylist() if row["n"] > 3]
    actual = [(row["symbol"], row["twice"]) for row in result.to_pylist()] + [(r["symbol"], 2 * r["n"]) for r in rest]
    assert sorted(actual, key=repr) == sorted(((row["symbol"], 2 * row["n"]) for row in expected), key=repr)
