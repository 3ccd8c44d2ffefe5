"""The oracle of summaries on examples that can be checked by hand: letters for events, one a microsecond."""

from __future__ import annotations

from fractions import Fraction

import pytest

from ostinato.event_queries.language.event_query import Selection
from ostinato.reference.summary_oracle import (
    SummaryEvent,
    aggregate,
    contributions,
    expected_matches,
    kept_events,
    language,
    matches,
)
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery


def events(letters: str, times: list[int] | None = None, values: list[int] | None = None) -> list[SummaryEvent]:
    return [
        SummaryEvent(letter, times[i] if times else i + 1, values[i] if values else None)
        for i, letter in enumerate(letters)
    ]


def count(expression: str, letters: str, window: int = 100, selection: Selection = Selection.ANY) -> int:
    return len(matches(SummaryQuery(expression, window, 5, selection=selection), events(letters)))


@pytest.mark.parametrize(
    ("expression", "letters", "expected"),
    [
        ("A(B*C)*D", "ABADBCD", 10),
        ("AB*C", "AABCBCABCA", 30),
        ("a?a?b", "aab", 4),
        ("a*b", "aab", 4),
        ("A*G(A|B)*G*A", "AGABGA", 22),
        ("a*", "aa", 3),  # the empty word is no match
        ("(a|b)c", "abc", 2),
    ],
)
def test_a_match_is_a_set_of_positions(expression: str, letters: str, expected: int) -> None:
    assert count(expression, letters) == expected


def test_the_window_is_inclusive() -> None:
    assert matches(SummaryQuery("abc", 2, 5), events("abcc")) == [(0, 1, 2)]
    assert count("ab", "ab", window=1) == 1
    assert count("ab", "ab", window=0) == 0


def test_events_of_one_time_follow_one_another_as_they_came() -> None:
    assert matches(SummaryQuery("ab", 0, 5), events("abab", [7, 7, 7, 8])) == [(0, 1)]


def test_skip_till_next_takes_what_it_can() -> None:
    assert count("A(B*C)*D", "ABADBCD", selection=Selection.NEXT) == 2
    assert matches(SummaryQuery("A+", 9, 5, selection=Selection.NEXT), events("AAA")) == [(2,), (1, 2), (0, 1, 2)]


def test_aggregates() -> None:
    stream = events("acbacbc", values=[2, 3, 5, 6, 13, 7, 9])
    answers = {kind: aggregate(SummaryQuery("abc", 5, 5, kind), stream) for kind in SummaryAggregate}
    assert answers == {SummaryAggregate.COUNT: 2, SummaryAggregate.SUM: 42, SummaryAggregate.AVG: 21}
    assert aggregate(SummaryQuery("abc", 5, 5, SummaryAggregate.SUM), stream[:2]) is None


def test_contributions() -> None:
    assert contributions(SummaryQuery("A(B*C)*D", 100, 5), events("ABADBCD")) == [6, 2, 4, 2, 3, 6, 8]


def test_expected_matches_weigh_every_future() -> None:
    half = {"a": Fraction(1, 2), "b": Fraction(1, 2)}
    words = language(SummaryQuery("b+", 9, 5))
    assert expected_matches(words, 1, half, True) == Fraction(1, 2)
    assert expected_matches(words, 2, half, True) == Fraction(5, 4)  # ab, ba: 1 match; bb: 3; aa: none


@pytest.mark.parametrize(
    ("strategy", "probabilities", "kept"),
    [
        (Strategy.FIFO, (1 / 3, 1 / 3, 1 / 3), [6, 7, 8, 9, 10]),
        (Strategy.PUBLISHED, (1 / 3, 1 / 3, 1 / 3), [2, 7, 8, 9, 10]),
        (Strategy.PUBLISHED, (0.55, 0.40, 0.05), [1, 2, 3, 4, 6]),
        (Strategy.PRESENT, (1 / 3, 1 / 3, 1 / 3), [1, 2, 3, 4, 6]),
    ],
)
def test_figure_2(strategy: Strategy, probabilities: tuple[float, ...], kept: list[int]) -> None:
    given = tuple(zip("ABC", probabilities, strict=True))
    query = SummaryQuery("AB*C", 10, 5, strategy=strategy, probabilities=given, tick_us=1)
    stream = events("AABCBCABCA")
    found = kept_events(query, stream)
    assert [position + 1 for position in found] == kept
    if kept[0] == 1:
        assert aggregate(query, [stream[p] for p in found]) == 8
