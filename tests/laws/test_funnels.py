"""A funnel's rows are those of trying every sequence of events, in every mode, with ties, repeats and NULLs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.funnels.letters import minute, shown

import ostinato as ost
from ostinato.reference.funnel_oracle import FunnelEvent, FunnelOracle
from ostinato.testing import StreamTester

KEYS, KINDS = st.sampled_from(["a", None]), st.sampled_from(["A", "B", "C", "x", None])
EVENTS = st.lists(st.tuples(KEYS, st.one_of(st.integers(0, 6), st.none()), KINDS), max_size=8)
SINGLE_STEPS = st.lists(st.sampled_from("ABC"), min_size=2, max_size=4)
STEPS = st.lists(
    st.one_of(st.sampled_from("ABC"), st.tuples(st.sampled_from("ABC"), st.sampled_from("ABC"))),
    min_size=2,
    max_size=4,
)
WITHIN = st.one_of(st.none(), st.integers(1, 6))
Rows = list[tuple[str | None, int | None, str | None]]


def table_of(rows: Rows) -> pa.Table:
    return pa.table(
        {
            "user": pa.array([key for key, _, _ in rows], pa.string()),
            "ts": pa.array([minute(at) for _, at, _ in rows], pa.timestamp("us")),
            "kind": pa.array([kind for *_, kind in rows], pa.string()),
            "id": pa.array(range(len(rows)), pa.int64()),
        }
    )


def by_key(rows: Rows, steps: list[Any], numbered: bool) -> dict[str | None, list[FunnelEvent]]:
    """The events of each key, with the steps that each can be."""
    events = defaultdict(list)
    for number, (key, at, kind) in enumerate(rows):
        can_be = frozenset(step for step, kinds in enumerate(steps, start=1) if kind is not None and kind in kinds)
        events[key].append(FunnelEvent(at, number if numbered else 0, can_be))
    return events


def check(rows: Rows, steps: list[Any], within: int | None, mode: str, *, numbered: bool) -> None:
    query = ost.funnel(
        steps,
        keys="user",
        type="kind",
        time=["ts", "id"] if numbered else "ts",
        within=None if within is None else f"{within} minutes",
        mode=mode,
    )
    oracle = FunnelOracle(len(steps), within, mode)  # type: ignore[arg-type]
    found = {key: row for key, *row in shown(query.run(table_of(rows)).table)}
    for key, events in by_key(rows, steps, numbered).items():
        best, level = oracle.best(events), oracle.level(events)
        expected = None if best is None else [len(best), *best, *[None] * (len(steps) - len(best))]
        assert found.get(key) == expected
        assert (0 if best is None else len(best)) == level


@settings(max_examples=examples(400), deadline=None)
@given(EVENTS, SINGLE_STEPS, WITHIN, st.sampled_from(["any", "strict_order", "strict_increase"]))
def test_ties_are_in_the_order_of_the_steps(rows: Rows, steps: list[str], within: int | None, mode: str) -> None:
    check(rows, steps, within, mode, numbered=False)


@settings(max_examples=examples(400), deadline=None)
@given(EVENTS, STEPS, WITHIN, st.sampled_from(["any", "strict_order", "strict_increase"]))
def test_ties_are_ordered_by_a_column(rows: Rows, steps: list[Any], within: int | None, mode: str) -> None:
    check(rows, steps, within, mode, numbered=True)


@settings(max_examples=examples(60), deadline=None)
@given(EVENTS, SINGLE_STEPS, st.integers(1, 6), st.sampled_from(["any", "strict_order"]), st.integers(0, 8))
def test_a_stream_shows_attempts_and_the_best_are_the_rows_of_a_batch(
    rows: Rows, steps: list[str], within: int, mode: str, watermark: int
) -> None:
    """Attempts of events up to the watermark and behind it, and those that the end of the stream decides."""
    query = ost.funnel(steps, keys="user", type="kind", time="ts", within=f"{within} minutes", mode=mode)
    text, ranks = query.to_sql("events"), {kind: 1 + steps.index(kind) for kind in steps}
    stream = StreamTester(
        text[text.index("MATCH_RECOGNIZE") :],
        {"user": "string", "ts": "timestamp_ntz", "kind": "string", "funnel_order": "int"},
    )
    timed = [row for row in rows if row[1] is not None]
    given = [
        {"user": key, "ts": minute(at), "kind": kind, "funnel_order": ranks.get(kind or "")} for key, at, kind in timed
    ]
    early = [row for row, (_, at, _) in zip(given, timed, strict=True) if at is not None and at <= watermark]
    late = [row for row in given if row not in early]
    shown_rows = [*stream.feed(early), *stream.advance_watermark(minute(watermark) or 0), *stream.feed(late)]
    attempts = [tuple(row.values()) for row in [*shown_rows, *stream.finish()]]
    best: dict[Any, tuple[Any, ...]] = {}
    for row in sorted(attempts, key=lambda row: (-row[1], [at for at in row[3:] if at is not None])):
        best.setdefault(row[0], row)
    batch = query.run(table_of(rows)).table.to_pylist()
    assert sorted(map(repr, best.values())) == sorted(repr(tuple(row.values())) for row in batch)


def window_funnel(events: list[tuple[int, int]], steps: int, within: int) -> int:
    """ClickHouse's default mode, where each event is one step: for each level the latest start of a chain so far."""
    starts: dict[int, int] = {}
    for time, step in sorted(events):
        if step == 1:
            starts[1] = time
        elif step - 1 in starts and time <= starts[step - 1] + within:
            starts[step] = starts[step - 1]
            if step == steps:
                break
    return max(starts, default=0)


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.sampled_from("ABCD")), max_size=12), st.integers(1, 6))
def test_levels_are_those_of_window_funnel(events: list[tuple[int, str]], within: int) -> None:
    table = table_of([("a", at, kind) for at, kind in events])
    query = ost.funnel(list("ABCD"), keys="user", type="kind", time="ts", within=f"{within} minutes")
    levels = query.run(table).table.column("level").to_pylist() or [0]
    assert levels == [window_funnel([(at, "ABCD".index(kind) + 1) for at, kind in events], 4, within)]
