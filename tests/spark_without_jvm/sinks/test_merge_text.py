"""The MERGE statement, as text and executed by another engine that has MERGE."""

from __future__ import annotations

import random
from itertools import product

import duckdb
import pyarrow as pa

import ostinato as ost
from ostinato.spark.sinks.merge_text import STATUSES, Versions

COLUMNS = ["run_id", "status", "ended", "price"]


def test_rows_that_never_change_are_only_inserted() -> None:
    text = ost.upsert("catalog.alerts.dips", format="table", time="began").statement(["match_id", "began", "a`b"], "v")
    assert text.splitlines() == [
        "MERGE INTO catalog.alerts.dips AS target USING v AS source",
        "ON target.`match_id` = source.`match_id` AND target.`began` = source.`began`",
        "WHEN NOT MATCHED THEN INSERT (`match_id`, `began`, `a``b`) "
        "VALUES (source.`match_id`, source.`began`, source.`a``b`)",
    ]


def test_early_results_are_replaced_by_later_ones() -> None:
    text = ost.upsert("dips", key="run_id", status="status", format="table").statement(["run_id", "status"])
    rank = "CASE {}.`status` WHEN 'open' THEN 0 WHEN 'extended' THEN 1 ELSE 2 END"
    source, target = rank.format("source"), rank.format("target")
    assert text.splitlines()[2] == (
        f"WHEN MATCHED AND ({source} > {target} OR ({source} IS NOT NULL AND {target} IS NULL)) "
        "THEN UPDATE SET `run_id` = source.`run_id`, `status` = source.`status`"
    )


def versions(rng: random.Random, count: int) -> list[tuple[str, str, int | None, float]]:
    """Different versions of three runs, in no order."""
    every = [(*version, float(n)) for n, version in enumerate(product("abc", STATUSES[:3], [None, 1, 2]))]
    return rng.sample(every, count)


def newest(rows: list[tuple[str, str, int | None, float]]) -> list[tuple[str, str, int | None, float]]:
    """Written apart from the SQL: the greatest (status, end) of each run; a missing end comes first."""
    best: dict[str, tuple[str, str, int | None, float]] = {}
    for row in rows:
        order = (STATUSES.index(row[1]), -1 if row[2] is None else row[2])
        known = best.get(row[0])
        if known is None or order > (STATUSES.index(known[1]), -1 if known[2] is None else known[2]):
            best[row[0]] = row
    return sorted(best.values())


def test_another_engine_merges_batches_in_any_order_and_again() -> None:
    upsert = ost.upsert("dips", key="run_id", status="status", latest_by="ended", format="table")
    statement = upsert.statement(COLUMNS).replace("`", '"')
    rng = random.Random(7)
    for _ in range(25):
        rows = versions(rng, 12)
        with duckdb.connect() as database:
            database.execute("CREATE TABLE dips (run_id TEXT, status TEXT, ended INT, price DOUBLE)")
            for begin in (0, 4, 0, 8, 4):  # batches are repeated, and an old one comes late
                batch = pa.Table.from_pylist(
                    [dict(zip(COLUMNS, row, strict=True)) for row in newest(rows[begin : begin + 4])]
                )
                database.register("batch", batch)
                database.execute(statement)
            merged = database.execute("SELECT * FROM dips ORDER BY ALL").fetchall()
        assert merged == newest(rows)


def test_a_single_version_has_no_order() -> None:
    assert Versions(("a",)).is_later("x", "y") == "false"
    assert Versions(("a",), "s", ("s", "e")).columns == ("a", "s", "e")
