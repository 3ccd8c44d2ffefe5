"""A reported recall is the true one, for every kind of bound; otherwise it is unknown.

The true recall comes from a run without a bound. A virtual clock makes all runs the same on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.test_bounded_clauses import CROWDED, crowd

import ostinato as ost

CLOCK = ost.VirtualClock()
KINDS = ("latency_bound", "latency ratio", "memory_bound", "batch_budget", "selection_ratio")
EVENTS = 6_000
"""Queries use four in five of them: more than a latency ratio is measured on."""


def query(pattern: str, condition: str, seconds: int) -> str:
    return (
        f"TYPE kind TIME ts PATTERN SEQ({pattern}) WHERE SAME[user] AND {condition} WITHIN {seconds} SECONDS "
        "RETURN MATCHES"
    )


QUERIES = {
    "short": (query("A a, B b, C c", "a.x + b.x < c.x", 100), query("A a, B b, D d", "a.x > d.x", 100)),
    "loop": (query("A a, B+ b, C c", "a.x < c.x", 40), query("A a, NOT E e, B b, D d", "a.x > d.x", 80)),
    "long": (
        query("A a, B b, C c, D d, E e, A f", "a.x < b.x AND b.x + c.x < d.x AND e.x < f.x", 120),
        query("A a, B b, C c, D d, B e, C f", "a.x < b.x AND b.x + c.x < d.x AND e.x > f.x", 120),
    ),
    "equality": (query("A a, B b, C c", "a.x = c.x", 200), query("A a, D d", "a.x < d.x", 300)),
    "rare": (query("A a, B b, C c", "a.x + b.x < 8", 200), query("A a, B b, D d", "a.x + b.x + d.x < 15", 200)),
    "clauses": CROWDED,
}


def events(seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": pa.array(np.arange(EVENTS) * 1_000_000, pa.timestamp("us", "UTC")),
            "kind": draw.choice(list("ABCDE"), EVENTS),
            "user": draw.integers(0, 4, EVENTS),
            "x": draw.integers(0, 100, EVENTS),
        }
    )


@dataclass(frozen=True)
class Whole:
    """A workload without a bound."""

    table: pa.Table
    matches: dict[str, int]
    latency_ns: dict[str, float]
    spent_ns: int
    memory_bytes: int

    def bound(self, kind: str, share: float) -> dict[str, Any]:
        """A bound at about this share of what the workload takes without one."""
        match kind:
            case "latency_bound":
                return {"latency_bound": {name: f"{share * ns:.3f} ns" for name, ns in self.latency_ns.items()}}
            case "latency ratio":
                return {"latency_bound": share}
            case "memory_bound":
                return {"memory_bound": int(share * self.memory_bytes)}
            case "batch_budget":
                return {"batch_budget": f"{int(share * self.spent_ns)} ns"}
            case _:
                return {"selection_ratio": share}


@cache
def whole(name: str, seed: int) -> Whole:
    table = crowd(seed, 3_000) if name == "clauses" else events(seed)
    exact = ost.Workload(list(QUERIES[name])).run(table)
    calm = ost.Workload(list(QUERIES[name]), latency_bound="1 s", memory_bound="1 GB", clock=CLOCK).run(table)
    rows = calm.report.table().to_pylist()
    return Whole(
        table,
        {name: exact[name].num_rows for name in exact},
        {row["query"]: row["latency_p50_ns"] for row in rows},
        rows[0]["spent_ns"],
        rows[0]["memory_bytes"],
    )


def check(name: str, seed: int, kind: str, share: float) -> list[float | None]:
    """The recall reported of each query."""
    at = whole(name, seed)
    bounded = ost.Workload(list(QUERIES[name]), clock=CLOCK, **at.bound(kind, share)).run(at.table)
    rows = bounded.report.table().to_pylist()
    for row in rows:
        every, told = at.matches[row["query"]], row["recall_estimate"]
        assert every > 0
        lost = every - bounded[row["query"]].num_rows
        if told is not None:
            assert (told, row["lost_estimate"]) == (1 - lost / every, lost), f"{name}, seed {seed}, {kind} {share}"
        assert (told is None) == (row["lost_estimate"] is None) == (row["dropped"] > 0)
    return [row["recall_estimate"] for row in rows]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", QUERIES)
def test_a_reported_recall_is_the_true_one(name: str, kind: str) -> None:
    check(name, 1, kind, 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_recall_is_known_where_nothing_is_dropped_and_unknown_elsewhere(kind: str) -> None:
    assert None in check("short", 2, kind, 0.3)
    if kind != "latency ratio":  # that is one of the average, which some events exceed
        assert set(check("short", 2, kind, 1.0 if kind == "selection_ratio" else 100.0)) == {1.0}


@settings(max_examples=examples(4))
@given(
    st.sampled_from(list(QUERIES)),
    st.integers(2, 10**6),
    st.sampled_from(KINDS),
    st.sampled_from((0.03, 0.1, 0.35, 0.7, 0.9)),
)
def test_a_reported_recall_is_the_true_one_for_other_seeds(name: str, seed: int, kind: str, share: float) -> None:
    check(name, seed, kind, share)
