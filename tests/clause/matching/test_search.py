"""The search over inputs that are so large that its buffers grow."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.clause.matching import search_arrays

ROWS = 5_000


def ids(rows: int = ROWS) -> pa.Table:
    return pa.table({"id": range(rows)})


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("INCREMENTAL MATCHES", ROWS), ("MAXIMAL MATCHES", ROWS), ("ALL MATCHES", 2 * ROWS - 1)],
)
@pytest.mark.parametrize("measures", ["FIRST(id) AS first, LAST(id) AS last", "A.id AS first, LAST(id) AS last"])
def test_no_match_is_lost_when_buffers_grow(mode: str, expected: int, measures: str) -> None:
    rows = ost.match(f"ORDER BY id MEASURES {measures} {mode} PATTERN (A B?)", ids())
    assert rows.num_rows == expected
    assert len(set(zip(*(column.to_pylist() for column in rows.columns), strict=True))) == expected


def test_a_deep_match() -> None:
    rows = ost.match("ORDER BY id MEASURES count(*) AS n PATTERN (A B*) DEFINE B AS B.id > A.id", ids(100_000))
    assert rows.to_pylist() == [{"n": 100_000}]


def test_the_bound_of_a_key_is_a_hundred_times_that_of_a_row() -> None:
    quadratic = "ORDER BY id MEASURES 1 AS x PATTERN (A+ B) DEFINE B AS id > FIRST(A.id) + 100000"
    with pytest.raises(ost.MatchError) as caught:
        ost.match(quadratic, ids(3_000), max_partial_matches=10_000)
    assert caught.value.code == "TOO_MANY_PARTIAL_MATCHES"
    assert "1,000,000" in caught.value.message
    assert "in one key" in caught.value.message


def test_matches_with_too_many_rows_raise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_arrays, "LARGEST_PATH", 100_000)
    with pytest.raises(ost.MatchError) as caught:
        ost.match("ORDER BY id MEASURES A.id AS x ALL MATCHES PATTERN (A+)", ids(500))
    assert caught.value.code == "RESULT_TOO_LARGE"
