"""Clauses matched together give, clause by clause, what each gives alone: the same rows in the same order.

Under a bound they give some of those, and never another; clauses without one still give all.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.clause_workloads import long_tables, workloads
from tests.laws.comparison import rows_of

from ostinato.clause.language.clause_query import as_clause_query
from ostinato.errors import MatchError, QueryError
from ostinato.expressions.types import Settings
from ostinato.kernels.clock import VirtualClock
from ostinato.local.local_clause import match_table
from ostinato.local.local_clauses import LocalClauses
from ostinato.workloads.bound_request import BoundRequest

Rows = list[tuple[object, ...]]


def alone(texts: list[str], table: pa.Table) -> list[Rows]:
    try:
        return [comparable(match_table(as_clause_query(text).clause, table)) for text in texts]
    except (MatchError, QueryError):  # the clauses are drawn for all engines; not every one means something
        assume(False)
        raise


def comparable(table: pa.Table) -> Rows:
    """NaN isn't equal to itself; its text is."""
    return [tuple(map(repr, row)) for row in rows_of(table)]


def check(texts: list[str], table: pa.Table) -> None:
    expected = alone(texts, table)
    names = [f"q{i}" for i in range(len(texts))]
    local = LocalClauses([as_clause_query(text) for text in texts], names, table.schema, Settings(), sharing="always")
    event(f"{len(local.typed.alone)} of {len(texts)} alone")
    event(f"matches: {any(expected)}")
    found = local.run(table)
    for text, rows, one in zip(texts, expected, found.tables, strict=True):
        assert comparable(one) == rows, f"{text}\n{table.to_pylist()}"


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
    """A clause over the kinds of `crowd`, with a condition of B, and one of the rows that Y takes."""
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
    """The rows of each clause, and the recall reported of each pattern: None where it is unknown."""
    names = [f"q{i}" for i in range(len(CROWDED))]
    asked = [as_clause_query(text) for text in CROWDED]
    found = LocalClauses(asked, names, table.schema, Settings(), request).run(table)
    recalls = [row["recall_estimate"] for report in found.reports for row in report.table().to_pylist()]
    return [Counter(rows_of(one)) for one in found.tables], recalls


@settings(max_examples=examples(12))
@given(
    st.integers(0, 10**6),
    st.sampled_from(
        [{"latency_bound": 0.2}, {"latency_bound": "20 ns"}, {"selection_ratio": 0.3}, {"memory_bound": "20 KB"}]
    ),
)
def test_a_bound_only_leaves_matches_out(seed: int, bound: dict[str, object]) -> None:
    table = crowd(seed)
    exact = [Counter(rows) for rows in (rows_of(match_table(as_clause_query(text).clause, table)) for text in CROWDED)]
    found, _ = bounded(table, BoundRequest(**bound, clock=VirtualClock()))  # type: ignore[arg-type]
    event(f"{next(iter(bound))}: left out {sum(map(Counter.total, exact)) > sum(map(Counter.total, found))}")
    for every, some in zip(exact, found, strict=True):
        assert some <= every


def test_what_is_left_out_is_reported_and_the_same_in_every_run() -> None:
    table = crowd(7)
    exact = [Counter(rows_of(match_table(as_clause_query(text).clause, table))) for text in CROWDED]
    request = BoundRequest(latency_bound="20 ns", clock=VirtualClock())
    found, recalls = bounded(table, request)
    assert 0 < sum(map(Counter.total, found)) < sum(map(Counter.total, exact))
    assert None in recalls
    assert bounded(table, request) == (found, recalls)


def test_clauses_without_a_bound_stay_exact_beside_others() -> None:
    table = crowd(8)
    exact = [Counter(rows_of(match_table(as_clause_query(text).clause, table))) for text in CROWDED]
    found, _ = bounded(table, BoundRequest(latency_bound={"q0": "1 ns", "q2": "1 ns"}, clock=VirtualClock()))
    assert found[1] == exact[1]
    assert found[3] == exact[3]
    assert found[0] < exact[0]
    assert found[2] < exact[2]
