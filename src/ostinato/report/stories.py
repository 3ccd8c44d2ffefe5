"""The demo's three questions: what is asked, in which table, and how the answer is told and coloured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Phase:
    """Variables of a pattern that mean one thing to a reader, and the colour (`tone-1` .. `tone-4`) they share."""

    name: str
    labels: tuple[str, ...]
    tone: int


@dataclass(frozen=True, slots=True)
class Story:
    """One question. `file` names its SQL in queries/; `key` is the column that the matches are partitioned by."""

    file: str
    title: str
    lead: str
    table: str
    key: str
    phases: tuple[Phase, ...]
    marked: tuple[str, ...]
    """Labels that are written at their last row, where the shape turns."""
    clarity: Callable[[Mapping[str, Any]], float]
    """How well one match (a row of the result) shows the shape: the clearest are drawn."""

    @property
    def sql(self) -> str:
        return files("ostinato.report").joinpath("queries", self.file).read_text(encoding="utf-8").rstrip()

    @property
    def anchor(self) -> str:
        return self.file.removesuffix(".sql").replace("_", "-")

    def tone(self, label: str) -> int:
        return next((phase.tone for phase in self.phases if label in phase.labels), 0)


def _prominence(match: Mapping[str, Any]) -> float:
    """The smallest step of the shape is large, as a part of its height and in percent, and each row can be seen."""
    left, head, right, neck = (match[name] for name in ("left_shoulder", "head", "right_shoulder", "neckline"))
    smallest = max(0.0, min(head - left, head - right, left - neck, right - neck))
    rows = match["labels"].count(" ") + 1
    return float(smallest / (head - match["reversal"]) * (smallest / head) ** 0.5) * (1.0 if 20 <= rows <= 72 else 0.5)


HEAD_AND_SHOULDERS = Story(
    file="head_and_shoulders.sql",
    title="Head and shoulders",
    lead="Three peaks, the middle one highest, then a fall below both lows beside the head: a classic sign that a rise "
    "is over. Thirteen variables, eleven conditions, several of them comparing with rows matched long before.",
    table="trades",
    key="symbol",
    phases=(
        Phase("left shoulder", ("A", "B", "C", "D", "E"), 1),
        Phase("head", ("F", "G", "H", "I"), 2),
        Phase("right shoulder", ("J", "K", "L"), 3),
        Phase("reversal", ("M",), 4),
    ),
    marked=("A", "C", "E", "G", "I", "K", "M"),
    clarity=_prominence,
)

V_SHAPES = Story(
    file="v_shapes.sql",
    title="V shapes",
    lead="An unbroken fall of at least one percent, and an unbroken rise straight back to where it began. The reluctant "
    "RISE+? ends the match at the first trade that is back at the top.",
    table="trades",
    key="symbol",
    phases=(Phase("top", ("TOP",), 1), Phase("fall", ("FALL",), 4), Phase("rise", ("RISE",), 3), Phase("back", ("BACK",), 2)),
    marked=("TOP", "FALL", "BACK"),
    clarity=lambda match: float(match["fell_percent"]),
)

CARD_FRAUD = Story(
    file="card_fraud.sql",
    title="Card fraud",
    lead="A thief tries a stolen card with a few tiny payments, then takes a large amount, all within ten minutes. What "
    "counts as large depends on the average of the probes matched so far.",
    table="payments",
    key="card",
    phases=(Phase("probe", ("PROBE",), 1), Phase("hit", ("HIT",), 4)),
    marked=("HIT",),
    clarity=lambda match: float(match["taken"]),
)

STORIES = (HEAD_AND_SHOULDERS, V_SHAPES, CARD_FRAUD)
