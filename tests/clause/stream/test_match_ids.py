"""Ids of matches on streams: those of a batch, though earlier rows that are equal in ORDER BY have left the state."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import OstinatoError
from ostinato.testing import StreamTester

SCHEMA = pa.schema([("t", pa.timestamp("us")), ("s", pa.int64()), ("x", pa.int64())])
TIES = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (1, 0, 2), (2, 0, 3)]


def table(values: list[tuple[int, int, int]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip("tsx", row, strict=True)) for row in values], schema=SCHEMA)


def test_the_state_keeps_the_ordinal_of_an_open_row() -> None:
    """The run begins at the last of three equal rows. The others have left the state when the match is decided."""
    clause = "ORDER BY t MEASURES A.x AS x PATTERN (A B C) DEFINE A AS x = 1, B AS x = 2, C AS x = 3"
    stream = StreamTester(clause, SCHEMA, match_id="found", run_id="run")
    stream.feed(table(TIES[:3]), watermark=0)
    assert stream.buffered_rows == 1
    stream.feed(table(TIES[3:4]), watermark=1)
    stream.feed(table(TIES[4:]), watermark=2)
    assert stream.results.equals(ost.match(clause, table(TIES), match_id="found", run_id="run"))


def test_names_of_columns_are_not_part_of_the_state_but_ids_are() -> None:
    clause = "ORDER BY t MEASURES A.x AS x PATTERN (A B C) DEFINE A AS x = 1, B AS x = 2, C AS x = 3"
    stream = StreamTester(clause, SCHEMA, match_id="found")
    stream.feed(table(TIES[:4]), watermark=1)
    renamed, without = StreamTester(clause, SCHEMA, match_id="other"), StreamTester(clause, SCHEMA)
    renamed._state = without._state = stream.state
    expected = ost.match(clause, table(TIES), match_id="other").to_pylist()
    assert renamed.feed(table(TIES[4:])) == []
    assert renamed.finish() == expected
    with pytest.raises(OstinatoError, match="STATE_OF_OTHER_QUERY"):
        without.finish()


CLAUSE = "ORDER BY t, s MEASURES A.x AS x PATTERN (A) DEFINE A AS x > 0"
ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=12)
CUTS = st.lists(st.integers(0, 12), max_size=6)


def eager_ids(values: list[tuple[int, int, int]], cuts: list[int]) -> list[str]:
    stream = StreamTester(CLAUSE, SCHEMA, eager=True, match_id="found")
    edges = [0, *sorted(min(cut, len(values)) for cut in cuts), len(values)]
    for first, end in pairwise(edges):
        stream.feed(table(values).slice(first, end - first))
    assert not stream.late_rows
    return stream.results["found"].to_pylist()  # type: ignore[no-any-return]


@given(ROWS, CUTS)
def test_eager_rows_that_come_in_order_have_the_ids_of_a_batch(
    values: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    in_order = sorted(values)
    assert eager_ids(in_order, cuts) == ost.match(CLAUSE, table(in_order), match_id="found")["found"].to_pylist()


@given(ROWS, CUTS)
def test_eager_rows_of_one_time_have_different_ids_in_any_order(
    values: list[tuple[int, int, int]], cuts: list[int]
) -> None:
    by_time = sorted(values, key=lambda row: row[0])
    ids = eager_ids(by_time, cuts)
    assert len(set(ids)) == len(ids) == sum(x > 0 for _, _, x in values)


RISE = "ORDER BY t MEASURES A.x AS low {output} {mode} PATTERN (A B+) DEFINE B AS x > PREV(x)"


@pytest.mark.parametrize(
    ("output", "mode", "run_id", "reason"),
    [
        ("", "", None, "needs the option run_id"),
        ("ALL ROWS PER MATCH", "", "run", "one row for each run"),
        ("", "ALL MATCHES", "run", "ALL MATCHES may begin several at one row"),
        ("", "INCREMENTAL MATCHES", "run", "INCREMENTAL MATCHES may begin several at one row"),
    ],
)
def test_early_results_that_no_run_id_tells_apart_are_refused(
    output: str, mode: str, run_id: str | None, reason: str
) -> None:
    with pytest.raises(OstinatoError, match=reason):
        StreamTester(RISE.format(output=output, mode=mode), SCHEMA, run_id=run_id, emit="early")


def test_a_damaged_list_of_preliminary_rows_is_refused() -> None:
    stream = StreamTester(RISE.format(output="", mode=""), SCHEMA, run_id="run", emit="early")
    stream.feed(table([(0, 0, 0), (1, 0, 1)]), watermark=1)
    header = stream.state.header
    for damaged in (header[:-1], header[:20], header[:40] + b"\0" + header[41:], b"nothing of ours"):
        stream._state = replace(stream.state, header=damaged)
        with pytest.raises(OstinatoError, match="STATE_FORMAT: the preliminary rows"):
            stream.feed(table([(2, 0, 2)]), watermark=2)
