"""The MERGE statement, as text and executed by another engine that has MERGE."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.spark.sinks.merge_text import Versions


def test_rows_that_never_change_are_only_inserted() -> None:
    text = ost.upsert("catalog.alerts.dips", format="table", time="began").statement(["match_id", "began", "a`b"], "v")
    assert text.splitlines() == [
        "MERGE INTO catalog.alerts.dips AS target USING v AS source",
        "ON target.`match_id` = source.`match_id` AND target.`began` = source.`began`",
        "WHEN NOT MATCHED THEN INSERT (`match_id`, `began`, `a``b`) "
        "VALUES (source.`match_id`, source.`began`, source.`a``b`)",
    ]


def test_early_results_are_replaced_until_they_are_final() -> None:
    upsert = ost.upsert("dips", key="run_id", status="status", time="began", format="table")
    assert upsert.statement(["run_id", "status"]).splitlines()[1:3] == [
        "ON target.`run_id` = source.`run_id`",  # a withdrawn row has no time
        "WHEN MATCHED AND (target.`status` <> 'final') "
        "THEN UPDATE SET `run_id` = source.`run_id`, `status` = source.`status`",
    ]


Row = tuple[str, int | None, int, float]


def versions(rng: random.Random, count: int) -> list[Row]:
    """Different versions of three runs, in no order."""
    every = [(*version, float(n)) for n, version in enumerate(product("abc", [None, 1, 2], [4, 5, 6]))]
    return rng.sample(every, count)


def newest(rows: list[Row]) -> list[Row]:
    """Written apart from the SQL: the greatest values of each run; a missing one comes first."""
    best: dict[str, Row] = {}
    for row in rows:
        if row[0] not in best or _order(row) > _order(best[row[0]]):
            best[row[0]] = row
    return sorted(best.values())


def _order(row: Row) -> tuple[int, int]:
    return -1 if row[1] is None else row[1], row[2]


def test_another_engine_merges_batches_in_any_order_and_again() -> None:
    upsert = ost.upsert("dips", key="run_id", latest_by=["ended", "rows"], format="table")
    rng = random.Random(7)
    for _ in range(25):
        rows = versions(rng, 12)
        # Batches are repeated, and an old one comes late.
        batches = [newest(rows[begin : begin + 4]) for begin in (0, 4, 0, 8, 4)]
        assert merged(upsert, ["run_id", "ended", "rows", "price"], batches) == newest(rows)


def test_another_engine_merges_early_results() -> None:
    upsert = ost.upsert("dips", key="run_id", status="status", format="table")
    batches = [[("a", "open"), ("b", "open")], [("a", "withdrawn")], [("a", "open"), ("b", "final")]]
    assert merged(upsert, ["run_id", "status"], batches) == [("a", "open"), ("b", "final")]
    again = [*batches, batches[-1], [("a", "final")], [("a", "final")]]
    assert merged(upsert, ["run_id", "status"], again) == [("a", "final"), ("b", "final")]


def merged(upsert: ost.Upsert, columns: list[str], batches: list[list[Any]]) -> list[tuple[Any, ...]]:
    """The table after the statement has run for each batch. The other engine quotes names in its own way."""
    statement = upsert.statement(columns).replace("`", '"')
    with duckdb.connect() as database:
        for number, rows in enumerate(batches):
            batch = pa.Table.from_pylist([dict(zip(columns, row, strict=True)) for row in rows])
            database.register("batch", batch)
            if number == 0:
                database.execute(f"CREATE TABLE {upsert.target} AS SELECT * FROM batch WHERE false")
            database.execute(statement)
        return database.execute(f"SELECT * FROM {upsert.target} ORDER BY ALL").fetchall()


def test_a_single_version_has_no_order() -> None:
    assert Versions(("a",)).is_later("x", "y") == "false"


def test_status_orders_by_itself() -> None:
    with pytest.raises(ost.QueryError, match="INVALID_OPTION: status orders the versions"):
        ost.upsert("dips", status="status", latest_by="ended")
