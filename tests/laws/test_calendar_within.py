"""WITHIN in calendar months: the engine equals the oracle, and WITHIN equals a condition with the month written out."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import ostinato as ost
from ostinato.clause.attempts.attempt_engine import AttemptOptions
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.expressions.types import Settings
from ostinato.local.local_attempts import clause_attempts
from ostinato.local.local_clause import match_table
from ostinato.reference.clause_oracle import match_rows
from ostinato.slices.slice_threads import Parallel
from ostinato.testing import StreamTester

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Pacific/Apia")
_MONTH_ENDS = [date(2023, month, 1) - timedelta(days=back) for month in range(2, 6) for back in range(4)]
_AROUND_CLOCK_CHANGES = [
    datetime(year, month, day, hour, minute, tzinfo=UTC)
    for year, month, day in ((2023, 2, 26), (2023, 3, 26), (2023, 4, 26), (2023, 9, 29), (2023, 10, 29), (2011, 12, 30))
    for hour in (0, 1, 2)
    for minute in (0, 30)
]
CLAUSES = (
    "{skip} PATTERN (A+ B?) WITHIN {within} DEFINE A AS x < 2, B AS x > 1",
    "{skip} PATTERN (A B) WITHIN {within} DEFINE B AS B.x >= A.x",
    "{skip} PATTERN (A C B) WITHIN {within} DEFINE A AS x < 2",
    "ALL MATCHES PATTERN (A C*? B) WITHIN {within} DEFINE A AS x = 0, B AS x = 1",
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Rows with a number, and a time of one type: DATE, TIMESTAMP or TIMESTAMP_NTZ."""
    kind = draw(st.sampled_from([pa.date32(), pa.timestamp("us", "UTC"), pa.timestamp("us")]))
    moments: list[Any] = list(_MONTH_ENDS if kind == pa.date32() else _AROUND_CLOCK_CHANGES)
    if kind == pa.timestamp("us"):
        moments = [moment.replace(tzinfo=None) for moment in moments]
    times = draw(st.lists(st.none() | st.sampled_from(moments), max_size=7))
    numbers = draw(st.lists(st.integers(0, 2), min_size=len(times), max_size=len(times)))
    return pa.table({"id": list(range(len(times))), "t": pa.array(times, kind), "x": pa.array(numbers, pa.int64())})


@st.composite
def clauses(draw: st.DrawFn, order: str = "ORDER BY t{direction}, id") -> str:
    direction = draw(st.sampled_from(["", " DESC"]))
    skip = draw(st.sampled_from(["AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP PAST LAST ROW"]))
    within = draw(st.sampled_from(["INTERVAL '0' MONTH", "1 MONTH", "INTERVAL '2' MONTH", "11 YEARS 10 MONTHS"]))
    shape = draw(st.sampled_from(CLAUSES)).format(skip=skip, within=within)
    shows = draw(st.sampled_from(["", "ONE ROW PER MATCH SHOW TIMEOUT MATCHES "])) if "ALL" not in shape else ""
    return f"{order.format(direction=direction)} MEASURES FIRST(id) AS a, LAST(id) AS b {shows}{shape}"


@given(clauses(), tables(), st.sampled_from(ZONES))
@settings(max_examples=examples(150))
def test_engine_equals_oracle(text: str, table: pa.Table, zone: str) -> None:
    clause, session = parse_clause(text), Settings(timezone=zone)
    found = match_table(clause, table, settings=session).to_pylist()
    wanted = match_rows(clause, table.column_names, table.to_pylist(), timezone=zone)
    assert sorted(map(repr, found)) == sorted(map(repr, wanted))
    if "TIMEOUT" not in text and len(table):
        sliced = match_table(clause, table, settings=session, parallel=Parallel(2, 4))
        assert sorted(map(repr, sliced.to_pylist())) == sorted(map(repr, found))


@given(tables(), st.sampled_from(ZONES))
@settings(max_examples=examples(30))
def test_within_is_a_condition_with_the_months_added(table: pa.Table, zone: str) -> None:
    shape = "ORDER BY t, id MEASURES FIRST(id) AS a, LAST(id) AS b AFTER MATCH SKIP TO NEXT ROW PATTERN (A B*)"
    written = f"{shape} DEFINE A AS t IS NOT NULL, B AS t <= FIRST(t) + INTERVAL '1' MONTH"
    found, wanted = (
        match_table(parse_clause(text), table, settings=Settings(timezone=zone)).to_pylist()
        for text in (f"{shape} WITHIN INTERVAL '1' MONTH", written)
    )
    assert found == wanted


def test_why_not_measures_the_month_of_the_start() -> None:
    table = pa.table({"t": [date(2023, 1, 31), date(2023, 3, 1)], "x": [1, 2]})
    clause = parse_clause("ORDER BY t MEASURES A.x AS a PATTERN (A B) WITHIN 1 MONTH")
    options = AttemptOptions(max_attempts=9, max_trials=99)
    first = clause_attempts(clause, table, key={}, rows=None, options=options).attempts.attempts[0]
    assert [refusal.excess for refusal in first.refusals] == [timedelta(days=1)]


def test_streams_and_correlations_refuse_months_by_name() -> None:
    clause = "ORDER BY t MEASURES LAST(t) AS last PATTERN (A B) WITHIN 1 MONTH"
    with pytest.raises(ost.QueryError, match=r"STREAM_NOT_SUPPORTED(.|\n)*WITHIN 31 DAYS"):
        StreamTester(clause, {"t": "timestamp"})
    pair = f"""SELECT * FROM t MATCH_RECOGNIZE ({clause.replace("PATTERN", "INCREMENTAL MATCHES PATTERN")}) AS n
        JOIN t MATCH_RECOGNIZE (ORDER BY t MEASURES t AS s MAXIMAL MATCHES PATTERN (A)) AS o
        ON RECENT(o, n, INTERVAL '1' DAY)"""
    with pytest.raises(ost.QueryError, match="CORRELATION_NOT_SUPPORTED: WITHIN in calendar months"):
        ost.correlate(pair).run(pa.table({"t": [datetime(2023, 1, 1)]}))


def test_a_builder_takes_months() -> None:
    query = ost.pattern("A B").order_by("t").within("1 year 2 months")
    assert "WITHIN INTERVAL '14' MONTH" in query.to_sql()
    assert parse_clause(query.to_sql()) == query.query
    for text in ("2 months 3 days", "-1 month", "99999999999999 years"):
        with pytest.raises(ost.QueryError, match="INVALID_WITHIN"):
            ost.pattern("A B").order_by("t").within(text).to_sql()
            _ = ost.pattern("A B").order_by("t").within(text).query


def test_clauses_with_months_run_alone_in_a_workload() -> None:
    text = "ORDER BY t MEASURES A.x AS a ALL MATCHES PATTERN (A B+) WITHIN 1 MONTH"
    table = pa.table({"t": [date(2023, 1, 31), date(2023, 2, 28), date(2023, 3, 1)], "x": [1, 2, 3]})
    queries = ost.Workload([text, text.replace("B+", "B C*")], sharing="always").run(table).queries.values()
    assert [rows["a"].to_pylist() for rows in queries] == [[1, 2], [1, 2]]
