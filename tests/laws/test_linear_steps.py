"""No catastrophic backtracking: where conditions don't read the run, steps grow with the rows, not faster."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.matching import match_engine, search_driver
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import MatchError
from ostinato.local.local_clause import match_table

PATTERNS = {
    "(A|B)* C": "(A | B)* C",
    "A* A* A* B": "A* A* A* B",
    "(A+)+ B": "(A+)+ B",
    "((A|B)*)* C": "((A | B)*)* C",
    "reluctant": "(A+?)+? B",
    "optional": "(A? A?)* A* C",
    "permute": "PERMUTE(A*, B*)* C",
    "anchored": "(A | B)* $ A | (A+)+ B $ | A* A* C",
}
NAMES = {"A": "s = 'a'", "B": "s = 'b'", "C": "s = 'c'"}


def clause(pattern: str, rule: str = "AFTER MATCH SKIP PAST LAST ROW") -> str:
    defined = ", ".join(f"{name} AS {text}" for name, text in NAMES.items() if name in pattern.replace("PERMUTE", ""))
    return f"ORDER BY id MEASURES count(*) AS n {rule} PATTERN ({pattern}) DEFINE {defined}"


def hopeless(count: int, pattern: str) -> pa.Table:
    """Rows that go on and on, but never to the end of the pattern: no C, or no B where the pattern has no C."""
    letters = "ab" if pattern.endswith("C") else "a"
    kinds = np.array(list(letters))[np.random.default_rng(7).integers(0, len(letters), count)]
    return pa.table({"id": np.arange(count), "s": kinds})


def steps(monkeypatch: pytest.MonkeyPatch, text: str, table: pa.Table) -> tuple[int, pa.Table]:
    """The steps that the search took, and what it found."""
    taken: list[int] = []
    run = search_driver.run_search

    def counting(*args: Any) -> search_driver.SearchOutcome:
        outcome = run(*args)
        taken.append(outcome.steps)
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(match_engine, "run_search", counting)
        found = match_table(parse_clause(text), table)
    assert taken, "the query went another way than through the search"
    return sum(taken), found


@pytest.mark.parametrize("name", PATTERNS)
def test_without_an_end_in_sight(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = clause(PATTERNS[name])
    few, none = steps(monkeypatch, text, hopeless(1_000, PATTERNS[name]))
    many, still_none = steps(monkeypatch, text, hopeless(10_000, PATTERNS[name]))
    assert none.num_rows == still_none.num_rows == 0
    assert many <= max(10.5 * few, 10_000)


@pytest.mark.parametrize("name", ["(A|B)* C", "((A|B)*)* C", "permute"])
def test_with_an_end_far_away(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one C is the last row: the match takes everything. A row is met anew whenever the search needs more room."""
    text = clause(PATTERNS[name])
    for count in (1_000, 10_000):
        table = hopeless(count - 1, PATTERNS[name])
        table = pa.concat_tables([table, pa.table({"id": [count], "s": ["c"]})])
        number, found = steps(monkeypatch, text, table)
        assert found.to_pylist() == [{"n": count}]
        assert count <= number <= 4 * count


def test_many_matches_of_one_row_each(monkeypatch: pytest.MonkeyPatch) -> None:
    text = clause("(A+?)+? | (B+?)+?")
    few, some = steps(monkeypatch, text, hopeless(1_000, "A B C"))
    many, more = steps(monkeypatch, text, hopeless(10_000, "A B C"))
    assert (some.num_rows, more.num_rows) == (1_000, 10_000)
    assert many <= 10.5 * few


@pytest.mark.parametrize("rule", ["INCREMENTAL MATCHES", "AFTER MATCH SKIP TO NEXT ROW"])
def test_other_rules_without_an_end_in_sight(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = clause("(A | B)* C", rule)
    few, _ = steps(monkeypatch, text, hopeless(1_000, "C"))
    many, found = steps(monkeypatch, text, hopeless(10_000, "C"))
    assert found.num_rows == 0
    assert many <= max(10.5 * few, 10_000)


@pytest.mark.parametrize("name", ["(A|B)* C", "A* A* A* B", "(A+)+ B", "((A|B)*)* C"])
def test_a_hundred_thousand_rows(name: str) -> None:
    text = clause(PATTERNS[name])
    match_table(parse_clause(text), hopeless(10, PATTERNS[name]))  # compile first
    table = hopeless(100_000, PATTERNS[name])
    before = time.perf_counter()
    assert match_table(parse_clause(text), table).num_rows == 0
    assert time.perf_counter() - before < 5


def test_bounds_keep_it_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """MAXLENGTH cuts reachability's knowledge short; then (state, row) is remembered for each start."""
    text = clause("(A+)+ B").replace("DEFINE", "MAXLENGTH 20 DEFINE")
    rows = pa.table({"id": np.arange(2_000), "s": ["a"] * 1_999 + ["b"]})
    taken, found = steps(monkeypatch, text, rows)
    assert found.to_pylist() == [{"n": 20}]
    assert taken <= 2_000 * 20 * 4


def test_too_many_partial_matches() -> None:
    """Where a condition over the run leaves 2^n candidates, the error names the bound, its setting and the key."""
    text = (
        "PARTITION BY k ORDER BY id MEASURES count(*) AS n PATTERN ((A | B)* C) "
        "DEFINE C AS count(A.*) = 1000 AND count(B.*) = 1000"
    )
    table = pa.table({"k": ["calm"] * 2 + ["wild"] * 40, "id": np.arange(42)})
    with pytest.raises(MatchError) as caught:
        match_table(parse_clause(text), table, limits=Limits(max_partial_matches=10_000))
    assert caught.value.code == "TOO_MANY_PARTIAL_MATCHES"
    assert "max_partial_matches" in str(caught.value)
    assert "wild" in str(caught.value)
    assert "10,000" in str(caught.value)
