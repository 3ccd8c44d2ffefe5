"""The worked examples of the paper, with corrected numbers where the print is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.summary.single_answers import ask
from tests.summaries.letters import after, counters, numbers

from ostinato.event_queries.language.event_query import Selection
from ostinato.summaries.engine.counter_moves import count_program
from ostinato.summaries.engine.event_benefit import growth
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery
from ostinato.summaries.language.type_automaton import compile_expression


def value(expression: str, letters: str, window: int = 100, aggregate: str = "COUNT", values: object = None) -> object:
    summary = Summary(SummaryQuery(expression, window, 20, SummaryAggregate(aggregate)))
    return ask(summary, after(summary, letters, values=values)).value


def test_examples_1_to_3() -> None:
    assert value("abdc", "abdcabcd") == 2
    assert value("abc", "abcc", window=2) == 1
    stream = ("abc", "acbacbc", 5)
    values = [2, 3, 5, 6, 13, 7, 9]
    assert [value(*stream, kind, values) for kind in ("COUNT", "SUM", "AVG")] == [2, 42, 21.0]


def test_example_4_and_5() -> None:
    state = counters("A(B*C)*D", "ABADBCD")
    assert state.everything == [8, 4, 10]
    expected = [[5, 3, 6], [2, 2, 2], [3, 1, 4], [0, 0, 2], [3, 3, 3], [6, 0, 6], [0, 0, 8]]
    assert state.local == state.active_local == expected
    assert counters("A(B*C)*D", "ABADBCD", selection=Selection.NEXT).everything == [0, 0, 2]


def test_example_6() -> None:
    state = counters("A(B*C)*D", "ABDC", 10, times=[38, 39, 40, 42])
    assert state.active == [3, 1, 1]
    state.insert(43, 1)
    assert state.local[-1] == [0, 4, 0]


def test_example_6_the_window_moves_to_the_next_initiator() -> None:
    state = counters("A(B*C)*D", "ACBABDC", 10, times=[32, 35, 37, 38, 39, 40, 42])
    assert state.first == 0
    everything = list(state.everything)
    state.expire(43)
    assert state.first == 3, "C35 and B37 are in the window, but nothing starts with them"
    assert state.active == [3, 1, 1]
    assert state.everything == everything


def test_example_7_remove_equals_a_stream_without_the_event() -> None:
    times = [15, 17, 18, 20, 21, 22, 23, 25]
    state = counters("A(B*C)*D", "ADABBCDD", 4, times=times)
    state.remove(4)
    expected = counters("A(B*C)*D", "ADABCDD", 4, times=[t for t in times if t != 21])
    assert state == expected


def test_example_8() -> None:
    state = counters("A(B*C)*D", "ABADBCD", values=[5, 3, 2, 1, 7, 3, 8])
    assert state.everything == [8, 4, 10, 76, 44, 149]
    assert value("A(B*C)*D", "ABADBCD", aggregate="AVG", values=[5, 3, 2, 1, 7, 3, 8]) == 14.9


def test_figure_2_all_matches() -> None:
    assert value("AB*C", "AABCBCABCA", window=10) == 30


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("strategy", "probabilities", "kept", "count"),
    [
        (Strategy.FIFO, (1 / 3, 1 / 3, 1 / 3), [6, 7, 8, 9, 10], 2),
        (Strategy.PUBLISHED, (0.55, 0.40, 0.05), [1, 2, 3, 4, 6], 8),
        (Strategy.PRESENT, (1 / 3, 1 / 3, 1 / 3), [1, 2, 3, 4, 6], 8),
        (Strategy.PUBLISHED, (1 / 3, 1 / 3, 1 / 3), [2, 7, 8, 9, 10], 4),
    ],
)
def test_figure_2(strategy: Strategy, probabilities: tuple[float, ...], kept: list[int], count: int) -> None:
    probabilities_by_type = tuple(zip("ABC", probabilities, strict=True))
    summary = Summary(SummaryQuery("AB*C", 10, 5, strategy=strategy, probabilities=probabilities_by_type, tick_us=1))
    state = after(summary, "AABCBCABCA")
    assert numbers(summary, state) == kept
    assert ask(summary, state).value == count


def test_figure_6() -> None:
    program = count_program(compile_expression("A(B*C)*D"))
    step = growth(program, np.array([0.5, 0.2, 0.15, 0.15]))
    assert np.array([1, 5, 10, 15]) @ step == pytest.approx([1, 7.75, 13, 15.75])
    assert np.array([0, 5, 10, 15]) @ step == pytest.approx([0, 7.25, 13, 15.75]), "local counters: no start in them"
    twice = step @ step
    assert twice[:, 1] == pytest.approx([1.075, 1.3525, 0.3525, 0])
    assert twice[:, 2] == pytest.approx([0.1, 0.47, 1.47, 0])
    assert twice[:, 3] == pytest.approx([0.075, 0.3225, 0.0225, 1])


@pytest.mark.parametrize(("expression", "letters", "count"), [("a?a?b", "aab", 4), ("A*G(A|B)*G*A", "AGABGA", 22)])
def test_ambiguous_expressions_count_sets(expression: str, letters: str, count: int) -> None:
    assert value(expression, letters) == count
