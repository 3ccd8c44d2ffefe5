"""Slots -> the sums that the graphlet engine keeps beside a count, and the values that an event adds to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from ostinato.event_queries.plan.event_program import NO_VALUE, Events, Program, Slot, SlotKind

ValueKind = Literal["one", "valid", "value", "nan", "above", "below"]
"""An event adds 1, 1 if it has a value, its value, or 1 if its value is NaN, infinity or -infinity."""


@dataclass(frozen=True, slots=True)
class SummedValue:
    """A sum beside the count, over the events that are bound to one of `labels`."""

    labels: frozenset[int]
    kind: ValueKind
    value: int


def sums_of_slot(slot: Slot, floats: list[bool]) -> list[SummedValue]:
    """`floats` says for each value whether it is a double."""
    kinds: tuple[ValueKind, ...] = ("value", "valid")
    if slot.kind is SlotKind.COUNT:
        kinds = ("one",) if slot.value == NO_VALUE else ("valid",)
    elif floats[slot.value]:
        kinds = ("value", "valid", "nan", "above", "below")
    return [SummedValue(slot.labels, kind, slot.value) for kind in kinds]


def sums_of_program(program: Program, floats: list[bool]) -> list[SummedValue]:
    return [summed for slot in program.slots for summed in sums_of_slot(slot, floats)]


def value_of_event(events: Events, kind: ValueKind, value: int, row: int) -> Any:
    """Doubles become fractions, so that sums stay exact and are rounded once."""
    if kind == "one":
        return 1
    valid = events.valid[value]
    if valid is not None and not valid[row]:
        return 0
    number = events.values[value][row]
    match kind:
        case "valid":
            return 1
        case "nan":
            return int(math.isnan(number))
        case "above":
            return int(number == math.inf)
        case "below":
            return int(number == -math.inf)
        case _ if isinstance(number, np.floating):
            return Fraction(float(number)) if math.isfinite(number) else 0
        case _:
            return int(number)
