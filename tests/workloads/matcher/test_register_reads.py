"""New partial matches with the same read rows share their features."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from tests.workloads.shedding.bounded_runs import Stream, run


def test_reused_features_do_not_change_the_matches() -> None:
    """One event creates a group of partial matches, because it follows several a or b. A partial match whose class is
    computed again must not get the class of its neighbour in the group."""
    rng, count = np.random.default_rng(4), 600
    columns = {
        "at": pa.array(np.arange(count)),
        "kind": pa.array(rng.choice(list("AABBC"), count)),
        "id": pa.array(rng.integers(0, 2, count)),
        "v": pa.array(rng.uniform(0, 10, count)),
    }
    text = (
        "TIME at TYPE kind PATTERN SEQ(A a, B b, C c) WHERE SAME[id] AND POWER(a.v - b.v, 2) * 2 < c.v "
        "WITHIN 40 EVENTS RETURN MATCHES"
    )
    matches = run(Stream((text,), columns)).matches[0]
    kind, key, v = (columns[name].to_pylist() for name in ("kind", "id", "v"))
    expected = {
        (a, b, c)
        for c in range(count)
        if kind[c] == "C"
        for a in range(max(0, c - 39), c)
        if kind[a] == "A" and key[a] == key[c]
        for b in range(a + 1, c)
        if kind[b] == "B" and key[b] == key[c] and (v[a] - v[b]) ** 2 * 2 < v[c]
    }
    assert matches == expected and len(expected) > 100
