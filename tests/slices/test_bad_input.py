"""Input that can't be cut or matched: slices give the same error codes as one worker."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost

TABLE = pa.table({"ts": range(200), "price": [float(row % 7) for row in range(200)]})
BOUNDED = "ORDER BY ts MEASURES FIRST(ts) AS f PATTERN (A B*) MAXLENGTH 5 DEFINE B AS price >= A.price"
NEVER_CLOSED = "ORDER BY ts MEASURES 1 AS x {mode} PATTERN (A+ B) DEFINE B AS price > FIRST(A.price) + 100"


def error_of(clause: str, **settings: int) -> ost.OstinatoError:
    with pytest.raises(ost.OstinatoError) as caught:
        ost.match(clause, TABLE, **settings)
    return caught.value


@pytest.mark.parametrize("workers", [0, -1])
def test_zero_workers_raise(workers: int) -> None:
    error = error_of(BOUNDED, workers=workers)
    assert (error.code, error.message) == ("NO_WORKERS", f"workers is a whole number from 1 to 1,024, not {workers}")


@pytest.mark.parametrize("slice_rows", [-1, 0, 1, 4])
def test_a_slice_that_is_too_small_raises(slice_rows: int) -> None:
    assert error_of(BOUNDED, workers=2, slice_rows=slice_rows).code == "SLICE_TOO_SMALL"


def test_the_hint_has_the_smallest_valid_slice() -> None:
    error = error_of(BOUNDED, workers=2, slice_rows=4)
    assert error.message == "a slice of 4 rows has none of its own: 4 are shared with the next"
    assert error.hint == "MAXLENGTH 5; take at least 5 rows"
    assert ost.match(BOUNDED, TABLE, workers=2, slice_rows=5) == ost.match(BOUNDED, TABLE)


def test_a_match_of_no_rows() -> None:
    error = error_of(BOUNDED.replace("MAXLENGTH 5", "MAXLENGTH 0"), workers=2)
    assert error.code == "INVALID_MAXLENGTH"
    assert "^" in str(error)
    with pytest.raises(ost.QueryError) as caught:
        ost.pattern("A").max_length(0)
    assert caught.value.code == "INVALID_MAXLENGTH"


@pytest.mark.parametrize(
    "mode",
    ["", "AFTER MATCH SKIP TO NEXT ROW", "ALL MATCHES", "MAXIMAL MATCHES", "INCREMENTAL MATCHES"],
)
@pytest.mark.parametrize("slice_rows", [1, 7, 50, 200])
def test_slices_raise_the_same_error_of_too_many_partial_matches(mode: str, slice_rows: int) -> None:
    clause = NEVER_CLOSED.format(mode=mode)
    unsliced_error = error_of(clause, max_partial_matches=20)
    assert unsliced_error.code == "TOO_MANY_PARTIAL_MATCHES"
    assert str(error_of(clause, max_partial_matches=20, workers=2, slice_rows=slice_rows)) == str(unsliced_error)
