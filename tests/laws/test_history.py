"""An archive, then live rows: what the archive decides, the stream and its end together equal a batch over both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.comparison import differing, rows_of, with_ids
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import COLUMNS, tables
from tests.laws.test_stream_equals_batch import START, TABLES, Plan, on_time, plans, timed_clauses

from ostinato.errors import MatchError, QueryError
from ostinato.local.local_clause import match_table
from ostinato.testing import StreamTester

DECLINED = Declined(CLAUSES)
BORDERS = st.integers(-1, 8)
"""The latest time that an archive may have, in minutes after START."""
ROWS_PER_STEP = st.integers(1, 6)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def cut(table: pa.Table, minute: int) -> tuple[pa.Table, pa.Table]:
    """The rows that have a time: those up to the border, and those after it."""
    border = START + minute * 60_000_000
    rows = [row for row in table.to_pylist() if row["t"] is not None]
    sides: tuple[list[Any], list[Any]] = ([], [])
    for row in rows:
        sides[int(row["t"].timestamp() * 1_000_000) > border].append(row)
    archive, live = (pa.Table.from_pylist(side, schema=table.schema) for side in sides)
    return archive, live


def check(text: str, table: pa.Table, minute: int, plan: Plan, rows_per_step: int, *, eager: bool = False) -> None:
    archive, live = cut(table, minute)
    steps = [(live.sort_by("t"), plan.watermarks[0])] if eager else plan.steps(live)
    expected = None
    with DECLINED.example(), suppress(MatchError):
        expected = match_table(with_ids(text), pa.concat_tables([archive, on_time(steps)]))
    if expected is None:
        return  # `test_stream_equals_batch` says that the stream fails, too
    DECLINED.answered(rows=expected.num_rows > 0)
    stream = StreamTester(with_ids(text), COLUMNS, eager=eager)
    results = [tuple(row.values()) for row in stream.load_history(archive, rows_per_step=rows_per_step)]
    if not eager:
        stream.feed(archive)  # the live source repeats all rows of the archive
        assert stream.late_rows == archive.num_rows
    for rows, watermark in steps:
        stream.feed(rows, watermark=watermark)
    stream.finish()
    assert differing(expected.column_names, results + rows_of(stream.results), expected.to_pylist()) is None


@given(timed_clauses(), TABLES, BORDERS, plans(), ROWS_PER_STEP)
def test_preferred_matches(text: str, table: pa.Table, minute: int, plan: Plan, rows_per_step: int) -> None:
    check(text, table, minute, plan, rows_per_step)


@given(timed_clauses(modes=True), tables(), BORDERS, plans(), ROWS_PER_STEP)
def test_match_modes(text: str, table: pa.Table, minute: int, plan: Plan, rows_per_step: int) -> None:
    check(text, table, minute, plan, rows_per_step)


@given(timed_clauses(), tables(), BORDERS, ROWS_PER_STEP)
def test_eager_streams(text: str, table: pa.Table, minute: int, rows_per_step: int) -> None:
    check(text, table, minute, Plan((), (START - 1,)), rows_per_step, eager=True)


CLAUSE = """
    PARTITION BY k ORDER BY t MEASURES FIRST(x) AS began, LAST(x) AS ended PATTERN (A B+)
    DEFINE B AS x > PREV(x)"""


def at(minute: int, x: int, key: str = "p") -> dict[str, object]:
    return {"k": key, "t": datetime(2024, 1, 1, 0, minute, tzinfo=UTC), "x": x}


def test_a_match_across_the_border_is_found_once() -> None:
    """The archive decides the match from 1 to 2. The one from 3 on goes on after the border."""
    stream = StreamTester(CLAUSE, {name: COLUMNS[name] for name in ("k", "t", "x")})
    archive = [at(4, 4), at(3, 3), at(0, 1), at(1, 2), at(2, 0)]
    assert [row["ended"] for row in stream.load_history(archive)] == [2]
    assert stream.open_runs == 1
    assert stream.feed([at(4, 4), at(5, 5), at(6, 0)], watermark="2024-01-01 00:06:00+00:00") == [
        {"k": "p", "began": 0, "ended": 5}
    ]
    assert stream.late_rows == 1
    assert stream.finish() == []


def test_history_comes_first() -> None:
    stream = StreamTester(CLAUSE, {name: COLUMNS[name] for name in ("k", "t", "x")})
    assert stream.load_history([]) == []
    stream.feed([at(0, 1)])
    with pytest.raises(QueryError, match="STREAM_STARTED"):
        stream.load_history([at(0, 1)])


@pytest.mark.slow
@settings(max_examples=examples(125))
@given(timed_clauses(), tables(most_rows=16), BORDERS, plans(8), ROWS_PER_STEP)
def test_preferred_matches_deeply(text: str, table: pa.Table, minute: int, plan: Plan, rows_per_step: int) -> None:
    check(text, table, minute, plan, rows_per_step)
