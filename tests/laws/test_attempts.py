"""Attempts come as far as the oracle says, for the same reasons, on random clauses over random small tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import clauses, tables

from ostinato.clause.attempts.attempt import Attempt, KeyAttempts, Reason
from ostinato.clause.attempts.attempt_engine import AttemptOptions
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.errors import MatchError
from ostinato.local.local_attempts import clause_attempts
from ostinato.local.local_clause import match_table
from ostinato.reference.attempt_oracle import MOST_MISSING, OracleAttempt, attempts

ANSWERS = Declined(
    {**CLAUSES, "WHY_NOT_UNSUPPORTED": "timeouts count in MATCH_NUMBER() of a condition"},
    most_declined=0.15,
)
"""Examples with a refused start count as those with rows."""
OPTIONS = AttemptOptions(max_attempts=100, max_trials=20_000)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with ANSWERS.counted():
        yield


def check(text: str, table: pa.Table, *, one_path: bool = False) -> None:
    """`one_path`: in this pattern, labels lead to one state only, so the near miss is determined."""
    wrong = difference(text, table, one_path)
    assert wrong is None, f"{text}\n{table.to_pylist()}\n{wrong}"


def difference(text: str, table: pa.Table, one_path: bool) -> str | None:
    """Compares key by key. Equal errors of a clause that can't be matched at all count as equal."""
    query = parse_clause(text)
    names = [key.column.text for key in query.partition_by]
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        groups.setdefault(repr([row[name] for name in names]), []).append(row)
    engine, oracle = [], []
    with ANSWERS.example():
        try:
            for rows in groups.values():
                key = {name: rows[0][name] for name in names}
                engine.append(clause_attempts(query, table, key=key, rows=None, options=OPTIONS).attempts)
        except MatchError as error:
            return _same_error(text, table, error)
    with ANSWERS.oracle():
        for rows in groups.values():
            oracle.extend(attempts(query, table.column_names, rows))
    refused = [each for partition in oracle for each in partition if each.outcome == "refused"]
    ANSWERS.answered(rows=bool(refused))
    return next(
        (wrong for one, other in zip(engine, oracle, strict=True) if (wrong := _key_difference(one, other, one_path))),
        None,
    )


def _same_error(text: str, table: pa.Table, error: MatchError) -> str | None:
    try:
        match_table(parse_clause(text), table)
    except MatchError as other:
        return None if other.code == error.code else f"attempts fail with {error}, matching with {other}"
    return f"attempts fail with {error}, matching doesn't"


def _key_difference(engine: KeyAttempts, oracle: Sequence[OracleAttempt], one_path: bool) -> str | None:
    starts, shown = engine.starts, {attempt.start: attempt for attempt in engine.attempts}
    if not engine.complete:
        return "the search isn't complete"
    for at, expected in enumerate(oracle):
        found = (starts.outcome[at].value, int(starts.match[at]), int(starts.rows[at]))
        if found != (expected.outcome, expected.match, expected.rows):
            return f"start {at}: {found}, not {expected}"
        if expected.outcome == "refused" and (
            wrong := _attempt_difference(shown[at], expected) or _miss_difference(shown[at], expected, one_path)
        ):
            return f"start {at}: {wrong}\n{shown[at]}\n{expected}"
    order = [(-attempt.rows, attempt.start) for attempt in engine.attempts]
    return None if order == sorted(order) else f"attempts in the order {order}"


def _attempt_difference(attempt: Attempt, expected: OracleAttempt) -> str | None:
    missing = attempt.missing if attempt.missing is not None and attempt.missing <= MOST_MISSING else None
    if missing != expected.missing:
        return "missing rows differ"
    if labels_of(attempt) not in expected.nearest:
        return "no such path"
    others = [refusal for refusal in attempt.refusals if refusal.reason is not Reason.CONDITION]
    if {refusal.reason.value for refusal in others} != expected.reasons:
        return "reasons differ"
    if expected.verdicts is None:
        (bound,) = (refusal for refusal in others if refusal.variables)
        return None if set(bound.variables) == expected.next_variables else "variables differ"
    conditions = [refusal for refusal in attempt.refusals if refusal.reason is Reason.CONDITION]
    if {refusal.variables[0] for refusal in conditions} != expected.next_variables:
        return "refused variables differ"
    for refusal in conditions:
        if tuple(part.verdict.value for part in refusal.parts) not in expected.verdicts[refusal.variables[0]]:
            return f"parts of {refusal.variables[0]} differ"
    return None


def labels_of(attempt: Attempt) -> tuple[str, ...]:
    return tuple(run.variable for run in attempt.labels for _ in range(run.rows))


def _miss_difference(attempt: Attempt, expected: OracleAttempt, one_path: bool) -> str | None:
    if attempt.missing is None or attempt.missing > MOST_MISSING:
        return None
    found = attempt.near_miss
    miss = None if expected.misses is None else expected.misses[labels_of(attempt)]
    if found is None or miss is None:
        return "near miss differs" if found is not None or (one_path and miss is not None) else None
    if found.row != miss.row:
        return "row of near miss differs" if one_path or found.row > miss.row else None
    verdicts = {each.variables[0]: tuple(part.verdict.value for part in each.parts) for each in found.refusals}
    if one_path:
        return None if verdicts == miss.verdicts else "near miss has other refusals"
    return None if verdicts.items() <= miss.verdicts.items() else "near miss has a wrong refusal"


_PARTS = (
    "x > 0",
    "x >= PREV(x)",
    "s <> 'c'",
    "NEXT(x) IS NOT NULL",
    "x > A.x",
    "x <= FIRST(x)",
    "count(*) < 4",
    "sum(x) > 1",
    "y < avg(y) + 1",
    "PREV(CLASSIFIER()) <> 'B'",
    "count(DISTINCT x) >= 2",
    "(x = 1 OR B.x > A.x)",
    "FIRST(s) || s <> 'aa'",
    "x <> 0 AND 4 / x > A.x",
)


@st.composite
def long_attempts(draw: Callable[[st.SearchStrategy[Any]], Any]) -> str:
    """Clauses whose matches need several rows, so that many attempts end on the way, and several paths lead there."""
    pattern = draw(
        st.sampled_from(["A B+ C", "A (B | C)* D", "A+ B? C D", "(A | B)+ C $", "A B*? C+ D", "A {- B+ -} C"])
    )
    names = sorted(set(re.findall("[A-D]", pattern)))
    parts = [part for part in _PARTS if "B" in names or "B." not in part]
    conditions = [" AND ".join(draw(st.lists(st.sampled_from(parts), max_size=2, unique=True))) for _ in names]
    defined = [f"{name} AS {condition}" for name, condition in zip(names, conditions, strict=True) if condition]
    bounds = draw(st.sampled_from(["", "", "WITHIN INTERVAL '2' MINUTE", "WITHIN INTERVAL '1' MINUTE", "MAXLENGTH 3"]))
    define = f"DEFINE {', '.join(defined)}" if defined else ""
    return f"ORDER BY t, id MEASURES 1 AS m PATTERN ({pattern}) {bounds} {define}"


@given(long_attempts(), tables())
def test_long_attempts(text: str, table: pa.Table) -> None:
    check(text, table, one_path=True)


@given(long_attempts(), tables())
def test_a_stopped_search_tells_the_rows_consumed_at_least_and_at_most(text: str, table: pa.Table) -> None:
    query = parse_clause(text)
    with ANSWERS.example():
        stopped = clause_attempts(query, table, key=None, rows=None, options=AttemptOptions(100, max_trials=3)).attempts
    with ANSWERS.oracle():
        expected = [each for partition in attempts(query, table.column_names, table.to_pylist()) for each in partition]
    starts = stopped.starts
    ANSWERS.answered(rows=any(each.outcome == "refused" for each in expected))
    for each, rows, most, complete in zip(
        expected, starts.rows.tolist(), starts.most_rows.tolist(), starts.complete.tolist(), strict=True
    ):
        assert rows <= each.rows <= most, (text, table.to_pylist())
        assert not complete or rows == each.rows == most


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(long_attempts(), tables())
def test_long_attempts_deeply(text: str, table: pa.Table) -> None:
    check(text, table, one_path=True)


@given(clauses(), tables())
def test_preferred_matches(text: str, table: pa.Table) -> None:
    check(text, table)


@given(clauses(modes=True), tables(most_rows=6))
def test_match_modes(text: str, table: pa.Table) -> None:
    check(text, table)


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(clauses(), tables())
def test_preferred_matches_deeply(text: str, table: pa.Table) -> None:
    check(text, table)
