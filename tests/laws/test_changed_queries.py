"""A stream whose query changes goes on with its rows: all that the old query decided stays decided."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.comparison import differing, rows_of
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import COLUMNS, Draw
from tests.laws.test_stream_equals_batch import START, TABLES, Plan, on_time, plans, timed_clauses

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.stream.changed_query import QueryChange, StoredQuery
from ostinato.errors import MatchError, OstinatoError
from ostinato.local.local_clause import match_table
from ostinato.testing import StreamTester

DECLINED = Declined(CLAUSES)
OF_ANY_CLAUSE = Declined(CLAUSES, fewest_with_rows=0)
"""For random clauses, few of which have rows after the change."""
CHANGED_AT = st.integers(0, 2)
STORED = ", ".join(f"LAST({name}) AS stored_{name}" for name in ("id", "x", "y", "d", "s", "f", "g"))
"""Measures of every old query, so that its state has these columns."""


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted(), OF_ANY_CLAUSE.counted():
        yield


def change_between(then: StreamTester, now: StreamTester) -> QueryChange:
    stored, changed = (
        StoredQuery(
            stream.worker.typed.plan,
            stream.worker.conditions,
            {field.name: str(field.type) for field in stream._schema},
        )
        for stream in (then, now)
    )
    shipped = now._shipped(now._schema.empty_table()).schema
    return QueryChange(stored, changed, shipped, now._settings)


def obstacles(then: StreamTester, now: StreamTester) -> list[str]:
    types = {field.name: field.type for field in then._shipped(then._schema.empty_table()).schema}
    return change_between(then, now).obstacles(types)


def go_on(then: StreamTester, now: StreamTester) -> list[dict[str, Any]]:
    """`now` goes on with the state and the watermark of `then`. Returns the rows of its first step."""
    fingerprints = (then.worker.fingerprint, now.worker.fingerprint)
    state = change_between(then, now).carried_over(then.state, *fingerprints)
    step = now.worker.advance(state, None, then.watermark_us, all_keys=True)
    now.watermark_us = then.watermark_us
    now._remember(step)
    return now._output(step.results).to_pylist() if step.results.count else []


def with_measures(text: str, measures: str) -> str:
    lines = [line for line in text.split("\n") if not line.startswith("MEASURES")]
    at = next(number for number, line in enumerate(lines) if line.startswith("ORDER BY"))
    return "\n".join([*lines[: at + 1], f"MEASURES {measures}", *lines[at + 1 :]])


def head_of(text: str, other: str) -> str:
    """The other clause with the PARTITION BY and ORDER BY of the first."""

    def lines(clause: str, of_head: bool) -> list[str]:
        return [line for line in clause.split("\n") if line.startswith(("PARTITION", "ORDER")) is of_head]

    return "\n".join([*lines(text, True), *lines(other, False)])


MEASURES = (
    "count(*) AS n1, FIRST(t) AS n2",
    "LAST(x) + 1 AS n1, upper(LAST(s)) AS n2",
    "max(y) AS n1, array_agg(d) AS n2",
)


def check_measures(
    text: str,
    table: pa.Table,
    plan: Plan,
    changed_at: int,
    measures: str,
    *,
    declined: Declined = DECLINED,
    **options: Any,
) -> None:
    """The stream goes on exactly as one that had the new measures from the beginning."""
    steps = plan.steps(table)
    changed_at = min(changed_at, len(steps))
    with declined.example():
        then = StreamTester(parse_clause(with_measures(text, STORED)), COLUMNS, **options)
        changed = parse_clause(with_measures(text, measures))
        now, always = (StreamTester(changed, COLUMNS, **options) for _ in range(2))
        try:
            for stream in (then, always):
                for rows, watermark in steps[:changed_at]:
                    stream.feed(rows, watermark=watermark)
        except MatchError as error:
            declined.leave_out(error.code)
    assert obstacles(then, now) == []
    before = always.results.num_rows
    results = go_on(then, now)
    try:
        for rows, watermark in steps[changed_at:]:
            always.feed(rows, watermark=watermark)
        always.finish()
    except MatchError:
        return
    for rows, watermark in steps[changed_at:]:
        now.feed(rows, watermark=watermark)
    now.finish()
    expected = always.results.slice(before)
    declined.answered(rows=expected.num_rows > 0)
    found = [tuple(row.values()) for row in results] + rows_of(now.results)
    assert differing(expected.column_names, found, expected.to_pylist()) is None


@given(timed_clauses(), TABLES, plans(), CHANGED_AT, st.sampled_from(MEASURES))
def test_other_measures(text: str, table: pa.Table, plan: Plan, changed_at: int, measures: str) -> None:
    check_measures(text, table, plan, changed_at, measures, declined=OF_ANY_CLAUSE)


def check_changed(text: str, other: str, table: pa.Table, plan: Plan, changed_at: int) -> None:
    """Where the state holds no row before a match, the results after the change are those of a batch over the rows
    that the state held then and those that came later."""
    steps = plan.steps(table)
    changed_at = min(changed_at, len(steps))
    clause = parse_clause(head_of(text, other))
    with DECLINED.example():
        then = StreamTester(parse_clause(with_measures(text, STORED)), COLUMNS)
        now = StreamTester(clause, COLUMNS)
        try:
            for rows, watermark in steps[:changed_at]:
                then.feed(rows, watermark=watermark)
        except MatchError as error:
            DECLINED.leave_out(error.code)
    if obstacles(then, now) or then.worker.search.needs.before or now.worker.search.needs.numbers:
        event("refused, or rows before a match")
        return
    opened = then.worker.opened(then.state)
    held = [rows.column("id").to_pylist() for rows in (opened.open_rows, opened.waiting) if rows is not None]
    later = {row["id"] for rows, _ in steps[changed_at:] for row in rows.to_pylist()}
    ids = {number for numbers in held for number in numbers} | later
    remaining = pa.Table.from_pylist(
        [row for row in on_time(steps).to_pylist() if row["id"] in ids], schema=pa.schema(COLUMNS)
    )
    expected = None
    with suppress(MatchError):
        expected = match_table(clause, remaining)
    if expected is None:
        return
    results = go_on(then, now)
    for rows, watermark in steps[changed_at:]:
        now.feed(rows, watermark=watermark)
    now.finish()
    DECLINED.answered(rows=expected.num_rows > 0)
    event(f"held rows: {bool(held)}")
    found = [tuple(row.values()) for row in results] + rows_of(now.results)
    assert differing(expected.column_names, found, expected.to_pylist()) is None


@st.composite
def letter_clauses(draw: Draw) -> str:
    """Clauses that match often: every variable has a simple condition, and rows before a match aren't read."""

    def one(*texts: str) -> str:
        return str(draw(st.sampled_from(texts)))

    pattern = one("A B C", "A B+", "A B* C", "A (B | C)+", "A B{2,} C?", "A+? C")
    conditions = {
        "A": one("x < 2", "x >= 0", "s <> 'a'"),
        "B": one("x > 1", "x > A.x", "x >= PREV(x)", "y > 0"),
        "C": one("x = 0", "x < LAST(A.x)", "upper(s) = 'A'"),
    }
    lines = [
        "PARTITION BY k",
        "ORDER BY t, id",
        "MEASURES FIRST(id) AS f, LAST(id) AS l, count(*) AS n",
        one("AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW"),
        f"PATTERN ({pattern})",
        one("WITHIN INTERVAL '2' MINUTE", "WITHIN INTERVAL '5' MINUTE", ""),
        "DEFINE " + ", ".join(f"{name} AS {text}" for name, text in conditions.items() if name in pattern),
    ]
    return "\n".join(line for line in lines if line)


@st.composite
def letter_streams(draw: Draw) -> tuple[pa.Table, Plan]:
    """About 20 rows of two keys, in a few steps that leave some of them waiting."""
    count, steps = draw(st.integers(8, 24)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    minutes = np.sort(rng.integers(0, 12, count))
    rows = [
        {
            **dict.fromkeys(COLUMNS),
            "k": "pq"[rng.integers(0, 2)],
            "id": number,
            "x": int(rng.integers(0, 4)) if rng.integers(0, 9) else None,
            "y": float(rng.normal()),
            "s": "ab"[rng.integers(0, 2)],
            "t": datetime(2024, 1, 1, tzinfo=UTC) + timedelta(minutes=int(minute)),
        }
        for number, minute in enumerate(minutes)
    ]
    cuts = tuple(sorted(int(cut) for cut in rng.integers(0, count, steps)))
    ends = [int(minutes[cut - 1]) if cut else 0 for cut in cuts]
    watermarks = tuple(START + (end - int(rng.integers(0, 3))) * 60_000_000 for end in [*ends, 12])
    return pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS)), Plan(cuts, watermarks)


@given(letter_clauses(), letter_clauses(), letter_streams(), st.integers(1, 3))
def test_letters(text: str, other: str, stream: tuple[pa.Table, Plan], changed_at: int) -> None:
    check_changed(text, other, *stream, changed_at)


@given(letter_clauses(), letter_streams(), st.integers(1, 3), st.sampled_from(MEASURES), st.booleans())
def test_letters_with_other_measures(
    text: str, stream: tuple[pa.Table, Plan], changed_at: int, measures: str, has_ids: bool
) -> None:
    """Ids of matches don't depend on measures, and so stay the same."""
    options = {"match_id": "m", "run_id": "r"} if has_ids else {}
    check_measures(text, *stream, changed_at, measures, **options)


@pytest.mark.slow
@settings(max_examples=examples(250))
@given(letter_clauses(), letter_clauses(), letter_streams(), st.integers(1, 3))
def test_letters_deeply(text: str, other: str, stream: tuple[pa.Table, Plan], changed_at: int) -> None:
    check_changed(text, other, *stream, changed_at)


# --- one clause -------------------------------------------------------------------------------------------------------

CLAUSE = "PARTITION BY k ORDER BY t MEASURES A.x AS a, LAST(y) AS y PATTERN (A B C) DEFINE B AS x > 5, C AS x < A.x"


def stream(text: str) -> StreamTester:
    return StreamTester(text, {name: COLUMNS[name] for name in ("k", "t", "x", "y", "s")})


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (("x > 5", "x > 7 AND y < 2"), None),
        (("PATTERN (A B C)", "PATTERN (A B+ C) WITHIN INTERVAL '1' MINUTE"), None),
        (("LAST(y) AS y", "min(x) * 2 AS low"), None),
        (("LAST(y) AS y", "LAST(s) AS s"), "the state doesn't hold the column s"),
        (("LAST(y) AS y", "LAST(x > 5) AS y"), None),
        (("x > 5", "s = 'a'"), "the state doesn't hold the column s, which (`s` = 'a') needs"),
        (("x > 5", "x > PREV(x)"), None),  # B isn't first, so PREV stays inside of the match
        (("DEFINE", "DEFINE A AS x > PREV(x),"), "PREV or ^ reads 1 rows before a match, and the state keeps 0"),
        (("A.x AS a", "MATCH_NUMBER() AS a"), "MATCH_NUMBER() counts matches"),
        (("PATTERN", "ALL MATCHES PATTERN"), "another match mode"),
        (("PARTITION BY k", ""), "another PARTITION BY needs other keys"),
        (("ORDER BY t", "ORDER BY t, x"), "another ORDER BY"),
        (("LAST(y) AS y", "1 AS one ALL ROWS PER MATCH WITH UNMATCHED ROWS"), "WITH UNMATCHED ROWS needs"),
    ],
)  # fmt: skip
def test_obstacles(change: tuple[str, str], reason: str | None) -> None:
    assert change[0] in CLAUSE
    found = obstacles(stream(CLAUSE), stream(CLAUSE.replace(*change)))
    assert found == [] if reason is None else any(reason in obstacle for obstacle in found), found


def test_a_column_of_another_type() -> None:
    then = stream(CLAUSE)
    now = StreamTester(CLAUSE, {"k": "string", "t": "timestamp", "x": "int", "y": "double"})
    assert obstacles(then, now) == ["the column x is int64 in the state, and int32 now"]
    then.feed([{"k": "p", "t": datetime(2024, 1, 1, tzinfo=UTC), "x": 1}])
    with pytest.raises(OstinatoError, match=r"STATE_OF_OTHER_QUERY: .* column x is int64"):
        go_on(then, now)


@pytest.mark.parametrize("before", ["bigint", "int", "double"])
@pytest.mark.parametrize("after", ["bigint", "int", "double", "string"])
def test_values_computed_from_a_column_of_another_type(before: str, after: str) -> None:
    """The state has x + 1 and not x. The types of both may differ, or only that of x."""
    clause = "PARTITION BY k ORDER BY t MEASURES LAST(x + 1) AS l PATTERN (A B*) DEFINE B AS x + 1 > PREV(x + 1)"
    then = StreamTester(clause, {"k": "string", "t": "timestamp", "x": before})
    now = StreamTester(f"{clause}, A AS true", {"k": "string", "t": "timestamp", "x": after})
    then.feed([{"k": "p", "t": datetime(2024, 1, 1, tzinfo=UTC), "x": 3}])
    if before == after:
        assert obstacles(then, now) == []
        assert go_on(then, now) == []
        assert now.finish() == [{"k": "p", "l": 4}]
        return
    (why,) = obstacles(then, now)
    assert why.startswith("the column x is ")
    with pytest.raises(OstinatoError, match=r"STATE_OF_OTHER_QUERY: .* column x is "):
        go_on(then, now)


def test_conditions_over_a_column_of_another_type() -> None:
    """The state has the bit of x > '10' and not x."""
    clause = "PARTITION BY k ORDER BY t MEASURES count(*) AS n PATTERN (A B*) DEFINE A AS x > '10'"
    columns = {"k": "string", "t": "timestamp", "x": "string"}
    then, now = StreamTester(clause, columns), StreamTester(f"{clause}, B AS k = 'p'", {**columns, "x": "bigint"})
    assert obstacles(then, now) == ["the column x is string in the state, and int64 now"]
    assert obstacles(then, StreamTester(f"{clause}, B AS k = 'p'", columns)) == []
    assert obstacles(then, StreamTester(clause.replace("x >", "k >"), {**columns, "x": "bigint"})) == []


def test_a_stored_value_of_another_type() -> None:
    """The columns have the same types, but Spark gives the computed value another one."""
    clause = "PARTITION BY k ORDER BY t MEASURES LAST(x + 1) AS l PATTERN (A)"
    streams = [StreamTester(clause, {"k": "string", "t": "timestamp", "x": "int"}) for _ in range(2)]
    change = change_between(*streams)
    types = {field.name: field.type for field in change.shipped}
    assert change.obstacles(types) == []
    (computed,) = change.now.computed.values()
    assert change.obstacles({**types, computed: pa.int64()}) == ["(`x` + 1) is int64 in the state, and int32 now"]


def test_a_measure_that_becomes_a_condition() -> None:
    """The state has the value of x > 5 for a measure, but neither x nor a condition."""
    clause = "PARTITION BY k ORDER BY t MEASURES LAST(x > 5) AS large PATTERN (A)"
    changed = stream(clause.replace("LAST(x > 5) AS large", "count(*) AS n") + " DEFINE A AS x > 5")
    assert obstacles(stream(clause), changed) == ["the state doesn't hold the column x, which (`x` > 5) needs"]


def test_rows_of_silent_keys_are_searched_at_once() -> None:
    """The old condition left an open run; with the new one it is a match, though no row of its key comes any more."""
    then, now = stream(CLAUSE.replace("PATTERN (A B C)", "PATTERN (A B C D)")), stream(CLAUSE)
    moments = [datetime(2024, 1, 1, 0, minute, tzinfo=UTC) for minute in range(4)]
    then.feed([{"k": "p", "t": moments[i], "x": x} for i, x in enumerate([4, 6, 3])], watermark=moments[3])
    assert then.open_runs == 1
    assert go_on(then, now) == [{"k": "p", "a": 4, "y": None}]
    assert now.open_runs == 0
