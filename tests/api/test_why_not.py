"""`ost.why_not`: queries and tables of every kind, its texts and tables, and what it refuses by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pyarrow as pa
import pytest

import ostinato as ost

TRADES = pa.table(
    {
        "symbol": ["ACME"] * 6 + ["OTHER"],
        "minute": [1, 2, 3, 4, 5, 6, 1],
        "price": [9.0, 8.0, 6.0, 7.0, 8.5, 8.0, 1.0],
        "volume": [500, 40, 20, 30, 60, 300, 1],
    }
)
BODY = """MEASURES TOP.minute AS began
    PATTERN (TOP FALL+ RISE* BACK)
    DEFINE TOP AS volume > 100, FALL AS price < PREV(price), RISE AS price > PREV(price),
        BACK AS price > PREV(price) AND price >= TOP.price"""
CLAUSE = f"PARTITION BY symbol ORDER BY minute {BODY}"
TEXT = """\
symbol = 'ACME': of 6 start rows, 0 start a match, 6 start none

row 0 (minute = 1): 5 rows as TOP FALL{2} RISE{2}, then row 5 (minute = 6) is refused
  RISE: price > PREV(price) is FALSE: price = 8.0, PREV(price) = 8.5
  BACK: price > PREV(price) AND price >= TOP.price
    price > PREV(price) is FALSE: price = 8.0, PREV(price) = 8.5
    price >= TOP.price is FALSE: price = 8.0, TOP.price = 9.0
  a match needs at least 1 more row

row 5 (minute = 6): 1 row as TOP, then the rows end
  no row is left for FALL
  a match needs at least 2 more rows

… 4 more starts without a match; 4 in total are refused at the start row"""
FORMS: list[Callable[[], Any]] = [
    lambda: CLAUSE,
    lambda: f"MATCH_RECOGNIZE ({CLAUSE})",
    lambda: f"SELECT began FROM trades MATCH_RECOGNIZE ({CLAUSE})",
    lambda: ost.match_recognize(CLAUSE),
    lambda: ost.match_recognize(BODY, keys="symbol", time="minute"),
]
PICTURE = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("form", FORMS, ids=range(len(FORMS)))
def test_a_clause_in_every_form(form: Callable[[], Any]) -> None:
    assert str(ost.why_not(form(), TRADES, key="ACME")) == TEXT


def test_keys_and_time_of_the_call() -> None:
    assert ost.why_not(BODY, TRADES, keys="symbol", time="minute", key="ACME").text == TEXT


def test_a_built_pattern_is_shown_as_a_user_would_write_it() -> None:
    built = (
        ost.pattern("TOP FALL+ RISE* BACK")
        .partition_by("symbol")
        .order_by("minute")
        .define(
            TOP="volume > 100",
            FALL="price < PREV(price)",
            RISE="price > PREV(price)",
            BACK="price > PREV(price) AND price >= TOP.price",
        )
        .measures(began="TOP.minute")
    )
    assert ost.why_not(built, TRADES, key="ACME").text == TEXT


@pytest.mark.parametrize("table", [TRADES.to_pandas(), pl.from_arrow(TRADES), TRADES.to_batches()], ids=type)
def test_tables_of_every_kind(table: Any) -> None:
    assert ost.why_not(CLAUSE, table, key={"symbol": "ACME"}).text == TEXT


def test_the_summary_is_the_best_attempt() -> None:
    found = ost.why_not(CLAUSE, TRADES, key="ACME")
    assert found.summary.splitlines() == [TEXT.splitlines()[0], *TEXT.splitlines()[2:8]]
    assert len(repr(found).splitlines()) == 1


def test_starts_that_match_are_listed_if_asked_for() -> None:
    found = ost.why_not(
        "ORDER BY n MEASURES 1 AS m PATTERN (A B) DEFINE B AS n = 1", pa.table({"n": [0, 1]}), rows=[0, 1]
    )
    assert found.text.splitlines() == [
        "of 2 start rows, 1 starts a match, 1 lies inside a match, 0 start none",
        "row 0 (n = 0): match 1 starts here",
        "row 1 (n = 1): it lies inside match 1",
    ]
    assert found.starts.to_pylist() == [
        {"start": 0, "n": 0, "outcome": "matched", "match": 1, "rows": 2, "most_rows": 2, "complete": True},
        {"start": 1, "n": 1, "outcome": "inside a match", "match": 1, "rows": 0, "most_rows": 0, "complete": True},
    ]


def test_the_table_has_a_row_for_each_part() -> None:
    rows = ost.why_not(CLAUSE, TRADES, key="ACME", rows=[0, 5]).table.to_pylist()
    assert [(row["start"], row["refused_row"], row["variable"], row["reason"], row["part"]) for row in rows] == [
        (0, 5, "RISE", "condition", "price > PREV(price)"),
        (0, 5, "BACK", "condition", "price > PREV(price)"),
        (0, 5, "BACK", "condition", "price >= TOP.price"),
        (5, None, "FALL", "end of rows", None),
    ]
    assert rows[2]["values"] == [("price", "8.0"), ("TOP.price", "9.0")]
    assert (rows[2]["verdict"], rows[2]["path"], rows[2]["missing"]) == ("FALSE", "TOP FALL{2} RISE{2}", 1)


def test_a_near_miss_is_told_where_the_rows_end() -> None:
    found = ost.why_not(CLAUSE, TRADES.slice(0, 5))
    assert "  no row is left for RISE or BACK\n  nearest miss, at row 4 (minute = 5):\n    BACK: " in found.text
    assert found.table.filter(found.table.column("near_miss")).column("refused_row").to_pylist() == [4]


def test_the_picture_shows_texts_and_nothing_of_them_is_markup() -> None:
    hostile = pa.table({"k": ["<b>\x1b[31m"], "n": [1], "s": ["</svg><script>alert(1)</script>"]})
    found = ost.why_not("PARTITION BY k ORDER BY n MEASURES 1 AS m PATTERN (A) DEFINE A AS s = '<&>'", hostile)
    for svg in (found.svg, ost.why_not(CLAUSE, TRADES, key="ACME").svg):
        root = ElementTree.fromstring(svg)
        assert not list(root.iter(PICTURE + "script"))
    assert "<script" not in found._repr_html_()
    assert "\x1b" not in found.text + found.svg + found._repr_html_()
    words = [node.text or "" for node in ElementTree.fromstring(ost.why_not(CLAUSE, TRADES, key="ACME").svg).iter()]
    assert {"TOP", "FALL{2}", "RISE{2}", "row 5"} <= set(words)


def test_the_search_says_when_it_stopped() -> None:
    table = pa.table({"n": range(12)})
    clause = "ORDER BY n MEASURES 1 AS m PATTERN (A+ B+ A+ C) DEFINE C AS n > 100 + FIRST(n)"
    found = ost.why_not(clause, table, max_trials=50, rows=0)
    assert (found.complete, found.trials) == (False, 50)
    assert found.text.endswith(
        "The search stopped after 50 trials: 1 start may come further, to at most 12 rows. "
        "A higher max_trials= searches more."
    )
    assert ost.why_not(clause, table, max_trials=10_000, rows=0).complete


def test_starts_that_were_not_searched_are_not_called_refused() -> None:
    clause = "ORDER BY n MEASURES 1 AS m PATTERN (A+ C) DEFINE C AS n > 100 + FIRST(n)"
    found = ost.why_not(clause, pa.table({"n": range(40)}), max_trials=1, max_attempts=1)
    assert found.starts.column("rows").to_pylist() == [1] * 30 + [0] * 10
    assert "\n… 39 more starts without a match\n" in found.text
    unsearched = ost.why_not(clause, pa.table({"n": range(40)}), max_trials=1, max_attempts=40).attempts[-1]
    assert (unsearched.rows, unsearched.complete, unsearched.refusals) == (0, False, ())


def test_an_empty_table() -> None:
    found = ost.why_not("ORDER BY n MEASURES 1 AS m PATTERN (A)", pa.table({"n": pa.array([], pa.int64())}))
    assert (found.attempts, found.starts.num_rows, found.complete) == ((), 0, True)


# --- funnels ----------------------------------------------------------------------------------------------------------


def funnel(**options: Any) -> Any:
    return ost.funnel(["view", "cart", "pay"], keys="user", type="event", time="at", **options)


def clicks(*events: str) -> pa.Table:
    at = [datetime(2024, 1, 1, 12, minute) for minute in range(len(events))]
    return pa.table({"user": [7] * len(events), "at": at, "event": events})


@pytest.mark.parametrize(
    ("events", "options", "lines"),
    [
        (
            ("view", "look", "cart", "look"),
            {},
            [
                "4 rows as view -> cart (step 2 of 3) and 2 other events, then the rows end",
                "no row is left for step 3 'pay'",
            ],
        ),
        (
            ("view", "cart", "pay"),
            {"within": "1 minute"},
            [
                "2 rows as view -> cart (step 2 of 3), then row 2 (at = 2024-01-01 12:02:00) is refused",
                "WITHIN has passed by 0:01:00, before step 3 'pay'",
            ],
        ),
        (
            ("view", "look", "cart"),
            {"mode": "strict_order"},
            [
                "1 row as view (step 1 of 3), then row 1 (at = 2024-01-01 12:01:00) is refused",
                "step 2 'cart': event = 'cart' is FALSE: event = 'look'",
            ],
        ),
        (
            ("view", "view", "look"),
            {},
            ["2 rows as view (step 1 of 3) and 1 other event, then the rows end", "no row is left for step 2 'cart'"],
        ),
    ],
)
def test_a_funnel_speaks_in_its_steps(events: tuple[str, ...], options: dict[str, str], lines: list[str]) -> None:
    told = [line.strip() for line in ost.why_not(funnel(**options), clicks(*events)).summary.splitlines()]
    assert [line.partition("): ")[2] or line for line in told[1:3]] == lines


@pytest.mark.parametrize("mode", ["any", "strict_order", "strict_increase"])
@pytest.mark.parametrize("within", [None, "3 minutes"])
@pytest.mark.parametrize("events", ["vcp", "vlcp", "vvcp", "vclp", "vc", "vlllcp", "vpcl", "lvcvp", "vcvcp"])
def test_a_key_whose_funnel_completes_has_a_match(events: str, mode: str, within: str | None) -> None:
    names = {"v": "view", "c": "cart", "p": "pay", "l": "look"}
    query, table = funnel(mode=mode, within=within), clicks(*(names[letter] for letter in events))
    (row,) = ost.match(query, table).to_pylist()
    outcomes = ost.why_not(query, table).starts.column("outcome").to_pylist()
    assert ("matched" in outcomes) == row["completed"]


def test_a_funnel_over_a_table_without_a_time() -> None:
    with pytest.raises(ost.QueryError, match="INVALID_TIME"):
        ost.why_not(funnel(), pa.table({"user": [1], "at": [1], "event": ["view"]}))


# --- refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("PATTERN SEQ(view, cart) RETURN COUNT(*) AS n", "an event query"),
        (ost.events("PATTERN SEQ(view, cart) RETURN COUNT(*) AS n"), "an event query"),
        (ost.Workload([CLAUSE]), "a workload"),
        (ost.summary("a b", type="symbol", time="minute", within=5, size=3), "a summary of a stream"),
        (ost.paths("r", start="a"), "a path query"),
        (
            ost.correlate(
                "SELECT correlation_start "
                "FROM t MATCH_RECOGNIZE (ORDER BY minute MEASURES A.price AS p PATTERN (A)) AS live "
                "JOIN t MATCH_RECOGNIZE (ORDER BY minute MEASURES A.price AS p PATTERN (A)) AS archive "
                "ON RECENT(archive, live, 5)"
            ),
            "a correlation",
        ),
    ],
)
def test_other_kinds_of_queries_are_refused_by_name(query: Any, words: str) -> None:
    with pytest.raises(ost.QueryError, match=f"and this is {words}\n") as caught:
        ost.why_not(query, TRADES)
    assert caught.value.code == "WHY_NOT_UNSUPPORTED"
    assert caught.value.hint


def test_numbers_of_timeouts_are_refused() -> None:
    clause = (
        "ORDER BY at MEASURES 1 AS m ONE ROW PER MATCH SHOW TIMEOUT MATCHES PATTERN (A B) WITHIN INTERVAL '1' MINUTE "
        "DEFINE B AS {}"
    )
    table = clicks("a", "b")
    with pytest.raises(ost.QueryError, match="SHOW TIMEOUT MATCHES"):
        ost.why_not(clause.format("MATCH_NUMBER() = 2"), table)
    assert ost.why_not(clause.format("event = 'c'"), table).attempts


def test_a_spark_dataframe_is_refused_with_the_way_out() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})()
    with pytest.raises(ost.QueryError, match=r"toArrow\(\)"):
        ost.why_not(CLAUSE, frame)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"max_attempts": 0}, "INVALID_OPTION"),
        ({"max_trials": "many"}, "INVALID_OPTION"),
        ({"timezone": "Nowhere"}, "INVALID_OPTION"),
        ({"rows": 9}, "INVALID_OPTION"),
        ({"deadline": "soon"}, "INVALID_BOUND"),
        ({"key": "NONE"}, "KEY_NOT_FOUND"),
    ],
)
def test_wrong_options(options: dict[str, Any], code: str) -> None:
    with pytest.raises(ost.OstinatoError) as caught:
        ost.why_not(CLAUSE, TRADES, **{"key": "ACME", **options})
    assert caught.value.code == code


def test_options_of_spark_are_refused() -> None:
    with pytest.raises(ost.QueryError, match="are for Spark"):
        ost.why_not(ost.match_recognize(CLAUSE, skew="slice"), TRADES, key="ACME")


def test_rows_can_not_be_left_out() -> None:
    with pytest.raises(ost.QueryError, match="WHY_NOT_UNSUPPORTED"):
        ost.why_not(ost.match_recognize(CLAUSE, on_error="skip"), TRADES, key="ACME")


def test_a_wrong_clause_shows_its_place() -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.why_not(CLAUSE.replace("volume", "volum"), TRADES, key="ACME")
    assert caught.value.code == "UNKNOWN_COLUMN"
    assert "^" in str(caught.value)
