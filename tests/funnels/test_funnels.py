"""Levels, attempts and times, worked out by hand. A, B and C are the steps; x is any other event."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from tests.funnels.letters import attempts, events, funnel, shown

import ostinato as ost

ANY, ORDER, INCREASE = "any", "strict_order", "strict_increase"


@pytest.mark.parametrize(
    ("word", "mode", "best"),
    [
        ("ABC", ANY, (3, 0, 1, 2)),
        ("AxBxC", ANY, (3, 0, 2, 4)),
        ("CBA", ANY, (1, 2, None, None)),
        ("BC", ANY, None),
        ("ABBC", ANY, (3, 0, 1, 3)),  # a step is the first event that can be it
        ("AABC", ANY, (3, 1, 2, 3)),  # a repeated first step begins a new attempt
        ("ABAC", ANY, (3, 0, 1, 3)),  # not after the second step
        ("AAA", ANY, (1, 2, None, None)),
        ("ABAxABC", ANY, (3, 0, 1, 6)),
        ("AB         C", ANY, (2, 0, 1, None)),  # eleven minutes
        ("A        AB   C", ANY, (3, 9, 10, 14)),  # only the second attempt has the time
        ("AB ABC", ORDER, (3, 0, 1, 5)),
        ("AxBC", ORDER, (1, 0, None, None)),  # any other event ends the attempt
        ("ABxC", ORDER, (2, 0, 1, None)),
        ("AC BC", ORDER, (1, 0, None, None)),  # a later step, too
        ("AABBC", ORDER, (3, 1, 2, 4)),  # repeats of reached steps don't
        ("ABxABC", ORDER, (3, 3, 4, 5)),  # windowFunnel stops at the x for good
        ("ABC", INCREASE, (3, 0, 1, 2)),
    ],
)
def test_the_best_attempt(word: str, mode: str, best: tuple[Any, ...] | None) -> None:
    rows = shown(funnel(mode=mode).run(events(ann=word)).table)
    assert rows == ([] if best is None else [("ann", *best)])


def test_one_event_is_one_step() -> None:
    assert shown(funnel("AAB").run(events(ann="AB", bob="AAB")).table) == [
        ("ann", 1, 0, None, None),
        ("bob", 3, 0, 1, 2),
    ]


@pytest.mark.parametrize(("mode", "level"), [(ANY, 3), (ORDER, 3), (INCREASE, 1)])
def test_events_of_one_time_are_in_the_order_of_the_steps(mode: str, level: int) -> None:
    table = events(ann=[(0, "C"), (0, "x"), (0, "B"), (0, "A")])
    assert shown(funnel(mode=mode).run(table).table)[0][1] == level


def test_a_first_step_of_the_same_time_hides_no_second_step() -> None:
    table = events(ann=[(0, "A"), (5, "A"), (5, "B")])
    assert shown(funnel(mode=INCREASE).run(table).table) == [("ann", 2, 0, 5, None)]
    assert shown(funnel().run(table).table) == [("ann", 2, 5, 5, None)]


def test_columns_that_order_events_of_one_time() -> None:
    table = events(ann=[(0, "A"), (0, "B"), (0, "C")]).append_column("id", pa.array([2, 1, 3]))
    assert shown(funnel(time=["ts", "id"]).run(table).table) == [("ann", 1, 0, None, None)]
    assert shown(funnel("BAC", time=["ts", "id"]).run(table).table) == [("ann", 3, 0, 0, 0)]


def test_no_window() -> None:
    table = events(ann=[(0, "A"), (10**6, "B")], bob=[(None, "A"), (1, "B")], cy=[(None, "x"), (1, "A")])
    assert shown(funnel(within=None).run(table).table) == [("ann", 2, 0, 10**6, None), ("cy", 1, 1, None, None)]


def test_null_types_times_and_keys() -> None:
    table = pa.concat_tables([events(ann=[(0, "A"), (1, None), (2, "B"), (None, "A"), (None, "B")]), events(x="AB")])
    nobody = pa.table([pa.array([None] * 2, pa.string()), *events(x="AC").columns[1:]], names=table.column_names)
    rows = shown(funnel().run(pa.concat_tables([table, nobody])).table)
    assert rows == [("ann", 2, 0, 2, None), ("x", 2, 0, 1, None), (None, 1, 0, None, None)]


def test_nan_is_one_key() -> None:
    table = events(x="ABC").drop_columns("user").append_column("user", pa.array([float("nan")] * 3))
    assert funnel().run(table).table.column("level").to_pylist() == [3]


def test_attempts_after_a_completed_one_and_repeats() -> None:
    """The repeated first step isn't an abandoned attempt. The one behind the completed attempt is."""
    rows = attempts(funnel(), events(ann="AAABCxAx"))
    assert shown(rows) == [("ann", 1, 6, None, None), ("ann", 3, 2, 3, 4)]
    assert rows.column("completed").to_pylist() == [True, False]


def test_an_event_that_ends_an_attempt_begins_none() -> None:
    assert shown(attempts(funnel(mode=ORDER), events(ann="ABAxABxC"))) == [
        ("ann", 2, 0, 1, None),
        ("ann", 2, 4, 5, None),
    ]


def test_an_attempt_that_ran_out_of_time_hides_no_other() -> None:
    rows = attempts(funnel(), events(ann="AB  A    B  C"))
    assert shown(rows) == [("ann", 2, 0, 1, None), ("ann", 3, 4, 9, 12)]


def test_steps_by_condition_and_names_of_columns() -> None:
    query = funnel({"a first": "kind = 'A'", "a-first": "kind IN ('B', \"x\")", "level": "kind = 'C'"}, type=None)
    assert shown(query.run(events(ann="AxC")).table) == [("ann", 3, 0, 1, 2)]
    columns = query.run(events(ann="AxC")).table.column_names
    assert columns == ["user", "level", "completed", "a_first_at", "a_first_at_2", "level_at"]


def test_several_types_for_a_step_and_numbers() -> None:
    table = pa.table({"u": [1] * 3, "d": [date(2024, 1, day) for day in (1, 2, 3)], "kind": [7, -8, 9]})
    query = ost.funnel([7, (-8, 5), 9], keys="u", type="kind", time="d", within="2 days")
    assert [step.name for step in query.steps] == ["7", "-8 or 5", "9"]
    result = query.run(table)
    assert result.table.to_pylist()[0]["9_at"] == date(2024, 1, 3)
    assert result.report.table.column("median_seconds").to_pylist() == [None, 86_400.0, 86_400.0]


def test_a_type_is_text_and_never_sql() -> None:
    kinds = ["it's", "\\' OR true", "`x`"]
    table = pa.table({"u u": [1] * 3, "`t": [datetime(2024, 1, day) for day in (1, 2, 3)], "k'": kinds})
    query = ost.funnel(kinds, keys="u u", type="k'", time="`t", within="9 days")
    assert query.run(table).table.column("level").to_pylist() == [3]


def test_window_funnel_s_documented_example() -> None:
    """ClickHouse, "Parametric aggregate functions": log in, order, search, order again, in a period of a month."""
    rows = [("2019-01-29 10:00:00", 1003), ("2019-01-31 09:00:00", 1007), ("2019-01-30 08:00:00", 1009)]
    rows.append(("2019-02-01 08:00:00", 1010))
    at = [datetime.fromisoformat(text) for text, _ in rows]
    table = pa.table({"user_id": [1] * 4, "at": at, "eventID": [number for _, number in rows]})
    query = ost.funnel([1003, 1009, 1007, 1010], keys="user_id", type="eventID", time="at", within="70 days")
    assert query.run(table).table.column("level").to_pylist() == [4]


def test_window_funnel_s_strict_order() -> None:
    """ClickHouse: in A->B->D->C, strict_order stops at D with level 2."""
    assert shown(funnel("ABCD", mode=ORDER).run(events(ann="ABDC")).table) == [("ann", 2, 0, 1, None, None)]


# --- the same as by hand ----------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_a_clause_written_by_hand() -> None:
    table = events(ann="AABxC", bob="AxB", cy="xxB", di="A            BC")
    by_hand = ost.match(
        """PARTITION BY user ORDER BY ts
        MEASURES count(A.*) + count(B.*) + count(C.*) AS level, C.ts IS NOT NULL AS completed,
                 A.ts AS a, B.ts AS b, C.ts AS c
        ONE ROW PER MATCH SHOW TIMEOUT MATCHES
        PATTERN (A N*? B X*? C) WITHIN INTERVAL '10' MINUTE
        DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C', N AS kind <> 'A'""",
        table,
    )
    assert shown(funnel().run(table).table) == shown(by_hand)


# --- report -----------------------------------------------------------------------------------------------------------


def test_report() -> None:
    report = funnel().run(events(ann="ABC", bob="A B", cy="AxxB C", di="A", ed="x")).report.numbers
    assert report.keys == (4, 3, 2)
    assert report.from_first == [1.0, 0.75, 0.5]
    assert report.from_previous == [None, 0.75, pytest.approx(2 / 3)]
    assert report.dropped == [0, 1, 1]
    assert [time.median_seconds for time in report.times] == [None, 120.0, 90.0]
    assert [time.p90_seconds for time in report.times] == [None, pytest.approx(168.0), pytest.approx(114.0)]
    assert str(report).splitlines()[2].split() == [
        "2",
        "B",
        "3",
        "75.0",
        "%",
        "75.0",
        "%",
        "1",
        "2.0",
        "min",
        "2.8",
        "min",
    ]
    assert report.table.column("dropped").to_pylist() == [0, 1, 1]


def test_the_report_of_no_events() -> None:
    report = funnel().run(events()).report.numbers
    assert (report.keys, report.from_first, report.dropped) == ((0, 0, 0), [None] * 3, [0] * 3)
    assert str(report).count("\n") == 3
    assert report.svg().startswith("<svg")


def test_repr_and_explanation() -> None:
    query = funnel(mode=ORDER)
    assert repr(query) == "<funnel A -> B -> C by user, within 0:10:00, strict_order>"
    result = query.run(events(ann="A"))
    assert repr(result).startswith("<FunnelResult: 1 rows of user, level")
    assert repr(result.report) == f"<FunnelReport of {query!r}>"
    assert "STEP_1" in result.explain().text


@pytest.mark.parametrize("within", ["1 hour", None])
@pytest.mark.parametrize("mode", [ANY, ORDER, INCREASE])
def test_the_longest_funnel(mode: str, within: str | None) -> None:
    query = funnel(["A", "B"] * 16, mode=mode, within=within)
    assert query.run(events(ann="AB" * 16)).table.column("level").to_pylist() == [32]


def test_an_error_in_the_data_is_ours() -> None:
    with pytest.raises(ost.MatchError, match="DIVIDE_BY_ZERO"):
        funnel({"a": "1 / length(kind) > 0", "b": "1 / (length(kind) - 1) > 0"}, type=None).run(events(ann="A"))


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"steps": []}, "INVALID_STEPS"),
        ({"steps": ["A"]}, "INVALID_STEPS"),
        ({"steps": 7}, "INVALID_STEPS"),
        ({"steps": ["A"] * 33}, "INVALID_STEPS"),
        ({"steps": ["A", None]}, "INVALID_STEPS"),
        ({"steps": ["A", True]}, "INVALID_STEPS"),
        ({"steps": ["A", ()]}, "INVALID_STEPS"),
        ({"steps": ["A", ""]}, "INVALID_STEPS"),
        ({"steps": {"a": "kind = 'A'", "b": None}}, "INVALID_STEPS"),
        ({"steps": {"a": "kind = 'A'", 3: "kind = 'B'"}}, "INVALID_STEPS"),
        ({"steps": {"a": "kind = 'A'", "b": "kind ="}}, "SYNTAX_ERROR"),
        ({"steps": {"a": "kind = 'A'", "b": "PREV(kind) = 'B'"}}, "TYPE_NOT_LOCAL"),
        ({"steps": {"a": "kind = 'A'", "b": "count(*) > 1"}}, "TYPE_NOT_LOCAL"),
        ({"type": None}, "TYPE_COLUMN_MISSING"),
        ({"type": 3}, "INVALID_OPTION"),
        ({"time": None}, "TIME_COLUMN_MISSING"),
        ({"time": 3}, "INVALID_OPTION"),
        ({"keys": None}, "INVALID_OPTION"),
        ({"keys": []}, "INVALID_OPTION"),
        ({"keys": ["user", 1]}, "INVALID_OPTION"),
        ({"within": "soon"}, "INVALID_WITHIN"),
        ({"within": "2 months"}, "INVALID_WITHIN"),
        ({"within": 3600}, "INVALID_WITHIN"),
        ({"within": "0 seconds"}, "INVALID_WITHIN"),
        ({"within": timedelta.max}, "INVALID_WITHIN"),
        ({"mode": "strict"}, "INVALID_OPTION"),
        ({"mode": "strict_deduplication"}, "INVALID_OPTION"),
        ({"mode": "allow_reentry"}, "INVALID_OPTION"),
        ({"mode": ["any"]}, "INVALID_OPTION"),
        ({"witin": "1 hour"}, "INVALID_OPTION"),
    ],
)
def test_refused_arguments(options: dict[str, Any], code: str) -> None:
    with pytest.raises(ost.QueryError) as refused:
        funnel(**{"steps": "ABC", **options})
    assert refused.value.code == code
    assert refused.value.hint or refused.value.span


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"type": "sort"}, "UNKNOWN_COLUMN"),
        ({"keys": "usr"}, "UNKNOWN_COLUMN"),
        ({"time": "when"}, "UNKNOWN_COLUMN"),
        ({"time": ["ts", "id"]}, "UNKNOWN_COLUMN"),
        ({"time": "kind"}, "INVALID_TIME"),
        ({"time": "kind", "within": None}, "INVALID_TIME"),
        ({"steps": {"a": "kind", "b": "kind = 'B'"}}, "NOT_A_CONDITION"),
        ({"steps": {"a": "knd = 'A'", "b": "kind = 'B'"}}, "UNKNOWN_COLUMN"),
    ],
)
def test_refused_tables(options: dict[str, Any], code: str) -> None:
    with pytest.raises(ost.QueryError) as refused:
        funnel(**{"steps": "ABC", **options}).run(events(ann="ABC"))
    assert refused.value.code == code


def test_refused_kinds_of_tables() -> None:
    with pytest.raises(ost.QueryError, match="NOT_A_TABLE"):
        funnel().run(7)
    with pytest.raises(ost.QueryError, match="NOT_A_TABLE"):
        funnel()(events(ann="ABC"))  # type: ignore[arg-type]
    with pytest.raises(ost.QueryError, match="RESERVED_NAME"):
        funnel().run(events(ann="A").append_column("FUNNEL_ORDER", pa.array([1])))
