"""The three queries of the demo, each with its table, its title and text, and the colours of its charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files

from ostinato.pictures.phases import Phase, Shape


@dataclass(frozen=True, slots=True)
class Story(Shape):
    """One query of the demo. `file` names its SQL in queries/; `key` is its PARTITION BY column."""

    file: str
    title: str
    lead: str
    table: str
    key: str
    clarity: Callable[[Sequence[str], Sequence[float]], float]
    """How well a match shows the shape, from the labels and values of its rows. The clearest matches are drawn."""

    @property
    def sql(self) -> str:
        return files("ostinato.report").joinpath("queries", self.file).read_text(encoding="utf-8").rstrip()

    @property
    def clause(self) -> str:
        """The text inside MATCH_RECOGNIZE ( ... )."""
        return self.sql[self.sql.index("(") + 1 : self.sql.rindex(")")]

    @property
    def anchor(self) -> str:
        return self.file.removesuffix(".sql").replace("_", "-")


def _prominence(labels: Sequence[str], prices: Sequence[float]) -> float:
    """The smallest step of the shape as a fraction of its height, halved for very short or long matches."""
    at = dict(zip(labels, prices, strict=True))  # the last price of each label
    steps = (at["C"] - at["E"], at["G"] - at["C"], at["G"] - at["K"], at["K"] - at["I"])
    height = at["G"] - min(at["A"], at["M"])
    return min(steps) / height * (1.0 if 20 <= len(labels) <= 72 else 0.5)


HEAD_AND_SHOULDERS = Story(
    file="head_and_shoulders.sql",
    title="Head and shoulders",
    lead="Three peaks, the middle one highest, then a fall below both lows beside the head: a classic sign that a rise "
    "is over. Thirteen variables, twelve conditions, several of them comparing with rows matched long before.",
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
    lead="An unbroken fall of at least one percent, and an unbroken rise straight back to where it began. The "
    "reluctant RISE+? ends the match at the first trade that is back at the top.",
    table="trades",
    key="symbol",
    phases=(
        Phase("top", ("TOP",), 1),
        Phase("fall", ("FALL",), 4),
        Phase("rise", ("RISE",), 3),
        Phase("back", ("BACK",), 2),
    ),
    marked=("TOP", "FALL", "BACK"),
    clarity=lambda labels, prices: 1 - min(prices) / prices[0],
)

CARD_FRAUD = Story(
    file="card_fraud.sql",
    title="Card fraud",
    lead="A thief tries a stolen card with a few tiny payments, then takes a large amount, all within ten minutes. "
    "A payment is large compared with the average of the probes matched so far.",
    table="payments",
    key="card",
    phases=(Phase("probe", ("PROBE",), 1), Phase("hit", ("HIT",), 4)),
    marked=("HIT",),
    clarity=lambda labels, amounts: amounts[-1],
)

STORIES = (HEAD_AND_SHOULDERS, V_SHAPES, CARD_FRAUD)
