"""The arrays of the shared kernel all have one type, and readers of the same values share a stream."""

from __future__ import annotations

from typing import get_type_hints

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import program

from ostinato.event_queries.plan.event_program import Slot, SlotKind
from ostinato.event_queries.trends.shared.compile import compiled
from ostinato.event_queries.trends.shared.layout import SharedLayout, ValueStream

COUNT_B = Slot(SlotKind.COUNT, frozenset({1}))
SUM_B = Slot(SlotKind.SUM, frozenset({1}), 0)
LEAST_B = Slot(SlotKind.MIN, frozenset({1}), 0)


@pytest.mark.parametrize("group", list(get_type_hints(SharedLayout)))
def test_all_arrays_are_one_dimensional_int64(group: str) -> None:
    layout = compiled([program("A B+"), program("C B+")], True, frozenset(), True).layout
    for name, array in getattr(layout, group)._asdict().items():
        assert array.dtype == np.int64, name
        assert array.ndim == 1, name


def test_a_stream_of_values_is_built_once() -> None:
    both = [program("A B+", slots=(SUM_B, LEAST_B)), program("C B+", slots=(SUM_B, LEAST_B))]
    streams = compiled(both, True, frozenset(), True).streams
    assert list(streams.ints.values()) == list(range(len(streams.ints)))
    assert ValueStream("value", 0) in streams.ints
    assert len(streams.extremes) == len(set(streams.extremes))


def test_every_slot_has_an_index() -> None:
    slots = (COUNT_B, SUM_B, LEAST_B)
    (indexes, _) = compiled([program("A B+", slots=slots), program("C B+")], True, frozenset(), True).slot_indexes
    assert [index.slot for index in indexes] == list(slots)
    count, total, least = indexes
    assert count.number is not None
    assert total.number is not None
    assert total.number != count.number
    assert least.extreme is not None
