"""Events -> symbols and streams: which actions and logs an event has, and the values that each aggregate reads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import events, program
from tests.event_queries.trends.shared.letter_lanes import plan_of

from ostinato.event_queries.automaton.trend_automaton import START, Transition, TrendAutomaton
from ostinato.event_queries.plan.event_program import Events, Program, Slot, SlotKind
from ostinato.event_queries.trends.ordered_keys import ordered_keys
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.event_symbols import SymbolRows, prepared
from ostinato.event_queries.trends.shared.layout import CompiledPrograms, ValueStream

pytestmark = [pytest.mark.kernel, pytest.mark.usefixtures("both_ways")]

Q1, Q2 = program("A B+"), program("C B+")


def of(stream: Events | str, *programs: Program) -> tuple[SymbolRows, CompiledPrograms]:
    stream = events(stream) if isinstance(stream, str) else stream
    plan = plan_of(programs, stream)
    return prepared(stream, plan), plan


def concerned(rows: SymbolRows, first: int, numbers: int) -> list[list[int]]:
    """For each event the numbers of its actions, or of its logs."""
    symbols = rows.events.symbols
    lists = []
    for symbol in rows.events.rows[s.SYMBOL_ROW]:
        begin, end = symbols[symbols[first] + symbol : symbols[first] + symbol + 2]
        lists.append(symbols[symbols[numbers] + begin : symbols[numbers] + end].tolist())
    return lists


def actions(rows: SymbolRows) -> list[list[int]]:
    return concerned(rows, s.SYMBOL_ACTION_FROM, s.SYMBOL_ACTION)


def logs(rows: SymbolRows) -> list[list[int]]:
    return concerned(rows, s.SYMBOL_LOG_FROM, s.SYMBOL_LOG)


# --- symbols ----------------------------------------------------------------------------------------------------------


def test_a_symbol_is_a_set_of_conditions() -> None:
    rows, _ = of("AXBA+CD", Q1, Q2)
    a, x, b, again, both, c, d = rows.events.rows[s.SYMBOL_ROW]
    assert x == d == 0  # no query wants them
    assert a == again
    assert len({0, a, b, both, c}) == 5


def test_a_symbol_has_the_actions_and_logs_of_its_conditions() -> None:
    rows, plan = of("AXB+C", Q1, Q2)
    assert plan.layout.actions.condition.tolist() == [0, 2]  # A and C
    assert actions(rows) == [[0], [], [], [0], [1]]
    assert logs(rows) == [[], [], [0], [0], []]
    assert rows.log_events.tolist() == [2]


def test_no_events_at_all() -> None:
    rows, _ = of("", Q1, Q2)
    assert rows.events.rows.shape[1] == 0
    assert rows.log_events.tolist() == [0]
    assert rows.one_at_a_time


def test_time_and_place_are_rows() -> None:
    rows, _ = of(events("ABAB", [5, 7, 2, 2], starts=[0, 2, 4]), Q1)
    assert rows.events.rows[s.TIME_ROW].tolist() == [5, 7, 2, 2]
    assert rows.events.rows[s.PLACE_ROW].tolist() == [0, 1, 0, 1]
    assert rows.events.starts.tolist() == [0, 2, 4]


def numbered(condition: int) -> Program:
    """One event of the condition with this number."""
    return Program(TrendAutomaton(("a",), 2, (Transition(START, 0, 1),), frozenset({1})), (condition,))


def with_conditions(holds: Any) -> Events:
    """Events for which the conditions of their row hold: [event, condition]."""
    count = len(holds)
    place = np.arange(count)
    return Events(np.array([0, count]), place, place, tuple(np.ascontiguousarray(holds.T)), (), ())


@pytest.mark.parametrize("conditions", [61, 62, 63, 124, 125, 130])
def test_more_conditions_than_a_word_has_bits(conditions: int) -> None:
    """A word has 62 bits. Some events have the first and the last condition of a word, or of all."""
    holds = np.random.default_rng(3).random((60, conditions)) < 0.05
    holds[:4] = False
    holds[1, [0, conditions - 1]] = holds[2, -1] = holds[3, 61 % conditions] = True
    rows, _ = of(with_conditions(holds), *(numbered(condition) for condition in range(conditions)))
    assert actions(rows) == [np.flatnonzero(row).tolist() for row in holds]
    assert rows.events.rows[s.SYMBOL_ROW, 0] == 0


@pytest.mark.parametrize("symbols", [4095, 4096, 4097, 5000])
def test_more_symbols_than_the_table_has_room_for(symbols: int) -> None:
    """The table holds 4096 symbols, one of which stands for no condition."""
    bits = np.arange(1, symbols + 1)[::-1].repeat(2)
    holds = (bits[:, None] >> np.arange(13)) & 1 == 1
    rows, _ = of(with_conditions(holds), *(numbered(condition) for condition in range(13)))
    assert actions(rows)[:: symbols // 50] == [np.flatnonzero(row).tolist() for row in holds[:: symbols // 50]]
    symbol = rows.events.rows[s.SYMBOL_ROW]
    assert (symbol[0::2] == symbol[1::2]).all()
    assert sorted(set(symbol.tolist())) == list(range(1, symbols + 1))


# --- one at a time ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "times", "starts", "expected"),
    [
        ("ABC", [0, 1, 2], None, True),
        ("ABC", [0, 1, 1], None, False),
        ("AXBX", [0, 0, 1, 1], None, True),  # no query wants an X
        ("AXB", [0, 0, 0], None, False),
        ("ABAB", [0, 1, 1, 2], [0, 2, 4], True),  # the last event of a sequence, and the first of the next
        ("ABAB", [0, 1, 2, 2], [0, 2, 4], False),
        ("A+", [0, 1], None, False),  # A and B in one: an action and a loop of the first query
        ("A", [0], None, True),
    ],
)
def test_one_at_a_time(text: str, times: list[int], starts: list[int] | None, expected: bool) -> None:
    assert of(events(text, times, starts=starts), Q1, Q2)[0].one_at_a_time == expected


# --- streams of values ------------------------------------------------------------------------------------------------

B = frozenset({1})


def streams(values: Any, valid: Any, *kinds: SlotKind) -> dict[str, list[float]]:
    """The streams that these aggregates over B read, by kind; keys and flags of extremes have names of their own."""
    stream = events("AB" + "B" * (len(values) - 2), values=[values], valid=[valid])
    rows, plan = of(stream, program("A B+", slots=tuple(Slot(kind, B, 0) for kind in kinds)))
    data, ints = rows.events.rows, len(plan.streams.ints)
    key_rows = s.INT_ROWS + ints
    has_rows = key_rows + len(plan.streams.extremes)
    named = {kind.kind: data[s.INT_ROWS + number].tolist() for kind, number in plan.streams.ints.items()}
    named |= {kind.kind: rows.events.doubles[number].tolist() for kind, number in plan.streams.reals.items()}
    for kind, number in plan.streams.extremes.items():
        named[f"{kind.kind} key"] = data[key_rows + number].tolist()
        named[f"has {kind.kind}"] = data[has_rows + number].tolist()
    return named


def test_null_adds_nothing_to_a_sum_and_is_not_counted() -> None:
    by_stream = streams(np.array([1, 2, -3]), np.array([True, False, True]), SlotKind.SUM, SlotKind.COUNT)
    assert by_stream["value"] == [1, 0, -3]
    assert by_stream["valid"] == by_stream["has valid"] == [1, 0, 1]


def test_without_null_every_value_counts() -> None:
    by_stream = streams(np.array([1, 2, -3]), None, SlotKind.SUM, SlotKind.COUNT)
    assert (by_stream["value"], by_stream["valid"]) == ([1, 2, -3], [1, 1, 1])


def test_a_count_of_events_is_a_stream_of_ones() -> None:
    rows, plan = of(events("AB"), program("A B+", slots=(Slot(SlotKind.COUNT, B),)))
    assert plan.streams.ints == {ValueStream("one"): 0}
    assert rows.events.rows[s.INT_ROWS].tolist() == [1, 1]


def test_doubles_that_are_not_finite_have_flags_instead() -> None:
    values = np.array([1.5, np.nan, np.inf, -np.inf, np.nan, 2.5])
    by_stream = streams(values, np.array([True, True, True, True, False, False]), SlotKind.SUM)
    assert by_stream["real"] == [1.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert by_stream["has nan"] == [0, 1, 0, 0, 0, 0]
    assert by_stream["has above"] == [0, 0, 1, 0, 0, 0]
    assert by_stream["has below"] == [0, 0, 0, 1, 0, 0]
    assert by_stream["has valid"] == [1, 1, 1, 1, 0, 0]
    assert by_stream["nan key"] == [0] * 6


def test_the_key_of_a_maximum_is_turned_round() -> None:
    """Extremes are minima: the greatest value has the smallest key."""
    by_stream = streams(np.array([1, 3, 2]), np.array([True, True, False]), SlotKind.MIN, SlotKind.MAX)
    assert by_stream["min key"] == [1, 3, 2]
    assert by_stream["max key"] == [~1, ~3, ~2]
    assert by_stream["has min"] == by_stream["has max"] == [1, 1, 0]


def test_doubles_have_keys_in_their_order() -> None:
    values = np.array([0.5, -2.0, np.nan, 1e300])
    assert streams(values, None, SlotKind.MIN)["min key"] == ordered_keys(values).tolist()
    assert np.argsort(streams(values, None, SlotKind.MAX)["max key"]).tolist() == [2, 3, 0, 1]
