"""Stream summaries on Spark Connect: the same calls, answers and errors as in process."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import unwrap

BEGIN = datetime(2024, 3, 1, tzinfo=UTC)
LETTERS = "AACBBBBAACCCB"
TABLE = pa.table(
    {
        "ts": pa.array([BEGIN + timedelta(seconds=at) for at in range(len(LETTERS))] * 2, pa.timestamp("us", "UTC")),
        "kind": list(LETTERS) * 2,
        "g": ["p"] * len(LETTERS) + [None] * len(LETTERS),
        "x": list(range(2 * len(LETTERS))),
    }
)
QUERIES: dict[str, dict[str, Any]] = {
    "counts": {"keys": "g"},
    "sums": {"keys": "g", "aggregate": "SUM(x)"},
    "no keys": {},
    "keyed types": {"keys": "g", "event_types": ost.EventTypes(keyed=("A",))},
}


def summary(**options: Any) -> ost.StreamSummary:
    given = {"type": "kind", "time": "ts", "within": "20 seconds", "size": 6}
    return ost.summary("A B* C", **{**given, **options})


def plain(table: pa.Table) -> list[str]:
    columns = [name for name in table.column_names if name not in ("asked_at", "kept")]
    kept = [[(event["number"], event["contribution"]) for event in row] for row in table.column("kept").to_pylist()]
    rows = table.select(columns).to_pylist()
    return sorted(repr((*row.values(), events)) for row, events in zip(rows, kept, strict=True))


@pytest.mark.parametrize("options", QUERIES.values(), ids=QUERIES)
def test_answers_are_those_in_process(connect: Any, options: dict[str, Any]) -> None:
    result = connect.createDataFrame(TABLE).transform(summary(**options))
    assert plain(result.toArrow()) == plain(summary(**options).feed(TABLE).ask_all())


def test_asked_at_times(connect: Any) -> None:
    result = (
        summary(keys="g", size=20)
        .run(connect.createDataFrame(TABLE), at=[BEGIN + timedelta(seconds=at) for at in (2, 9)])
        .table
    )
    assert sorted(int(row["count"]) for row in result.collect()) == [2, 2, 36, 36]


def test_errors_are_ours(connect: Any) -> None:
    refusing = (
        summary(event_types=ost.EventTypes(unknown="refuse"))
        .run(connect.createDataFrame(TABLE.set_column(1, "kind", [["Z"] * 26])))
        .table
    )
    with pytest.raises(Exception) as caught:
        refusing.collect()
    error = unwrap(caught.value)
    assert error is not None
    assert error.code == "SUMMARY_UNKNOWN_TYPE"
