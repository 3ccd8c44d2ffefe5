"""Early results: at each step, the latest row of every run is what the end of input would give."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.clause_workloads import long_tables
from tests.laws.comparison import rows_of
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import COLUMNS, tables
from tests.laws.test_stream_equals_batch import Plan, plans, timed_clauses

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.clause import MatchMode, MatchRecognize, Output
from ostinato.errors import MatchError
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.bucket_state import EMPTY
from ostinato.testing import StreamTester

TABLES = st.one_of(tables(), long_tables())
DECLINED = Declined(CLAUSES)
Row = tuple[str, ...]


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


class Told:
    """The table that somebody keeps who reads the changes."""

    def __init__(self) -> None:
        self.final: Counter[Row] = Counter()
        self.preliminary: dict[str, Row] = {}
        self.statuses: Counter[str] = Counter()

    def read(self, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            status, run = row.pop("status"), row["the_run"]
            self.statuses[status] += 1
            known = run in self.preliminary
            if status in ("extended", "withdrawn"):
                assert known
            if status == "open":
                assert not known
            self.preliminary.pop(run, None)
            if status == "final":
                self.final[as_row(row)] += 1
            elif status != "withdrawn":
                self.preliminary[run] = as_row(row)
            else:
                assert row["the_match"] is None

    @property
    def rows(self) -> Counter[Row]:
        return self.final + Counter(self.preliminary.values())


def as_row(row: dict[str, Any]) -> Row:
    return tuple(map(repr, row.values()))


def counted(table: pa.Table) -> Counter[Row]:
    return Counter(tuple(map(repr, row)) for row in rows_of(table))


def if_it_ended_now(clause: MatchRecognize, stream: StreamTester, **options: Any) -> Counter[Row]:
    """The rows of the finished stream, from the state of a stream without early results."""
    ending = StreamTester(clause, COLUMNS, **options)
    ending._state, ending.watermark_us = stream.state, stream.watermark_us
    ending.finish()
    return counted(ending.results)


def check(text: str, table: pa.Table, plan: Plan, **options: Any) -> None:
    clause = replace(parse_clause(text), ids=IdColumns("the_match", "the_run"), output=Output.ONE_ROW)
    if clause.mode in (MatchMode.ALL, MatchMode.INCREMENTAL):
        clause = replace(clause, mode=MatchMode.MAXIMAL)
    told = Told()
    with DECLINED.example():
        early = StreamTester(clause, COLUMNS, emit="early", **options)
        final = StreamTester(clause, COLUMNS, **options)
        try:
            for rows, watermark in plan.steps(table):
                told.read(early.feed(rows, watermark=watermark))
                final.feed(rows, watermark=watermark)
                assert told.final == counted(final.results)
                assert told.rows == told.final + if_it_ended_now(clause, final, **options)
                assert (early.open_runs, early.wake_at_us) == (final.open_runs, final.wake_at_us)
            told.read(early.finish())
            final.finish()
        except MatchError as error:
            DECLINED.leave_out(error.code)
    DECLINED.answered(rows=bool(told.statuses["final"]))
    assert not told.preliminary
    assert told.final == counted(final.results)
    for status in ("open", "extended", "withdrawn"):
        event(f"{status}: {told.statuses[status] > 0}")


@settings(max_examples=examples(60))
@given(timed_clauses(), TABLES, plans(), st.sampled_from([{}, {"forget_keys_after": "2 minutes"}, {"eager": True}]))
def test_preferred_matches(text: str, table: pa.Table, plan: Plan, options: dict[str, Any]) -> None:
    check(text, table, plan, **options)


@settings(max_examples=examples(25))
@given(timed_clauses(modes=True), tables(), plans())
def test_maximal_matches(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


@settings(max_examples=examples(25))
@given(timed_clauses(), TABLES, plans())
def test_late_rows_are_final(text: str, table: pa.Table, plan: Plan) -> None:
    clause = replace(parse_clause(text), ids=IdColumns(None, "the_run"), output=Output.ONE_ROW, measures=())
    with DECLINED.example():
        stream = StreamTester(clause, COLUMNS, emit="early", late="show")
        try:
            shown = [row for rows, mark in plan.steps(table) for row in stream.feed(rows, watermark=mark)]
        except MatchError as error:
            DECLINED.leave_out(error.code)
    late = [row for row in shown if row["late"]]
    DECLINED.answered(rows=bool(late))
    assert len(late) == stream.late_rows
    assert all((row["status"], row["the_run"]) == ("final", None) for row in late)
    assert all(row["the_run"] is not None for row in shown if not row["late"])


@pytest.mark.slow
@settings(max_examples=examples(100))
@given(timed_clauses(), tables(most_rows=16), plans(8))
def test_preferred_matches_deeply(text: str, table: pa.Table, plan: Plan) -> None:
    check(text, table, plan)


def test_a_preliminary_row_may_come_again_unchanged() -> None:
    """The stream compares the values that measures are computed from. Spark computes the measures afterwards."""
    clause = "ORDER BY t MEASURES count(*) > 1 AS large PATTERN (A+)"
    stream = StreamTester(clause, {"t": pa.timestamp("us")}, run_id="run", emit="early")
    shown = [row for t in range(3) for row in stream.feed([{"t": t}], watermark=t)]
    assert [(row["large"], row["status"]) for row in shown] == [
        (False, "open"),
        (True, "extended"),
        (True, "extended"),
    ]


def test_each_status() -> None:
    """A row decides a run when it can't extend it. A match that needs the end is withdrawn by any other row."""
    clause = """ORDER BY t MEASURES count(*) AS n PATTERN (A B+ $ | A B B B) DEFINE B AS x > PREV(x)"""
    columns = {"t": pa.timestamp("us"), "x": pa.int64()}
    stream = StreamTester(clause, columns, run_id="run", emit="early")
    changed = [
        [(row["n"], row["status"]) for row in stream.feed([{"t": t, "x": x}], watermark=t)]
        for t, x in enumerate([1, 2, 3, 4, 1, 2, 2])
    ]
    assert changed[:2] == [[], [(2, "open")]]
    assert changed[2:5] == [[(3, "extended")], [(4, "extended")], [(4, "final")]]
    assert changed[5:] == [[(2, "open")], [(None, "withdrawn")]]
    assert stream.finish() == []
    assert stream.state == EMPTY
    assert stream.watermark_us != NO_TIME
