"""The phases of a shape that charts of matches draw in different colours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Phase:
    """Pattern variables that form one phase of the shape, and their colour (`tone-1` .. `tone-4`)."""

    name: str
    labels: tuple[str, ...]
    tone: int


@dataclass(frozen=True, slots=True)
class Shape:
    """The phases of a shape, and the labels to write."""

    phases: tuple[Phase, ...]
    marked: tuple[str, ...]
    """Labels that are written into the chart, at their last row."""

    def tone(self, label: str) -> int:
        return next((phase.tone for phase in self.phases if label in phase.labels), 0)
