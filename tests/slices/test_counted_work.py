"""Two workers search hardly more rows than one, for every pattern and input: costly slices are given up."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.matching.match_engine import SearchResult
from ostinato.clause.matching.spans import Spans
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.local.local_clause import match_table
from ostinato.slices import cutting as slices
from ostinato.slices import in_process
from ostinato.slices.slice_threads import Parallel

ROWS = 6_000
LETTERS = "A AS letter = 'A', B AS letter = 'B', X AS letter = 'X'"
PATTERNS = {
    "gap": f"PATTERN (A X* B) DEFINE {LETTERS}",
    "gap from every row": f"AFTER MATCH SKIP TO NEXT ROW PATTERN (A X* B) DEFINE {LETTERS}",
    "gap within": f"PATTERN (A X* B) WITHIN INTERVAL '1' HOUR DEFINE {LETTERS}",
    "loop over the run": "PATTERN (S U+ E) DEFINE U AS value > S.value, E AS value < S.value - 1",
    "loop to the end": "PATTERN (S U+ E) DEFINE U AS value >= 0, E AS value + S.value < 0",
    "fixed length": "PATTERN (S U E) DEFINE U AS value > PREV(value), E AS value > PREV(value)",
    "chains that seldom meet": "PATTERN (S{3} E?) DEFINE E AS value < 0 AND S.value < 0",
    "bounded": "PATTERN (S U+ E) MAXLENGTH 8 DEFINE U AS value > S.value, E AS value < S.value - 1",
    "long bound": "ALL MATCHES PATTERN (S U+ E) MAXLENGTH 400 DEFINE U AS value > S.value, E AS value < S.value - 1",
    "all matches": "ALL MATCHES PATTERN (S U+ E) MAXLENGTH 20 DEFINE U AS value > S.value, E AS value < S.value - 1",
}
INPUTS = {
    "mixed": lambda rng: (rng.choice(list("ABX"), ROWS), rng.normal(size=ROWS)),
    "no end": lambda rng: (np.where(np.arange(ROWS) % 2_000 == 3, "A", "X"), rng.normal(size=ROWS)),
    "rare end": lambda rng: (rng.choice(list("ABX"), ROWS, p=[0.003, 0.003, 0.994]), rng.normal(size=ROWS)),
    "walk": lambda rng: (rng.choice(list("ABX"), ROWS), np.cumsum(rng.normal(size=ROWS))),
    "rise": lambda rng: (np.full(ROWS, "X"), np.arange(ROWS) % 700 / 10.0 - 1),
}


@pytest.fixture(autouse=True)
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices and searches have a hundredth of their real size."""
    monkeypatch.setattr(slices, "SMALLEST_SLICE", 300)
    monkeypatch.setattr(in_process, "_FIRST_LOOK", 4)
    monkeypatch.setattr(in_process, "_FIRST_REPEAT", 2)


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each search."""
    rows: list[int] = []
    search = Worker.search

    def counted(worker: Worker, window: Window, spans: Spans) -> SearchResult:
        rows.append(window.columns.count)
        return search(worker, window, spans)

    monkeypatch.setattr(Worker, "search", counted)
    return rows


def table(rows: str, keys: int = 1) -> pa.Table:
    letter, value = INPUTS[rows](np.random.default_rng(7))
    time = np.arange(ROWS) * 1_000_000
    key = np.arange(ROWS) * keys // ROWS
    return pa.table({"key": key, "ts": pa.array(time, pa.timestamp("us")), "letter": letter, "value": value})


def matched(pattern: str, data: pa.Table, workers: int) -> pa.Table:
    text = f"PARTITION BY key ORDER BY ts MEASURES FIRST(ts) AS first, count(*) AS n {PATTERNS[pattern]}"
    return match_table(parse_clause(text), data, parallel=Parallel(workers))


@pytest.mark.parametrize("keys", [1, 9])
@pytest.mark.parametrize("rows", INPUTS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_two_workers_search_hardly_more_rows_than_one(searched: list[int], pattern: str, rows: str, keys: int) -> None:
    data = table(rows, keys)
    alone = matched(pattern, data, 1)
    assert searched == [ROWS]
    searched.clear()
    assert matched(pattern, data, 2) == alone
    assert sum(searched) <= 1.3 * ROWS


@pytest.mark.parametrize("pattern", ["bounded", "all matches", "gap"])
def test_slices_that_save_time_are_kept(searched: list[int], pattern: str) -> None:
    matched(pattern, table("mixed"), 2)
    assert len(searched) >= 8
    assert max(searched) < ROWS / 4


def test_patterns_of_fixed_length_use_one_thread_without_slice_rows(searched: list[int]) -> None:
    data = table("mixed")
    alone = matched("fixed length", data, 2)
    assert searched == [ROWS]
    text = f"PARTITION BY key ORDER BY ts MEASURES FIRST(ts) AS first, count(*) AS n {PATTERNS['fixed length']}"
    assert match_table(parse_clause(text), data, parallel=Parallel(2, 1_000)) == alone
    assert len(searched) > 4
