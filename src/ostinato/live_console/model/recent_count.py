"""Counts as they come -> how many came in the last minute, in memory that doesn't grow."""

from __future__ import annotations

from dataclasses import dataclass, field

_SLOT_SECONDS = 5
_SLOTS = 12


@dataclass(slots=True)
class RecentCount:
    """A count over the last minute, in steps of five seconds.

    >>> recent = RecentCount()
    >>> recent.add(3, now=100.0)
    >>> recent.at(130.0), recent.at(170.0)
    (3, 0)
    """

    _slots: dict[int, int] = field(default_factory=dict)

    def add(self, count: int, now: float) -> None:
        """Counts things that came now."""
        slot = int(now // _SLOT_SECONDS)
        self._slots[slot] = self._slots.get(slot, 0) + count
        self._forget(slot)

    def at(self, now: float) -> int:
        """The count of the last minute."""
        self._forget(int(now // _SLOT_SECONDS))
        return sum(self._slots.values())

    @property
    def is_empty(self) -> bool:
        """Whether nothing came lately."""
        return not self._slots

    def _forget(self, slot: int) -> None:
        for old in [each for each in self._slots if each <= slot - _SLOTS]:
            del self._slots[old]
