"""Costs of a burst, shared and not shared.

HAMLET's formulas count visits of predecessors. This engine uses running sums where it can and visits nothing, so it
counts operations on limbs (the words of a large number).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BurstCosts:
    shared: float
    separate: float

    @property
    def benefit(self) -> float:
        """Above 0: sharing the burst is cheaper."""
        return self.separate - self.shared


@dataclass(frozen=True, slots=True)
class BurstWork:
    """The work of this engine for a burst, counted beforehand.

    A lane is a query in one open window. A link leads from an event of the burst to a possible predecessor. `links` are
    the links within the burst. `own_links` lead to events before the burst, and each lane follows them by itself. If
    most earlier events are predecessors, the events that aren't are counted instead.
    """

    events: int
    lanes: int
    links: int
    own_links: int
    snapshots: int
    """Sums that each lane computes: one for the burst, and one for each event that is a snapshot of its own."""
    limbs: int
    """Words of a lane's numbers."""
    coefficient_limbs: int
    """Words of a coefficient: at most one bit for each event of the burst."""


_CALL = 1000
"""Fixed cost of an event or a snapshot, in operations on limbs (measured with bursts of 50 to 250 events)."""
_NUMBER = 10
"""Fixed cost of one number."""


def engine_costs(work: BurstWork) -> BurstCosts:
    """Costs in operations on limbs.

    Without sharing, every lane follows every link. With sharing, the links within the burst are followed once for all
    lanes, for the coefficient of each snapshot. Then each lane multiplies the values of its snapshots by sums of
    coefficients, once for the burst and once for each later snapshot.
    """
    followed = work.links + work.events
    products = work.snapshots * (work.snapshots + 1) // 2
    once = work.events * _CALL + followed * work.snapshots * (_NUMBER + work.coefficient_limbs)
    for_lane = work.snapshots * _CALL + products * (_NUMBER + work.limbs * work.coefficient_limbs)
    alone = (work.events + work.snapshots) * _CALL + followed * (_NUMBER + work.limbs)
    outside = work.own_links * (_NUMBER + work.limbs)
    return BurstCosts(shared=once + work.lanes * (for_lane + outside), separate=work.lanes * (alone + outside))
