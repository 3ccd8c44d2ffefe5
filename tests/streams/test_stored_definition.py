"""The differences between two definitions, in words."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.streams.stored_definition import changes_between


@pytest.mark.parametrize(
    ("then", "now", "changes"),
    [
        ({"buckets": 4}, {"buckets": 4}, []),
        ({"buckets": 4, "time zone": "UTC"}, {"buckets": 8, "time zone": "Asia/Tokyo"},
         ["buckets: 4 became 8", "time zone: UTC became Asia/Tokyo"]),
        ({"clause": "ORDER BY ts\nPATTERN (A)"}, {"clause": "ORDER BY ts\nPATTERN (A B)\nDEFINE B AS x"},
         ["clause: PATTERN (A) became PATTERN (A B); DEFINE B AS x"]),
        ({"names": ["a", "b"]}, {"names": ["b", "a"]}, ["names: a; b became b; a"]),
        ({"ratio": None}, {"ratio": 0.5}, ["ratio: nothing became 0.5"]),
        ({}, {"new": 1}, ["new: nothing became 1"]),
        ({"old": 1}, {}, ["old: 1 became nothing"]),
        ({"queries": [["PATTERN (A)", None]]}, {"queries": [["PATTERN (A)", "t"]]}, ["queries: nothing became t"]),
    ],
)  # fmt: skip
def test_changes(then: dict[str, Any], now: dict[str, Any], changes: list[str]) -> None:
    assert changes_between(then, now) == changes
