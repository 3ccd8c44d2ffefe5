"""Windows with a row pattern: the in-process engine gives the oracle's rows, on random windows over small tables."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from tests.examples import examples
from tests.laws.comparison import differing, rows_of
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import tables
from tests.laws.window_strategies import windows

from ostinato.clause.plan import frame_distances
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import MatchError
from ostinato.local.local_windows import window_columns
from ostinato.reference.window_oracle import window_rows

WINDOWS = Declined(CLAUSES, most_declined=0.1, fewest_with_rows=0.4)
SKIPS = {"SKIP_TARGET_MISSING", "SKIP_TO_FIRST_ROW"}
"""Both may be true of different rows, and which of them comes first isn't defined."""


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with WINDOWS.counted():
        yield


def difference(window: WindowPattern, table: pa.Table) -> str | None:
    """Describes how the engine's rows differ from the oracle's; None if they are equal."""
    try:
        with WINDOWS.example():
            found = window_columns(window, table)
    except MatchError as error:
        with WINDOWS.oracle(), pytest.raises(MatchError) as raised:
            window_rows(window, table.column_names, table.to_pylist())
        wrong = error.code != raised.value.code and not {error.code, raised.value.code} <= SKIPS
        return f"engine fails with {error}, the oracle with {raised.value}" if wrong else None
    try:
        with WINDOWS.oracle():
            expected = window_rows(window, table.column_names, table.to_pylist())
    except MatchError as error:
        return f"the oracle fails with {error}, the engine gives {found.to_pylist()}"
    WINDOWS.answered(rows=any(row["matched"] for row in expected))
    return differing(found.column_names, rows_of(found), expected)


def check(window: WindowPattern, table: pa.Table) -> None:
    wrong = difference(window, table)
    assert wrong is None, f"{window}\n{window.clause.text}\n{table.to_pylist()}\n{wrong}"


@given(windows(), tables(most_rows=6, fewest_rows=3))
def test_values_of_rows(window: WindowPattern, table: pa.Table) -> None:
    check(window, table)


@settings(max_examples=examples(30))
@given(windows(), tables(most_rows=6, fewest_rows=3))
def test_conditions_that_run_with_the_search(window: WindowPattern, table: pa.Table) -> None:
    """Where states aren't split, only the search knows which rows are in the frame."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(frame_distances, "MOST_SPLIT_STATES", 0)
        check(window, table)


@pytest.mark.slow
@settings(max_examples=examples(200))
@given(windows(), tables(fewest_rows=3))
def test_values_of_rows_deeply(window: WindowPattern, table: pa.Table) -> None:
    check(window, table)
