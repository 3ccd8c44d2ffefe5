"""Explanations of event queries, word for word. Refresh with `pytest tests/golden --update-goldens`, read the diff."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.explanation.events_text import explain_events

FOLDER = Path(__file__).parent

RIDES = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("kind", pa.string()),
        ("district", pa.string()),
        ("driver", pa.int64()),
        ("rider", pa.int64()),
        ("speed", pa.float64()),
        ("duration", pa.int32()),
        ("price", pa.decimal128(8, 2)),
    ]
)

TRENDS = """
    PATTERN SEQ(Request r, Travel+ t, NOT Pickup p)
    WHERE SAME[driver, rider] AND t.speed < 10 AND NEXT(t).speed <= t.speed
    GROUP BY district WITHIN 30 MINUTES SLIDE 5 MINUTES
    RETURN district, COUNT(*), COUNT(t), SUM(t.duration), AVG(t.speed), MIN(t.price), MAX(t.price)"""
PAIRS = "PATTERN SEQ(Request r, Travel+ t) AND SEQ(Request r, Travel t) WITHIN 100 EVENTS RETURN COUNT(*) AS pairs"
MATCHES = """
    TYPE Slow AS speed < 10, Fast AS speed >= 10 PATTERN SEQ(Slow+ s, Fast f) STRICT
    WHERE NEXT(s).district <> s.district AND SUM(s.duration) < f.duration
    WITHIN 1000 EVENTS SLIDE 100 EVENTS RETURN MATCHES LIMIT 5"""

CONSECUTIVE = """
    PATTERN SEQ(Request r, Travel{2,3} t WITHOUT Pickup p) STRICT ON (Request, Travel)
    GROUP BY driver RETURN driver, SUM(t.duration) / COUNT(*) AS mean"""


def rides(text: str) -> ost.EventsQuery:
    return ost.events(text, type=None if "TYPE" in text else "kind", time="ts")


QUERIES: dict[str, tuple[Any, Any]] = {
    "trends": (rides(TRENDS), RIDES),
    "trends_types_unknown": (rides(TRENDS), None),
    "consecutive": (rides(CONSECUTIVE), RIDES),
    "pairs": (rides(PAIRS), RIDES),
    "matches": (rides(MATCHES), RIDES),
    "workload": (
        ost.Workload(
            {
                "requests": "PATTERN SEQ(Request, Travel+) WITHIN 10 MINUTES SLIDE 5 MINUTES RETURN COUNT(*)",
                "pickups": "PATTERN SEQ(Pickup, Travel+) WITHIN 15 MINUTES SLIDE 5 MINUTES RETURN COUNT(*)",
                "next": "PATTERN SEQ(Request, Travel+) SKIP TILL NEXT MATCH GROUP BY driver RETURN driver, COUNT(*)",
                "shown": "PATTERN SEQ(Request r, Pickup p) WHERE SAME[driver] RETURN MATCHES LIMIT 3",
            },
            type="kind",
            time="ts",
        ),
        RIDES,
    ),
}


@pytest.mark.parametrize("name", QUERIES)
def test_golden(name: str, update_goldens: bool) -> None:
    query, table = QUERIES[name]
    text = explain_events(query, table) + "\n"
    golden = FOLDER / f"{name}.txt"
    if update_goldens:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8"), "if that is meant: pytest tests/golden --update-goldens"


def test_no_golden_without_a_query() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(QUERIES)


def test_after_a_run() -> None:
    asked, _ = QUERIES["workload"]
    text = explain_events(asked, RIDES, {"bursts": 12, "lane updates saved": 3_456})
    assert text.endswith("6. Counters of the last run\n   bursts              12\n   lane updates saved  3,456")


def test_columns_are_those_that_the_query_mentions() -> None:
    text = explain_events(
        ost.events("PATTERN SEQ(A a, B+ b) WHERE NEXT(b).x > b.x RETURN COUNT(*)", type="k", time="t")
    )
    assert "b, then b: later.x > earlier.x" in text


def test_something_else() -> None:
    with pytest.raises(ost.QueryError, match="NOT_A_QUERY"):
        explain_events(7)
