"""Streams with on_error="skip", and the errors of others: one row a step."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.clause.stream.appending_stream import AppendingStreamWorker
from ostinato.errors import MatchError, QueryError
from ostinato.testing import StreamTester

COLUMNS = {"k": "string", "t": "timestamp_ntz", "x": "bigint", "y": "bigint"}
OPEN = """
    PARTITION BY k ORDER BY t MEASURES count(*) AS n PATTERN (A B* C)
    DEFINE A AS x = 1, B AS x / PREV(y) > 0, C AS x = 99"""


def rows(*values: tuple[int, int], since: int = 0) -> list[dict[str, Any]]:
    """One row per microsecond, with these x and y."""
    return [{"k": "p", "t": since + i, "x": x, "y": y} for i, (x, y) in enumerate(values)]


def fed(stream: StreamTester, given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The output of steps of one row each."""
    return [out for row in given for out in stream.feed([row], watermark=row["t"])]


def test_a_row_at_which_an_open_run_fails_leaves_once() -> None:
    stream = StreamTester(OPEN, COLUMNS, on_error="skip")
    assert isinstance(stream.worker, AppendingStreamWorker)
    out = fed(stream, rows((1, 1), (2, 1), (3, 0), (4, 1), (99, 1)))
    assert [row["error"][:40] for row in out] == ["DIVIDE_BY_ZERO: / by zero in x / PREV(y)"]


@pytest.mark.parametrize("options", [{}, {"run_id": "run"}])
def test_an_error_names_the_expression_and_the_row(options: dict[str, Any]) -> None:
    stream = StreamTester(OPEN, COLUMNS, **options)
    with pytest.raises(MatchError, match=r"/ by zero in x / PREV\(y\), in the row with k = 'p', t = 1970-.*000003"):
        fed(stream, rows((1, 1), (2, 1), (3, 0), (4, 1)))


def test_an_error_names_the_expression_with_its_parentheses() -> None:
    text = OPEN.replace("x / PREV(y)", "(x + y) / (PREV(y) - 1)")
    with pytest.raises(MatchError, match=r"/ by zero in \(x \+ y\) / \(PREV\(y\) - 1\), in the row"):
        fed(StreamTester(text, COLUMNS), rows((1, 3), (2, 1), (3, 1)))


def test_the_state_of_a_stream_that_stopped_keeps_its_rows() -> None:
    fails, skips = StreamTester(OPEN, COLUMNS), StreamTester(OPEN, COLUMNS, on_error="skip")
    fed(fails, rows((1, 1), (2, 1), (3, 0)))
    skips._state, skips.watermark_us = fails.state, fails.watermark_us
    assert skips.advance_watermark(2) == []  # without a row to search, the state stays
    assert skips.open_runs == 1
    (failed,) = fed(skips, rows((4, 1), since=3))
    assert failed["error"].startswith("DIVIDE_BY_ZERO")


def test_history_is_refused() -> None:
    with pytest.raises(QueryError, match="INVALID_OPTION") as caught:
        StreamTester(OPEN, COLUMNS, on_error="skip").load_history(rows((1, 1)))
    assert "history" in caught.value.message
