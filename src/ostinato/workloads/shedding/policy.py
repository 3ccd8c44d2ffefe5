"""The interface of a shedding policy: it decides what a bounded engine gives up.

SHARP (`sharp.py`) is the only policy of the package. The policies of other papers live in benchmarks/bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.packed import Value

if TYPE_CHECKING:
    from ostinato.workloads.shedding.keeper import Keeper
    from ostinato.workloads.shedding.limits import Measurements
    from ostinato.workloads.shedding.state_selection import Selection

Bools = NDArray[np.bool_]


class InputShedding(Protocol):
    """Leaves out events before they are matched."""

    def admit(self, keeper: Keeper, conditions: Bools, event_numbers: NDArray[np.int64]) -> Bools:
        """[condition, row] of the next rows -> the rows that may become part of a match."""
        ...

    def observe_chunk(self, keeper: Keeper, rows: int, spent_ns: int) -> None:
        """Called at the end of each chunk."""
        ...


class SheddingPolicy(Protocol):
    """One object serves one stream, so it may remember things from one decision to the next."""

    @property
    def name(self) -> str:
        """The report shows it."""
        ...

    @property
    def input_shedding(self) -> InputShedding | None:
        """None: every event is matched."""
        ...

    def choose(self, keeper: Keeper, now: Measurements) -> Selection | None:
        """Selects the partial matches to keep; None: all of them."""
        ...

    def to_values(self) -> dict[str, Value]:
        """The policy's memory, as it is stored between two calls."""
        ...

    def restore(self, values: Mapping[str, Any]) -> None:
        """Takes over the values of `to_values`. Raises STATE_FORMAT for values that don't fit."""
        ...
