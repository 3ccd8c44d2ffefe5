"""A workload with a measure that has another type in each query. The common table has it as text."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

SEEN = pa.table(
    {
        "n": pa.array([1, 2, 3, 4]),
        "word": ["a", None, "c d", ""],
        "real": pa.array([1.5, None, 1e7, float("nan")]),
        "at": pa.array([datetime(2024, 2, 29, 12, 30, second, tzinfo=UTC) for second in range(4)]),
        "inside": pa.array([{"x": 1, "y": [1]}, {"x": None, "y": None}, None, {"x": 4, "y": []}]),
        "pairs": pa.array(
            [[("k", 1), ("z", None)], [], None, [("", 0)]],
            pa.map_(pa.string(), pa.int32()),
        ),
    }
)
MEASURES = {
    "number": "LAST(n)",
    "numbers": "array_agg(n)",
    "words": "array_agg(word)",
    "reals": "array_agg(real)",
    "times": "array_agg(at)",
    "nested": "array_agg(inside)",
    "struct": "LAST(inside)",
    "map": "LAST(pairs)",
}
QUERIES = {
    name: f"ORDER BY n MEASURES {measure} AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (A A?) DEFINE A AS n > 0"
    for name, measure in MEASURES.items()
}
