"""Queries on the shared matcher: a stream of several pieces has the matches of a batch."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.event_queries.enumeration.match_limits import MatchLimits
from ostinato.expressions.types import Settings
from ostinato.kernels.constants import NO_TIME
from ostinato.local.local_events import LocalEvents
from ostinato.streams.bucket_state import EMPTY, BucketState
from ostinato.streams.step import fingerprint_of
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest
from ostinato.workloads.stream.event_matches_stream import SharedStreamWorker
from ostinato.workloads.task.shared_event_matches import shared_plans

HEAD = "TYPE kind TIME ts"
QUERIES = {
    "pairs": f"{HEAD} PATTERN SEQ(A a, B b, C c) WHERE a.v + b.v < c.v * 3 GROUP BY g WITHIN 9 SECONDS RETURN MATCHES",
    "shared start": f"{HEAD} PATTERN SEQ(A a, B b, D d) GROUP BY g WITHIN 9 SECONDS RETURN MATCHES",
    "an absence": f"""{HEAD} PATTERN SEQ(A a, NOT D x, B+ b) WHERE NEXT(b).v > b.v
        GROUP BY g WITHIN 6 SECONDS RETURN MATCHES""",
    "windows": f"{HEAD} PATTERN SEQ(A a, C c) GROUP BY g WITHIN 6 SECONDS SLIDE 4 SECONDS RETURN MATCHES",
    "by events": f"{HEAD} PATTERN SEQ(A a, C c) GROUP BY g WITHIN 5 EVENTS RETURN MATCHES",
    "neighbours": f"{HEAD} PATTERN SEQ(A a, B b) STRICT GROUP BY g WITHIN 9 SECONDS RETURN MATCHES",
}


def random_events(count: int, seed: int = 5) -> pa.Table:
    """Events in order of time. Some have the same time."""
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, count // 2, count)) * 1_000_000
    return pa.table(
        {
            "ts": pa.array(seconds, pa.timestamp("us", "UTC")),
            "kind": pa.array(rng.choice(list("ABCDE"), count)),
            "g": pa.array(rng.integers(0, 3, count)),
            "v": pa.array(rng.integers(0, 9, count)),
        }
    )


class Stream:
    """Runs queries over a stream step by step. Between steps it keeps only the serialised state."""

    def __init__(
        self, texts: list[str], schema: pa.Schema, request: BoundRequest = UNBOUNDED, match_id: str | None = None
    ) -> None:
        names = tuple(f"q{i}" for i in range(1, len(texts) + 1))
        workload = ost.Workload(texts, match_id=match_id)
        self.local = LocalEvents(list(workload.events.values()), names, schema, workload.options, Settings())
        typed, limits = self.local.typed, MatchLimits()
        all_queries = frozenset(range(len(texts)))
        (shared,) = pickle.loads(
            pickle.dumps(shared_plans(typed, names, "dynamic", request, limits, carried=all_queries).plans)
        )
        condition_bits = [(f"bit{i}", 0) for i in range(len(typed.plan.conditions))]
        shipped = self._shipped(schema.empty_table()).schema
        self.worker = SharedStreamWorker(
            typed, names, shipped, condition_bits, shared, workload.options, fingerprint=fingerprint_of(texts)
        )
        self.state, self.rows, self.reports = EMPTY, [[] for _ in texts], []  # type: ignore[var-annotated]

    def _shipped(self, table: pa.Table) -> pa.Table:
        batch = self.local.batch(table)
        bits = {f"bit{i}": pa.array(mask.astype(np.int64)) for i, mask in enumerate(batch.row_masks)}
        return pa.table({**batch.arrays, **bits})

    def step(self, table: pa.Table | None, watermark_us: int, *, finished: bool = False) -> None:
        state = BucketState(bytes(self.state.header), tuple(self.state.open_rows), tuple(self.state.waiting))
        arrived = None if table is None else self._shipped(table)
        step = self.worker.advance(state, arrived, watermark_us, finished=finished)
        self.state = step.state
        self.reports += step.results.reports
        for rows, table in zip(self.rows, self.local.tables(step.results.columns), strict=True):
            rows += table.to_pylist()

    def feed(self, table: pa.Table, cuts: list[int]) -> None:
        """Feeds pieces, with the watermark one second behind the latest row, and then ends the stream."""
        watermark = NO_TIME
        for start, end in zip([0, *cuts], [*cuts, table.num_rows], strict=True):
            piece = table.slice(start, end - start)
            self.step(piece, watermark)
            if piece.num_rows:
                watermark = piece["ts"].cast(pa.int64()).to_numpy().max() - 1_000_000
                self.step(None, watermark)
        self.step(None, watermark, finished=True)


def unnumbered(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as texts without match numbers. A stream has no match numbers, because earlier matches may still come."""
    return sorted(repr({**row, "match_number": None}) for row in rows)


@pytest.mark.parametrize("cuts", [[], [40], [1, 2, 3, 50, 51, 90]], ids=str)
def test_a_stream_has_the_matches_of_a_batch(cuts: list[int]) -> None:
    table = random_events(120)
    texts = list(QUERIES.values())
    stream = Stream(texts, table.schema, match_id="id")
    stream.feed(table, cuts)
    expected = ost.Workload(texts, sharing="never", match_id="id").run(table)
    for number, name in enumerate(QUERIES):
        assert len({row["id"] for row in stream.rows[number]}) == len(stream.rows[number]), name
        assert unnumbered(stream.rows[number]) == unnumbered(expected[f"q{number + 1}"].to_pylist()), name
        assert len(stream.rows[number]) > 2, name


def test_a_match_is_emitted_when_the_watermark_passes_its_last_event() -> None:
    table = pa.table(
        {
            "ts": pa.array([0, 1_000_000, 2_000_000, 3_000_000], pa.timestamp("us", "UTC")),
            "kind": pa.array(list("ABCC")),
            "g": pa.array([0] * 4),
            "v": pa.array([0, 0, 9, 9]),
        }
    )
    stream = Stream([QUERIES["pairs"]], table.schema)
    stream.step(table, NO_TIME)
    assert not stream.rows[0]
    stream.step(None, 1_999_999)
    assert not stream.rows[0]
    stream.step(None, 2_000_000)
    assert [row["match_end"].second for row in stream.rows[0]] == [2]
    stream.step(None, 3_000_000)
    assert [row["match_end"].second for row in stream.rows[0]] == [2, 3]
    assert [row["match_number"] for row in stream.rows[0]] == [None, None]


def test_a_bound_drops_the_same_matches_however_the_events_are_cut() -> None:
    """With a virtual clock, the dropped partial matches depend on the events only, not on how they are cut."""
    table = random_events(2_000)
    request = BoundRequest("20 ns", clock=ost.VirtualClock())
    texts = [QUERIES["pairs"], QUERIES["shared start"]]
    outputs, dropped = [], []
    for cuts in ([], [700], [1, 5, 600, 601, 1_500]):
        stream = Stream(texts, table.schema, request)
        stream.feed(table, cuts)
        outputs.append([unnumbered(rows) for rows in stream.rows])
        dropped.append([sum(report.patterns[p].dropped for report in stream.reports) for p in range(2)])
    exact = ost.Workload(texts, sharing="never").run(table)
    for number, rows in enumerate(outputs[0]):
        assert set(rows) < set(unnumbered(exact[f"q{number + 1}"].to_pylist()))
    assert outputs[1] == outputs[0] and outputs[2] == outputs[0]
    assert dropped[1] == dropped[0] and dropped[2] == dropped[0]


def test_rows_are_kept_only_while_a_match_may_need_them() -> None:
    table = random_events(300)
    stream = Stream(list(QUERIES.values()), table.schema)
    sizes, watermark = [], NO_TIME
    for start in range(0, 300, 50):
        piece = table.slice(start, 50)
        stream.step(piece, watermark)
        watermark = piece["ts"].cast(pa.int64()).to_numpy().max()
        stream.step(None, watermark)
        sizes.append(stream.state.size)
    assert max(sizes[3:]) < 2 * max(sizes[:3])


def test_another_query_refuses_the_state() -> None:
    table = random_events(40)
    one, other = Stream([QUERIES["pairs"]], table.schema), Stream([QUERIES["windows"]], table.schema)
    one.step(table, NO_TIME)
    one.step(None, 5_000_000)
    other.state = one.state
    with pytest.raises(ost.MatchError, match="STATE_OF_OTHER_QUERY"):
        other.step(None, 6_000_000)
