"""Event queries in process: `ost.events`, `ost.match`, `ost.Workload`. Letters are events, one a second."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.api.event_builder import event_seq
from ostinato.errors import MatchError, QueryError
from ostinato.workloads.workload_rows import WorkloadRows

BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


def letters(text: str, **columns: Any) -> pa.Table:
    """A row for each letter, a second apart."""
    times = [BEGIN + timedelta(seconds=i) for i in range(len(text))]
    kinds = pa.array(list(text), pa.string())
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "kind": kinds, **columns})


def asked(text: str, **options: Any) -> ost.EventsQuery:
    return ost.events(text, type="kind", time="ts", **options)


def rows(text: str, table: pa.Table, **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ost.match(asked(text, **options), table).to_pylist()
    return found


PAPER = letters("AACBBBBAACCCB")
"""The stream of HAMLET's examples: a1 a2 c1 b3 b4 b5 b6 a3 a4 c2 c3 c4 b7."""


def test_the_papers_counts() -> None:
    text = "PATTERN SEQ(A, B+) RETURN COUNT(*), COUNT(B)"
    assert rows(text, PAPER) == [{"count(*)": Decimal(64), "count(B)": Decimal(162)}]
    assert rows("PATTERN (SEQ(C, B+))+ RETURN COUNT(*) AS n", PAPER) == [{"n": Decimal(79)}]


def test_arithmetic_between_aggregates() -> None:
    text = "PATTERN SEQ(A, B+ b) RETURN COUNT(b) / COUNT(*) AS length, -(COUNT(*) - 4.5) * 2 AS z"
    expected = {"length": Decimal("2.531250"), "z": Decimal("-119.0")}
    assert rows(text, PAPER) == [expected]
    workload = ost.Workload({"one": text, "two": "PATTERN SEQ(C, B+) RETURN COUNT(*)"}, type="kind", time="ts")
    found = workload.run(PAPER)
    assert found["one"].to_pylist() == [expected]
    assert found.table.to_pylist()[0]["aggregates"] == {**expected, "count(*)": None}


def test_division_by_zero_follows_the_ansi_setting() -> None:
    query, table = asked("PATTERN A RETURN COUNT(A.x) / SUM(A.x) AS q"), letters("A", x=[0])
    with pytest.raises(MatchError, match="DIVIDE_BY_ZERO") as caught:
        ost.match(query, table, ansi=True)
    assert "COUNT(A.x) / SUM(A.x)" in str(caught.value)
    assert ost.match(query, table, ansi=False).to_pylist() == [{"q": None}]


def test_aggregates_of_values() -> None:
    table = letters(
        "ABB", x=[None, 2, 5], price=pa.array([None, Decimal("1.50"), Decimal("0.25")], pa.decimal128(6, 2))
    )
    (row,) = rows(
        "PATTERN SEQ(A, B+ b) RETURN SUM(b.x), AVG(b.x), MIN(b.price), MAX(b.ts), SUM(b.price), COUNT(b.x)", table
    )
    assert row == {
        "sum(b.x)": Decimal(14),
        "avg(b.x)": 3.5,
        "min(b.price)": Decimal("0.25"),
        "max(b.ts)": BEGIN + timedelta(seconds=2),
        "sum(b.price)": Decimal("3.50"),
        "count(b.x)": Decimal(4),
    }


# --- groups, SAME, times ----------------------------------------------------------------------------------------------


def test_without_groups_and_windows_there_is_always_a_row() -> None:
    wanted = [{"count(*)": Decimal(0), "sum(B.x)": None, "avg(B.x)": None, "count(B)": Decimal(0)}]
    text = "PATTERN SEQ(A, B+) RETURN COUNT(*), SUM(B.x), AVG(B.x), COUNT(B)"
    for events in ("", "BA"):
        assert rows(text, letters(events, x=pa.array([1] * len(events), pa.int64()))) == wanted


def test_a_group_without_a_match_gives_no_row() -> None:
    table = letters("ABAB", g=["x", "x", "y", None])
    assert rows("PATTERN SEQ(A, B) GROUP BY g RETURN g, COUNT(*) AS n", table) == [{"g": "x", "n": Decimal(1)}]


def test_groups_come_in_their_order() -> None:
    table = letters("AAABBB", g=[3, None, 1, 1, None, 3])
    assert [row["g"] for row in rows("PATTERN SEQ(A, B) GROUP BY g RETURN g, COUNT(*) AS n", table)] == [None, 1, 3]


def test_sequences_of_a_group_are_added_up() -> None:
    table = letters("AABBB", k=["u", "v", "u", "v", None], x=[0, 0, 7, 3, 1])
    (row,) = rows("PATTERN SEQ(A, B+ b) WHERE SAME[k] RETURN COUNT(*) AS n, SUM(b.x) AS s, MIN(b.x) AS m", table)
    assert row == {"n": Decimal(2), "s": Decimal(10), "m": 3}


def test_a_row_without_a_time_takes_part_in_nothing() -> None:
    table = pa.table({"ts": [1, None, 2], "kind": ["A", "B", "B"]})
    assert rows("PATTERN SEQ(A, B+) RETURN COUNT(*) AS n", table) == [{"n": Decimal(1)}]


def test_windows_have_the_type_of_the_time() -> None:
    (row,) = rows("PATTERN SEQ(A, B) WITHIN 10 SECONDS TUMBLE RETURN COUNT(*) AS n", letters("AB"))
    assert row == {"window_start": BEGIN, "window_end": BEGIN + timedelta(seconds=10), "n": Decimal(1)}
    days = pa.table({"ts": [date(2024, 1, 2), date(2024, 1, 3)], "kind": ["A", "B"]})
    (row,) = rows("PATTERN SEQ(A, B) WITHIN 2 DAYS TUMBLE RETURN COUNT(*) AS n", days)
    assert row == {"window_start": date(2024, 1, 2), "window_end": date(2024, 1, 4), "n": Decimal(1)}
    (row,) = rows("PATTERN SEQ(A, B) WITHIN 10 EVENTS TUMBLE RETURN window_end, COUNT(*) AS n", letters("AB"))
    assert row == {"window_start": 0, "window_end": 10, "n": Decimal(1)}


def test_windows_that_slide_count_a_match_once_each() -> None:
    found = rows("PATTERN SEQ(A, B) WITHIN 3 EVENTS SLIDE 1 EVENTS RETURN COUNT(*) AS n", letters("CABC"))
    assert [(row["window_start"], int(row["n"])) for row in found] == [(0, 1), (1, 1)]


# --- numbers ----------------------------------------------------------------------------------------------------------

LONG = letters("A" + "B" * 200, g=["x"] * 201)


def test_a_number_that_does_not_fit_names_its_place() -> None:
    with pytest.raises(MatchError) as caught:
        rows("PATTERN SEQ(A, B+) GROUP BY g WITHIN 1 HOUR TUMBLE RETURN COUNT(*) AS n", LONG)
    assert caught.value.code == "NUMBER_TOO_LARGE"
    assert "the query, g = 'x', the window from 2024-01-01 00:00:00" in caught.value.message
    with pytest.raises(MatchError, match="query 'long'"):
        ost.Workload({"long": "PATTERN SEQ(A, B+) RETURN COUNT(*)"}, type="kind", time="ts").run(LONG)


def test_numbers_of_any_size() -> None:
    text = "PATTERN SEQ(A, B+ b) RETURN COUNT(*) AS n, COUNT(b) AS k"
    wanted = {"n": str(2**200 - 1), "k": str(200 * 2**199)}
    assert rows(text, LONG, numbers="text") == [wanted]
    (row,) = rows(text, LONG, numbers="log10")
    assert row["n"] == pytest.approx(60.2059991)
    (row,) = rows(text, LONG, approximate=True)
    assert row == {"n": pytest.approx(2.0**200), "k": pytest.approx(200 * 2.0**199)}


@pytest.mark.parametrize("values", [[-10, -20, 5], [-10.0, -20.5, 5.0], [Decimal("-1.0"), Decimal("-2.5"), Decimal(5)]])
def test_a_negative_sum_is_refused_as_a_logarithm(values: list[Any]) -> None:
    table = letters("ABB", g=["p", "p", "q"], x=values)
    text = "PATTERN B+ GROUP BY g RETURN g, SUM(B.x) AS s, AVG(B.x) AS a"
    for query in (asked(text), asked(text, approximate=True)):
        with pytest.raises(MatchError, match=r"NEGATIVE_LOGARITHM.*g = 'p'") as caught:
            ost.match(query, table, numbers="log10")
        assert 'numbers="text"' in str(caught.value)
    with pytest.raises(MatchError, match=r"NEGATIVE_LOGARITHM.*query 'q1', g = 'p'"):
        ost.Workload([asked(text)] * 2, numbers="log10").run(table)
    (row,) = rows(text, table.slice(2), numbers="log10")
    assert row == {"g": "q", "s": pytest.approx(math.log10(5)), "a": 5.0}


def test_nothing_is_minus_infinity_as_a_logarithm() -> None:
    (row,) = rows("PATTERN SEQ(A, B+) RETURN COUNT(*) AS n", letters("B"), numbers="log10")
    assert row["n"] == float("-inf")


# --- matches ----------------------------------------------------------------------------------------------------------


def test_matches_with_their_events() -> None:
    table = letters("ABB", x=[1, 2, 3])
    found = ost.match(asked("PATTERN SEQ(A a, B+ b) RETURN MATCHES"), table)
    assert found.column_names == ["match_number", "match_start", "match_end", "events"]
    words = ["".join(f"{event['variable']}{event['x']}" for event in row["events"]) for row in found.to_pylist()]
    assert words == ["a1b2", "a1b2b3", "a1b3"]
    first = found.to_pylist()[0]["events"][0]
    assert first == {"variable": "a", "ts": BEGIN, "kind": "A", "x": 1}


def test_limit_is_for_each_group_over_all_values_of_same() -> None:
    table = letters("AAABBB", g=["p"] * 6, k=[1, 2, 1, 2, 1, 1])
    text = "PATTERN SEQ(A a, B b) WHERE SAME[k] GROUP BY g RETURN MATCHES"
    starts = [(row["match_number"], row["match_start"].second, row["match_end"].second) for row in rows(text, table)]
    assert starts == [(1, 0, 4), (2, 0, 5), (3, 1, 3), (4, 2, 4), (5, 2, 5)]
    limited = rows(f"{text} LIMIT 3", table)
    assert [(row["match_number"], row["match_start"].second) for row in limited] == [(1, 0), (2, 0), (3, 1)]


def test_matches_at_the_same_times_are_numbered_by_their_rows() -> None:
    """Whatever order rows arrive in, and whichever other rows a workload looks at: those decide who is seen first."""
    times = pa.array([BEGIN, *[BEGIN + timedelta(seconds=1)] * 3], pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "kind": ["B", "A", "A", "A"], "x": [9, 3, 2, 1], "k": ["q", "p", "q", "q"]})
    text = "PATTERN A a WHERE SAME[k] RETURN MATCHES"
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 1, 0, 3]):
        arrived = table.take(pa.array(order))
        for sharing in ("always", "never"):
            found = ost.Workload(["PATTERN B RETURN MATCHES", text], type="kind", time="ts", sharing=sharing)
            for result in (ost.match(asked(text), arrived), found.run(arrived)["q2"]):
                numbered = [(row["match_number"], row["events"][0]["x"]) for row in result.to_pylist()]
                assert numbered == [(1, 1), (2, 2), (3, 3)], (order, sharing)
    limited = rows(f"{text} LIMIT 2", table)
    assert [row["events"][0]["x"] for row in limited] == [1, 2]


def test_too_many_matches() -> None:
    table = letters("A" + "B" * 12)
    with pytest.raises(MatchError) as caught:
        rows("PATTERN SEQ(A, B+) RETURN MATCHES", table, max_matches=1_000)
    assert caught.value.code == "TOO_MANY_MATCHES"


# --- asking -----------------------------------------------------------------------------------------------------------


def test_types_by_conditions() -> None:
    table = pa.table({"t": [1, 2, 3], "speed": [5, 20, 8]})
    query = ost.events(
        "PATTERN SEQ(Slow, Fast) RETURN COUNT(*) AS n", type={"Slow": "speed < 10", "Fast": "speed >= 8"}, time="t"
    )
    assert ost.match(query, table).to_pylist() == [{"n": Decimal(2)}]


def test_the_fluent_builder() -> None:
    built = event_seq("A a", "B+ b").where("NEXT(b).x > b.x").returns("COUNT(*)", total="SUM(b.x)")
    table = letters("ABB", x=[0, 2, 1])
    (row,) = ost.match(ost.events(built, type="kind", time="ts"), table).to_pylist()
    assert list(row.values()) == [Decimal(2), Decimal(3)]


def test_a_query_is_a_value() -> None:
    query = asked("PATTERN SEQ(A, B) RETURN COUNT(*)")
    assert query == asked("PATTERN SEQ(A, B)  RETURN COUNT(*)")
    assert ost.events(query, numbers="text") != query
    assert ost.events(query, time="other").time == "other"
    assert ost.events(query.query, type="kind", time="ts") == query


@pytest.mark.parametrize("options", [{"numbers": "roman"}, {"sharing": "maybe"}, {"colour": 1}, {"max_matches": 0}])
def test_options_that_are_not_known(options: dict[str, Any]) -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        asked("PATTERN SEQ(A, B) RETURN COUNT(*)", **options)


def test_something_else_than_a_query() -> None:
    with pytest.raises(QueryError, match="NOT_A_QUERY"):
        ost.events(7)


def test_errors_have_carets() -> None:
    with pytest.raises(QueryError) as caught:
        rows("PATTERN SEQ(A a, B b) WHERE a.nosuch > 1 RETURN COUNT(*)", PAPER)
    assert "^" in str(caught.value)
    with pytest.raises(QueryError) as caught:
        rows("PATTERN SEQ(A a, B b) WHERE a.kind + 1 RETURN COUNT(*)", PAPER)
    assert "^" in str(caught.value)


# --- workloads --------------------------------------------------------------------------------------------------------

MANY = {
    "one": "PATTERN SEQ(A, B+) GROUP BY g WITHIN 4 SECONDS SLIDE 2 SECONDS RETURN g, COUNT(*), SUM(B.x) AS total",
    "two": "PATTERN SEQ(C, B+) GROUP BY g WITHIN 6 SECONDS SLIDE 2 SECONDS RETURN g, COUNT(*)",
    "three": "PATTERN SEQ(A, B+ b) RETURN COUNT(*), AVG(b.x) AS total",
    "four": "PATTERN SEQ(A a, B b) GROUP BY g WITHIN 2 EVENTS RETURN MATCHES",
}


def test_a_workload_gives_what_its_queries_give() -> None:
    table = letters("ABBCBABCB", g=["p", "p", "q", "q", "q", "p", "p", "q", "q"], x=list(range(9)))
    for sharing in ("dynamic", "always", "never"):
        workload = ost.Workload(MANY, type="kind", time="ts", sharing=sharing)
        result = workload.run(table)
        for name, text in MANY.items():
            assert result[name].equals(ost.match(asked(text), table)), name
    assert list(result) == list(MANY)
    assert result.counters.statistics


def test_all_rows_of_a_workload_together() -> None:
    table = letters("AB", g=["p", "p"], x=[1, 2])
    result = ost.Workload(MANY, type="kind", time="ts").run(table)
    assert result.table.schema.names == [
        "query", "group", "window_start", "window_end", "aggregates", "match_number", "match_start", "match_end",
        "events",
    ]  # fmt: skip
    # `total` is a DECIMAL of one query and a DOUBLE of another: text.
    assert result.table.schema.field("aggregates").type == pa.struct(
        [("count(*)", pa.decimal128(38, 0)), ("total", pa.string())]
    )
    shown = [(row["query"], row["group"]["g"], row["aggregates"]) for row in result.table.to_pylist()]
    assert shown == [
        (
            "one",
            "p",
            {"count(*)": Decimal(1), "total": "2"},
        ),  # a window that began before the events, and one with them
        ("one", "p", {"count(*)": Decimal(1), "total": "2"}),
        ("three", None, {"count(*)": Decimal(1), "total": "2.0"}),
        ("four", "p", {"count(*)": None, "total": None}),
    ]


def test_names_of_queries() -> None:
    workload = ost.Workload(["PATTERN (A) RETURN COUNT(*)", "PATTERN (B) RETURN COUNT(*)"], type="kind", time="ts")
    assert workload.names == ("q1", "q2")
    result = workload.run(PAPER)
    assert result["q2"].to_pylist() == [{"count(*)": Decimal(5)}]
    for name in ("q3", [], None):
        with pytest.raises(QueryError, match="UNKNOWN_QUERY"):
            result[name]
    for names in (["q1"], ["q1", "q1"]):
        with pytest.raises(QueryError, match="INVALID_OPTION"):
            ost.Workload(["PATTERN (A) RETURN COUNT(*)"] * 2, names)
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        ost.Workload([])


def test_pandas_and_batches() -> None:
    query = asked("PATTERN SEQ(A, B+) RETURN COUNT(*) AS n")
    assert ost.match(query, PAPER.to_batches()).to_pylist() == [{"n": Decimal(64)}]
    assert ost.match(query, PAPER.to_pandas()).to_dict("records") == [{"n": Decimal(64)}]


def test_a_workload_says_the_group_of_each_row() -> None:
    """Also where RETURN doesn't list it; a query's own table has what RETURN lists."""
    table = pa.table({"ts": [1, 2, 1, 2], "kind": list("ABAB"), "g": ["p", "p", "q", "q"]})
    found = ost.Workload(["PATTERN SEQ(A, B) GROUP BY g RETURN COUNT(*) AS n"], type="kind", time="ts").run(table)
    assert [row["group"] for row in found.table.to_pylist()] == [{"g": "p"}, {"g": "q"}]
    assert found["q1"].column_names == ["n"]


def test_options_of_one_query_are_not_dropped_silently() -> None:
    query = ost.events("PATTERN A RETURN COUNT(*)", type="kind", time="ts", numbers="text")
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        ost.Workload([query])
    assert ost.Workload([query], numbers="text").options.numbers == "text"
    for wrong in ({"max_matches": "x"}, {"max_matches": 0}, {"approximate": "no"}, {"numbers": "roman"}):
        with pytest.raises(QueryError, match="INVALID_OPTION"):
            ost.events(query, **wrong)
    with pytest.raises(QueryError, match="INVALID_OPTION"):
        ost.Workload("PATTERN A RETURN COUNT(*)")


def test_times_that_leave_no_room_are_refused() -> None:
    query = ost.events("PATTERN A RETURN COUNT(*)", type="kind", time="ts")
    for at in (2**63 - 1, -(2**63)):
        with pytest.raises(MatchError, match="TIME_OUT_OF_RANGE"):
            ost.match(query, pa.table({"ts": [at], "kind": ["A"]}))


def test_a_builder_is_a_query_and_so_is_a_workload() -> None:
    table = pa.table({"ts": [1, 2], "kind": list("AB")})
    built = ost.event_seq("A", "B+").type("kind").time("ts").returns(n="COUNT(*)")
    assert ost.match(built, table).to_pylist() == [{"n": 1}]
    workload = ost.Workload([built])
    assert ost.match(workload, table) == workload.run(table).table


def test_explain_of_a_run_tells_what_was_shared() -> None:
    table = pa.table({"ts": range(6), "kind": list("ACBBBB")})
    texts = ["PATTERN SEQ(A, B+) RETURN COUNT(*)", "PATTERN SEQ(C, B+) RETURN COUNT(*)"]
    text = ost.explain(ost.Workload(texts, type="kind", time="ts").run(table)).text
    assert "shared engine: q1, q2" in text and "Counters of the last run" in text
    apart = ost.Workload(texts, sharing="never", type="kind", time="ts")
    assert "shared engine" not in ost.explain(apart).text


def test_finish_of_a_result_takes_the_session_of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from ostinato.spark.checkpoints import finish as stream_finish

    rows = type("DataFrame", (), {"__module__": "pyspark.sql", "isStreaming": True, "sparkSession": "session"})()
    monkeypatch.setattr(stream_finish, "finish_stream", lambda *given, **options: (given, options))
    workload = ost.Workload(["PATTERN SEQ(A, B) RETURN COUNT(*)"], type="kind", time="ts")
    result = ost.WorkloadResult(workload, rows, ost.RunReport("", rows), rows, {}, WorkloadRows(rows, {}))
    assert result.finish("folder", operator=1) == (("session", "folder"), {"operator": 1})
    with pytest.raises(QueryError, match="checkpoint is a text"):
        result.finish()
