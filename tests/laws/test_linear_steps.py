"""No catastrophic backtracking: if conditions don't read the run, the number of steps grows linearly with the rows."""

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


def endless_rows(count: int, pattern: str) -> pa.Table:
    """Rows that never complete the pattern: they lack C, or B if the pattern doesn't end with C."""
    letters = "ab" if pattern.endswith("C") else "a"
    kinds = np.array(list(letters))[np.random.default_rng(7).integers(0, len(letters), count)]
    return pa.table({"id": np.arange(count), "s": kinds})


def steps(monkeypatch: pytest.MonkeyPatch, text: str, table: pa.Table) -> tuple[int, pa.Table]:
    """The number of steps of the search, and its result."""
    step_counts: list[int] = []
    run = search_driver.run_search

    def counting(*args: Any, **named: Any) -> search_driver.SearchOutcome:
        outcome = run(*args, **named)
        step_counts.append(outcome.steps)
        return outcome

    with monkeypatch.context() as patch:
        patch.setattr(match_engine, "run_search", counting)
        result = match_table(parse_clause(text), table)
    assert step_counts, "the engine didn't use the search"
    return sum(step_counts), result


@pytest.mark.parametrize("name", PATTERNS)
def test_rows_that_never_complete_the_pattern(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = clause(PATTERNS[name])
    few, none = steps(monkeypatch, text, endless_rows(1_000, PATTERNS[name]))
    many, still_none = steps(monkeypatch, text, endless_rows(10_000, PATTERNS[name]))
    assert none.num_rows == still_none.num_rows == 0
    assert many <= max(10.5 * few, 10_000)


@pytest.mark.parametrize("name", ["(A|B)* C", "((A|B)*)* C", "permute"])
def test_one_match_over_all_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The only C is the last row, so the match has all rows. The search visits a row again when its buffers grow."""
    text = clause(PATTERNS[name])
    for count in (1_000, 10_000):
        table = endless_rows(count - 1, PATTERNS[name])
        table = pa.concat_tables([table, pa.table({"id": [count], "s": ["c"]})])
        step_count, result = steps(monkeypatch, text, table)
        assert result.to_pylist() == [{"n": count}]
        assert count <= step_count <= 4 * count


def test_many_matches_of_one_row_each(monkeypatch: pytest.MonkeyPatch) -> None:
    text = clause("(A+?)+? | (B+?)+?")
    few, few_rows = steps(monkeypatch, text, endless_rows(1_000, "A B C"))
    many, many_rows = steps(monkeypatch, text, endless_rows(10_000, "A B C"))
    assert (few_rows.num_rows, many_rows.num_rows) == (1_000, 10_000)
    assert many <= 10.5 * few


@pytest.mark.parametrize("rule", ["INCREMENTAL MATCHES", "AFTER MATCH SKIP TO NEXT ROW"])
def test_other_rules_on_rows_that_never_complete_the_pattern(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = clause("(A | B)* C", rule)
    few, _ = steps(monkeypatch, text, endless_rows(1_000, "C"))
    many, result = steps(monkeypatch, text, endless_rows(10_000, "C"))
    assert result.num_rows == 0
    assert many <= max(10.5 * few, 10_000)


@pytest.mark.parametrize("name", ["(A|B)* C", "A* A* A* B", "(A+)+ B", "((A|B)*)* C"])
def test_a_hundred_thousand_rows(name: str) -> None:
    text = clause(PATTERNS[name])
    match_table(parse_clause(text), endless_rows(10, PATTERNS[name]))  # compile first
    table = endless_rows(100_000, PATTERNS[name])
    before = time.perf_counter()
    assert match_table(parse_clause(text), table).num_rows == 0
    assert time.perf_counter() - before < 5


def test_maxlength_bounds_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reachability ignores MAXLENGTH. So the search remembers (state, row) for each start."""
    text = clause("(A+)+ B").replace("DEFINE", "MAXLENGTH 20 DEFINE")
    rows = pa.table({"id": np.arange(2_000), "s": ["a"] * 1_999 + ["b"]})
    step_count, result = steps(monkeypatch, text, rows)
    assert result.to_pylist() == [{"n": 20}]
    assert step_count <= 2_000 * 20 * 4


def test_too_many_partial_matches_raise() -> None:
    """A condition over the run leaves 2^n candidates. The error names the bound, its setting and the key."""
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
