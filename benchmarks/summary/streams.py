"""Letters as the paper draws them, one a microsecond: kinds of streams -> types of events, with their probabilities.

The distributions and their parameters are those of the authors' generator; Citi Bike and NASDAQ are the letters'
shares that they publish, drawn independently (`recorded.py` derives letters from real trips and bars instead).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostinato.summaries.engine.summary import Summary, SummaryEvents
from ostinato.summaries.language.summary_query import Strategy, SummaryAggregate, SummaryQuery

EXPRESSION = "a(b*c)*d(e|f)g*"
"""The paper's, for all synthetic streams."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of stream: letters and their probabilities."""

    name: str
    letters: str
    probabilities: tuple[float, ...]

    def draw(self, rows: int, seed: int) -> Letters:
        letters = np.random.default_rng(seed).choice(len(self.letters), rows, p=self.probabilities)
        return Letters(self, letters, np.arange(rows, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Letters:
    """A stream: indices into `kind.letters`, and times."""

    kind: Kind
    places: NDArray[np.int64]
    time: NDArray[np.int64]
    values: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.places)

    def events(self, summary: Summary) -> SummaryEvents:
        codes = summary.codes(list(self.kind.letters))[self.places]
        return SummaryEvents(self.time, codes, self.values)


def kind_of(name: str, shares: Mapping[str, float]) -> Kind:
    total = sum(shares.values())
    return Kind(name, "".join(shares), tuple(share / total for share in shares.values()))


def _zipf(letters: str, exponent: float) -> dict[str, float]:
    return {letter: 1.0 / rank**exponent for rank, letter in enumerate(letters, 1)}


def _normal(letters: str) -> dict[str, float]:
    """Mean and deviation as the authors have them: half and a quarter of the number of letters."""
    middle, deviation = len(letters) / 2, len(letters) / 4
    return {letter: np.exp(-(((rank - middle) / deviation) ** 2) / 2) for rank, letter in enumerate(letters, 1)}


def uniform(letters: str) -> Kind:
    return kind_of("uniform", dict.fromkeys(letters, 1.0))


def zipf(letters: str) -> Kind:
    return kind_of("zipf", _zipf(letters, 2.0))


LETTERS = "abcdefg"
ZIPF, NORMAL, UNIFORM = zipf(LETTERS), kind_of("normal", _normal(LETTERS)), uniform(LETTERS)
EVEN_ZIPF = kind_of("zipf, exponent 1", _zipf(LETTERS, 1.0))
SYNTHETIC = (ZIPF, NORMAL, UNIFORM)

CITI_BIKE = kind_of(
    "Citi Bike letters",
    {
        "A": 0.0057,
        "B": 0.0046,
        "C": 0.0305,
        "D": 0.0339,
        "E": 0.0370,
        "F": 0.0116,
        "G": 0.0026,
        "H": 0.0290,
        "I": 0.0986,
        "J": 0.6565,
        "K": 0.0902,
    },
)
CITI_BIKE_QUERIES = ("E(H|K)*E", "(E|B|F)+CEHF")
NASDAQ = kind_of(
    "NASDAQ letters", {"A": 0.0173, "B": 0.0179, "C": 0.0926, "D": 0.5657, "E": 0.2021, "F": 0.1038, "G": 0.0005}
)
NASDAQ_QUERIES = ("A(B|G)*A", "A*G(A|B)*G*A")


def summary_of(
    kind: Kind,
    strategy: Strategy,
    size: int,
    window: int,
    expression: str = EXPRESSION,
    aggregate: SummaryAggregate = SummaryAggregate.COUNT,
    seed: int = 1,
) -> Summary:
    """Has the stream's probabilities and one event a microsecond, as the paper assumes."""
    query = SummaryQuery(
        expression,
        window,
        size,
        aggregate,
        strategy=strategy,
        probabilities=tuple(zip(kind.letters, kind.probabilities, strict=True)),
        tick_us=1.0,
        seed=seed,
    )
    return Summary(query)
