"""Clauses that share a stream: the results of all steps together equal the results of a batch, also under bounds."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.clause_streams import ClauseStream, names_of, typed_for_stream
from tests.laws.clause_workloads import any_clauses, gapped_clauses, long_tables
from tests.laws.comparison import rows_of
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import Draw, tables
from tests.laws.test_stream_equals_batch import Plan, on_time, plans

from ostinato.clause.language.clause_query import as_clause_query
from ostinato.errors import MatchError
from ostinato.expressions.types import Settings
from ostinato.kernels.clock import VirtualClock
from ostinato.local.local_clauses import LocalClauses
from ostinato.workloads.bound_request import BoundRequest

_ORDERS = ("t, id", "t, id DESC", "t", "t, s DESC NULLS LAST", "t NULLS LAST, x")


DECLINED = Declined(CLAUSES, most_declined=0.5)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


@st.composite
def streamed_workloads(draw: Draw) -> list[str]:
    """Clauses with the same PARTITION BY and the same ORDER BY, which starts with the time."""
    texts = draw(st.lists(st.one_of(gapped_clauses(), gapped_clauses(), any_clauses()), min_size=1, max_size=4))
    key, order = draw(st.sampled_from(["", "PARTITION BY k", "PARTITION BY k, g"])), draw(st.sampled_from(_ORDERS))
    return [f"{key} ORDER BY {order} {_without_head(text)}" for text in texts]


def _without_head(text: str) -> str:
    """The clause without PARTITION BY and ORDER BY."""
    head_end = re.search(r"\b(MEASURES|ONE ROW PER|ALL ROWS PER|ALL MATCHES|PATTERN)\b", text)
    assert head_end is not None
    return text[head_end.start() :]


def shareable(texts: list[str], schema: pa.Schema) -> list[str]:
    """The clauses that a stream can match together."""
    with DECLINED.example():
        local = LocalClauses([as_clause_query(text) for text in texts], names_of(texts), schema, Settings())
        alone = typed_for_stream(local, names_of(texts)).alone
        if len(alone) == len(texts):
            DECLINED.leave_out("a stream takes none of the clauses together with others")
    event(f"{len(alone)} of {len(texts)} alone")
    return [text for number, text in enumerate(texts) if number not in alone]


def in_batch(texts: list[str], table: pa.Table) -> list[pa.Table] | None:
    """The results of a batch over the same rows; None if it fails."""
    queries = [as_clause_query(text) for text in texts]
    try:
        return list(
            LocalClauses(queries, names_of(texts), table.schema, Settings(), sharing="always").run(table).tables
        )
    except MatchError:
        return None


def counted(tables: list[pa.Table]) -> Counter[tuple[str, ...]]:
    """Rows as a multiset, with values as text, because NaN isn't equal to itself."""
    return Counter(tuple(map(repr, row)) for table in tables for row in rows_of(table))


def check(texts: list[str], table: pa.Table, plan: Plan) -> None:
    texts = shareable(texts, table.schema)
    steps = plan.steps(table)
    rows_on_time = on_time(steps)
    expected = in_batch(texts, rows_on_time)
    stream = ClauseStream(texts, table.schema)
    if expected is None:
        with pytest.raises(MatchError):
            stream.feed(steps)
        return
    stream.feed(steps)
    DECLINED.answered(rows=any(batch_table.num_rows for batch_table in expected))
    assert stream.late_rows == table.num_rows - rows_on_time.num_rows
    for text, batch_table, stream_tables in zip(texts, expected, stream.tables, strict=True):
        assert counted(stream_tables) == counted([batch_table]), f"{text}\n{table.to_pylist()}\n{plan}"


@given(streamed_workloads(), long_tables(), plans())
def test_workloads(texts: list[str], table: pa.Table, plan: Plan) -> None:
    check(texts, table, plan)


def with_null_keys(table: pa.Table) -> pa.Table:
    """Sets every third key to NULL, and copies the values of every fourth row from its predecessor.

    Such a copy differs from its predecessor only by `id`, and perhaps by its key.
    """
    rows = table.to_pylist()
    for index, row in enumerate(rows):
        if index % 4 == 3:
            row.update({name: value for name, value in rows[index - 1].items() if name != "id"})
        row["k"] = None if row["id"] % 3 == 0 else row["k"]
    return pa.Table.from_pylist(rows, schema=table.schema)


@settings(max_examples=examples(30))
@given(streamed_workloads(), long_tables().map(with_null_keys), plans())
def test_null_keys_and_ties(texts: list[str], table: pa.Table, plan: Plan) -> None:
    check(texts, table, plan)


@pytest.mark.slow
@settings(max_examples=examples(250))
@given(streamed_workloads(), st.one_of(long_tables(), tables(most_rows=14)), plans(8))
def test_workloads_deeply(texts: list[str], table: pa.Table, plan: Plan) -> None:
    check(texts, table, plan)


# --- under a bound ----------------------------------------------------------------------------------------------------

_HEAD = "PARTITION BY k ORDER BY ts MEASURES FIRST(n) AS a, B.n AS b, LAST(n) AS z ALL MATCHES"


def _crowded(pattern: str, length: str, second: str) -> str:
    define = ", ".join(f"{name} AS kind = '{name}'" for name in "ACDE" if name in pattern)
    between = ", Y AS kind <> 'C'" if "Y" in pattern else ""
    return f"{_HEAD} PATTERN ({pattern}) {length} DEFINE {define}, B AS kind = 'B' AND {second}{between}"


CROWDED = [
    _crowded("A X* B Y* D", "WITHIN INTERVAL '60' SECOND", "B.x > A.x"),
    _crowded("A X* B Y* E", "MAXLENGTH 60", "x > PREV(x, 2)"),
    _crowded("A X* B X* D X* E", "WITHIN INTERVAL '30' SECOND", "B.x > A.x"),
    _crowded("A X* (B X*)+ C", "MAXLENGTH 15", "B.x > LAST(A.x)"),
]


def crowd(seed: int, count: int = 1_200) -> pa.Table:
    """On average one row per second, for three keys. Several rows may have the same time."""
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "k": rng.integers(0, 3, count),
            "n": np.arange(count),
            "ts": pa.array(np.sort(rng.integers(0, count, count)) * 1_000_000, pa.timestamp("us", "UTC")),
            "kind": pa.array(rng.choice(list("ABCDE"), count)),
            "x": rng.normal(size=count),
        }
    )


def cut(table: pa.Table, edges: Sequence[int]) -> list[tuple[pa.Table, int]]:
    """The rows between edges, in reverse order, each piece with a watermark three seconds behind its last row."""
    steps = []
    for first, end in zip([0, *edges], [*edges, table.num_rows], strict=True):
        piece = table.slice(first, end - first)
        latest = table["ts"][end - 1].value if end else 0
        steps.append((piece.take(np.arange(piece.num_rows)[::-1]), latest - 3_000_000))
    return steps


def shed(table: pa.Table, edges: Sequence[int], request: BoundRequest) -> tuple[list[Counter[tuple[str, ...]]], int]:
    """The rows of each clause, and the number of dropped partial matches."""
    stream = ClauseStream(CROWDED, table.schema, request)
    stream.feed(cut(table, edges))
    assert stream.late_rows == 0
    dropped = sum(pattern.dropped for report in stream.reports for pattern in report.patterns)
    return [counted(tables) for tables in stream.tables], dropped


@settings(max_examples=examples(25))
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 1_200), max_size=6).map(sorted),
    st.sampled_from([{"latency_bound": "20 ns"}, {"latency_bound": 0.2}, {"selection_ratio": 0.3}]),
)
def test_a_bound_drops_the_same_matches_however_the_rows_are_cut(
    seed: int, edges: list[int], bound: dict[str, object]
) -> None:
    table = crowd(seed)
    request = BoundRequest(**bound, clock=VirtualClock())  # type: ignore[arg-type]
    in_one_step, dropped = shed(table, [], request)
    assert shed(table, edges, request) == (in_one_step, dropped)
    exact = in_batch(CROWDED, table)
    assert exact is not None
    event(f"left out: {dropped > 0}")
    for exact_table, rows_of_clause in zip(exact, in_one_step, strict=True):
        assert rows_of_clause <= counted([exact_table])


def test_a_bound_drops_matches() -> None:
    table = crowd(7)
    rows_under_bound, dropped = shed(table, [300, 600], BoundRequest(latency_bound="20 ns", clock=VirtualClock()))
    exact = in_batch(CROWDED, table)
    assert exact is not None
    assert dropped > 0
    assert 0 < sum(map(Counter.total, rows_under_bound)) < sum(exact_table.num_rows for exact_table in exact)
