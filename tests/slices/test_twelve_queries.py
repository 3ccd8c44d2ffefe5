"""The paper's twelve queries over a million prices: two workers give the same rows as one."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from benchmarks.queries import KNOWN_COUNTS, QUERIES, Mode, PatternQuery, prices

import ostinato as ost

ROWS = 1_000_000
MODES = {
    "skip to next row": "AFTER MATCH SKIP TO NEXT ROW",
    "skip past last row": "AFTER MATCH SKIP PAST LAST ROW",
    "skip to first C": "AFTER MATCH SKIP TO FIRST C",
    "skip to last C": "AFTER MATCH SKIP TO LAST C",
    "all matches": "ALL MATCHES",
    "maximal matches": "MAXIMAL MATCHES",
    "incremental matches": "INCREMENTAL MATCHES",
}

COUNTED = {"skip to next row": Mode.PREFERRED, "all matches": Mode.ALL}
"""The modes in which other matchers have counted some of the queries' matches."""


@pytest.fixture(scope="module")
def ticks() -> pa.Table:
    return pa.table({"ts": np.arange(ROWS), "price": prices(ROWS)})


def clause_of(query: PatternQuery, mode: str) -> str:
    """The query with the first and the last row of each match, because different matches may have equal prices."""
    bound = " MAXLENGTH 100" if mode.endswith("matches") else ""
    return f"""
        ORDER BY ts MEASURES MATCH_NUMBER() AS n, FIRST(ts) AS f, LAST(ts) AS l {MODES[mode]}
        PATTERN ({query.pattern}){bound} DEFINE {query.define}"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_two_workers_give_the_rows_of_one(ticks: pa.Table, query: PatternQuery, mode: str) -> None:
    clause = clause_of(query, mode)
    unsliced = ost.match(clause, ticks)
    assert ost.match(clause, ticks, workers=2).equals(unsliced)
    assert ost.match(clause, ticks, workers=2, slice_rows=5_000).equals(unsliced)
    known = KNOWN_COUNTS.get((query.name, COUNTED[mode], ROWS)) if mode in COUNTED else None
    assert known in (None, unsliced.num_rows)
