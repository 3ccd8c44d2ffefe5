"""The common table of a workload: what queries give in different types under one name is text."""

from __future__ import annotations

from tests.workloads.mixed_measures import QUERIES, SEEN

import ostinato as ost


def test_nested_measures_are_text_beside_others() -> None:
    found = ost.Workload(QUERIES).run(SEEN)
    shown: dict[str, list[str | None]] = {}
    for row in found.table.to_pylist():
        shown.setdefault(row["query"], []).append(row["measures"]["v"])
    assert shown == {
        "number": ["2", "3", "4", "4"],
        "numbers": ["[1, 2]", "[2, 3]", "[3, 4]", "[4]"],
        "words": ["[a]", "[c d]", "[c d, ]", "[]"],
        "reals": ["[1.5]", "[1.0E7]", "[1.0E7, NaN]", "[NaN]"],
        "times": [
            "[2024-02-29 12:30:00, 2024-02-29 12:30:01]",
            "[2024-02-29 12:30:01, 2024-02-29 12:30:02]",
            "[2024-02-29 12:30:02, 2024-02-29 12:30:03]",
            "[2024-02-29 12:30:03]",
        ],
        "nested": ["[{1, [1]}, {null, null}]", "[{null, null}]", "[{4, []}]", "[{4, []}]"],
        "struct": ["{null, null}", None, "{4, []}", "{4, []}"],
        "map": ["{}", None, "{ -> 0}", "{ -> 0}"],
    }
    assert found["numbers"]["v"].to_pylist() == [[1, 2], [2, 3], [3, 4], [4]]
