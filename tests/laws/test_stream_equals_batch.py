"""The results of all steps of a stream equal those of a batch over the rows that weren't late."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.cases import Case, load_cases
from tests.examples import examples
from tests.laws.clause_workloads import long_tables
from tests.laws.comparison import differing, rows_of, with_ids
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
    """The rows and the watermark of each step."""

    cuts: tuple[int, ...]
    watermarks: tuple[int, ...]

    def steps(self, table: pa.Table) -> list[tuple[pa.Table, int]]:
        edges = sorted(min(cut, table.num_rows) for cut in self.cuts)
        first = [0, *edges]
        last = [*edges, table.num_rows]
        pieces = [table.slice(start, end - start) for start, end in zip(first, last, strict=True)]
        return list(zip(pieces, sorted(self.watermarks), strict=True))


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
    order_line = 1 if lines[0].startswith("PARTITION") else 0
    lines.insert(order_line, f"ORDER BY {draw(st.sampled_from(_ORDERS))}")
    if not any(line.startswith("WITHIN") for line in lines) and draw(st.booleans()):
        pattern = next(i for i, line in enumerate(lines) if line.startswith("PATTERN"))
        lines.insert(pattern + 1, f"WITHIN INTERVAL '{draw(st.integers(0, 4))}' MINUTE")
        output = next((i for i, line in enumerate(lines) if line.startswith(("ONE ROW", "ALL ROWS"))), None)
        if output is not None and not modes and "UNMATCHED" not in lines[output] and draw(st.booleans()):
            lines[output] += " SHOW TIMEOUT MATCHES"
    return "\n".join(lines)


def on_time(steps: list[tuple[pa.Table, int]]) -> pa.Table:
    """The rows that aren't late: their time is after the watermark of the previous step. Doesn't use the engine."""
    rows_on_time: list[dict[str, Any]] = []
    watermark = None
    for rows, next_watermark in steps:
        for row in rows.to_pylist():
            if row["t"] is None:
                continue
            moment = int(row["t"].timestamp() * 1_000_000)
            if watermark is None or moment > watermark:
                rows_on_time.append(row)
        watermark = next_watermark
    return pa.Table.from_pylist(rows_on_time, schema=pa.schema(COLUMNS))


def streamed(text: str, steps: list[tuple[pa.Table, int]], **options: Any) -> StreamTester:
    """Runs all steps. Between steps the tester keeps only the serialised state."""
    stream = StreamTester(with_ids(text), COLUMNS, **options)
    for rows, watermark in steps:
        stream.feed(rows, watermark=watermark)
    stream.finish()
    return stream


def check(text: str, table: pa.Table, plan: Plan) -> None:
    steps = plan.steps(table)
    rows_on_time = on_time(steps)
    expected = None
    with DECLINED.example(), suppress(MatchError):
        expected = match_table(with_ids(text), rows_on_time)
    if expected is None:
        with pytest.raises(MatchError):
            streamed(text, steps)
        return
    DECLINED.answered(rows=expected.num_rows > 0)
    stream = streamed(text, steps)
    assert stream.late_rows == table.num_rows - rows_on_time.num_rows
    assert differing(expected.column_names, rows_of(stream.results), expected.to_pylist()) is None


@given(timed_clauses(), TABLES, plans())
def test_preferred_matches(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


@given(timed_clauses(modes=True), tables(), plans())
def test_match_modes(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


@given(timed_clauses(), TABLES, plans())
def test_patterns_of_fixed_length(text: str, table: pa.Table, plan: Plan) -> None:
    """Patterns of fixed length have their own kernel. It doesn't distinguish dead starts from open ones."""
    check(_each_variable_once(text), table, plan)


def _each_variable_once(text: str) -> str:
    lines = text.split("\n")
    pattern = next(i for i, line in enumerate(lines) if line.startswith("PATTERN"))
    names = variables_in(lines[pattern].removeprefix("PATTERN"))
    assume(names)
    lines[pattern] = f"PATTERN ({' '.join(names)})"
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


# --- NEXT -------------------------------------------------------------------------------------------------------------

_OF_NEXT = ("NEXT(x) > x", "NEXT(f)", "NEXT(x, 2) >= 0", "x < NEXT(x) AND f", "NEXT(s) = 'a' OR PREV(f)", "f", "x >= 1")


@st.composite
def clauses_that_look_ahead(draw: Draw) -> str:
    """Conditions with NEXT, which wait for a row, in all places of a pattern; WITHIN may pass in the meantime."""
    condition = st.sampled_from(_OF_NEXT)
    measures = draw(st.sampled_from(("count(*) AS n", "NEXT(x) AS a, count(*) AS n", "NEXT(A.x, 2) AS a")))
    skip = draw(st.sampled_from(("", "AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP TO LAST B")))
    pattern = draw(
        st.sampled_from(("A B", "A B+", "A* B", "A+? B?", "A B C", "A (B | C)+", "A B* $", "^ A B*", "A | B A"))
    )
    within = f"WITHIN INTERVAL '{draw(st.integers(0, 3))}' MINUTE" if draw(st.integers(0, 3)) else ""
    output = draw(
        st.sampled_from(("ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"))
    )
    if within and "UNMATCHED" not in output and draw(st.booleans()):
        output += " SHOW TIMEOUT MATCHES"
    modes = ("ALL MATCHES", "MAXIMAL MATCHES", "INCREMENTAL MATCHES")
    rows = draw(st.sampled_from(modes)) if draw(st.integers(0, 4)) == 0 else f"{output} {skip}"
    names = variables_in(pattern)
    define = ", ".join(f"{name} AS {draw(condition)}" for name in names)
    head = draw(st.sampled_from(("", "PARTITION BY k"))) + f" ORDER BY {draw(st.sampled_from(_ORDERS))}"
    return f"{head} MEASURES MATCH_NUMBER() AS m, {measures} {rows} PATTERN ({pattern}) {within} DEFINE {define}"


@given(clauses_that_look_ahead(), TABLES, plans())
def test_conditions_that_look_ahead(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


@pytest.mark.slow
@settings(max_examples=examples(250))
@given(clauses_that_look_ahead(), tables(most_rows=14), plans(8))
def test_conditions_that_look_ahead_deeply(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


# --- eager ------------------------------------------------------------------------------------------------------------


@given(timed_clauses(), tables(), st.lists(st.integers(0, 8), max_size=5), st.integers(0, 2))
def test_eager_streams(text: str, table: pa.Table, cuts: list[int], delay: int) -> None:
    """Rows arrive in order of time. Rows of the same time arrive together. `delay` 2 means no watermark."""
    rows = sorted((row for row in table.to_pylist() if row["t"] is not None), key=lambda row: row["t"])
    rows_with_time = pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS))
    with DECLINED.example():
        try:
            expected = match_table(with_ids(text), rows_with_time)
        except MatchError as error:
            DECLINED.leave_out(error.code)
        stream = StreamTester(with_ids(text), COLUMNS, eager=True)
    DECLINED.answered(rows=expected.num_rows > 0)
    edges = [cut for cut in sorted(cuts) if 0 < cut < len(rows) and rows[cut]["t"] != rows[cut - 1]["t"]]
    for start, end in zip([0, *edges], [*edges, len(rows)], strict=True):
        step = rows_with_time.slice(start, end - start)
        latest = max(row["t"] for row in step.to_pylist()) if end > start else None
        watermark = None if latest is None or delay == 2 else int(latest.timestamp() * 1_000_000) - delay * 60_000_000
        stream.feed(step, watermark=watermark)
        assert stream.late_rows == 0
    stream.finish()
    assert differing(expected.column_names, rows_of(stream.results), expected.to_pylist()) is None


# --- forgotten keys ---------------------------------------------------------------------------------------------------


def lifetimes(text: str, table: pa.Table, forget_us: int) -> list[pa.Table]:
    """The rows of each key, cut where it was silent for longer. Doesn't use the engine."""
    keys = [key.column.text for key in parse_clause(text).partition_by]
    cut: dict[str, list[list[dict[str, Any]]]] = {}
    for row in sorted(table.to_pylist(), key=lambda row: row["t"]):
        pieces = cut.setdefault(repr([row[name] for name in keys]), [])
        is_silent = bool(pieces) and row["t"] - pieces[-1][-1]["t"] > timedelta(microseconds=forget_us)
        if not pieces or is_silent:
            pieces.append([])
        pieces[-1].append(row)
    return [pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS)) for pieces in cut.values() for rows in pieces]


def check_forgotten(text: str, table: pa.Table, plan: Plan, half_minutes: int) -> None:
    """Each lifetime of a key is a key of its own in the batch."""
    steps, options = plan.steps(table), {"forget_keys_after": f"{30 * half_minutes} seconds"}
    expected: list[dict[str, Any]] | None = None
    with DECLINED.example(), suppress(MatchError):
        tables = [on_time(steps).slice(0, 0), *lifetimes(text, on_time(steps), 30_000_000 * half_minutes)]
        results = [match_table(with_ids(text), rows) for rows in tables]
        expected = [row for result in results for row in result.to_pylist()]
    if expected is None:
        with pytest.raises(MatchError):
            streamed(text, steps, **options)
        return
    DECLINED.answered(rows=bool(expected))
    stream = streamed(text, steps, **options)
    assert differing(results[0].column_names, rows_of(stream.results), expected) is None


@given(timed_clauses(), TABLES, plans(), st.integers(1, 6))
def test_forgotten_keys_begin_anew(text: str, table: pa.Table, plan: Plan, half_minutes: int) -> None:
    check_forgotten(text, table, plan, half_minutes)


@given(timed_clauses(modes=True), tables(), plans(), st.integers(1, 6))
def test_forgotten_keys_begin_anew_in_all_modes(text: str, table: pa.Table, plan: Plan, half_minutes: int) -> None:
    check_forgotten(text, table, plan, half_minutes)


@pytest.mark.slow
@settings(max_examples=examples(125))
@given(timed_clauses(), tables(most_rows=16), plans(8), st.integers(1, 6))
def test_forgotten_keys_begin_anew_deeply(text: str, table: pa.Table, plan: Plan, half_minutes: int) -> None:
    check_forgotten(text, table, plan, half_minutes)


@given(timed_clauses(), TABLES, plans(3), st.integers(1, 4))
def test_silent_keys_leave_nothing(text: str, table: pa.Table, plan: Plan, half_minutes: int) -> None:
    """When the watermark has passed the silence of all keys, the state is empty."""
    with DECLINED.example():
        stream = StreamTester(parse_clause(text), COLUMNS, forget_keys_after=f"{30 * half_minutes} seconds")
        try:
            for rows, watermark in plan.steps(table):
                stream.feed(rows, watermark=watermark)
            while stream.wake_at_us is not None:
                stream.advance_watermark(stream.wake_at_us)
        except MatchError as error:
            DECLINED.leave_out(error.code)
    DECLINED.answered(rows=stream.forgotten_keys > 0)
    assert (stream.open_runs, stream.buffered_rows) == (0, 0)


# --- timers -----------------------------------------------------------------------------------------------------------


@given(timed_clauses(), TABLES, plans(3))
def test_nothing_happens_before_the_timer_fires(text: str, table: pa.Table, plan: Plan) -> None:
    """A bucket without new rows is processed only when its timer fires."""
    with DECLINED.example():
        stream = StreamTester(with_ids(text), COLUMNS)
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
            new_results = stream.advance_watermark(wake_at)
        except MatchError:  # the new watermark decides rows that the clause fails on, like the batch
            return
        assert new_results or (stream.open_runs, stream.buffered_rows) != before or stream.wake_at_us != wake_at
        assert stream.wake_at_us is None or stream.wake_at_us > wake_at
    before = (stream.open_runs, stream.buffered_rows)
    assert stream.advance_watermark(far) == []
    assert (stream.open_runs, stream.buffered_rows) == before


# --- conformance cases ------------------------------------------------------------------------------------------------


def stream_of_case(case: Case) -> StreamTester | None:
    try:
        query = parse_clause(case.clause, input_name=case.input_name)
        return StreamTester(query, case.table().schema)
    except OstinatoError as error:
        # Errors of the clause are raised before matching. The other cases aren't ordered by time.
        assert error.code in (case.error, "STREAM_NOT_SUPPORTED", "KEY_NOT_A_COLUMN"), case.id
        return None


CASES = [case for case in load_cases() if stream_of_case(case) is not None]


def test_there_are_cases() -> None:
    assert len(CASES) >= 50


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_cases(case: Case) -> None:
    """All conformance cases that are ordered by time, one row per step."""
    query = parse_clause(case.clause, input_name=case.input_name)
    stream = stream_of_case(case)
    assert stream is not None
    table = case.table()
    try:
        expected = match_table(query, table)
    except MatchError as error:
        with pytest.raises(MatchError, match=error.code):
            _feed_row_by_row(stream, table)
        return
    _feed_row_by_row(stream, table)
    if not stream.late_rows:
        assert differing(expected.column_names, rows_of(stream.results), expected.to_pylist()) is None


def _feed_row_by_row(stream: StreamTester, table: pa.Table) -> None:
    for i in range(table.num_rows):
        stream.feed(table.slice(i, 1))
    stream.finish()
