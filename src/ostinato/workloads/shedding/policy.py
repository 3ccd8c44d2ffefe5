"""The interface of a shedding policy: it selects the partial matches and events that a bounded engine drops.

SHARP (`sharp.py`) is the only policy of the package. The policies of other papers live in benchmarks/bounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ostinato.workloads.shedding.packed import Value

if TYPE_CHECKING:
    from ostinato.workloads.shedding.limits import Measurements
    from ostinato.workloads.shedding.load_shedder import LoadShedder
    from ostinato.workloads.shedding.state_selection import StateSelection

Bools = NDArray[np.bool_]


class InputShedding(Protocol):
    """Leaves out events before they are matched."""

    def admit(self, shedder: LoadShedder, conditions: Bools, event_numbers: NDArray[np.int64]) -> Bools:
        """[condition, row] of the next rows -> the rows that may become part of a match."""
        ...

    def observe_chunk(self, shedder: LoadShedder, rows: int, spent_ns: int) -> None:
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

    def choose(self, shedder: LoadShedder, measured: Measurements) -> StateSelection | None:
        """Selects the partial matches to keep; None: all of them."""
        ...

    def to_values(self) -> dict[str, Value]:
        """The policy's state, as it is stored between two calls."""
        ...

    def restore(self, values: Mapping[str, Any]) -> None:
        """Takes over the values of `to_values`. Raises STATE_FORMAT for values that don't fit."""
        ...
