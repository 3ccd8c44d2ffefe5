"""The section constants of the shared trend engine name the fields of the layout, in the layout's order."""

from __future__ import annotations

from typing import get_type_hints

import numpy as np
import pytest

from ostinato.event_queries.trends.shared import sections
from ostinato.event_queries.trends.shared.layout import SharedLayout
from ostinato.event_queries.trends.shared.sections import packed, section

PREFIXES = {
    "queries": "QUERY",
    "loops": "LOOP",
    "targets": "TARGET",
    "actions": "ACTION",
    "logs": "LOG",
    "windows": "EXTENT",
}


def names_from_layout() -> list[str]:
    return [
        f"{PREFIXES[group]}_{field.upper()}"
        for group, arrays in get_type_hints(SharedLayout).items()
        for field in arrays._fields
    ]


def test_every_field_of_the_layout_has_its_section_constant() -> None:
    names = names_from_layout()
    first = sections.QUERY_EXTENT
    assert [getattr(sections, name) for name in names] == list(range(first, first + len(names)))


def test_every_section_constant_belongs_to_a_field() -> None:
    prefixes = tuple(f"{prefix}_" for prefix in PREFIXES.values())
    assert {name for name in vars(sections) if name.startswith(prefixes)} == set(names_from_layout())


def test_the_single_numbers_of_a_plan_come_before_its_sections() -> None:
    single = (sections.QUERIES, sections.EXTENTS, sections.LOGS, sections.KEY_ROWS, sections.HAS_ROWS)
    assert single == tuple(range(sections.QUERY_EXTENT))


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_a_packed_array_gives_its_sections_back(order: tuple[int, int]) -> None:
    arrays = {1: np.array([7, 8, 9]), 2: np.array([5])}
    data = packed({number: arrays[number] for number in order}, {0: 42})
    assert data[0] == 42
    assert section(data, 1, 3).tolist() == [7, 8, 9]
    assert section(data, 2, 1).tolist() == [5]
