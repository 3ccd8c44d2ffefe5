"""`ost.explain` says how a step of a stream treats open rows, as the core of the stream does."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
from ostinato.clause.stream.appending_stream import AppendingStreamWorker
from ostinato.testing import StreamTester

COLUMNS = {"k": "string", "t": "timestamp", "x": "bigint"}
HEAD = "PARTITION BY k ORDER BY t MEASURES count(*) AS n"


def line_of(clause: str, **ids: Any) -> str:
    """The line about streams; empty if there is none."""
    words = " ".join(
        ost.explain(ost.match_recognize(clause, **ids), StreamTester(clause, COLUMNS)._schema).text.split()
    )
    _, _, line = words.partition(" on a stream ")
    return line


@pytest.mark.parametrize(
    ("clause", "options", "reason"),
    [
        ("PATTERN (A B+ C) DEFINE B AS x > PREV(x)", {}, None),
        ("PATTERN (A B C) DEFINE B AS x > A.x", {}, None),
        ("PATTERN (A B+ C) DEFINE B AS x > A.x", {}, "conditions over the run depend on all its rows"),
        ("PATTERN (A B+ C) DEFINE B AS x > NEXT(x)", {}, "NEXT reads rows that haven't come yet"),
        ("MAXIMAL MATCHES PATTERN (A B+ C)", {}, "MAXIMAL MATCHES compares all matches of a start"),
        ("PATTERN (A{1025})", {}, "the pattern has more than 1,024 states"),
        ("PATTERN (A B+ C)", {"run_id": "run"}, None),
    ],
)  # fmt: skip
def test_the_reason_is_that_of_the_core(clause: str, options: dict[str, Any], reason: str | None) -> None:
    clause = f"{HEAD} {clause}"
    appends = isinstance(StreamTester(clause, COLUMNS, **options).worker, AppendingStreamWorker)
    assert appends == (reason is None)
    line = line_of(clause, **options)
    if reason is None:
        assert line.startswith("Each step appends its new rows")
    else:
        assert f"again, because {reason}. The cost of a step grows with the open partial matches." in line


@pytest.mark.parametrize("options", [{"run_id": "run", "emit": "early"}, {"forget_keys_after": "1 day"}])
def test_options_that_search_again(options: dict[str, Any]) -> None:
    clause = f"{HEAD} PATTERN (A B+ C)"
    assert not isinstance(StreamTester(clause, COLUMNS, **options).worker, AppendingStreamWorker)
    assert all(name in line_of(clause) for name in options if name != "run_id")


@pytest.mark.parametrize("order", ["", "ORDER BY t DESC", "ORDER BY x"])
def test_no_line_for_a_clause_that_no_stream_runs(order: str) -> None:
    schema = StreamTester(f"{HEAD} PATTERN (A)", COLUMNS)._schema
    assert " on a stream " not in ost.explain(f"PARTITION BY k {order} MEASURES count(*) AS n PATTERN (A)", schema).text
