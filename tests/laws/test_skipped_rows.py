"""Queries that go on without rows that they can't evaluate: the judge is a batch over rows in which nothing fails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.strategies import COLUMNS, tables
from tests.laws.test_stream_equals_batch import Plan, on_time, plans, timed_clauses

import ostinato as ost
from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.errors import MatchError, QueryError
from ostinato.local.local_clause import match_table
from ostinato.streams.stream_settings import OnError
from ostinato.testing import StreamTester

Draw = Callable[[st.SearchStrategy[Any]], Any]
START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("k", pa.string()),
        ("t", pa.timestamp("us", "UTC")),
        ("id", pa.int64()),
        ("x", pa.int32()),
        ("y", pa.int32()),
    ]
)
HEAD = "PARTITION BY k ORDER BY t, id MEASURES FIRST(id) AS f, LAST(id) AS l, MATCH_NUMBER() AS number"
OVER_ONE_ROW = [
    f"{HEAD} PATTERN (A B+ C?) DEFINE A AS 12 / x > 3, B AS 12 / x <= PREV(12 / x), C AS x > A.x",
    f"{HEAD}, sum(12 / x) AS total PATTERN (A B*) WITHIN INTERVAL '3' SECOND DEFINE B AS y > PREV(y)",
    f"{HEAD} ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B) DEFINE A AS 12 / x > 3, B AS NEXT(y) > y",
    f"{HEAD} AFTER MATCH SKIP TO NEXT ROW PATTERN (^ A B | B A) DEFINE A AS y > 1, B AS 12 / x > A.y",
    f"{HEAD} ALL MATCHES PATTERN (A B C*) WITHIN INTERVAL '4' SECOND DEFINE A AS 12 / x > 0, C AS y >= B.y",
    "ORDER BY t, id MEASURES FIRST(id) AS f, count(*) AS n INCREMENTAL MATCHES PATTERN (A B+) MAXLENGTH 4 "
    "DEFINE B AS 12 / x > PREV(y)",
]
"""Only expressions over one row can fail here, where x is 0."""
OVER_SEVERAL = [
    f"{HEAD} PATTERN (A B+) DEFINE B AS x / PREV(y) >= 1",
    f"{HEAD} PATTERN (A B) WITHIN INTERVAL '3' SECOND DEFINE A AS y > 0, B AS x / NEXT(y) < 2",
    f"{HEAD} PATTERN (A B+ C) DEFINE B AS x / A.y >= 1, C AS sum(B.x) / B.y > 1",
    f"{HEAD} AFTER MATCH SKIP TO NEXT ROW PATTERN (A B* C) WITHIN INTERVAL '4' SECOND DEFINE C AS x / A.y > 0",
    f"{HEAD} ALL MATCHES PATTERN (A B+) MAXLENGTH 4 DEFINE B AS x / A.y >= 1",
    f"{HEAD} PATTERN (A B+) DEFINE B AS 3 / PREV(y) >= 1",
    f"{HEAD} PATTERN (A B* C) DEFINE B AS 6 / FIRST(A.y) > 1, C AS 3 % NEXT(y) = 0",
    f"{HEAD} ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B+) DEFINE A AS y < 2, B AS array_agg(B.x)[0] / A.y > 0",
]
"""Only conditions over several rows can fail here, by a division by zero. Without ANSI rules, it gives NULL."""


@st.composite
def small_tables(draw: Draw) -> pa.Table:
    row = st.fixed_dictionaries(
        {
            "k": st.sampled_from(["a", "a", "b", None]),
            "t": st.integers(0, 8).map(lambda at: START + timedelta(seconds=at)),
            "x": st.sampled_from([0, 0, 1, 2, 3, 5, None]),
            "y": st.sampled_from([0, 1, 2, 3, None]),
        }
    )
    rows = [{**values, "id": number} for number, values in enumerate(draw(st.lists(row, max_size=14)))]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@st.composite
def steps_of(draw: Draw, table: pa.Table) -> list[tuple[pa.Table, datetime]]:
    """The rows in pieces, each with a watermark before all rows of later pieces, so that no row is late."""
    ordered = table.sort_by([("t", "ascending"), ("id", "descending")])
    edges = sorted(draw(st.lists(st.integers(0, table.num_rows), max_size=4)))
    times = ordered.column("t").to_pylist()
    steps = []
    for begin, end in zip([0, *edges], [*edges, table.num_rows], strict=True):
        next_time = times[end] if end < table.num_rows else START + timedelta(minutes=1)
        steps.append((ordered.slice(begin, end - begin), next_time - timedelta(microseconds=1)))
    return steps


def streamed(
    text: str, steps: Iterable[tuple[pa.Table, datetime]], *, on_error: OnError = "skip", **options: Any
) -> pa.Table:
    stream = StreamTester(text, SCHEMA, on_error=on_error, **options)
    for rows, watermark in steps:
        stream.feed(rows, watermark=watermark)
    stream.finish()
    return stream.results


def counted(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    return Counter(repr(list(row.items())) for row in rows)


def parts(table: pa.Table) -> tuple[Counter[str], Counter[str]]:
    """The rows of matches, and the rows with an error."""
    rows = table.to_pylist()
    good = ({name: value for name, value in row.items() if name != "error"} for row in rows if row["error"] is None)
    return counted(good), counted(row for row in rows if row["error"] is not None)


def can_be_evaluated(row: dict[str, Any]) -> bool:
    return row["x"] != 0


@given(text=st.sampled_from(OVER_ONE_ROW), data=st.data())
def test_a_row_that_fails_alone_is_as_if_it_were_not_there(text: str, data: st.DataObject) -> None:
    table = data.draw(small_tables())
    others = pa.Table.from_pylist([row for row in table.to_pylist() if can_be_evaluated(row)], schema=SCHEMA)
    expected = counted(ost.match(text, others).to_pylist())
    stream = streamed(text, data.draw(steps_of(table)))
    good, bad = parts(stream)
    assert good == expected
    assert bad.total() == table.num_rows - others.num_rows
    assert (good, bad) == parts(ost.match(text, table, on_error="skip"))
    for row in stream.to_pylist():
        if row["error"] is not None:
            assert row["error"].startswith("DIVIDE_BY_ZERO: ")
            assert row["f"] is None


@settings(max_examples=examples(150))
@given(text=st.sampled_from(OVER_SEVERAL), data=st.data())
def test_a_condition_over_several_rows_that_fails_is_not_true(text: str, data: st.DataObject) -> None:
    table = data.draw(small_tables())
    expected = counted(ost.match(text, table, ansi=False).to_pylist())
    good, bad = parts(streamed(text, data.draw(steps_of(table))))
    batch_good, _ = parts(ost.match(text, table, on_error="skip"))
    assert good == expected == batch_good
    assert all("DIVIDE_BY_ZERO: " in row or "INVALID_ARRAY_INDEX: " in row for row in bad)


FAILS = "x > 1 OR 6 / coalesce({}(y), 0) > 1"
"""This condition fails where PREV or NEXT reads no row, or a row with y = 0, unless x > 1."""
WITHOUT_NUMBER = "PARTITION BY k ORDER BY t, id MEASURES FIRST(id) AS f, LAST(id) AS l, count(*) AS n"
BEHIND_FIRST = [
    f"{WITHOUT_NUMBER} PATTERN (A B* C) DEFINE A AS y > 1, B AS {FAILS.format('PREV')}, C AS y = 1",
    f"{WITHOUT_NUMBER} PATTERN (A B C) DEFINE A AS y > 1, B AS {FAILS.format('PREV')}, C AS y = 1",
    f"{WITHOUT_NUMBER} PATTERN (A B* C) WITHIN INTERVAL '3' SECOND DEFINE A AS y > 1, B AS y > 0 AND "
    f"({FAILS.format('PREV')}), C AS y = 1",
]
"""The condition that fails reads no row before a match, so a stream drops these rows."""
FIRST_OR_LAST = [
    f"{WITHOUT_NUMBER} PATTERN (B+ C) DEFINE B AS {FAILS.format('PREV')}, C AS y = 1",
    f"{WITHOUT_NUMBER} PATTERN (A B+) DEFINE A AS y > 1, B AS {FAILS.format('NEXT')}",
    f"{WITHOUT_NUMBER} AFTER MATCH SKIP TO LAST B PATTERN (A B+) DEFINE A AS y > 1, B AS {FAILS.format('NEXT')}",
]
CORES: list[dict[str, Any]] = [{}, {"run_id": "run"}, {"forget_keys_after": "1 day"}]


def outcome(compute: Callable[[], pa.Table]) -> Counter[str] | str:
    """The rows, or the code of the error."""
    try:
        result = compute()
    except MatchError as error:
        return error.code
    return counted(result.drop_columns([name for name in ("run", "error") if name in result.column_names]).to_pylist())


@settings(max_examples=examples(150))
@given(text=st.sampled_from(BEHIND_FIRST + FIRST_OR_LAST), core=st.sampled_from(CORES), data=st.data())
def test_no_row_fails_because_its_neighbours_are_not_in_the_state(
    text: str, core: dict[str, Any], data: st.DataObject
) -> None:
    table = data.draw(small_tables())
    if data.draw(st.booleans()):  # nothing fails in a batch
        rows = [{**row, "y": row["y"] or 1} for row in table.to_pylist()]
        for key in {row["k"] for row in rows}:
            of_key = sorted((row for row in rows if row["k"] == key), key=lambda row: (row["t"], row["id"]))
            of_key[0]["x"] = of_key[-1]["x"] = 3
        table = pa.Table.from_pylist(rows, schema=SCHEMA)
    steps = data.draw(steps_of(table))
    batch = outcome(lambda: ost.match(text, table))
    stream = outcome(lambda: streamed(text, steps, on_error="fail", **core))
    assert stream == batch or (batch == "DIVIDE_BY_ZERO" and text in BEHIND_FIRST)
    if batch != "DIVIDE_BY_ZERO":
        assert outcome(lambda: streamed(text, steps, **core)) == batch


@given(small_tables(), st.data())
def test_a_measure_that_fails_leaves_the_row_of_its_match(table: pa.Table, data: st.DataObject) -> None:
    text = f"{HEAD}, 12 / LAST(x) AS q, 12 / FIRST(y) AS r PATTERN (A B*) DEFINE B AS y > PREV(y)"
    expected = counted(ost.match(text, table, ansi=False).to_pylist())
    rows = streamed(text, data.draw(steps_of(table))).to_pylist()
    assert counted({name: value for name, value in row.items() if name != "error"} for row in rows) == expected
    by_id = {row["id"]: row for row in table.to_pylist()}
    for row in rows:
        assert (row["error"] is not None) == (by_id[row["l"]]["x"] == 0 or by_id[row["f"]]["y"] == 0)


def check_any_clause(text: str, table: pa.Table, plan: Plan) -> None:
    """Matches of a stream and a batch are equal whatever fails, and so are their ids; without a failure, nothing
    differs from `fail`."""
    clause, steps = replace(parse_clause(text), ids=IdColumns("the_match", "the_run")), plan.steps(table)
    rows = on_time(steps)
    try:
        batch = match_table(clause, rows, on_error="skip")
    except (QueryError, MatchError):  # it can't be planned, or its search fails
        return
    stream = StreamTester(clause, COLUMNS, on_error="skip")
    for piece, watermark in steps:
        stream.feed(piece, watermark=watermark)
    stream.finish()
    good, _ = parts(stream.results)
    batch_good, batch_bad = parts(batch)
    assert good == batch_good
    if not batch_bad:
        assert batch_good == counted(match_table(clause, rows).to_pylist())


@given(timed_clauses(), tables(), plans())
def test_any_clause(text: str, table: pa.Table, plan: Plan) -> None:
    check_any_clause(text, table, plan)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(timed_clauses(modes=True), tables(most_rows=14), plans(8))
def test_any_clause_deeply(text: str, table: pa.Table, plan: Plan) -> None:
    check_any_clause(text, table, plan)
