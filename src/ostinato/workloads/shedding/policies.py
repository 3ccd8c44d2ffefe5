"""Who decides what is dropped: SHARP, and the ways to shed that it is compared with, behind one interface.

Policies that shed state say what `quality` a slot has, and whether a partial match may be dropped for one pattern and
kept for another. Policies that shed input say how much an event is worth. All of them are told by the same limits how
much to give up (`keeper.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import QueryError

Reals = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Policy:
    """`chooses`: state is dropped by quality; otherwise a share of it at random (`random_state`). `input_part`: which
    part of the reduction falls on the input, 0 for none."""

    name: str
    chooses: bool = True
    by_class: bool = True
    by_age: bool = True
    shared: bool = True
    """Knows that patterns share: one mask for each pattern, one order by the sum of contributions. Otherwise each
    pattern chooses by itself, and what any of them chooses is kept for all."""
    per_cost: bool = True
    input_part: float = 0.0
    by_utility: bool = False
    """Events of the least use go first; otherwise at random."""
    queued: bool = False
    """The reduction follows the length of the queue of waiting events instead of the latency."""

    @property
    def sheds_state(self) -> bool:
        return self.input_part < 1.0


POLICIES = {
    policy.name: policy
    for policy in (
        Policy("sharp"),
        Policy("random_state", chooses=False),
        Policy("random_input", input_part=1.0),
        Policy("selectivity", by_class=False, by_age=False, per_cost=False),
        Policy("icde20", by_age=False, shared=False, input_part=0.5, by_utility=True),
        Policy("darling", input_part=1.0, by_utility=True, queued=True),
    )
}


def policy_of(name: str) -> Policy:
    """Raises INVALID_OPTION."""
    if name not in POLICIES:
        raise QueryError("INVALID_OPTION", f"shedding can't be {name!r}", hint=f"it is one of {', '.join(POLICIES)}")
    return POLICIES[name]


def drawn(numbers: NDArray[np.int64]) -> Reals:
    """For each number of an event in the stream a pseudo-random one in [0, 1): the same in every run."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (mixed >> np.uint64(11)) / float(1 << 53)


@dataclass(frozen=True, slots=True)
class Admission:
    """Events of more than `least` use are taken, those of just that use in `part`, at random."""

    least: float = 0.0
    part: float = 1.0

    def of(self, use: Reals, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`numbers` are those of the events in the stream."""
        return np.asarray((use > self.least) | ((use == self.least) & (drawn(numbers) < self.part)))


def admission(share: float, use: Reals, happened: Reals) -> Admission:
    """The best `share` of all events, given how often each use happened."""
    order = np.argsort(-use, kind="stable")
    taken = np.cumsum(happened[order])
    if share >= 1.0 or not taken[-1] > 0:
        return Admission()
    last = int(np.searchsorted(taken, share * taken[-1]))
    least = float(use[order[last]])
    above, at = happened[use > least].sum(), happened[use == least].sum()
    return Admission(least, float(np.clip((share * taken[-1] - above) / at, 0.0, 1.0)) if at else 1.0)
