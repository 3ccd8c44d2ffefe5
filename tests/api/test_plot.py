"""`ost.plot`: labels are those of the match, every kind of value is drawn, and no text becomes markup."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.pictures.drawings import aria_labels, marks, read_svg, texts

import ostinato as ost

TRADES = pa.table(
    {
        "symbol": ["ACME"] * 6 + ["BOLT"] * 4,
        "ts": [datetime(2024, 1, 1, 9, minute) for minute in (0, 1, 2, 3, 4, 5, 0, 1, 2, 3)],
        "volume": [5, 1, 1, 1, 1, 1, 5, 1, 1, 1],
        "price": [9.0, 8.0, 6.0, 7.0, 9.5, 9.0, 4.0, 3.0, 5.0, 6.0],
    }
)
V_SHAPE = (
    ost.pattern("TOP FALL+ RISE+")
    .partition_by("symbol")
    .order_by("ts")
    .define(FALL="price < PREV(price)", RISE="price > PREV(price)")
    .measures(bottom="LAST(FALL.price)")
)
TITLE = "2 matches in 2 keys between 2024-01-01 09:00:00 and 2024-01-01 09:04:00"


def one_key(x: pa.Array, y: pa.Array) -> pa.Table:
    return pa.table({"x": x, "y": y})


UP = "ORDER BY x MEASURES LAST(x) AS last PATTERN (A B+) DEFINE B AS y > PREV(y)"


# --- queries ----------------------------------------------------------------------------------------------------------


def test_rows_of_matches_have_the_labels_of_the_query() -> None:
    plot = ost.plot(V_SHAPE, TRADES)
    root = read_svg(plot.svg)
    assert plot.title == TITLE
    assert texts(root, "legend") == ["TOP", "FALL", "RISE"]
    assert marks(root)[:5] == [
        "TOP · 9 · 2024-01-01 09:00:00",
        "FALL · 8 · 2024-01-01 09:01:00",
        "FALL · 6 · 2024-01-01 09:02:00",
        "RISE · 7 · 2024-01-01 09:03:00",
        "RISE · 9.5 · 2024-01-01 09:04:00",
    ]
    assert aria_labels(root) == [
        TITLE,
        "ACME: 2024-01-01 09:00:00 to 09:04:00 · 5 rows",
        "BOLT: 2024-01-01 09:00:00 to 09:03:00 · 4 rows",
        "ACME, 1 match, 2024-01-01 09:00:00 to 09:04:00",
        "BOLT, 1 match, 2024-01-01 09:00:00 to 09:03:00",
    ]


def test_texts_and_parsed_clauses_are_queries_too() -> None:
    assert ost.plot(V_SHAPE.to_sql(), TRADES) == ost.plot(V_SHAPE.query, TRADES) == ost.plot(V_SHAPE, TRADES)
    select = f"SELECT * FROM trades MATCH_RECOGNIZE ({V_SHAPE.to_sql()})"
    assert ost.plot(select, TRADES) == ost.plot(V_SHAPE, TRADES)


def test_the_line_is_of_a_column_in_the_conditions() -> None:
    by_volume = V_SHAPE.define(TOP="volume > 2")
    assert marks(read_svg(ost.plot(by_volume, TRADES).svg))[0].startswith("TOP · 9 ")  # DEFINE names price first
    assert marks(read_svg(ost.plot(by_volume, TRADES, y="VOLUME").svg))[0].startswith("TOP · 5 ")


@pytest.mark.parametrize(
    "table",
    [TRADES.to_pandas(), TRADES.to_batches(), pa.RecordBatchReader.from_batches(TRADES.schema, TRADES.to_batches())],
    ids=lambda table: type(table).__name__,
)
def test_every_kind_of_table(table) -> None:
    assert ost.plot(V_SHAPE, table).title == TITLE


@pytest.mark.parametrize("module", ["polars", "duckdb"])
def test_other_libraries(module) -> None:
    library = pytest.importorskip(module)
    assert ost.plot(V_SHAPE, library.from_arrow(TRADES)).title == TITLE


def test_descending_order() -> None:
    table = pa.table({"x": [1, 2, 3], "y": [3.0, 2.0, 1.0]})
    plot = ost.plot(UP.replace("ORDER BY x", "ORDER BY x DESC"), table)
    assert plot.title == "1 match between 1 and 3"
    assert len(marks(read_svg(plot.svg))) == 3


def test_a_query_without_numbers_has_a_time_line_only() -> None:
    table = pa.table({"ts": TRADES["ts"][:3], "kind": ["A", "B", "B"]})
    query = "ORDER BY ts MEASURES LAST(ts) AS t PATTERN (A B+) DEFINE A AS kind = 'A', B AS kind = 'B'"
    root = read_svg(ost.plot(query, table).svg)
    assert aria_labels(root)[1:] == ["all rows, 1 match, 2024-01-01 09:00:00 to 09:02:00"]
    assert texts(root, "legend") == ["A", "B"]


@pytest.mark.parametrize("ending", ["COUNT(*)", "MATCHES"])
def test_event_queries_draw_their_matches(ending) -> None:
    rides = pa.table({"ts": [1, 2, 3, 4], "kind": list("RTTP"), "rider": ["a"] * 4, "km": [1.0, 2.0, 4.0, 8.0]})
    query = ost.events(f"PATTERN SEQ(R, T+, P) GROUP BY rider RETURN {ending}", type="kind", time="ts")
    plot = ost.plot(query, rides)
    assert plot.title == "a: 3 matches between 1 and 4"
    assert aria_labels(read_svg(plot.svg))[1:] == ["a, 3 matches, 1 to 4"]
    with_line = ost.plot(query, rides, y="km")
    assert "T · 4 · 3" in marks(read_svg(with_line.svg))
    assert ost.plot(f"TYPE kind TIME ts PATTERN SEQ(R, T+, P) GROUP BY rider RETURN {ending}", rides) == plot
    if ending == "MATCHES":
        found = ost.match(query, rides)
        assert ost.plot(found, x="ts") == ost.plot(found, rides, x="ts") == plot
        assert ost.plot(found, rides, x="ts", y="km") == with_line


def test_an_event_query_with_more_matches_than_are_drawn() -> None:
    rides = pa.table({"ts": range(30), "kind": ["R"] + ["T"] * 29})
    query = ost.events("PATTERN SEQ(R, T+) RETURN COUNT(*)", type="kind", time="ts")  # 2 ** 29 - 1 matches
    plot = ost.plot(query, rides, limit=50)
    assert plot.title.startswith("at least 50 matches")


# --- tables of matches ------------------------------------------------------------------------------------------------


def test_one_row_for_each_match() -> None:
    found = ost.match(V_SHAPE.measures(began="FIRST(ts)", ended="LAST(ts)"), TRADES)
    plot = ost.plot(found, TRADES, y="price")
    root = read_svg(plot.svg)
    assert plot.title == TITLE
    assert "ACME: 2024-01-01 09:00:00 to 09:04:00 · 5 rows" in aria_labels(root)
    assert texts(root, "legend") == []
    assert ost.plot(found).title == TITLE  # without rows: the time line
    assert aria_labels(read_svg(ost.plot(found).svg))[1:] == aria_labels(root)[-2:]


def test_start_and_end_by_type_or_by_name() -> None:
    by_type = ost.match(V_SHAPE.measures(a="FIRST(ts)", z="LAST(ts)"), TRADES)
    assert ost.plot(by_type, TRADES).title == TITLE
    whole = ost.match(V_SHAPE.measures(a="FIRST(volume)", z="LAST(volume)"), TRADES)
    assert ost.plot(whole, TRADES, x="volume", start="a", end="z").title == "2 matches in 2 keys between 1 and 5"


def test_a_row_for_each_row_of_a_match() -> None:
    labelled = V_SHAPE.measures(classifier="CLASSIFIER()", match_number="MATCH_NUMBER()").all_rows_per_match()
    found = ost.match(labelled, TRADES)
    assert ost.plot(found, TRADES, y="price") == ost.plot(V_SHAPE, TRADES)
    mixed = found.sort_by("ts")  # rows of the two matches in turn
    assert ost.plot(mixed, TRADES, y="price") == ost.plot(V_SHAPE, TRADES)
    other_names = found.rename_columns({"classifier": "c", "match_number": "no"})
    assert ost.plot(other_names, TRADES, y="price", labels="c", number="no") == ost.plot(V_SHAPE, TRADES)


@pytest.mark.parametrize(
    ("arguments", "options", "code"),
    [
        ((V_SHAPE,), {}, "NOT_A_TABLE"),
        ((V_SHAPE, [1, 2]), {}, "NOT_A_TABLE"),
        ((3, TRADES), {}, "NOT_A_TABLE"),
        ((V_SHAPE, TRADES), {"x": "nope"}, "UNKNOWN_COLUMN"),
        ((V_SHAPE, TRADES), {"y": "symbol"}, "PLOT_COLUMN"),
        ((V_SHAPE, TRADES), {"x": "symbol"}, "PLOT_COLUMN"),
        ((V_SHAPE, TRADES), {"y": 3}, "INVALID_OPTION"),
        ((V_SHAPE, TRADES), {"keys": 3}, "INVALID_OPTION"),
        ((V_SHAPE, TRADES), {"limit": 0}, "INVALID_OPTION"),
        ((V_SHAPE, TRADES), {"colour": "red"}, "INVALID_OPTION"),
        ((TRADES.select(["symbol"]), TRADES), {}, "PLOT_COLUMN"),
        ((TRADES.select(["symbol", "price"]), TRADES), {"x": "volume"}, "PLOT_COLUMN"),
        ((TRADES.select(["ts", "symbol"]), TRADES), {"labels": "symbol"}, "PLOT_COLUMN"),
        ((TRADES.select(["ts"]), TRADES), {"keys": "symbol"}, "UNKNOWN_COLUMN"),
        ((TRADES.select(["volume"]), TRADES), {"labels": "volume"}, "PLOT_COLUMN"),
        ((TRADES,), {"start": "ts", "end": "volume"}, "PLOT_COLUMN"),
    ],
)
def test_refused(arguments, options, code) -> None:
    with pytest.raises(ost.OstinatoError) as refused:
        ost.plot(*arguments, **options)
    assert refused.value.code == code


# --- all kinds of values ----------------------------------------------------------------------------------------------

TIMES = [datetime(2024, 1, 1) + timedelta(days=day) for day in range(5)]


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (pa.array([1, 2, 3, 4, 5]), "1 and 5"),
        (pa.array([-(2**63), 2, 3, 4, 2**63 - 1]), "-9.22337e+18 and 9.22337e+18"),
        (pa.array([0.5, 1.0, 1.5, 2.0, 2.5]), "0.5 and 2.5"),
        (
            pa.array([Decimal(f"1.{digit}0") for digit in range(1, 6)]),
            "1.1 and 1.5",
        ),
        (pa.array([date(2024, 1, day) for day in range(1, 6)]), "2024-01-01 and 2024-01-05"),
        (pa.array(TIMES), "2024-01-01 00:00:00 and 2024-01-05 00:00:00"),
        (pa.array([one.replace(tzinfo=UTC) for one in TIMES]), "2024-01-01 00:00:00 and 2024-01-05 00:00:00"),
        (pa.array(TIMES, pa.timestamp("ns", "Europe/Berlin")), "2024-01-01 00:00:00 and 2024-01-05 00:00:00"),
        (pa.array([0, 1, 2, 3, 4], pa.timestamp("us")), "1970-01-01 00:00:00 and 1970-01-01 00:00:00.000004"),
        (pa.array([1, 1, 1, 1, 1]), "1 and 1"),
    ],
)
def test_kinds_of_x(x, words) -> None:
    plot = ost.plot(UP, one_key(x, pa.array([1.0, 2.0, 3.0, 4.0, 5.0])))
    read_svg(plot.svg)
    assert plot.title == f"1 match between {words}"


@pytest.mark.parametrize(
    "y",
    [
        pa.array([1, 2, 3, 4, 5]),
        pa.array([1.0, None, float("nan"), float("inf"), 5.0]),
        pa.array([None, None, None, None, None], pa.float64()),
        pa.array([float("-inf"), float("nan"), 1.7e308, -1.7e308, None]),
        pa.array([1.0, 1.0 + 2e-16, 1.0 + 4e-16, 1.0 + 6e-16, 1.1]),
        pa.array([0.0, 5e-324, 1e-320, 1e-310, 1e-300]),
        pa.array([Decimal(f"1e{power}") for power in range(5)], pa.decimal128(38, 2)),
        pa.array([-1e15, 1e15, 1e16, 2e16, 3e16]),
        pa.array([1, 2, 3, 4, 5], pa.uint8()),
        pa.array([2**62, -(2**62), 0, 1, 2**53 + 1]),
    ],
)
def test_kinds_of_y(y) -> None:
    table = one_key(pa.array([1, 2, 3, 4, 5]), y)
    read_svg(ost.plot("ORDER BY x MEASURES LAST(x) AS last PATTERN (A B B) DEFINE B AS x > 0", table, y="y").svg)


VALUES = {
    pa.int64(): [None, -5, 3, 2**62, -(2**62), 2**53 + 1],
    pa.float64(): [None, float("nan"), float("inf"), 0.25, -1e300, 1e300, 1e-310],
    pa.timestamp("us"): [None, 0, 1, 10**15, 2**62, -(2**62)],
    pa.timestamp("us", "UTC"): [None, 0, 10**7, 10**15],
    pa.date32(): [None, 0, 1, 30, 2_900_000, -700_000],
    pa.decimal128(38, 4): [None, Decimal("0.01"), Decimal(10**20), Decimal(-(10**20))],
}


@pytest.mark.parametrize("kind", VALUES, ids=str)
def test_random_tables(kind) -> None:
    rng = random.Random(7)
    query = "PARTITION BY k ORDER BY x MEASURES LAST(x) AS z PATTERN (A B*) DEFINE B AS PREV(y) IS NULL OR y > 0"
    for _ in range(60):
        rows = rng.choice([0, 1, 2, 3, 8, 40])
        y = rng.choice([pa.int64(), pa.float64(), pa.decimal128(38, 4)])
        table = pa.table(
            {
                "k": pa.array(rng.choices(["a", "<b>", None], k=rows), pa.string()),
                "x": pa.array(rng.choices(VALUES[kind], k=rows), kind),
                "y": pa.array(rng.choices(VALUES[y], k=rows), y),
            }
        )
        spans = pa.table(
            {"k": table["k"], "start": table["x"], "end": pa.array(rng.choices(VALUES[kind], k=rows), kind)}
        )
        numbers = pa.array(rng.choices(range(4), k=rows), pa.int64())
        labels = pa.array(rng.choices("ABC", k=rows), pa.string())
        labelled = table.append_column("match_number", numbers).append_column("label", labels)
        for plot in (
            ost.plot(query, table, y="y"),
            ost.plot(spans),
            ost.plot(spans, table, x="x", y="y"),
            ost.plot(labelled, x="x", y="y"),
            ost.plot(labelled, table, x="x", y="y", keys=()),
        ):
            read_svg(plot.svg)


def test_a_missing_value_is_a_gap() -> None:
    table = one_key(pa.array([1, 2, 3, 4]), pa.array([1.0, None, 3.0, 4.0]))
    query = "ORDER BY x MEASURES LAST(x) AS last PATTERN (A B B B) DEFINE B AS x > 0"
    root = read_svg(ost.plot(query, table, y="y").svg)
    assert marks(root)[1] == "B · no value · 2"
    paths = [node.attrib["d"] for node in root.iter() if node.tag.endswith("}path")]
    assert paths[0].count("M") == 2


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows(rows) -> None:
    table = TRADES.slice(0, rows)
    assert ost.plot(V_SHAPE, table).title == "no matches"
    single = ost.plot("ORDER BY ts MEASURES LAST(ts) AS t PATTERN (A) DEFINE A AS price > 0", table)
    assert single.title.startswith("no matches" if rows == 0 else f"{rows} match")
    read_svg(single.svg)
    empty = ost.match(V_SHAPE.measures(began="FIRST(ts)", ended="LAST(ts)"), table)
    read_svg(ost.plot(empty, table).svg)
    read_svg(ost.plot(empty).svg)


def test_null_and_nan_keys_and_ties() -> None:
    nan = float("nan")
    keys = [None, None, nan, nan, 1.0, 1.0]
    table = pa.table({"k": keys, "x": [1] * 6, "y": [1.0, 2.0] * 3})
    plot = ost.plot(f"PARTITION BY k {UP}", table)
    labels = aria_labels(read_svg(plot.svg))
    assert plot.title.startswith("3 matches in 3 keys")
    assert {label for label in labels if "rows" in label} == {f"{key}: 1 · 2 rows" for key in ("NULL", "nan", "1.0")}
    assert len(labels) == 1 + 3 + 3


def test_nested_and_several_keys() -> None:
    table = pa.table({"k": [[1], [1], [2], [2]], "l": ["a"] * 4, "x": [1, 2, 1, 2], "y": [1.0, 2.0, 1.0, 2.0]})
    found = pa.table({"k": [[1], [2]], "l": ["a", "a"], "start": [1, 1], "end": [2, 2]})
    plot = ost.plot(found, table, x="x", keys=["k", "l"])
    assert "[2], a: 1 to 2 · 2 rows" in aria_labels(read_svg(plot.svg))


def test_no_text_becomes_markup() -> None:
    text = "<script>alert(1)</script>\"'&]]>\x01"
    table = pa.table({text: [text] * 3, "t<x": [1, 2, 3], 'y"&': [1.0, 2.0, 3.0]})
    found = pa.table({text: [text], "match_number": [1], "label": [text], "t<x": [2], 'y"&': [2.0]})
    plot = ost.plot(found, table, x="t<x", y='y"&', keys=text)
    root = read_svg(plot.svg)
    assert "<script" not in plot.svg + plot.html
    assert "]]>" not in plot.svg
    assert texts(root, "title")[0].startswith("<script>alert(1)</script>")
    assert "<script" in plot.title


def test_long_keys_and_labels_are_cut() -> None:
    table = pa.table({"k": ["x" * 10_000] * 2, "x": [1, 2], "y": [1.0, 2.0]})
    plot = ost.plot(f"PARTITION BY k {UP}", table)
    assert len(plot.title) < 120
    assert max(len(words) for words in texts(read_svg(plot.svg))) < 120


def test_a_million_rows_are_thinned() -> None:
    rows = 1_000_000
    y = np.sin(np.arange(rows) / 1e5)
    table = pa.table({"k": np.repeat(["a", "b"], rows // 2), "x": np.tile(np.arange(rows // 2), 2), "y": y})
    plot = ost.plot(f"PARTITION BY k {UP}", table)
    root = read_svg(plot.svg)
    assert len(plot.svg) < 400_000
    assert len(aria_labels(root)) > 3


def test_many_keys_and_matches_say_what_is_left_out() -> None:
    keys = 3_000
    table = pa.table({"k": np.repeat(np.arange(keys), 2), "x": np.tile([1, 2], keys), "y": np.tile([1.0, 2.0], keys)})
    plot = ost.plot(f"PARTITION BY k {UP}", table)
    words = texts(read_svg(plot.svg))
    assert plot.title.startswith("1,000 of 3,000 matches in 1,000 keys")
    assert words[1] == "Only the first 12 keys have a line of their own."
    few = ost.plot(f"PARTITION BY k {UP}", table, limit=4)
    assert few.title.startswith("4 of 3,000 matches in 4 keys")
    assert [label for label in aria_labels(read_svg(few.svg)) if "drawn" in label] == [
        f"{key}, 1 drawn, 1 to 2" for key in (0, 999, 1999, 2999)
    ]


def test_many_variables_have_a_legend() -> None:
    names = [f"V{number}" for number in range(30)]
    table = pa.table({"x": range(30), "y": [float(number) for number in range(30)]})
    query = f"ORDER BY x MEASURES LAST(x) AS last PATTERN ({' '.join(names)}) DEFINE V0 AS y >= 0"
    assert texts(read_svg(ost.plot(query, table).svg), "legend") == names


# --- the object -------------------------------------------------------------------------------------------------------


def test_files(tmp_path) -> None:
    plot = ost.plot(V_SHAPE, TRADES)
    plot.save(tmp_path / "plot.svg")
    plot.save(str(tmp_path / "plot.html"))
    assert (tmp_path / "plot.svg").read_text(encoding="utf-8") == plot.svg
    page = (tmp_path / "plot.html").read_text(encoding="utf-8")
    assert page == plot.html
    assert plot.svg in page
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")  # it loads nothing
    for path, code in (("plot.png", "UNKNOWN_FORMAT"), ("no/such/folder/plot.svg", "OUTPUT_FOLDER_MISSING")):
        with pytest.raises(ost.QueryError, match=code):
            plot.save(tmp_path / path)
    with pytest.raises(ost.QueryError, match="INVALID_OPTION"):
        plot.save(3)


def test_it_shows_itself() -> None:
    plot = ost.plot(V_SHAPE, TRADES)
    assert repr(plot) == f"Plot({TITLE!r})"
    assert plot._repr_html_() == f'<div style="overflow-x:auto">{plot.svg}</div>'


def test_pandas_with_categories_and_objects() -> None:
    frame = pd.DataFrame(TRADES.to_pandas()).astype({"symbol": "category"})
    assert ost.plot(V_SHAPE, frame).title == TITLE
