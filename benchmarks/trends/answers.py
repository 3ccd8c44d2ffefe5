"""The right answers first: all techniques agree on small streams, and with the paper's own numbers."""

from __future__ import annotations

import numpy as np

from benchmarks.experiment import Scale, expect
from benchmarks.records import Record
from benchmarks.trends import techniques as ways
from benchmarks.trends.static_sharing import VALUES
from benchmarks.trends.streams import MINUTE_US, SECOND_US, START_US, TYPES, Stream, in_seconds, ridesharing, stocks
from benchmarks.trends.techniques import Technique, check_same
from benchmarks.trends.workloads import ChainQuery, Step, alike, diverse

PAPER_STREAM = "AACBBBBAACCCB"
PAPER_COUNTS = {"A": 64, "C": 34}
"""SEQ(A, B+) and SEQ(C, B+), Examples 4 to 6."""
ENGINES = (ways.SEPARATE, ways.SEPARATE_APPROXIMATE, ways.SHARED, ways.SHARED_APPROXIMATE, ways.ALWAYS, ways.NEVER)
LOOP_TECHNIQUES = (ways.PLAIN, ways.GRETA, ways.FLATTENED, *ENGINES)


def check_answers(scale: Scale) -> list[Record]:
    """Raises WrongAnswer; the records are how many results were compared."""
    return [_check_paper(), *_check_workload_1(), _check_workload_2()]


def _check_paper() -> Record:
    letters = ("B", "A", "C")
    queries = [
        ChainQuery((Step(letters.index(first)), Step(0, kleene=True)), MINUTE_US, MINUTE_US) for first in PAPER_COUNTS
    ]
    stream = Stream(
        types=letters,
        kind=np.array([letters.index(letter) for letter in PAPER_STREAM]),
        time_us=START_US + np.arange(len(PAPER_STREAM)) * SECOND_US,
        key=np.zeros(len(PAPER_STREAM), np.int64),
        values={},
    )
    programs = [query.program() for query in queries]
    found = check_same("the paper's stream", programs, stream.events(), LOOP_TECHNIQUES)
    counts = [int(np.asarray(results.count)[0]) for results in found]
    expect("the paper's stream", counts, list(PAPER_COUNTS.values()))
    return Record("trends", "answers", "the paper's stream", "all techniques agree", sum(counts), "trends")


def _check_workload_1() -> list[Record]:
    """By driver, with ties, and in windows that slide."""
    stream = ridesharing(4_000, per_minute=4_000, drivers=100, shared=0.3)
    queries = alike(40, TYPES, 30 * SECOND_US, 10 * SECOND_US)
    return [
        _compared(f"workload 1, {case}", queries, events, (*LOOP_TECHNIQUES, ways.TWO_STEP))
        for case, events in (("distinct times", stream), ("times in seconds", in_seconds(stream)))
    ]


def _check_workload_2() -> Record:
    """A minute lasts a second here."""
    stream = stocks(2_000, per_minute=2_000, burst=12)
    queries = diverse(30, TYPES, VALUES, minute_us=SECOND_US)
    return _compared("workload 2", queries, stream, (ways.GRETA, *ENGINES))


def _compared(case: str, queries: list[ChainQuery], stream: Stream, techniques: tuple[Technique, ...]) -> Record:
    programs = [query.program() for query in queries]
    found = check_same(case, programs, stream.events(queries[0].values), techniques)
    results = sum(len(of_query.window) for of_query in found)
    return Record("trends", "answers", case, f"{len(techniques)} techniques agree", results, "results")
