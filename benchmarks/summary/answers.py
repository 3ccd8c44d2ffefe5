"""Before anything is measured: kept events against the definition, counts in doubles against exact answers."""

from __future__ import annotations

import math

from benchmarks.experiment import Scale, WrongAnswer, expect
from benchmarks.records import Record
from benchmarks.summary.feeding import Counter, counts_at, states_at
from benchmarks.summary.single_answers import ask
from benchmarks.summary.streams import NASDAQ, NASDAQ_QUERIES, SYNTHETIC, UNIFORM, Kind, Letters, summary_of
from ostinato.reference import summary_oracle as oracle
from ostinato.summaries.engine.summary import Summary
from ostinato.summaries.language.summary_query import Strategy, SummaryQuery

CHOSEN = (Strategy.CAPPED, Strategy.PUBLISHED, Strategy.PRESENT, Strategy.FIFO)
"""Strategies that the oracle knows."""
SMALL_ROWS, SMALL_SIZE, SMALL_WINDOW = 40, 5, 9
ROWS, SIZE, WINDOW = 3_000, 100, 100
DIGITS = 1e-9
PUBLISHED_EXAMPLE = ("A1 A2 B3 C4 B5 C6 A7 B8 C9 A10", "AB*C", 30)
"""Figure 2: its stream, its expression, and the number of matches in the stream."""


def check_answers(scale: Scale) -> list[Record]:
    """Stops at the first difference. The records show how much was compared."""
    _check_whole_stream()
    return [_check_kept(), _check_doubles()]


def _check_whole_stream() -> None:
    text, expression, right = PUBLISHED_EXAMPLE
    letters = "".join(event[0] for event in text.split())
    query = SummaryQuery(expression, 100, 1)
    events = [oracle.SummaryEvent(letter, time) for time, letter in enumerate(letters, 1)]
    expect("figure 2's stream", len(oracle.matches(query, events)), right)


def _check_kept() -> Record:
    """All strategies but the random one keep the events of the definition."""
    compared = 0
    for kind in SYNTHETIC:
        for strategy in CHOSEN:
            summary = summary_of(kind, strategy, SMALL_SIZE, SMALL_WINDOW, "a(b*c)*d")
            letters = kind.draw(SMALL_ROWS, seed=3)
            events = [oracle.SummaryEvent(kind.letters[letter], time) for time, letter in enumerate(letters.places)]
            answer = ask(summary, states_at(summary, letters, [SMALL_ROWS])[0])
            right = oracle.kept_events(summary.query, events)
            expect(f"{kind.name}, {strategy.value}", [event.number for event in answer.kept], right)
            matches = len(oracle.matches(summary.query, [events[number] for number in right]))
            expect(f"{kind.name}, {strategy.value}: matches", answer.count, matches)
            compared += 1
    return Record("summary", "answers", "kept events and matches, as defined", "equal", compared, "summaries")


def _check_doubles() -> Record:
    compared = 0
    cases: list[tuple[Kind, str]] = [(kind, "a(b*c)*d(e|f)g*") for kind in SYNTHETIC]
    for kind, expression in [*cases, (NASDAQ, NASDAQ_QUERIES[0])]:
        for strategy in Strategy:
            summary = summary_of(kind, strategy, SIZE, WINDOW, expression)
            state = states_at(summary, kind.draw(ROWS, seed=5), [ROWS])[0]
            _expect_close(f"{kind.name}, {strategy.value}", Counter(summary).kept(state), ask(summary, state).count)
            compared += 1
    summary_of_all = summary_of(UNIFORM, Strategy.FIFO, ROWS, WINDOW)
    letters = UNIFORM.draw(ROWS, seed=5)
    right = summary_of(UNIFORM, Strategy.CAPPED, ROWS, WINDOW)
    _expect_close(
        "the whole stream", Counter(summary_of_all).stream(letters.events(summary_of_all)), _exact(right, letters)
    )
    _expect_close("a summary of all", float(counts_at(summary_of_all, letters, [ROWS])[0]), _exact(right, letters))
    return Record("summary", "answers", "counts in doubles, beside exact ones", "equal", compared + 2, "summaries")


def _exact(summary: Summary, letters: Letters) -> int:
    return int(ask(summary, states_at(summary, letters, [len(letters)])[0]).count)


def _expect_close(what: str, count: float, right: int) -> None:
    if not math.isclose(count, right, rel_tol=DIGITS):
        raise WrongAnswer(f"{what}: {count}, should be {right}")
