"""Matches of a clause's pattern program, with their skipped rows filled in, equal the matches of the clause."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from tests.laws.strategies import patterns, variables_in
from tests.workloads.task.naive_patterns import naive_matches

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.matching.spans import whole_keys
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.task.clause_worker import Worker
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.expressions.types import Settings
from ostinato.rows.matches import Matches
from ostinato.workloads.plan.clause_groups import plan_clauses
from ostinato.workloads.plan.row_graph import NOTHING, PartitionPosition
from ostinato.workloads.task.clause_matches import ClauseMatches, MatchRows

DEFINITIONS = {"A": "s = 'a'", "B": "s <> 'a'", "C": "s = 'c' OR s = 'a'"}
Labelled = list[tuple[int, str]]
"""First row and labels of each match. Excluded rows have small letters."""


def both_engines(pattern: str, rows: str, *, defined: str = "ABC", rest: str = "") -> tuple[Labelled, Labelled, int]:
    """Matches of the clause's engine, matches of its pattern program, and the number of its steps that skip rows."""
    names = [name for name in variables_in(pattern) if name in defined]
    define = f"DEFINE {', '.join(f'{name} AS {DEFINITIONS[name]}' for name in names)}" if names else ""
    text = f"ORDER BY id MEASURES CLASSIFIER() AS c ALL ROWS PER MATCH ALL MATCHES PATTERN ({pattern}) {rest} {define}"
    table = pa.table({"id": range(len(rows)), "s": pa.array(list(rows), pa.string())})
    plan = make_plan(bind(parse_clause(text), table.column_names))
    local = EvaluatedPlan(plan, table.schema, Settings(), Limits())
    worker = Worker(local.typed)
    batch = local.batch({name: table.column(name).combine_chunks() for name in table.column_names}, len(rows))
    ordered = worker.order(batch)
    exact = worker.search(worker.window(batch, ordered), whole_keys(ordered.key_at)).matches

    stream = plan_clauses([local.typed], ["q"], [True]).streams[0]
    clause = stream.clauses[0]
    masks = dict(zip(plan.row_conditions, batch.row_masks, strict=True))
    conditions = []
    for test in stream.tests:
        holds = np.ones(len(rows), bool) if test.row is None else masks[test.row].copy()
        if test.position is not PartitionPosition.ANYWHERE:
            holds &= (np.arange(len(rows)) == 0) == (test.position is PartitionPosition.FIRST)
        if test.at_end:
            holds &= np.arange(len(rows)) == len(rows) - 1
        conditions.append((~holds if test.is_negated else holds).tolist())
    naive = naive_matches(clause.program, conditions, len(rows))
    offsets = np.cumsum([0, *(len(rows_of_match) for rows_of_match, _ in naive)])
    flat = MatchRows(
        offsets.astype(np.int64),
        np.array([row for rows_of_match, _ in naive for row in rows_of_match], np.int64),
        np.array([label for _, labels in naive for label in labels], np.int64),
    )
    matches = ClauseMatches(clause, plan)
    chunks = list(matches.with_all_rows(matches.preferred(flat), np.array([0, len(rows)]), most_rows=7))
    skips = sum(step.gap != NOTHING for step in clause.graph.steps)
    return labelled([exact], plan.bound.variables), labelled(chunks, plan.bound.variables), skips


def labelled(chunks: list[Matches], variables: tuple[str, ...]) -> Labelled:
    result = []
    for matches in chunks:
        for start, path_start, length in zip(matches.start, matches.path_at, matches.length, strict=True):
            letters = ""
            for i in range(path_start, path_start + length):
                name = variables[matches.label[i]]
                letters += name.lower() if matches.excluded[i] else name
            result.append((int(start), letters))
    numbers = [int(number) for matches in chunks for number in matches.number]
    assert numbers == list(range(1, len(result) + 1))
    return result


@given(patterns(), st.text("abc", max_size=6), st.sampled_from(["ABC", "AC", "B", ""]))
def test_random_patterns(pattern: str, rows: str, defined: str) -> None:
    exact, shared, skips = both_engines(pattern, rows, defined=defined)
    event(f"skips: {skips > 0}")
    assert shared == exact


GAPS = (
    ("A X* B", 1),
    ("A X*? B", 1),
    ("A X* B Y* C", 2),
    ("A B* C", 1),
    ("A X* Y* B", 3),
    ("A X*? Y* B", 3),
    ("A (X* | Y*) B", 2),
    ("A X+ B", 1),
    ("A X{2,} B", 1),
    ("X* A", 1),
    ("A X*", 0),
    ("A X* (B X*)+ C", 3),
    ("A X*? (B X*?)+? C", 5),
    ("A {- X* -} B", 1),
    ("A (X* B)?", 1),
    ("^ A X* B $", 1),
    ("^? A X* B", 1),
    ("A X* PERMUTE(B, C)", 2),
    ("(A X*){2} B", 2),
    ("A (X | Y)* B", 4),
)


@pytest.mark.parametrize(("pattern", "skips"), GAPS)
@pytest.mark.parametrize("rows", ["abcabc", "aaccab", "acbbac"])
@pytest.mark.parametrize("rest", ["", "MAXLENGTH 4"])
def test_skipped_rows_are_filled_in(pattern: str, skips: int, rows: str, rest: str) -> None:
    exact, shared, skipped = both_engines(pattern, rows, rest=rest)
    assert shared == exact
    assert skipped == skips
