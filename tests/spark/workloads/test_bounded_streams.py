"""Workloads on the shared matcher, on streams: complete matches are emitted at once, bounds hold, streams resume."""

from __future__ import annotations

import os
import signal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from tests.spark.streams.spark_streams import Source, bounded_victim, pieces, trades
from tests.spark.streams.stream_processes import Start, batches, in_a_process, wait_until

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.kernels.clock import RealClock

__all__ = ["in_a_process"]  # a fixture

HEAD = "TYPE Low AS price < 3, Mid AS price = 3, High AS price > 3 TIME ts"
QUERIES = {
    "span": f"{HEAD} PATTERN SEQ(Low l, High h) WHERE l.id + 9 > h.id GROUP BY symbol WITHIN 12 SECONDS RETURN MATCHES",
    "absence": f"""{HEAD} PATTERN SEQ(Low l, NOT Mid m, High+ h) WHERE NEXT(h).id > h.id + 4 GROUP BY symbol
        WITHIN 6 SECONDS RETURN MATCHES""",
    "events": f"{HEAD} PATTERN SEQ(Low l, High h) GROUP BY symbol WITHIN 3 EVENTS RETURN MATCHES",
    "strict": f"{HEAD} PATTERN SEQ(Low l, High h) STRICT WHERE SAME[symbol] WITHIN 1 MINUTE RETURN MATCHES",
}
WINDOWS = f"""{HEAD} PATTERN SEQ(Low l, High h) GROUP BY symbol WITHIN 12 SECONDS SLIDE 6 SECONDS RETURN MATCHES"""
SUMS = f"{HEAD} PATTERN SEQ(Low l, High+ h) GROUP BY symbol WITHIN 20 SECONDS TUMBLE RETURN symbol, COUNT(*) AS n"


def unnumbered(*tables: pa.Table) -> list[str]:
    """Rows without match numbers. On a stream, matches that are emitted when they complete have no numbers."""
    return sorted(repr({**row, "match_number": None}) for table in tables for row in table.to_pylist())


@pytest.mark.parametrize("name", QUERIES)
def test_stream_and_finish_are_batch(source: Source, name: str) -> None:
    table = trades(400)
    source.add(*pieces(table, 150, 300))
    query = ost.events(QUERIES[name], buckets=4)
    result = source.run(source.read().transform(query))
    rest = source.finish()
    assert rest.schema.names == result.schema.names
    assert unnumbered(result, rest) == unnumbered(ost.match(ost.events(QUERIES[name]), table))
    assert result.num_rows > 5 and result.num_rows > rest.num_rows
    assert set(result["match_number"].to_pylist()) == {None}


def workload(**options: Any) -> ost.Workload:
    return ost.Workload([QUERIES["span"], QUERIES["absence"], WINDOWS, SUMS], buckets=4, **options)


def test_a_workload_of_all_kinds(source: Source) -> None:
    """Complete matches, windows and sums have separate operators in one stream."""
    table = trades(400)
    source.add(*pieces(table, 150, 300))
    bounded_workload = workload()
    result = source.run(bounded_workload.run(source.read()).table)
    expected = bounded_workload.run(table).table
    assert result.schema.names == expected.schema.names
    rest = [ost.finish_stream(source.session, source.checkpoint, operator=number).toArrow() for number in range(2)]
    assert _values(result, *rest) == _values(expected)
    assert {row["query"] for row in result.to_pylist()} == {"q1", "q2", "q3", "q4"}


def _values(*tables: pa.Table) -> list[str]:
    """The values of rows, without the empty columns of other queries."""
    values = []
    for row in (row for table in tables for row in table.to_pylist()):
        row["match_number"] = None
        aggregates = row.pop("aggregates", None) or {}
        values.append(
            repr([*sorted((name, value) for name, value in row.items() if value is not None), aggregates.get("n")])
        )
    return sorted(values)


BOUND = {"latency_bound": "5 ns", "clock": ost.VirtualClock()}


def bounded(read: Any) -> Any:
    return ost.Workload([QUERIES["span"], QUERIES["absence"]], buckets=4, **BOUND).run(read).table_with_report


def test_a_bound_gives_a_subset_and_reports_losses(source: Source) -> None:
    table = trades(3_000)
    source.add(*pieces(table, 1_000, 2_000))
    queries = [QUERIES["span"], QUERIES["absence"]]
    mixed = ost.Workload(queries, buckets=4, latency_bound={"q1": "5 ns"}, clock=ost.VirtualClock())
    result = source.run(mixed.run(source.read()).table_with_report)
    reports = [row["report"] for row in result.to_pylist() if row["report"] is not None]
    matched = result.filter(pa.compute.is_null(result["report"]))
    exact = ost.Workload(queries).run(table).table
    assert {row["query"] for row in reports} == {"q1", "q2"}
    assert {row["query"] for row in reports if row["dropped"]} == {"q1"}
    assert _events(matched) < _events(exact)
    rest = ost.finish_stream(source.session, source.checkpoint).toArrow()
    second = [
        {event for event in one if event.startswith("('q2'")}
        for one in (_events(matched) | _events(rest), _events(exact))
    ]
    assert second[0] == second[1]


def _events(table: pa.Table) -> set[str]:
    return {repr((row["query"], row["group"], row["match_start"], row["events"])) for row in table.to_pylist()}


def test_metrics_of_a_stream(source: Source) -> None:
    source.add(*pieces(trades(300), 150))
    metrics = (
        ost.Workload([QUERIES["span"]], latency_bound="1 s", clock=ost.VirtualClock()).run(source.read()).report.table
    )
    assert metrics is not None
    result = source.run(metrics)
    assert set(result["query"].to_pylist()) == {"q1"} and set(result["dropped"].to_pylist()) == {0}
    assert sum(result["events"].to_pylist()) > 0


def test_a_stream_resumes_with_another_bound_but_not_with_a_ratio(source: Source) -> None:
    def bounded(**options: Any) -> DataFrame:
        return ost.Workload([QUERIES["span"]], buckets=4, **{**BOUND, **options}).run(source.read()).table

    table = trades(2_000)
    source.add(table.slice(0, 1_000))
    tight = source.run(bounded()).num_rows
    source.add(table.slice(1_000))
    result = source.run(bounded(latency_bound="1 s", weights={"q1": 2.0}))
    exact, before = (ost.Workload([QUERIES["span"]]).run(rows).table for rows in (table, table.slice(0, 1_000)))
    assert _events(result) < _events(exact) and tight < before.num_rows
    assert result.num_rows - tight > 0.95 * (exact.num_rows - before.num_rows)
    source.add(trades(100, seed=8))
    with pytest.raises(Exception, match=r"STATE_OF_OTHER_QUERY.*: ratios: nothing became 0.5"):
        source.run(bounded(latency_bound=0.5))


def test_a_clock_that_its_checkpoint_cannot_store_is_refused(source: Source) -> None:
    class Slow(RealClock):
        pass

    source.add(trades(10))
    with pytest.raises(QueryError, match="INVALID_OPTION: a stream can't keep this clock"):
        source.run(ost.Workload([QUERIES["span"]], latency_bound="1 s", clock=Slow()).run(source.read()).table)


def test_a_changed_workload_refuses_the_state(source: Source) -> None:
    source.add(trades(100))
    source.run(ost.Workload([QUERIES["span"]], buckets=4).run(source.read()).table)
    source.add(trades(100, seed=8))
    with pytest.raises(Exception, match="STATE_OF_OTHER_QUERY"):
        source.run(ost.Workload([QUERIES["absence"]], buckets=4).run(source.read()).table)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{HEAD} PATTERN SEQ(Low, High) RETURN MATCHES", "STREAM_NEEDS_WINDOWS"),
        (f"{HEAD} PATTERN SEQ(Low, High) WITHIN 9 SECONDS RETURN COUNT(*)", "STREAM_NEEDS_WINDOWS"),
        (f"{HEAD} PATTERN SEQ(Low, High) SKIP TILL NEXT MATCH WITHIN 9 SECONDS RETURN MATCHES", "STREAM_NEEDS_WINDOWS"),
        (f"{HEAD} PATTERN SEQ(Low, High) WITHIN 9 EVENTS SLIDE 3 EVENTS RETURN MATCHES", "STREAM_NEEDS_WINDOWS"),
    ],
)
def test_queries_that_a_stream_cannot_answer_are_refused(source: Source, text: str, code: str) -> None:
    source.add(trades(10))
    with pytest.raises(QueryError, match=code):
        source.read().transform(ost.events(text))


@pytest.mark.slow
@pytest.mark.timeout(600)  # two processes with kernels of their own
def test_killed_in_the_middle_of_a_batch(source: Source, in_a_process: Start, tmp_path_factory: Any) -> None:
    """With the virtual clock, dropped state depends on the rows alone, so a restart changes no row."""
    table = trades(3_000)
    cuts = pieces(table, 500, 1_000, 1_500, 2_000, 2_500)
    undisturbed = Source(tmp_path_factory.mktemp("undisturbed"), source.session).add(*cuts)
    expected = undisturbed.run(bounded(undisturbed.read()))
    source.add(*cuts)
    victim = in_a_process("-c", bounded_victim("workloads.test_bounded_streams"), str(source.folder))
    wait_until(lambda: 3 in batches(source, "offsets"), victim)
    os.killpg(victim.pid, signal.SIGKILL)
    victim.wait()
    assert 3 not in batches(source, "commits")
    result = source.run(bounded(source.read()))
    assert min(batch.batchId for batch in source.progress) == 3  # the stream resumed
    assert unnumbered(result) == unnumbered(expected)
    assert unnumbered(source.finish()) == unnumbered(undisturbed.finish())
