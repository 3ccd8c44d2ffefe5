"""The same words for every kind of query: `ost.match`, `ost.explain`, `run`, and tables of every kind."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ostinato as ost

CLICKS = pa.table(
    {
        "user": ["u", "u", "v", "u", "v"],
        "ts": [1, 2, 3, 4, 5],
        "page": ["home", "cart", "home", "pay", "cart"],
        "n": [1, None, 3, 2**60 + 1, 5],
        "at": [datetime(2024, 1, 1, 12, minute) for minute in range(5)],
    }
)
TRIPLES = pa.table({"head": ["a", "b"], "relation": ["r", "r"], "tail": ["b", "c"]})
CLAUSE = "MEASURES LAST(n) AS n PATTERN (H X* P) DEFINE H AS page = 'home', P AS page = 'pay'"
EVENTS = "PATTERN SEQ(home, pay) RETURN COUNT(*) AS found"
CORRELATION = """
SELECT correlation_start, correlation_end
FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES P.n AS n PATTERN (P) DEFINE P AS page = 'pay') AS live
JOIN t MATCH_RECOGNIZE (
    ORDER BY ts MEASURES H.n AS n AFTER MATCH SKIP TO NEXT ROW PATTERN (H) DEFINE H AS page = 'home') AS archive
ON RECENT(archive, live, 3)"""


def clause() -> ost.Query:
    return ost.match_recognize(CLAUSE, keys="user", time="ts")


def built() -> ost.Query:
    calls = ost.pattern("H X* P").partition_by("user").order_by("ts").measures(n="LAST(n)")
    return calls.define(H="page = 'home'", P="page = 'pay'")


def event_query() -> ost.Query:
    return ost.events(EVENTS, type="page", time="ts", keys="user")


def built_events() -> ost.Query:
    return ost.event_seq("home", "pay").type("page").time("ts").group_by("user").returns("user", found="COUNT(*)")


def workload() -> ost.Workload:
    return ost.Workload([CLAUSE, EVENTS], type="page", time="ts", keys="user")


def correlation() -> ost.CorrelationQuery:
    return ost.correlate(CORRELATION)


def summary() -> ost.StreamSummary:
    return ost.summary(
        "home pay",
        type="page",
        time="ts",
        keys="user",
        within=9,
        size=5,
        event_types=ost.EventTypes(declared=("home", "pay", "cart")),
    )


def funnel() -> ost.FunnelQuery:
    return ost.funnel(["home", "pay"], keys="user", type="page", time="at", within="1 hour")


def paths() -> ost.PathsQuery:
    return ost.paths("r / r", start="a")


QUERIES: list[Callable[[], Any]] = [
    *(clause, built, event_query, built_events, workload, correlation, summary, funnel, paths),
]
WITH_REPORT: list[Callable[[], Any]] = [workload, correlation, summary, funnel, paths]
by_name = pytest.mark.parametrize("make", QUERIES, ids=lambda make: make.__name__)
by_name_with_report = pytest.mark.parametrize("make", WITH_REPORT, ids=lambda make: make.__name__)


def table_of(query: ost.Query) -> pa.Table:
    return TRIPLES if isinstance(query, ost.PathsQuery) else CLICKS


# --- one object model -------------------------------------------------------------------------------------------------


@by_name
def test_every_kind_is_matched_and_explained(make: Callable[[], Any]) -> None:
    query = make()
    assert isinstance(query, ost.Query)
    assert ost.match(query, table_of(query)).num_rows > 0
    explanation = ost.explain(query)
    assert explanation.text.count("\n") > 3
    assert explanation.svg.startswith("<svg")
    assert ost.explain(query, table_of(query)).text


@by_name
def test_every_kind_has_a_short_repr(make: Callable[[], Any]) -> None:
    lines = repr(make()).splitlines()
    assert len(lines) == 1 and len(lines[0]) <= 310  # three lines of a terminal


@by_name_with_report
def test_a_result_has_table_report_and_explanation(make: Callable[[], Any]) -> None:
    query = make()
    result = query.run(table_of(query))
    assert isinstance(result, ost.Result)
    assert result.table == ost.match(query, table_of(query))
    assert isinstance(result.report, ost.RunReport)
    assert str(result.report)
    assert isinstance(result.report.table, pa.Table)
    assert result.explain().text == ost.explain(result).text
    assert len(repr(result).splitlines()) == 1


@by_name
def test_every_kind_is_drawn(make: Callable[[], Any]) -> None:
    query = make()
    drawn = ost.plot(query, table_of(query))
    assert drawn.svg.startswith("<svg") and len(repr(drawn)) < 120
    if hasattr(query, "run"):
        result = query.run(table_of(query))
        assert result.plot() == ost.plot(result) == drawn


@by_name
def test_notebooks_show_queries_and_results(make: Callable[[], Any]) -> None:
    query = make()
    shown = [query, ost.explain(query)]
    if hasattr(query, "run"):
        result = query.run(table_of(query))
        shown += [result, result.report]
    for each in shown:
        assert each._repr_html_().startswith(("<pre", "<div"))


@by_name
@pytest.mark.parametrize("option", [{"workers": 2}, {"slice_rows": 5}])
def test_only_clauses_are_cut_into_slices(make: Callable[[], Any], option: dict[str, int]) -> None:
    query = make()
    if make in (clause, built):
        assert ost.match(query, CLICKS, **option) == ost.match(query, CLICKS)
        return
    with pytest.raises(ost.QueryError, match="slice_rows= are for clauses"):
        ost.match(query, table_of(query), **option)


@pytest.mark.parametrize("make", WITH_REPORT, ids=lambda make: make.__name__)
@pytest.mark.parametrize("option", ["keys", "time", "type", "numbers"])
def test_options_of_a_finished_query_stay_as_they_are(make: Callable[[], Any], option: str) -> None:
    query = make()
    with pytest.raises(ost.QueryError, match="has its own") as caught:
        ost.match(query, table_of(query), **{option: "text"})
    assert caught.value.code == "INVALID_OPTION"


# --- tables -----------------------------------------------------------------------------------------------------------


@by_name
def test_the_callers_own_kind_of_table_comes_back(make: Callable[[], Any]) -> None:
    query = make()
    arrow = table_of(query)
    right = ost.match(query, arrow)
    framed = ost.match(query, arrow.to_pandas(integer_object_nulls=True))
    assert isinstance(framed, pd.DataFrame)
    assert list(framed.columns) == right.column_names and len(framed) == right.num_rows
    polars = ost.match(query, pl.from_arrow(arrow))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == right.column_names
    relation = ost.match(query, duckdb.from_arrow(arrow))
    assert isinstance(relation, duckdb.DuckDBPyRelation)
    assert len(relation.fetchall()) == right.num_rows
    assert isinstance(ost.match(query, arrow.to_batches()), pa.Table)


@by_name_with_report
def test_a_result_has_the_callers_kind_of_table(make: Callable[[], Any]) -> None:
    query = make()
    result = query.run(pl.from_arrow(table_of(query)))
    assert isinstance(result.table, pl.DataFrame)
    assert isinstance(result.report.table, pl.DataFrame)
    if make is workload:
        assert isinstance(result["q1"], pl.DataFrame)


def test_large_numbers_beside_nulls_stay_exact_in_pandas() -> None:
    query = "ALL ROWS PER MATCH PATTERN (A+)"
    frame = ost.match(query, CLICKS.to_pandas(integer_object_nulls=True), time="ts")
    assert frame["n"].tolist() == [1, None, 3, 2**60 + 1, 5]


@by_name
@pytest.mark.parametrize("table", [5, None, "text", {"a": [1]}, [], object()], ids=lambda table: type(table).__name__)
def test_what_is_no_table_is_refused(make: Callable[[], Any], table: Any) -> None:
    with pytest.raises(ost.QueryError, match="NOT_A_TABLE"):
        ost.match(make(), table)


# --- the same words ---------------------------------------------------------------------------------------------------


def test_keys_and_time_are_partition_by_and_order_by() -> None:
    written = f"PARTITION BY user ORDER BY ts {CLAUSE}"
    assert ost.match(CLAUSE, CLICKS, keys="user", time="ts") == ost.match(written, CLICKS)
    assert ost.match(written, CLICKS, keys="page", time="n") == ost.match(written, CLICKS)  # the text counts
    again = ost.match_recognize(ost.match_recognize(CLAUSE, keys="user"), time="ts")
    assert ost.match(again, CLICKS) == ost.match(written, CLICKS)
    assert ost.match("PATTERN (A) DEFINE A AS n = 1", CLICKS, keys=["user"], time=["ts", "n"]).to_pylist() == [
        {"user": "u"}
    ]


def test_keys_of_an_event_query_are_its_group_by() -> None:
    right = [{"user": "u", "found": 1}]
    assert ost.match(EVENTS, CLICKS, type="page", time="ts", keys="user").to_pylist() == right
    named = "PATTERN SEQ(home, pay) RETURN COUNT(*) AS found, USER AS who"
    assert ost.match(named, CLICKS, type="page", time="ts", keys="user").to_pylist() == [{"found": 1, "who": "u"}]
    grouped = "PATTERN SEQ(home, pay) GROUP BY page RETURN COUNT(*) AS found"
    query = ost.events(grouped, type="page", time="ts", keys="user")  # the text counts
    assert query.bound(CLICKS.column_names).group_by == ("page",)
    other = ost.events(event_query(), keys="page")  # the last argument counts
    assert other.bound(CLICKS.column_names).group_by == ("page",)
    matches = ost.match("PATTERN SEQ(home, pay) RETURN MATCHES", CLICKS, type="page", time="ts", keys="user")
    assert matches["user"].to_pylist() == ["u"]


def test_a_select_has_its_keys_too() -> None:
    text = f"SELECT n AS last, user FROM clicks MATCH_RECOGNIZE ({CLAUSE})"
    query = ost.match_recognize(text, keys="user", time="ts")
    assert ost.match(query, CLICKS).to_pylist() == [{"last": 2**60 + 1, "user": "u"}]
    assert ost.match(query.to_sql(), CLICKS) == ost.match(query, CLICKS)


@pytest.mark.parametrize(
    "text",
    [
        EVENTS,
        "FROM clicks PATTERN SEQ(home, pay) RETURN COUNT(*) AS found",
        "PATTERN (home OR pay) RETURN COUNT(*) AS found",
        "pattern home+ return count(*) as found",
    ],
)
def test_the_text_of_an_event_query_is_recognised(text: str) -> None:
    right = ost.match(ost.events(text, type="page", time="ts"), CLICKS)
    assert ost.match(text, CLICKS, type="page", time="ts") == right
    right_text = ost.explain(ost.events(text, type="page", time="ts")).text
    assert ost.explain(text, type="page", time="ts").text == right_text


def test_an_event_query_without_its_columns_says_which() -> None:
    with pytest.raises(ost.QueryError, match="time=") as caught:
        ost.match(EVENTS, CLICKS)
    assert caught.value.code == "TIME_COLUMN_MISSING"
    with pytest.raises(ost.QueryError, match="one column"):
        ost.match(EVENTS, CLICKS, type="page", time=["ts", "n"])


def test_both_forms_of_within_are_valid_in_both_languages() -> None:
    for length in ("2 SECONDS", "INTERVAL '2' SECOND"):
        timed = CLICKS.set_column(1, "ts", CLICKS["ts"].cast(pa.timestamp("s")))
        text = f"ORDER BY ts MEASURES FIRST(user) AS u PATTERN (A B) WITHIN {length}"
        assert ost.match(text, timed).num_rows == 2
        events = f"PATTERN SEQ(home, cart) WITHIN {length} RETURN COUNT(*) AS n"
        assert ost.match(events, timed, type="page", time="ts").to_pylist() == [{"n": 2}]


# --- bad input --------------------------------------------------------------------------------------------------------

WRONG = [5, b"x", object(), 2.5, {"a": 1}, [None], [[]]]
BUILDER_CALLS: list[Callable[[Any], Any]] = [
    ost.event_seq,
    lambda value: ost.event_repeat("A", value),
    lambda value: ost.event_without("A+", value),
    lambda value: ost.event_seq("A").same(value),
    lambda value: ost.event_seq("A").where(value),
    lambda value: ost.event_seq("A").group_by(value),
    lambda value: ost.event_seq("A").returns(value),
    lambda value: ost.event_seq("A").strict(value),
    lambda value: ost.event_seq("A").type(value),
    lambda value: ost.event_seq("A").time(value),
    lambda value: ost.pattern("A").order_by(value),
    lambda value: ost.pattern("A").skip_to_last(value),
]
OTHER_CALLS: list[Callable[[Any], Any]] = [
    lambda value: ost.match(value, CLICKS),
    ost.explain,
    lambda value: ost.plot(value, CLICKS),
    lambda value: ost.why_not(value, CLICKS),
    ost.events,
    lambda value: ost.events(EVENTS, type=value, time="ts").bound(CLICKS.column_names),
    lambda value: ost.events(EVENTS, time=value),
    lambda value: ost.events(EVENTS, keys=value),
    lambda value: ost.match_recognize(CLAUSE, keys=value),
    lambda value: ost.Workload([EVENTS], [value]),
    lambda value: ost.Workload([EVENTS], clock=value),
    ost.correlate,
    lambda value: ost.funnel(value, keys="user", time="at"),
    lambda value: ost.funnel(["a", "b"], keys=value, time="at", type="page"),
    lambda value: ost.summary(value, type="page", time="ts", within=5, size=3),
    lambda value: ost.summary("a", type="page", time="ts", within=5, size=3, eviction=value),
    lambda value: ost.paths(value, start="a"),
    lambda value: ost.paths("r", start="a", clock=value).run(TRIPLES),
    lambda value: ost.graph(TRIPLES, columns=value),
]


@pytest.mark.parametrize("call", [*BUILDER_CALLS, *OTHER_CALLS], ids=range(len(BUILDER_CALLS) + len(OTHER_CALLS)))
@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_wrong_kinds_of_values_raise_our_errors(call: Callable[[Any], Any], value: Any) -> None:
    with pytest.raises(ost.OstinatoError):
        call(value)


@pytest.mark.parametrize("option", ["x", "y", "keys", "number", "end", "time", "type"])
def test_a_result_chooses_the_columns_of_its_drawing(option: str) -> None:
    with pytest.raises(ost.QueryError, match="chooses the columns"):
        ost.plot(workload().run(CLICKS), **{option: "n"})
    with pytest.raises(ost.QueryError, match=r"chooses the columns|has its own"):
        ost.plot(workload(), CLICKS, **{option: "n"})


def test_a_workload_of_matches_is_drawn_by_query() -> None:
    texts = ["PATTERN SEQ(home, pay) RETURN MATCHES", "PATTERN SEQ(home, cart) RETURN MATCHES"]
    result = ost.Workload(texts, type="page", time="ts").run(CLICKS)
    assert result.plot().title.startswith("5 matches in 2 keys")
    assert result.plot("q2").title.startswith("3 matches")


def test_a_drawing_keeps_the_limit_of_its_query() -> None:
    limited = "PATTERN SEQ(home, cart) RETURN MATCHES LIMIT 1"
    assert ost.plot(limited, CLICKS, type="page", time="ts").title.startswith("1 match")


def test_a_frame_with_two_columns_of_one_name_is_read() -> None:
    frame = pd.DataFrame([[1, "home", 0, 0], [2, "pay", 0, 0]], columns=["ts", "page", "z", "z"])
    assert ost.match(EVENTS, frame, type="page", time="ts").to_dict("records") == [{"found": 1}]
    with pytest.raises(ost.QueryError, match="TABLE_NOT_READABLE"):
        ost.match(EVENTS, pd.DataFrame({"ts": [10**30], "page": ["home"]}), type="page", time="ts")


def test_a_step_that_no_event_is_warns() -> None:
    with pytest.warns(ost.OstinatoWarning, match="'Pay'"):
        ost.funnel(["home", "Pay"], keys="user", type="page", time="at").run(CLICKS)
