"""Workloads of MATCH_RECOGNIZE queries in process: every form of a query, one answer each."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest

import ostinato as ost
import ostinato.workloads.plan.clause_groups as planning
from ostinato.clause.language.clause_query import as_clause_query
from ostinato.clause.task.clause_worker import Worker
from ostinato.errors import MatchError, QueryError
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.expressions.types import Settings
from ostinato.local.local_clauses import ClauseTables, LocalClauses
from ostinato.rows.workload_layout import Role
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.task.clauses_worker import StreamMatcher

CALLS = pa.table(
    {
        "who": ["ann", "bob"] * 6,
        "n": range(12),
        "kind": list("AABBDCADBADB"),
        "x": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8],
    }
)
AB = """
    PARTITION BY who ORDER BY n MEASURES A.n AS a, B.n AS b ALL MATCHES
    PATTERN (A X* B) DEFINE A AS kind = 'A', B AS kind = 'B'"""
ABD = AB.replace("A X* B)", "A X* B Y* D)").replace("B.n AS b", "B.n AS b, D.n AS d, D.x - A.x AS rise") + (
    ", Y AS kind <> 'C', D AS kind = 'D'"
)
FIRST = "PARTITION BY who ORDER BY n MEASURES LAST(n) AS n PATTERN (A B) DEFINE A AS kind = 'A'"


def run(*queries: object, table: pa.Table = CALLS, **options: object) -> ClauseTables:
    parsed = [as_clause_query(getattr(query, "query", query)) for query in queries]
    names = [f"q{i}" for i in range(1, len(parsed) + 1)]
    return LocalClauses(parsed, names, table.schema, Settings(), **options).run(table)  # type: ignore[arg-type]


def test_every_query_gives_what_it_gives_alone() -> None:
    results = run(AB, ABD, FIRST)
    assert results.tables == tuple(ost.match(query, CALLS) for query in (AB, ABD, FIRST))
    assert results.tables[1].to_pylist()[0] == {"who": "ann", "a": 0, "b": 8, "d": 10, "rise": 2}
    assert results.reports == ()


def test_queries_in_every_form() -> None:
    selected = f"SELECT who, m.b - m.a AS apart FROM calls MATCH_RECOGNIZE ({AB}) AS m"
    built = (
        ost.pattern("A X* B")
        .partition_by("who")
        .order_by("n")
        .define(A="kind = 'A'", B="kind = 'B'")
        .measures(a="A.n", b="B.n")
        .all_matches()
    )
    results = run(selected, f"MATCH_RECOGNIZE ({AB})", built)
    assert results.tables[0].to_pylist()[0] == {"who": "ann", "apart": 8}
    assert results.tables[1] == results.tables[2] == ost.match(AB, CALLS)


def test_columns_have_roles() -> None:
    columns = run(AB).columns[0]
    assert [(column.name, column.role) for column in columns] == [
        ("who", Role.GROUP),
        ("a", Role.MEASURE),
        ("b", Role.MEASURE),
    ]


def test_no_rows_give_no_matches() -> None:
    results = run(AB, FIRST, table=CALLS.slice(0, 0))
    assert [table.num_rows for table in results.tables] == [0, 0]
    assert results.tables[0].schema == run(AB).tables[0].schema


def test_the_same_query_twice_is_matched_once_and_given_twice() -> None:
    local = LocalClauses([as_clause_query(AB)] * 2, ["one", "other"], CALLS.schema, Settings())
    assert len(local.typed.streams[0].merged.nodes) == 3
    results = local.run(CALLS)
    assert results.tables[0] == results.tables[1] == ost.match(AB, CALLS)


def test_a_bound_and_no_sharing_keep_the_states_of_every_query_apart() -> None:
    request = BoundRequest(latency_bound="1 s")
    queries, names = [as_clause_query(AB)] * 2, ["one", "other"]
    apart = LocalClauses(queries, names, CALLS.schema, Settings(), request, sharing="never")
    assert len(apart.typed.streams[0].merged.nodes) == 5
    assert apart.run(CALLS).tables[1] == ost.match(AB, CALLS)


def test_streams_of_a_task_share_its_memory_and_budget() -> None:
    request = BoundRequest(memory_bound="1 MB", batch_budget="1 s")
    queries = [as_clause_query(AB), as_clause_query(AB.replace("ORDER BY n", "ORDER BY n DESC"))]
    local = LocalClauses(queries, ["one", "other"], CALLS.schema, Settings(), request)
    bounds = [stream.bounds for stream in local.worker.streams]
    assert [(each.memory_bytes, each.batch_budget_ns) for each in bounds if each is not None] == [
        (500_000, 500_000_000)
    ] * 2


def test_errors_underline_the_query_that_they_are_about() -> None:
    with pytest.raises(QueryError, match="UNKNOWN_COLUMN") as caught:
        run(AB, ABD.replace("D.x - A.x", "D.x - A.y"))
    assert "D.x - A.y" in str(caught.value)


def test_what_a_bound_can_t_be_kept_for_is_refused() -> None:
    with pytest.raises(QueryError, match="query 'q2' can't be bounded") as caught:
        run(AB, FIRST, request=BoundRequest(latency_bound="1 ms"))
    assert caught.value.code == "BOUND_NOT_SUPPORTED"
    results = run(AB, FIRST, request=BoundRequest(latency_bound={"q1": "1 s"}))
    assert results.tables == tuple(ost.match(query, CALLS) for query in (AB, FIRST))
    assert len(results.reports) == 1


def test_too_many_matches_are_an_error_in_the_words_of_clauses() -> None:
    with pytest.raises(MatchError, match="TOO_MANY_MATCHES") as caught:
        run(ABD, limits=MatchLimits(most_matches=2), sharing="always")
    assert "DEFINE" in str(caught.value)
    assert "WHERE" not in str(caught.value)


# --- shared by choice -------------------------------------------------------------------------------------------------


def letters(kinds: str) -> pa.Table:
    return pa.table({"who": [1] * len(kinds), "n": range(len(kinds)), "kind": list(kinds)})


RARE = letters("AB" * 20 + "D" + "AB" * 80)
"""The matcher holds 5,050 A B; the search makes the 210 that a D follows."""


def rare(*, b: str = "TRUE", bound: str = "") -> str:
    return f"""ORDER BY n MEASURES A.n AS a, B.n AS b, D.n AS d ALL MATCHES PATTERN (A X* B Y* D) {bound}
        DEFINE A AS kind = 'A', B AS kind = 'B' AND {b}, D AS kind = 'D'"""


class Ways:
    """Counts who is asked for the rows of clauses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[str] = []
        for kind, method, way in ((StreamMatcher, "advance", "together"), (Worker, "run", "alone")):
            monkeypatch.setattr(kind, method, self._counting(getattr(kind, method), way))

    def _counting(self, method: Callable[..., object], way: str) -> Callable[..., object]:
        def counted(*args: object, **options: object) -> object:
            self.calls.append(way)
            return method(*args, **options)

        return counted


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> Ways:
    return Ways(monkeypatch)


def test_clauses_with_a_state_in_common_are_matched_together(ways: Ways) -> None:
    run(rare(), rare(), AB, table=RARE)
    assert ways.calls == ["alone", "together"]


def test_a_state_that_grows_large_is_given_up_for_each_by_itself(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = run(rare(), rare(), table=RARE, sharing="never").tables
    assert exact[0].num_rows == 210
    ways.calls.clear()
    monkeypatch.setattr(planning, "MOST_HELD_A_QUERY", 2_000)
    assert run(rare(), rare(), table=RARE).tables == exact
    assert ways.calls == ["together", "alone", "alone"]
    ways.calls.clear()
    short = rare(bound="MAXLENGTH 201")
    assert run(short, short, table=RARE).tables == exact
    assert ways.calls == ["together"]


@pytest.mark.parametrize(
    ("text", "limits", "code"),
    [
        (rare(), MatchLimits(max_partial_matches=4_000), "TOO_MANY_PARTIAL_MATCHES"),
        (rare(), MatchLimits(most_matches=300), "TOO_MANY_MATCHES"),
        (rare(b="9 / (B.n - A.n - 61) < 100"), MatchLimits(), "DIVIDE_BY_ZERO"),
    ],
)
def test_sharing_by_choice_never_fails_where_each_alone_would_not(text: str, limits: MatchLimits, code: str) -> None:
    """Limits are met sooner by all clauses together, and conditions are asked of rows that lead to no match."""
    with pytest.raises(MatchError, match=code):
        run(text, text, table=RARE, limits=limits, sharing="always")
    exact = run(text, text, table=RARE, limits=limits, sharing="never").tables
    assert run(text, text, table=RARE, limits=limits).tables == exact


def test_sharing_by_choice_never_fails_where_all_together_would_not(
    ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search makes more from one row than the matcher holds: it looks at every row of a gap."""
    text, table, limits = rare(), letters("AB" * 90 + "D"), MatchLimits(max_partial_matches=6_000)
    with pytest.raises(MatchError, match="TOO_MANY_PARTIAL_MATCHES"):
        run(text, text, table=table, limits=limits, sharing="never")
    shared = run(text, text, table=table, limits=limits, sharing="always").tables
    ways.calls.clear()
    monkeypatch.setattr(planning, "MOST_HELD_A_QUERY", 1_000)
    assert run(text, text, table=table, limits=limits).tables == shared
    assert ways.calls == ["together", "alone", "together"]


def test_what_fails_both_ways_is_the_error_of_the_clause() -> None:
    divides = AB.replace("B AS kind = 'B'", "B AS 1 / (B.x - A.x) > 0")
    with pytest.raises(MatchError, match="DIVIDE_BY_ZERO"):
        run(divides, divides)


# --- errors and rows --------------------------------------------------------------------------------------------------


def test_a_condition_that_fails_is_the_same_error_together_and_alone() -> None:
    divides = AB.replace("B AS kind = 'B'", "B AS 1 / (B.x - A.x) > 0")
    for answer in (lambda: run(divides, sharing="always"), lambda: ost.match(divides, CALLS)):
        with pytest.raises(MatchError, match="DIVIDE_BY_ZERO: division by zero in DEFINE"):
            answer()


def test_all_rows_of_a_match_have_their_variables() -> None:
    every = AB.replace(
        "MEASURES A.n AS a, B.n AS b", "MEASURES MATCH_NUMBER() AS m, CLASSIFIER() AS c ALL ROWS PER MATCH"
    )
    table = run(every).tables[0]
    assert table == ost.match(every, CALLS)
    assert table.column("c").to_pylist()[:2] == ["A", "X"]
