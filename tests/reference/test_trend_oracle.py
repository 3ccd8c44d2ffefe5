"""The oracle of event queries on examples small enough to check by hand, and on the numbers of the HAMLET paper."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from itertools import combinations, pairwise, product
from math import nan

import pytest
from tests.reference.event_letters import BEGIN, bound, count, events, found_in, labels, matches, shown

from ostinato.event_queries.language.event_pattern import parse_event_pattern
from ostinato.reference import trend_matches
from ostinato.reference.trend_oracle import trend_rows
from ostinato.reference.trend_words import always_adjacent, match_readings, prefix_readings, variables_of

PAPER = "a1 a2 c1 b3 b4 b5 b6 a3 a4 c2 c3 c4 b7"
"""The stream of the paper's examples."""


# --- words of a pattern -----------------------------------------------------------------------------------------------


def spelled(pattern: str, word: str) -> bool:
    return bool(match_readings(parse_event_pattern(pattern), tuple(word)))


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("A", ["A"], ["", "AA", "B"]),
        ("SEQ(A, B)", ["AB"], ["A", "B", "BA", "ABB"]),
        ("SEQ(A, B+)", ["AB", "ABBB"], ["A", "ABA"]),
        ("SEQ(A*, B?)", ["", "A", "AAB", "B"], ["BB", "BA"]),
        ("A OR SEQ(B, A)", ["A", "BA"], ["B", "AB"]),
        ("(SEQ(A, B+))+", ["AB", "ABBAB"], ["ABA", "BAB"]),
        ("(SEQ(A?, B?))+", ["", "A", "BA", "ABAB", "BB"], []),
        ("SEQ(A, NOT C, B)", ["AB"], ["ACB", "A"]),
    ],
)
def test_words_of_a_pattern(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [word for word in yes if not spelled(pattern, word)] == []
    assert [word for word in no if spelled(pattern, word)] == []


def test_ways_say_what_must_be_absent_where() -> None:
    pattern = parse_event_pattern("SEQ(NOT D, A, (SEQ(B, NOT C))+)")
    [reading] = match_readings(pattern, tuple("ABB"))
    assert [sorted(variables_of(part)[0] for part in absent) for absent in reading] == [["D"], [], ["C"], ["C"]]


@pytest.mark.parametrize(
    "pattern", ["SEQ(A, B+)", "(SEQ(A, B?) OR C)*", "SEQ((A OR B)+, SEQ(A, C)?, B*)", "(SEQ(A, B+))+"]
)
def test_begun_is_the_beginning_of_a_word(pattern: str) -> None:
    parsed = parse_event_pattern(pattern)
    words = [word for length in range(7) for word in product("ABC", repeat=length)]
    beginnings = {word[:length] for word in words if match_readings(parsed, word) for length in range(1, 4)}
    assert {word for word in words if 0 < len(word) < 4 and prefix_readings(parsed, word)} == beginnings - {()}


@pytest.mark.parametrize(
    ("pattern", "adjacent"),
    [
        ("SEQ(A, B)", True),
        ("SEQ(B, A)", True),
        ("SEQ(A, NOT C, B)", True),
        ("SEQ(C+, A, B, C*)", True),
        ("SEQ(A, C?, B)", False),
        ("SEQ(A, B+)", False),
        ("(SEQ(A, B))+", False),
        ("SEQ(A, B) OR SEQ(A, C, B)", False),
        ("A OR B", True),
    ],
)
def test_always_adjacent(pattern: str, adjacent: bool) -> None:
    assert always_adjacent(parse_event_pattern(pattern), "A", "B") is adjacent


# --- matches ----------------------------------------------------------------------------------------------------------


def test_any_later_event_may_follow() -> None:
    assert matches("SEQ(A, B+)", "a1 b2 c3 b4") == ["a1 b2", "a1 b2 b4", "a1 b4"]


def test_a_match_counts_once_however_many_ways_lead_through_the_pattern() -> None:
    assert len(matches("SEQ(A+, A+)", "a1 a2 a3")) == 4
    assert labels("SEQ(A+ x, A+ y)", "a1 a2 a3") == [
        "x:a1 y:a2",
        "x:a1 x:a2 y:a3",
        "x:a1 y:a2 y:a3",
        "x:a1 y:a3",
        "x:a2 y:a3",
    ]
    assert matches("A OR A", "a1") == ["a1"]


def test_the_empty_match_is_none() -> None:
    assert matches("A*", "b1") == []
    assert matches("A?", "a1 a2") == ["a1", "a2"]


def test_events_of_one_time_never_follow_one_another() -> None:
    assert matches("SEQ(A, B+)", "a1 b2=b3 b4") == ["a1 b2", "a1 b3", "a1 b2 b4", "a1 b3 b4", "a1 b4"]
    assert matches("SEQ(A, B)", "a1=b2") == []


def test_an_event_without_a_time_takes_part_in_nothing() -> None:
    rows = [{**row, "ts": None if row["name"] == "b2" else row["ts"]} for row in events("a1 b2 b3")]
    assert matches("SEQ(A, B+)", rows) == ["a1 b3"]
    assert matches("SEQ(A, B) WITHIN 2 EVENTS", rows) == ["a1 b3"]


def test_rows_come_in_any_order() -> None:
    rows = events("a1 b2 b3")
    assert sorted(matches("SEQ(A, B+)", rows[::-1])) == sorted(matches("SEQ(A, B+)", rows))


def test_listing_all_sets_of_events_gives_the_same() -> None:
    stream = events("a1 b2 a3 c4 b5=b6 a7 c8")
    for pattern in ("SEQ(A, B+)", "(SEQ(A, B*) OR C)+", "SEQ(A+, (B OR C)?, C)"):
        expected = set()
        for size in range(1, len(stream) + 1):
            for chosen in combinations(range(len(stream)), size):
                times = [stream[at]["ts"] for at in chosen]
                word = "".join(stream[at]["kind"] for at in chosen)
                if all(one < other for one, other in pairwise(times)) and spelled(pattern, word):
                    expected.add(chosen)
        found = found_in(pattern, stream)
        assert {tuple(at for at, _ in each.pairs) for each in found} == expected
        assert len(found) == len(expected)


def test_the_oracle_gives_up_rather_than_run_for_hours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trend_matches, "MAX_RUNS", 100)
    assert count("A+", "a a a a a a") == 2**6 - 1
    with pytest.raises(trend_matches.TooManyRuns):
        count("A+", "a a a a a a a")


# --- WHERE ------------------------------------------------------------------------------------------------------------


def test_a_condition_on_one_variable_holds_for_each_of_its_events() -> None:
    assert matches("SEQ(A, B+) WHERE B.x > 2", "a1 b2 b3 b b4") == ["a1 b3", "a1 b3 b4", "a1 b4"]


def test_a_condition_without_a_variable_holds_for_every_event() -> None:
    assert matches("SEQ(A, NOT C, B) WHERE x > 1", "a1 a2 b1 b3") == ["a2 b3"]
    assert matches("SEQ(A, NOT C, B) WHERE x > 1", "a2 c1 b3") == []


def test_next_and_prev_hold_for_neighbours_of_one_variable() -> None:
    rising = ["a9 b1", "a9 b1 b3", "a9 b3", "a9 b1 b2", "a9 b2"]
    assert matches("SEQ(A, B+ b) WHERE NEXT(b).x > b.x", "a9 b1 b3 b2") == rising
    assert matches("SEQ(A, B+ b) WHERE PREV(b).x < b.x", "a9 b1 b3 b2") == rising


def test_null_is_not_true() -> None:
    assert matches("A+ WHERE NEXT(A).x >= A.x", "a1 a a1") == ["a1", "a1 a1", "a", "a1"]


def test_same() -> None:
    assert matches("SEQ(A, B+) WHERE SAME[key]", "a1:p a2:q b3:p b4 b5:q") == ["a1 b3", "a2 b5"]


def test_same_of_reals() -> None:
    rows = [{**row, "key": key} for row, key in zip(events("a1 b2 a3 b4"), [nan, nan, 0.0, -0.0], strict=True)]
    assert matches("SEQ(A, B) WHERE SAME[key]", rows) == ["a1 b2", "a3 b4"]


def test_conditions_over_several_variables() -> None:
    assert matches("SEQ(A, B, C) WHERE A.x + B.x < C.x", "a1 b2 c3 c4") == ["a1 b2 c4"]
    assert matches("SEQ(A, B+ b, C) WHERE SUM(b[i].x) < C.x", "a1 b2 b3 c4") == ["a1 b2 c4", "a1 b3 c4"]
    assert matches("SEQ(A, B+ b, C) WHERE b[i].x > A.x", "a2 b2 b3 b4 c5") == ["a2 b3 b4 c5", "a2 b3 c5", "a2 b4 c5"]
    assert matches("SEQ(A, B+, C) WHERE FIRST(B.x) < LAST(B.x)", "a1 b3 b2 b4 c5") == [
        "a1 b3 b2 b4 c5",
        "a1 b3 b4 c5",
        "a1 b2 b4 c5",
    ]
    assert matches("SEQ(A, B?, C) WHERE A.x < B.x", "a3 b2 c4") == ["a3 c4"]
    assert matches("SEQ(A, B) WHERE sqrt(A.x) = B.x", "a4 b2 b3") == ["a4 b2"]


# --- NOT --------------------------------------------------------------------------------------------------------------


def test_nothing_between() -> None:
    assert matches("SEQ(A, NOT C, B)", "a1 c2 a3 b4 b5") == ["a3 b4", "a3 b5"]
    assert matches("SEQ(A, NOT C, B)", "a1=c2 b3=c4") == ["a1 b3"]
    assert matches("SEQ(A, NOT C, B+)", "a1 b2 c3 b4") == ["a1 b2", "a1 b2 b4"]
    assert matches("(SEQ(A, NOT C, B))+", "a1 b2 c3 a4 b5") == ["a1 b2", "a1 b2 a4 b5", "a4 b5"]


def test_no_match_of_a_pattern_between() -> None:
    assert matches("SEQ(A, NOT SEQ(C, D), B)", "a1 c2 b3 d4 b5") == ["a1 b3"]
    assert matches("SEQ(A, NOT SEQ(C, D), B)", "a1 d2 c3 b4") == ["a1 b4"]
    assert matches("SEQ(A, NOT SEQ(C, D), B)", "a1 c2=d3 b4") == ["a1 b4"]


def test_what_counts_as_absent() -> None:
    assert matches("SEQ(A, NOT C c, B) WHERE c.x > 3", "a1 c2 b3 c4 b5") == ["a1 b3"]
    assert matches("SEQ(A, NOT C, B) WHERE SAME[key]", "a1:p c2:q b3:p c4 c5:p b6:p") == ["a1 b3"]
    assert matches("SEQ(A, NOT SEQ(C c, C c), B) WHERE NEXT(c).x > c.x", "a1 c3 c2 b4 c5 b6") == ["a1 b4"]


def test_nothing_before() -> None:
    assert matches("SEQ(NOT C, A)", "a1 c2 a3") == ["a1"]
    assert matches("SEQ(NOT C, A, B) WITHIN 2 SECONDS", "c1 a2 b3 b4") == ["a2 b4"]
    assert matches("SEQ(NOT C, A, B) WITHIN 4 EVENTS", "c1 . a2 b3 b4") == []
    assert matches("SEQ(NOT C, A) WITHIN 2 SECONDS TUMBLE", "c1 a2 a3 a4") == ["a3", "a4"]


def test_nothing_after() -> None:
    assert matches("SEQ(A, B, NOT C) WITHIN 2 SECONDS", "a1 b2 c3") == []
    assert matches("SEQ(A, B, NOT C) WITHIN 2 SECONDS", "a1 b2 . c3") == ["a1 b2"]
    assert matches("SEQ(A, NOT C) WITHIN 2 EVENTS", "a1 . . c2") == []
    assert matches("SEQ(A, NOT C) WITHIN 2 SECONDS TUMBLE", "a1 a2 c3 a4 a5") == ["a1", "a2", "a4", "a5"]
    assert matches("SEQ(A, NOT C) WITHIN 2 SECONDS TUMBLE", "a1 c2") == []


# --- selection --------------------------------------------------------------------------------------------------------


def test_strict_takes_the_very_next_event() -> None:
    assert matches("SEQ(A, B+) STRICT", "a1 b2 b3 c4 b5") == ["a1 b2", "a1 b2 b3"]
    assert matches("SEQ(A, B+) STRICT", "a1 x2 b3") == []
    assert matches("SEQ(A, B+) STRICT WHERE SAME[key]", "a1:p b2:q c3 b4:p") == ["a1 b4"]


def test_a_tie_breaks_strictness() -> None:
    assert matches("SEQ(A, B) STRICT", "a1 b2=b3") == []
    assert matches("SEQ(A, B) STRICT", "a1=c2 b3") == []
    assert matches("A STRICT", "a1=a2") == ["a1", "a2"]


def test_next_takes_the_first_event_that_fits() -> None:
    assert matches("SEQ(A, B+) SKIP TILL NEXT MATCH", "a1 c2 b3 b4") == ["a1 b3", "a1 b3 b4"]
    assert matches("SEQ(A, B+ b) SKIP TILL NEXT MATCH WHERE NEXT(b).x > b.x", "a1 b3 b2 b4") == ["a1 b3", "a1 b3 b4"]
    assert matches("SEQ(A, B) SKIP TILL NEXT MATCH WHERE A.x < B.x", "a3 b2 b4") == ["a3 b4"]
    assert matches("SEQ(A, B, C) SKIP TILL NEXT MATCH WHERE A.x < C.x", "a3 b1 c2 c4") == []


def test_next_takes_all_events_of_the_first_time() -> None:
    assert matches("SEQ(A, B, C) SKIP TILL NEXT MATCH", "a1 b2=b3 c4 c5") == ["a1 b2 c4", "a1 b3 c4"]
    assert labels("SEQ(A, (B p OR B q)) SKIP TILL NEXT MATCH", "a1 b2 b3") == ["A:a1 p:b2", "A:a1 q:b2"]


def test_next_passes_over_what_an_absence_forbids() -> None:
    assert matches("SEQ(A, (SEQ(NOT C, B) OR D)) SKIP TILL NEXT MATCH", "a1 c2 b3 d4") == ["a1 d4"]


def test_next_looks_into_one_window_only() -> None:
    assert matches("SEQ(A, B) SKIP TILL NEXT MATCH WITHIN 2 SECONDS", "a1 . . b2 b3") == []


# --- WITHIN -----------------------------------------------------------------------------------------------------------


def test_within_alone_bounds_the_span() -> None:
    assert matches("SEQ(A, B) WITHIN 2 SECONDS", "a1 . b2 b3") == ["a1 b2"]
    assert matches("SEQ(A, B) WITHIN 3 EVENTS", "a1 c2 b3 b4") == ["a1 b3"]


def test_windows_of_time() -> None:
    query = "SEQ(A, B) WITHIN 4 SECONDS SLIDE 2 SECONDS RETURN window_start, window_end, COUNT(*)"
    moment = [BEGIN + timedelta(seconds=second) for second in range(-4, 12)]
    assert shown(query, "a1 b2 . b3") == [(moment[2], moment[6], 1), (moment[4], moment[8], 2)]


def test_windows_of_events_count_within_the_group() -> None:
    query = "SEQ(A, B) GROUP BY key WITHIN 2 EVENTS SLIDE 1 EVENT RETURN key, window_start, window_end, COUNT(*)"
    assert shown(query, "a1:p a1:q b2:q b3:p b4:q") == [("p", 0, 2, 1), ("q", 0, 2, 1)]


def test_windows_with_gaps() -> None:
    query = "A WITHIN 1 EVENT SLIDE 3 EVENTS RETURN MIN(A.x)"
    assert shown(query, "a1 a2 a3 a4 a5") == [(0, 1, 1), (3, 4, 4)]


def test_matches_with_windows_come_once_for_each() -> None:
    assert matches("SEQ(A, B) WITHIN 3 EVENTS SLIDE 1 EVENT", "c1 a2 b3") == ["a2 b3", "a2 b3"]


# --- RETURN -----------------------------------------------------------------------------------------------------------


def test_aggregates() -> None:
    query = "SEQ(A, B+ b) RETURN COUNT(*), COUNT(b), COUNT(b.x), SUM(b.x), AVG(b.x), MIN(b.x), MAX(b.x + 1)"
    assert shown(query, "a1 b2 b b5") == [(7, 12, 8, 28, 3.5, 2, 6)]


def test_aggregates_of_a_type_cover_all_its_variables() -> None:
    assert shown("SEQ(A x, A y) RETURN COUNT(A), SUM(A.x), SUM(y.x)", "a1 a2") == [(2, 3, 2)]


def test_without_groups_and_windows_there_is_always_a_row() -> None:
    assert shown("SEQ(A, B) RETURN COUNT(*), COUNT(A), SUM(A.x), AVG(A.x), MIN(A.x)", "b1") == [
        (0, 0, None, None, None)
    ]
    assert shown("SEQ(A, B) RETURN COUNT(*)", "") == [(0,)]
    assert shown("SEQ(A, B) GROUP BY key RETURN key, COUNT(*)", "b1:p") == []
    assert shown("SEQ(A, B) WITHIN 1 SECOND TUMBLE RETURN COUNT(*)", "b1") == []


def test_groups_come_in_order_and_null_is_one() -> None:
    assert shown("A+ GROUP BY key RETURN key, COUNT(*)", "a1:q a2 a3:p a4:q a5") == [(None, 3), ("p", 1), ("q", 3)]


def test_sums_of_decimals_and_reals() -> None:
    rows = [{**row, "x": value} for row, value in zip(events("a a"), [Decimal("0.10"), Decimal("0.20")], strict=True)]
    assert list(trend_rows(bound("A RETURN SUM(A.x), AVG(A.x)"), rows)[0].values()) == [Decimal("0.30"), 0.15]
    rows = [{**row, "x": value} for row, value in zip(events("a a a"), [1e16, 1.0, -1e16], strict=True)]
    assert list(trend_rows(bound("A RETURN SUM(A.x)"), rows)[0].values()) == [1.0]


def test_match_rows_are_numbered_and_limited_by_group() -> None:
    rows = trend_rows(bound("SEQ(A, B) GROUP BY key RETURN MATCHES LIMIT 1"), events("a1:p b2:p a3:q b4:p b5:q"))
    assert [(row["key"], row["match_number"], row["events"]) for row in rows] == [
        ("p", 1, [(0, "A"), (1, "B")]),
        ("q", 1, [(2, "A"), (4, "B")]),
    ]


def test_a_whole_number_is_a_time_in_microseconds() -> None:
    rows = [{**row, "ts": at * 1_000_000} for at, row in enumerate(events("a1 b2 b3"))]
    assert matches("SEQ(A, B) WITHIN 1 SECOND", rows) == ["a1 b2"]
    query = bound("SEQ(A, B) WITHIN 2 SECONDS TUMBLE RETURN COUNT(*)")
    assert [tuple(row.values()) for row in trend_rows(query, rows)] == [(0, 2_000_000, 1)]


# --- AND --------------------------------------------------------------------------------------------------------------


def test_conjunction_counts_unordered_pairs_of_distinct_matches() -> None:
    # c1 = 3, c2 = 3, of which both are 3 (the Bs): pairs {b1 b2} {b1 b3} {b2 b3}
    assert count("B AND B", "b1 b2 b3") == 3
    assert count("A AND B", "a1 a2 b3") == 2
    # The paper's example: two matches of the first part alone, three of the second alone, two of both.
    assert count("(A OR C) AND (B OR C)", "a1 a2 b1 b2 b3 c1 c2") == 2 * 3 + 2 * 2 + 3 * 2 + 1


def test_conjunction_has_no_matches_to_list() -> None:
    with pytest.raises(NotImplementedError):
        found_in("A AND B RETURN COUNT(*)", events("a1 b2"))


def test_conjunction_within_one_key() -> None:
    assert count("A AND B WHERE SAME[key]", "a1:p b2:p b3:q a4:q b5") == 2


# --- the paper --------------------------------------------------------------------------------------------------------


def test_the_papers_counts() -> None:
    assert shown("SEQ(A, B+) RETURN COUNT(*), COUNT(B)", PAPER) == [(64, 162)]
    assert shown("SEQ(C, B+) RETURN COUNT(*), COUNT(B)", PAPER) == [(34, 83)]
    assert count("SEQ(C, B+ b) WHERE NOT (b.x = 4 AND NEXT(b).x = 5)", PAPER) == 26


@pytest.mark.parametrize(
    ("pattern", "ending"),
    [
        ("SEQ(A, B+)", {"b3": 2, "b4": 4, "b5": 8, "b6": 16, "b7": 34}),
        ("SEQ(C, B+)", {"b3": 1, "b4": 2, "b5": 4, "b6": 8, "b7": 19}),
        ("(SEQ(A, B+))+", {"b3": 2, "b4": 4, "b5": 8, "b6": 16, "b7": 94}),
        ("(SEQ(C, B+))+", {"b3": 1, "b4": 2, "b5": 4, "b6": 8, "b7": 64}),
    ],
)
def test_the_papers_counts_at_each_event(pattern: str, ending: dict[str, int]) -> None:
    last = [match.split()[-1] for match in matches(pattern, PAPER)]
    assert {name: last.count(name) for name in ending} == ending
    assert len(last) == sum(ending.values())
