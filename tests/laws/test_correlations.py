"""Every strategy of a correlation gives what the oracle gives, on random clauses over random small tables.

At once and in steps of few rows, with a buffer for everything and with one that is too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.comparison import differing
from tests.laws.correlation_strategies import Asked, correlations

from ostinato.errors import MatchError, QueryError
from ostinato.language.correlation import read_correlation
from ostinato.reference.correlation import correlate_rows
from ostinato.runtimes.correlations import correlate

Options = dict[str, Any]

STRATEGIES: tuple[Options, ...] = (
    {"strategy": "auto"},
    {"strategy": "window_first"},
    {"strategy": "eager"},
    {"strategy": "live_first"},
    {"strategy": "live_first", "cache": False},
    {"strategy": "archive_first"},
    {"strategy": "archive_first", "cache": False},
)
STEPS: tuple[Options, ...] = (
    {},
    {"step_rows": 1},
    {"step_rows": 3},
    {"step_rows": 1, "recent_rows": 1},
    {"step_rows": 2, "recent_rows": 3},
    {"step_rows": 3, "recent_rows": 2, "ordered": False},
)
DECLINED = frozenset({"UNSUPPORTED_ACROSS_ROWS", "CORRELATION_STRATEGY"})
"""Codes by which an engine says that it doesn't take an expression, or a strategy that it doesn't take the query."""


def expected_rows(asked: Asked) -> list[tuple[Any, ...]]:
    """The oracle's results, each as one flat row."""
    correlation = read_correlation(asked.text).correlation
    live, archive = asked.live, asked.history
    found = correlate_rows(correlation, live.column_names, live.to_pylist(), archive.column_names, archive.to_pylist())
    return [_flat(row) for row in found]


def _flat(row: dict[str, Any]) -> tuple[Any, ...]:
    return (row["correlation_start"], row["correlation_end"], *row["l"].values(), *row["a"].values())


def difference(asked: Asked, expected: Sequence[tuple[Any, ...]], options: Options) -> str | None:
    """What the engine gives otherwise than the oracle; None when nothing."""
    found = correlate(asked.text, live=asked.live, archive=asked.archive, **options).run().table
    rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
    keys = len(read_correlation(asked.text).correlation.keys)
    last: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for row in rows if options.get("ordered", True) else ():
        before = last.setdefault(row[2 : 2 + keys], row[:2])
        if before > row[:2]:
            return f"out of order: {before} stands before {row[:2]}"
        last[row[2 : 2 + keys]] = row[:2]
    names = [f"c{i}" for i in range(found.num_columns)]
    return differing(names, rows, [dict(zip(names, row, strict=True)) for row in expected])


def check(asked: Asked, all_options: Sequence[Options]) -> None:
    try:
        expected = expected_rows(asked)
    except (NotImplementedError, MatchError):  # the oracle never guesses
        event("the oracle declines")
        assume(False)
    for options in all_options:
        try:
            found = difference(asked, expected, options)
        except MatchError:
            event("a value is out of range")  # which rows are looked at differs between strategies
            continue
        except QueryError as error:
            if error.code not in DECLINED:
                raise
            event(f"declined: {error.code}")
            continue
        tables = f"{asked.live.to_pylist()}\n{asked.history.to_pylist()}"
        assert found is None, f"{options}\n{asked.text}\n{tables}\n{found}"


@given(correlations(), st.sampled_from(STEPS))
def test_every_strategy_gives_the_results_of_the_oracle(asked: Asked, steps: Options) -> None:
    check(asked, [strategy | steps for strategy in STRATEGIES])


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(correlations())
def test_every_strategy_deeply(asked: Asked) -> None:
    check(asked, [strategy | steps for strategy in STRATEGIES for steps in STEPS])


def test_most_examples_say_something() -> None:
    """A test of the generator: many correlations have results."""
    seen = {"results": 0, "none": 0}

    @settings(max_examples=100, database=None)
    @given(correlations())
    def look(asked: Asked) -> None:
        seen["results" if expected_rows(asked) else "none"] += 1

    look()
    assert seen["results"] >= 15, seen
