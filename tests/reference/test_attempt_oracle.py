"""The oracle of attempts, on cases worked out by hand."""

from __future__ import annotations

from tests.reference.letters import kinds, letters

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.reference.attempt_oracle import OracleAttempt, OracleMiss, attempts


def of(pattern: str, text: str, define: str | None = None) -> list[OracleAttempt]:
    define = kinds(pattern) if define is None else define
    clause = parse_clause(f"ORDER BY n MEASURES 1 AS m PATTERN ({pattern}) {define}")
    (found,) = attempts(clause, ["n", "kind"], letters(text))
    return found


def test_outcomes() -> None:
    found = of("A B", "ABAX")
    assert [(each.outcome, each.match, each.rows) for each in found] == [
        ("matched", 1, 2),
        ("inside a match", 1, 0),
        ("refused", 0, 1),
        ("refused", 0, 0),
    ]


def test_a_condition_refuses() -> None:
    attempt = of("A B+ C", "ABX")[0]
    assert (attempt.rows, attempt.missing, attempt.nearest) == (2, 1, {("A", "B")})
    assert attempt.next_variables == {"B", "C"}
    assert attempt.verdicts == {"B": {("FALSE",)}, "C": {("FALSE",)}}
    assert not attempt.reasons


def test_the_end_refuses_and_a_near_miss_is_remembered() -> None:
    attempt = of("A X* C", "AXX", "DEFINE A AS kind = 'A', C AS kind = 'C' AND n < 2")[0]
    assert (attempt.rows, attempt.reasons, attempt.verdicts) == (3, {"end of rows"}, None)
    assert attempt.misses == {("A", "X", "X"): OracleMiss(2, {"C": ("FALSE", "FALSE")})}


def test_a_match_that_would_end_too_early() -> None:
    attempt = of("A B $", "ABX")[0]
    assert (attempt.rows, attempt.missing, attempt.reasons, attempt.next_variables) == (
        2,
        0,
        {"rows follow"},
        frozenset(),
    )


def test_of_all_longest_paths_the_nearest_count() -> None:
    attempt = of("A X* B X* C", "AXBX", "DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'")[0]
    assert (attempt.rows, attempt.missing, attempt.nearest) == (4, 1, {("A", "X", "B", "X")})
