"""The engines that `explain` names for a workload are those that ran."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.event_queries.trends.graphlets.graphlet_engine import PROGRAMS as ON_GRAPHLETS
from ostinato.event_queries.trends.separate.separate_engine import PROGRAMS as BY_THEMSELVES
from ostinato.event_queries.trends.shared.shared_engine import PROGRAMS as ON_ONE_LOG

KINDS = "ACBBBDBACBBDCA"
BEGIN = datetime(2024, 1, 1)
TABLE = pa.table(
    {
        "ts": pa.array([BEGIN + timedelta(seconds=i) for i in range(len(KINDS))], pa.timestamp("us")),
        "kind": list(KINDS),
        "x": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7],
        "y": [0.5] * len(KINDS),
    }
)
PLAIN = ("SEQ(A, B+) RETURN COUNT(*)", "SEQ(B+, C) RETURN SUM(C.y)", "SEQ(C, B+) RETURN MAX(B.x)")
PAIRS = tuple(f"SEQ({kind}, B+ b) WHERE abs(NEXT(b).x - b.x) < 3 RETURN COUNT(*)" for kind in "AC")
IN_ORDER = tuple(f"SEQ({kind}, B+ b) WHERE NEXT(b).x > b.x RETURN COUNT(*)" for kind in "AC")
WINDOWS = tuple(
    f"SEQ({kind}, B+) WITHIN {n} SECONDS SLIDE 2 SECONDS RETURN COUNT(*)" for kind, n in (("A", 4), ("C", 8))
)
PLACES = tuple(f"SEQ({kind}, B+) WITHIN 6 EVENTS SLIDE 2 EVENTS RETURN COUNT(*)" for kind in "AC")
ABSENT = ("SEQ(A, NOT D, B+) RETURN COUNT(*)", "SEQ(C, NOT SEQ(A, D), B+) RETURN COUNT(*)")
APART = (
    "SEQ(A, C) RETURN COUNT(*)",
    "SEQ(A, B+) WITHIN 3 SECONDS RETURN COUNT(*)",
    "SEQ(A, B+) STRICT RETURN COUNT(*)",
)
WORKLOADS = {
    "plain": PLAIN,
    "one pair condition beside plain queries": (*PLAIN, PAIRS[0]),
    "pair conditions": PAIRS,
    "pair conditions beside plain queries": (*PLAIN, *PAIRS),
    "pair conditions of other events": (*PAIRS, "SEQ(B+, C+ c) WHERE abs(NEXT(c).x - c.x) < 3 RETURN COUNT(*)"),
    "comparisons in order": (*IN_ORDER, *PLAIN),
    "windows": (*WINDOWS, *PLAIN),
    "windows by events": (*PLACES, *(text.replace("RETURN", "WITHIN 6 EVENTS TUMBLE RETURN") for text in PAIRS)),
    "negation": (*PLAIN, *ABSENT),
    "nothing to share": APART,
    "everything": (*PLAIN, *PAIRS, *IN_ORDER, *WINDOWS, *PLACES, *ABSENT, *APART),
}


def told(text: str) -> Counter[str]:
    """How many queries an explanation gives to each engine."""
    queries: Counter[str] = Counter()
    lines = [line.strip() for line in text.split("\n")]
    for line, detail in pairwise(lines):
        engine, _, names = line.partition(": ")
        if engine == "separate engine":
            queries[BY_THEMSELVES] += len(names.split(", "))
        elif engine == "shared engine":
            queries[ON_GRAPHLETS if detail.startswith("graphlets") else ON_ONE_LOG] += len(names.split(", "))
    return queries


@pytest.mark.parametrize("sharing", ["dynamic", "always", "never"])
def test_explain_names_the_engines_that_run(sharing: str) -> None:
    for name, patterns in WORKLOADS.items():
        texts = [f"TYPE kind TIME ts PATTERN {pattern}" for pattern in patterns]
        workload = ost.Workload(texts, sharing=sharing)
        counted = workload.run(TABLE).counters.statistics
        ran = {engine: counted[engine] for engine in (ON_GRAPHLETS, BY_THEMSELVES, ON_ONE_LOG) if engine in counted}
        assert sum(ran.values()) == len(texts)
        assert told(ost.explain(workload, TABLE).text) == ran, name


@pytest.mark.parametrize("more", [PAIRS[:1], PAIRS, IN_ORDER])
def test_a_query_with_a_pair_condition_costs_the_plain_ones_nothing(more: tuple[str, ...]) -> None:
    def updates(*patterns: str) -> int:
        found = ost.Workload([f"TYPE kind TIME ts PATTERN {pattern}" for pattern in patterns]).run(TABLE)
        return found.counters.statistics.get("lane updates", 0)

    assert updates(*PLAIN, *more) - updates(*more) == updates(*PLAIN) > 0
