"""Streams: what the steps give plus what the end decides equals a batch over the rows that were not late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.cases import Case, load_cases
from tests.examples import examples
from tests.laws.clause_workloads import long_tables
from tests.laws.comparison import differing, rows_of
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import COLUMNS, clauses, tables, variables_in

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.errors import MatchError, OstinatoError
from ostinato.local.local_clause import match_table
from ostinato.testing import StreamTester

Draw = Callable[[st.SearchStrategy[Any]], Any]
TABLES = st.one_of(tables(), long_tables())
START = 1_704_067_200_000_000
"""2024-01-01, where the times of random tables begin, in microseconds."""


DECLINED = Declined(CLAUSES)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


@dataclass(frozen=True, slots=True)
class Plan:
    """Which rows come in which step, and the watermark of each step."""

    cuts: tuple[int, ...]
    watermarks: tuple[int, ...]

    def steps(self, table: pa.Table) -> list[tuple[pa.Table, int]]:
        edges = sorted(min(cut, table.num_rows) for cut in self.cuts)
        first = [0, *edges]
        last = [*edges, table.num_rows]
        parts = [table.slice(start, end - start) for start, end in zip(first, last, strict=True)]
        return list(zip(parts, sorted(self.watermarks), strict=True))


@st.composite
def plans(draw: Draw, most_steps: int = 5) -> Plan:
    count = draw(st.integers(0, most_steps))
    minutes = draw(st.lists(st.integers(-2, 14), min_size=count + 1, max_size=count + 1))  # half minutes
    return Plan(
        tuple(draw(st.lists(st.integers(0, 16), min_size=count, max_size=count))),
        tuple(START + minute * 30_000_000 for minute in minutes),
    )


_ORDERS = ("t, id", "t, id DESC", "t", "t, s DESC NULLS LAST", "t NULLS LAST, x", "t, y DESC, d")


@st.composite
def timed_clauses(draw: Draw, *, modes: bool = False) -> str:
    """A clause ordered by time first; WITHIN and timeouts more often than elsewhere."""
    lines = [line for line in draw(clauses(modes=modes)).split("\n") if not line.startswith("ORDER BY")]
    at = 1 if lines[0].startswith("PARTITION") else 0
    lines.insert(at, f"ORDER BY {draw(st.sampled_from(_ORDERS))}")
    if not any(line.startswith("WITHIN") for line in lines) and draw(st.booleans()):
        pattern = next(i for i, line in enumerate(lines) if line.startswith("PATTERN"))
        lines.insert(pattern + 1, f"WITHIN INTERVAL '{draw(st.integers(0, 4))}' MINUTE")
        output = next((i for i, line in enumerate(lines) if line.startswith(("ONE ROW", "ALL ROWS"))), None)
        if output is not None and not modes and "UNMATCHED" not in lines[output] and draw(st.booleans()):
            lines[output] += " SHOW TIMEOUT MATCHES"
    return "\n".join(lines)


def on_time(steps: list[tuple[pa.Table, int]]) -> pa.Table:
    """The rows that aren't late: later than the watermark of the step before. Written without the engine's help."""
    kept: list[dict[str, Any]] = []
    watermark = None
    for rows, following in steps:
        for row in rows.to_pylist():
            if row["t"] is None:
                continue
            moment = int(row["t"].timestamp() * 1_000_000)
            if watermark is None or moment > watermark:
                kept.append(row)
        watermark = following
    return pa.Table.from_pylist(kept, schema=pa.schema(COLUMNS))


def streamed(text: str, steps: list[tuple[pa.Table, int]], **options: Any) -> StreamTester:
    """Every state is bytes: what isn't in them is lost between two steps."""
    stream = StreamTester(parse_clause(text), COLUMNS, **options)
    for rows, watermark in steps:
        stream.feed(rows, watermark=watermark)
    stream.finish()
    return stream


def check(text: str, table: pa.Table, plan: Plan) -> None:
    steps = plan.steps(table)
    taken = on_time(steps)
    expected = None
    with DECLINED.example(), suppress(MatchError):
        expected = match_table(parse_clause(text), taken)
    if expected is None:
        with pytest.raises(MatchError):
            streamed(text, steps)
        return
    DECLINED.answered(rows=expected.num_rows > 0)
    stream = streamed(text, steps)
    assert stream.late_rows == table.num_rows - taken.num_rows
    assert differing(expected.column_names, rows_of(stream.results), expected.to_pylist()) is None


@given(timed_clauses(), TABLES, plans())
def test_preferred_matches(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


@given(timed_clauses(modes=True), tables(), plans())
def test_match_modes(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


@given(timed_clauses(), TABLES, plans())
def test_patterns_of_fixed_length(text: str, table: pa.Table, plan: Plan) -> None:
    """They have a kernel of their own, which doesn't tell dead starts from open ones."""
    check(_each_variable_once(text), table, plan)


def _each_variable_once(text: str) -> str:
    lines = text.split("\n")
    at = next(i for i, line in enumerate(lines) if line.startswith("PATTERN"))
    names = variables_in(lines[at].removeprefix("PATTERN"))
    assume(names)
    lines[at] = f"PATTERN ({' '.join(names)})"
    return "\n".join(lines)


@pytest.mark.slow
@settings(max_examples=examples(125))
@given(timed_clauses(), tables(most_rows=16), plans(8))
def test_preferred_matches_deeply(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


@pytest.mark.slow
@settings(max_examples=examples(125))
@given(timed_clauses(modes=True), tables(most_rows=12), plans(8))
def test_match_modes_deeply(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


# --- eager ------------------------------------------------------------------------------------------------------------


@given(timed_clauses(), tables(), st.lists(st.integers(0, 8), max_size=5), st.integers(0, 2))
def test_eager_streams(text: str, table: pa.Table, cuts: list[int], delay: int) -> None:
    """Rows come in the order of their times, cut between times; the watermark follows, or there is none."""
    rows = sorted((row for row in table.to_pylist() if row["t"] is not None), key=lambda row: row["t"])
    taken = pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS))
    with DECLINED.example():
        try:
            expected = match_table(parse_clause(text), taken)
        except MatchError as error:
            DECLINED.leave_out(error.code)
        stream = StreamTester(parse_clause(text), COLUMNS, eager=True)
    DECLINED.answered(rows=expected.num_rows > 0)
    edges = [cut for cut in sorted(cuts) if 0 < cut < len(rows) and rows[cut]["t"] != rows[cut - 1]["t"]]
    for start, end in zip([0, *edges], [*edges, len(rows)], strict=True):
        step = taken.slice(start, end - start)
        latest = max(row["t"] for row in step.to_pylist()) if end > start else None
        watermark = None if latest is None or delay == 2 else int(latest.timestamp() * 1_000_000) - delay * 60_000_000
        stream.feed(step, watermark=watermark)
        assert stream.late_rows == 0
    stream.finish()
    assert differing(expected.column_names, rows_of(stream.results), expected.to_pylist()) is None


# --- timers -----------------------------------------------------------------------------------------------------------


@given(timed_clauses(), TABLES, plans(3))
def test_nothing_happens_before_the_wake_up_call(text: str, table: pa.Table, plan: Plan) -> None:
    """A bucket that gets no rows needs looking at only when it asked for it."""
    with DECLINED.example():
        stream = StreamTester(parse_clause(text), COLUMNS)
        try:
            for rows, watermark in plan.steps(table):
                stream.feed(rows, watermark=watermark)
        except MatchError as error:
            DECLINED.leave_out(error.code)
    DECLINED.answered(rows=stream.wake_at_us is not None)
    far = START + 10**12
    while stream.wake_at_us is not None:
        wake_at, before = stream.wake_at_us, (stream.open_runs, stream.buffered_rows)
        if wake_at - 1 > stream.watermark_us:
            assert stream.advance_watermark(wake_at - 1) == []
            assert (stream.open_runs, stream.buffered_rows) == before
        try:
            given_now = stream.advance_watermark(wake_at)
        except MatchError:  # the watermark decided rows that the clause fails on, as the batch would
            return
        assert given_now or (stream.open_runs, stream.buffered_rows) != before or stream.wake_at_us != wake_at
        assert stream.wake_at_us is None or stream.wake_at_us > wake_at
    before = (stream.open_runs, stream.buffered_rows)
    assert stream.advance_watermark(far) == []
    assert (stream.open_runs, stream.buffered_rows) == before


# --- conformance cases ------------------------------------------------------------------------------------------------


def as_stream(case: Case) -> StreamTester | None:
    try:
        query = parse_clause(case.clause, input_name=case.input_name)
        return StreamTester(query, case.table().schema)
    except OstinatoError as error:
        # Errors of the clause show before any row is matched. The other cases aren't ordered by a time.
        assert error.code in (case.error, "STREAM_NOT_SUPPORTED"), case.id
        return None


CASES = [case for case in load_cases() if as_stream(case) is not None]


def test_there_are_cases() -> None:
    assert len(CASES) >= 50


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_cases(case: Case) -> None:
    """Every conformance case that is ordered by time, a row at a time."""
    query = parse_clause(case.clause, input_name=case.input_name)
    stream = as_stream(case)
    assert stream is not None
    table = case.table()
    try:
        expected = match_table(query, table)
    except MatchError as error:
        with pytest.raises(MatchError, match=error.code):
            _fed_by_row(stream, table)
        return
    _fed_by_row(stream, table)
    if not stream.late_rows:
        assert differing(expected.column_names, rows_of(stream.results), expected.to_pylist()) is None


def _fed_by_row(stream: StreamTester, table: pa.Table) -> None:
    for i in range(table.num_rows):
        stream.feed(table.slice(i, 1))
    stream.finish()
