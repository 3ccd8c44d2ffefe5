"""Clauses that are matched together have the same rows in the same order as each clause alone.

Under a bound, a clause has a subset of these rows. Clauses without a bound still have all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.clause_workloads import long_tables, workloads
from tests.laws.comparison import rows_of
from tests.laws.declined import CLAUSES, VALUES, Declined

from ostinato.clause.language.clause_query import as_clause_query
from ostinato.expressions.types import Settings
from ostinato.kernels.clock import VirtualClock
from ostinato.local.local_clause import match_table
from ostinato.local.local_clauses import LocalClauses
from ostinato.workloads.bound_request import BoundRequest

Rows = list[tuple[object, ...]]


DECLINED = Declined(CLAUSES | VALUES)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def rows_of_each(texts: list[str], table: pa.Table) -> list[Rows]:
    with DECLINED.example():
        rows = [comparable(match_table(as_clause_query(text).clause, table)) for text in texts]
    DECLINED.answered(rows=any(rows))
    return rows


def comparable(table: pa.Table) -> Rows:
    """The rows with their values as text, because NaN isn't equal to itself."""
    return [tuple(map(repr, row)) for row in rows_of(table)]


def check(texts: list[str], table: pa.Table) -> None:
    expected = rows_of_each(texts, table)
    names = [f"q{i}" for i in range(len(texts))]
    local = LocalClauses([as_clause_query(text) for text in texts], names, table.schema, Settings(), sharing="always")
    event(f"{len(local.typed.alone)} of {len(texts)} alone")
    result = local.run(table)
    for text, rows, clause_table in zip(texts, expected, result.tables, strict=True):
        assert comparable(clause_table) == rows, f"{text}\n{table.to_pylist()}"


@given(workloads(), long_tables())
def test_workloads(texts: list[str], table: pa.Table) -> None:
    check(texts, table)


@pytest.mark.slow
@settings(max_examples=examples(80))
@given(workloads(), long_tables())
def test_workloads_deeply(texts: list[str], table: pa.Table) -> None:
    check(texts, table)


# --- under a bound ----------------------------------------------------------------------------------------------------

_HEAD = "PARTITION BY k ORDER BY n MEASURES FIRST(n) AS a, B.n AS b, LAST(n) AS z ALL MATCHES"


def crowded(pattern: str, length: int, second: str, between: str = "TRUE") -> str:
    """A clause over the kinds of `crowd`. `second` is a condition on B, `between` one on Y."""
    named = [name for name in "ACDE" if name in pattern]
    define = ", ".join([*(f"{name} AS kind = '{name}'" for name in named), f"B AS kind = 'B' AND {second}"])
    define += f", Y AS {between}" if "Y" in pattern else ""
    return f"{_HEAD} PATTERN ({pattern}) MAXLENGTH {length} DEFINE {define}"


CROWDED = (
    crowded("A X* B Y* D", 60, "B.x > A.x", "kind <> 'C'"),
    crowded("A X* B Y* E", 60, "x > -9", "kind <> 'C'"),
    crowded("A X* B X* D X* E", 30, "B.x > A.x"),
    crowded("A X* (B X*)+ C", 15, "B.x > LAST(A.x)"),
)


def crowd(seed: int, count: int = 1_500) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "k": rng.integers(0, 3, count),
            "n": np.arange(count),
            "kind": pa.array(rng.choice(list("ABCDE"), count)),
            "x": rng.normal(size=count),
        }
    )


def bounded(table: pa.Table, request: BoundRequest) -> tuple[list[Counter[tuple[object, ...]]], list[float | None]]:
    """The rows of each clause, and the reported recall of each pattern; None if it is unknown."""
    names = [f"q{i}" for i in range(len(CROWDED))]
    queries = [as_clause_query(text) for text in CROWDED]
    result = LocalClauses(queries, names, table.schema, Settings(), request).run(table)
    recalls = [row["recall_estimate"] for report in result.reports for row in report.table().to_pylist()]
    return [Counter(rows_of(clause_table)) for clause_table in result.tables], recalls


@settings(max_examples=examples(12))
@given(
    st.integers(0, 10**6),
    st.sampled_from(
        [{"latency_bound": 0.2}, {"latency_bound": "20 ns"}, {"selection_ratio": 0.3}, {"memory_bound": "20 KB"}]
    ),
)
def test_a_bound_only_removes_matches(seed: int, bound: dict[str, object]) -> None:
    table = crowd(seed)
    exact = [Counter(rows) for rows in (rows_of(match_table(as_clause_query(text).clause, table)) for text in CROWDED)]
    rows_under_bound, _ = bounded(table, BoundRequest(**bound, clock=VirtualClock()))  # type: ignore[arg-type]
    event(f"{next(iter(bound))}: left out {sum(map(Counter.total, exact)) > sum(map(Counter.total, rows_under_bound))}")
    for exact_rows, rows_of_clause in zip(exact, rows_under_bound, strict=True):
        assert rows_of_clause <= exact_rows


def test_dropped_matches_are_reported_and_equal_in_every_run() -> None:
    table = crowd(7)
    exact = [Counter(rows_of(match_table(as_clause_query(text).clause, table))) for text in CROWDED]
    request = BoundRequest(latency_bound="20 ns", clock=VirtualClock())
    rows_under_bound, recalls = bounded(table, request)
    assert 0 < sum(map(Counter.total, rows_under_bound)) < sum(map(Counter.total, exact))
    assert None in recalls
    assert bounded(table, request) == (rows_under_bound, recalls)


def test_clauses_without_a_bound_stay_exact_beside_bounded_ones() -> None:
    table = crowd(8)
    exact = [Counter(rows_of(match_table(as_clause_query(text).clause, table))) for text in CROWDED]
    rows_under_bound, _ = bounded(table, BoundRequest(latency_bound={"q0": "1 ns", "q2": "1 ns"}, clock=VirtualClock()))
    assert rows_under_bound[1] == exact[1]
    assert rows_under_bound[3] == exact[3]
    assert rows_under_bound[0] < exact[0]
    assert rows_under_bound[2] < exact[2]
