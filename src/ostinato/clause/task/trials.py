"""Trials: the rows that a search tries behind a partial match, and how one trial follows from the trial before."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Trial:
    """A row that the search tries: its label is the last one. `number` is that of the match."""

    row: int
    labels: NDArray[np.int32]
    key_first: int
    key_end: int
    number: int

    def identity(self) -> tuple[int, int, int, bytes]:
        """Equal for equal trials. A row belongs to one key only."""
        return self.row, self.key_first, self.number, self.labels.tobytes()


class Step(Enum):
    """How one trial of a condition follows from the trial before."""

    LONGER = auto()
    """The row before was taken, and the next row is tried under the same variable."""
    LATER = auto()
    """The row before went to the gap, and the next row is tried behind it."""
    EARLIER = auto()
    """The gap loses its last row, which is tried."""
    NEXT_START = auto()
    """The same labels, from the next row on."""


def after(step: Step, trial: Trial, times: int) -> Trial | None:
    """The trial so many steps later; None if there is no such trial."""
    labels, row = trial.labels, trial.row + times
    match step:
        case Step.LONGER:
            labels = np.append(labels, np.repeat(labels[-1:], times))
        case Step.LATER:
            if len(labels) < 2:
                return None
            labels = np.concatenate((labels[:-1], np.repeat(labels[-2:-1], times), labels[-1:]))
        case Step.EARLIER:
            if len(labels) <= times:
                return None
            labels, row = np.append(labels[: -1 - times], labels[-1]), trial.row - times
        case Step.NEXT_START:
            pass
    return replace(trial, row=row, labels=labels) if row < trial.key_end else None
