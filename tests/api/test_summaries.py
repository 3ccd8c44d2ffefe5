"""`ost.summary` in process: feed, ask, restore. Letters are events, one a second."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.summaries.fed_summaries import BEGIN, asked, letters

import ostinato as ost
from ostinato.errors import MatchError, QueryError

# --- answers ----------------------------------------------------------------------------------------------------------


def test_with_room_for_everything_the_answer_is_exact() -> None:
    answer = asked().feed(letters("ABXBC")).ask()
    assert (answer.value, answer.count, answer.seen) == (4, 4, 5)
    assert [(event.number, event.type, event.value, event.contribution) for event in answer.kept_events] == [
        (0, "A", None, 4),
        (1, "B", None, 2),
        (3, "B", None, 2),
        (4, "C", None, 4),
    ]
    assert answer.kept_events[1].time == BEGIN + timedelta(seconds=1)
    assert (answer.asked_at, answer.key) == (BEGIN + timedelta(seconds=4), {})


def test_a_full_summary_loses_and_says_so() -> None:
    stream = letters("ABBBBC" * 10)
    summary = asked(size=5).feed(stream)
    assert len(summary.ask().kept_events) == 5
    assert summary.ask().count < summary.exact(stream).count
    assert summary.exact(stream).seen == 60


@pytest.mark.parametrize(
    ("values", "aggregate", "value"),
    [
        (pa.array([1, 2, 4]), "SUM(x)", 12),
        (pa.array([1, 2, 4]), "avg( x )", 6.0),
        (pa.array([1, None, 4]), "SUM(`x`)", 10),
        (pa.array([1, -9, 4]), "SUM(x)", 1),
        (pa.array([None, None, None], pa.int32()), "SUM(x)", 0),
        (pa.array([0.5, 2.0, 4.0]), "SUM(x)", 11.0),
        (pa.array([Decimal("0.50"), Decimal("2.00"), Decimal("4.00")]), "SUM(x)", Decimal("11.00")),
        (pa.array([Decimal("0.50"), Decimal("2.00"), Decimal("4.00")]), "AVG(x)", 5.5),
    ],
)
def test_aggregates(values: pa.Array, aggregate: str, value: object) -> None:
    """Matches are AC and ABC; NULL adds nothing, and negative values count with their sign."""
    answer = asked(aggregate=aggregate).feed(letters("ABC", x=values)).ask()
    assert (answer.value, type(answer.value), answer.count) == (value, type(value), 2)
    assert [event.value for event in answer.kept_events] == values.to_pylist()


def test_no_match_has_no_sum() -> None:
    summary = asked(aggregate="SUM(x)").feed(letters("AB", x=[1, 2]))
    assert (summary.ask().value, summary.ask().count) == (None, 0)


def test_skip_till_next() -> None:
    assert asked(selection="skip till next match").feed(letters("ABBC")).ask().count == 1


def test_rows_of_one_table_may_stand_in_any_order() -> None:
    table = letters("AABBCBC", x=[1, 2, 3, 4, 5, 6, 7])
    shuffled = table.take([3, 6, 0, 5, 1, 4, 2])
    assert asked().feed(shuffled).ask() == asked().feed(table).ask()


def test_rows_of_one_time_are_ordered_by_what_they_are() -> None:
    """First by further columns of order_by, else by type; never by their place in the table."""
    table = pa.table({"ts": [1, 1, 1], "kind": ["C", "B", "A"], "place": [1, 2, 3]})
    for rows in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        assert asked(within=5).feed(table.take(rows)).ask().count == 2
        assert asked(within=5, time=("ts", "place")).feed(table.take(rows)).ask().count == 0


def test_tables_follow_one_another() -> None:
    whole = asked(size=4).feed(letters("ABBABCBC"))
    parts = asked(size=4).feed(letters("ABB")).feed(letters("ABC", 3)).feed(letters("BC", 6))
    assert parts.ask() == whole.ask()
    assert parts.feed(letters("")).ask() == whole.ask()


def test_tables_of_any_kind() -> None:
    table = letters("ABC")
    for form in (table, table.to_batches(), table.to_pandas(), table.to_batches()[0]):
        assert asked().feed(form).ask().count == 2
    dictionary = table.set_column(1, "kind", table["kind"].dictionary_encode())
    assert asked().feed(dictionary).ask().count == 2


@pytest.mark.parametrize(
    ("times", "within"),
    [
        (pa.array([1, 2, 3]), 2),
        (pa.array([1, 2, 3], pa.int16()), 2),
        (pa.array([date(2024, 1, day) for day in (1, 2, 3)]), "2 days"),
        (pa.array([datetime(2024, 1, 1, hour, tzinfo=UTC) for hour in (1, 2, 3)]), timedelta(hours=2)),
        (pa.array([datetime(2024, 1, 1, hour) for hour in (1, 2, 3)], pa.timestamp("ms")), "INTERVAL '2' HOURS"),
    ],
)
def test_times_of_any_kind(times: pa.Array, within: Any) -> None:
    table = pa.table({"ts": times, "kind": ["A", "B", "C"]})
    assert asked(within=within).feed(table).ask().count == 2
    assert asked(within=within).feed(table).ask().kept_events[0].time == times[0].as_py()
    shorter = within - 1 if isinstance(within, int) else timedelta(seconds=1)
    assert asked(within=shorter).feed(table).ask().count == 0


def test_a_row_without_a_time_is_nowhere() -> None:
    table = pa.table({"ts": [1, None, 3], "kind": ["A", "B", "C"]})
    assert (asked(within=9).feed(table).ask().count, asked(within=9).feed(table).ask().seen) == (1, 2)


def test_columns_are_found_in_any_case() -> None:
    assert asked(type="KIND", time="Ts").feed(letters("ABC")).ask().count == 2


def test_names_of_several_letters() -> None:
    table = pa.table({"ts": [1, 2, 3], "kind": ["order", "item", "pay"]})
    given = {"within": 9, "event_types": ost.EventTypes(declared=("order", "item", "pay"))}
    assert asked("order item+ pay", **given).feed(table).ask().count == 1
    assert asked("`order` `item`+ `pay`", within=9).feed(table).ask().count == 1


def test_before_the_first_event() -> None:
    for summary in (asked(), asked().feed(letters(""))):
        answer = summary.ask()
        assert (answer.value, answer.count, answer.seen, answer.kept_events, answer.asked_at) == (0, 0, 0, (), None)
        assert answer.svg().startswith("<svg")
    assert asked(keys="k", aggregate="SUM(x)").ask_all().num_rows == 0
    for key in (7, {"k": None}, BEGIN):  # nobody knows the type of the column yet
        assert asked(keys="k").ask(key).seen == 0


# --- keys -------------------------------------------------------------------------------------------------------------


def keyed_table() -> pa.Table:
    return letters("AABBCCAC", k=[1, None, 1, None, 1, None, 2, 2], f=[0.0, -0.0, 0.0, -0.0, 0.0, -0.0, 1.0, 1.0])


def test_a_summary_for_each_key() -> None:
    summary = asked(keys="k").feed(keyed_table())
    assert [summary.ask(key).count for key in (1, 2, 9)] == [2, 1, 0]
    assert (summary.ask({"k": None}).count, summary.ask((None,)).count) == (2, 2)
    assert summary.ask(2).key == {"k": 2}
    found = {(row["k"], int(row["count"]), row["seen"]) for row in summary.ask_all().to_pylist()}
    assert found == {(None, 2, 3), (1, 2, 3), (2, 1, 2)}


def test_several_key_columns() -> None:
    summary = asked(keys=("k", "f")).feed(keyed_table()).feed(letters("C", 9, k=[1], f=[0.0]))
    assert (summary.ask((1, 0.0)).count, summary.ask({"F": -0.0, "K": 1}).count) == (4, 4)
    assert summary.ask_all().num_rows == 3


def test_types_that_belong_to_every_key() -> None:
    """B has no key: it goes with the orders of each, before and after they begin."""
    table = letters("BABACBC", k=[None, 1, 7, 2, 1, None, 2])
    summary = asked("B* A B* C", keys="k", event_types=ost.EventTypes(keyed=("A", "C"))).feed(table)
    assert (summary.ask(1).count, summary.ask(2).count, summary.ask(7).count) == (4, 8, 0)
    assert summary.ask_all().column("k").to_pylist() == [1, 2]
    assert summary.ask_shared().count == 0
    assert [summary.exact(table, key).count for key in (1, 2)] == [4, 8]
    again = asked("B* A B* C", keys="k", event_types=ost.EventTypes(keyed=("A", "C"))).restore(summary.to_bytes())
    assert again.feed(letters("C", 9, k=[1])).ask(1).count == 4 + 8
    with pytest.raises(MatchError, match="SUMMARY_TIME_ORDER"):
        summary.feed(letters("A", 3, k=[3]))


def test_exact_counts_one_key() -> None:
    table = keyed_table()
    assert [asked(keys="k").exact(table, key).count for key in (1, 2, (None,))] == [2, 1, 2]
    assert [event.number for event in asked(keys="k").exact(table, 2).kept_events] == [0, 1]


def test_a_key_that_is_born_late_has_seen_all_shared_events() -> None:
    """Room for one: the base keeps one B of nine, but all of them came."""
    table = letters("B" * 9 + "?AC", k=[None] * 10 + [1, 1])
    options = {"keys": "k", "event_types": ost.EventTypes(keyed=("A", "C"))}
    answer, exact = (asked("B* A C", size=size, **options).feed(table).ask(1) for size in (1, 50))
    assert (answer.seen, exact.seen, exact.count) == (11, 11, 2**9)
    other = asked("B* A C", **options).exact(table, 1)
    assert (other.seen, other.kept_events) == (exact.seen, exact.kept_events)


@pytest.mark.parametrize("key", [None, (1, 2), {"x": 1}, "seven"])
def test_a_key_that_is_none(key: Any) -> None:
    with pytest.raises(QueryError, match="SUMMARY_KEY"):
        asked(keys="k").feed(keyed_table()).ask(key)
    with pytest.raises(QueryError, match="SUMMARY_KEY"):
        asked(keys="k").exact(keyed_table(), key)


def test_a_key_where_there_are_none() -> None:
    with pytest.raises(QueryError, match="SUMMARY_KEY"):
        asked().feed(letters("ABC")).ask(3)
    with pytest.raises(QueryError, match="SUMMARY_KEY"):
        asked().exact(letters("ABC"), 3)
    with pytest.raises(QueryError, match="SUMMARY_KEY"):
        asked(keys="k").feed(keyed_table()).ask_shared()


# --- tables of answers ------------------------------------------------------------------------------------------------


def test_a_table_of_kept_events() -> None:
    table = asked(aggregate="SUM(x)").feed(letters("ABC", x=pa.array([1, None, 3], pa.int16()))).ask().table()
    assert table.column_names == ["number", "time", "type", "value", "contribution"]
    assert (table.schema.field("value").type, table.schema.field("time").type) == (pa.int16(), pa.timestamp("us"))
    assert table.column("contribution").to_pylist() == [2, 1, 2]
    assert "value" not in asked().feed(letters("ABC")).ask().table().column_names


@pytest.mark.parametrize(("numbers", "value"), [("text", str(2**200)), ("log10", 200 * np.log10(2))])
def test_numbers_of_any_size(numbers: str, value: object) -> None:
    stream = letters("A" + "B" * 200 + "C")
    summary = asked(within="1 hour", size=300, numbers=numbers).feed(stream)
    assert summary.ask().value == 2**200
    assert summary.ask_all().column("value").to_pylist() == [pytest.approx(value) if numbers == "log10" else value]
    assert summary.ask().table().num_rows == 202


def test_numbers_that_no_decimal_holds() -> None:
    summary = asked(within="1 hour", size=300).feed(letters("A" + "B" * 200 + "C"))
    assert summary.ask().count == 2**200
    with pytest.raises(MatchError, match=r'NUMBER_TOO_LARGE.*\nhint: numbers="text"'):
        summary.ask_all()
    with pytest.raises(MatchError, match=r'NUMBER_TOO_LARGE.*\nhint: numbers="text"'):
        summary.ask().table()


def test_sums_in_every_form() -> None:
    stream = letters("ABC", x=pa.array([Decimal("1.5"), Decimal("2.5"), Decimal("4.0")], pa.decimal128(5, 1)))
    found = {
        numbers: asked(aggregate="SUM(x)", numbers=numbers).feed(stream).ask_all().column("value").to_pylist()
        for numbers in ("decimal", "text", "log10")
    }
    assert found == {"decimal": [Decimal("13.5")], "text": ["13.5"], "log10": [pytest.approx(np.log10(13.5))]}
    doubles = letters("ABC", x=[1.5, 2.5, 4.0])
    logs = asked(aggregate="SUM(x)", numbers="log10").feed(doubles).ask_all().column("value").to_pylist()
    assert logs == [pytest.approx(np.log10(13.5))]


@pytest.mark.parametrize("values", [[-10, -20, 5], [-10.0, -20.5, 5.0]])
def test_a_negative_sum_is_refused_as_a_logarithm(values: list[Any]) -> None:
    summary = asked(aggregate="SUM(x)", numbers="log10").feed(letters("ABC", x=values))
    with pytest.raises(MatchError, match=r"NEGATIVE_LOGARITHM.*\nhint: .*numbers=\"text\""):
        summary.ask_all()
    assert summary.ask().value == sum(values) + values[0] + values[2]


# --- bytes ------------------------------------------------------------------------------------------------------------


def test_what_was_fed_survives_bytes() -> None:
    options = {"size": 4, "keys": ("k", "f"), "aggregate": "SUM(x)"}
    first = keyed_table().append_column("x", pa.array([1.5, None] * 4))
    later = letters("ABC", 20, k=[1, 5, 1], f=[0.0, 2.0, 0.0], x=[1.0, 2.0, 3.0])
    whole = asked(**options).feed(first)
    again = asked(**options).restore(whole.to_bytes())
    assert again.to_bytes() == whole.to_bytes()
    assert again.feed(later).ask_all() == whole.feed(later).ask_all()


def test_nothing_survives_bytes() -> None:
    assert asked().restore(asked().feed(letters("")).to_bytes()).feed(letters("ABC")).ask().count == 2
    never_fed = asked(keys="k", aggregate="SUM(x)").to_bytes()
    other = asked(keys="k", aggregate="SUM(x)").feed(letters("A", k=["no number"], x=[1]))
    assert other.restore(never_fed).feed(letters("ABC", k=[1, 1, 1], x=[0.5, 1.0, 2.0])).ask(1).value == 6.0


def test_bytes_are_read_by_other_processes() -> None:
    """A set of names has another order in each: it must not get into what bytes are known by."""
    script = """
import sys
from tests.summaries.fed_summaries import asked, letters
summary = asked("A B C D E", keys="k", event_types={"keyed": ("A", "B", "C", "D")})
if len(sys.argv) > 1:
    print(summary.restore(bytes.fromhex(sys.argv[1])).ask(1).seen)
else:
    print(summary.feed(letters("ABE", k=[1, 1, None])).to_bytes().hex())
"""

    def printed(seed: str, *arguments: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-c", script, *arguments],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        return ran.stdout.strip()

    assert printed("2", printed("1")) == "3"


def test_bytes_of_something_else() -> None:
    data = asked().feed(letters("ABC")).to_bytes()
    for spoilt in (b"", data[:40], data[:-1], b"OSUM" + data[4:], data[:4] + b"\x07" + data[5:]):
        with pytest.raises(MatchError, match="STATE_FORMAT"):
            asked().restore(spoilt)
    with pytest.raises(MatchError, match=r"SUMMARY_STATE: the summar(y|ies) of another query"):
        asked(size=7).restore(data)
