"""Conditions over all rows of the run, answered for the trials that probably come next: the oracle's matches."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.clause.task.test_block_conditions import SHAPES, result, tables
from tests.examples import examples
from tests.laws.comparison import difference
from tests.laws.declined import Declined

import ostinato as ost
from ostinato.clause.task import predicted_conditions
from ostinato.clause.task.trials import Step, Trial, after
from ostinato.expressions.evaluate import PreparedExpression

# the engine may leave trials out that can't end in a match, so no condition of the oracle's law may fail
ORACLE_CONDITIONS = (
    "listagg(B.s) <> 'aa'",
    "listagg(X.s) LIKE '%b'",
    "median(X.x) >= B.x",
    "listagg(CLASSIFIER()) NOT LIKE '%XXX%'",
    "listagg(A.s) <> s OR PREV(LAST(X.x)) = 1",
    "listagg(DISTINCT s) <> 'ab' AND MATCH_NUMBER() < 3",
    "sum(B.x) < 4 AND percentile(x, 0.5) > 0",
)
OTHER_CONDITIONS = (
    "x / (2 - median(X.x)) > 0",
    "array_contains(array_agg(A.s), B.s)",
    "NOT array_contains(array_agg(X.x), B.x)",
    "cardinality(array_agg(B.x)) < 3",
    "cardinality(array_agg(B.s)) <> 2 OR NEXT(LAST(B.x)) = 1",
)
DECLINED = Declined("aggregates in conditions", most_declined=0.05)


@contextmanager
def one_by_one() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(predicted_conditions, "_MOST_TRIALS", 1)
        yield


def query_of(b: str, x: str, shape: str) -> str:
    if "ALL MATCHES" in shape:  # matches have no number there
        b, x = (condition.replace("MATCH_NUMBER()", "x") for condition in (b, x))
    return f"""PARTITION BY k ORDER BY t MEASURES A.t AS a, LAST(t) AS b, count(X.t) AS n {shape}
        DEFINE B AS {b}, X AS ({x.replace("B.", "X.")}) IS NOT FALSE"""


@given(st.sampled_from(ORACLE_CONDITIONS), st.sampled_from(ORACLE_CONDITIONS), st.sampled_from(SHAPES), tables())
@settings(max_examples=examples(100))
def test_predicted_conditions_give_the_matches_of_the_oracle(b: str, x: str, shape: str, table: pa.Table) -> None:
    assert difference(query_of(b, x, shape), table, DECLINED) is None


CONDITIONS = st.sampled_from(ORACLE_CONDITIONS + OTHER_CONDITIONS)


@given(CONDITIONS, CONDITIONS, st.sampled_from(SHAPES), tables())
@settings(max_examples=examples(100))
def test_predicted_conditions_give_the_matches_of_single_trials(b: str, x: str, shape: str, table: pa.Table) -> None:
    found = result(query_of(b, x, shape), table)
    with one_by_one():
        assert result(query_of(b, x, shape), table) == found


@pytest.mark.parametrize(
    ("step", "row", "labels"),
    [
        (Step.LONGER, 7, [0, 1, 2, 2, 2]),
        (Step.LATER, 7, [0, 1, 1, 1, 2]),
        (Step.EARLIER, 3, [2]),
        (Step.NEXT_START, 7, [0, 1, 2]),
    ],
)
def test_steps(step: Step, row: int, labels: list[int]) -> None:
    trial = after(step, Trial(5, np.array([0, 1, 2], np.int32), 0, 8, 1), 2)
    assert trial is not None
    assert (trial.row, trial.labels.tolist()) == (row, labels)


@pytest.mark.parametrize(
    "query",
    [
        "PATTERN (^ A X*? B) DEFINE B AS array_contains(array_agg(A.s), B.s)",
        "PATTERN (^ A X* B) DEFINE B AS array_contains(array_agg(A.s), B.s)",
        "PATTERN (^ A X+) DEFINE X AS cardinality(array_agg(X.s)) <= 400",
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS array_contains(array_agg(A.s), 'a')",
    ],
)
def test_a_regular_search_takes_few_evaluations(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, lengths = 400, list[int]()
    mask = PreparedExpression.mask

    def counted(self: PreparedExpression, leaf: Any, length: int) -> Any:
        lengths.append(length)
        return mask(self, leaf, length)

    monkeypatch.setattr(PreparedExpression, "mask", counted)
    table = pa.table({"t": range(rows), "s": ["a"] + ["b"] * (rows - 2) + ["a"]})
    assert ost.match(f"ORDER BY t MEASURES LAST(t) AS b {query}", table)["b"].to_pylist()[-1] == rows - 1
    assert len(lengths) < 24
    assert sum(lengths) < 3 * rows


def test_an_error_of_a_predicted_trial_that_never_comes_is_none() -> None:
    table = pa.table({"t": range(20)})
    query = """ORDER BY t MEASURES count(*) AS n PATTERN (^ A+)
        DEFINE A AS 5 DIV (6 - cardinality(array_agg(A.t))) {}"""  # 1, 1, 1, 2, 5, and an error
    assert ost.match(query.format("< 3"), table)["n"].to_pylist() == [4]
    with pytest.raises(ost.MatchError, match="DIVIDE_BY_ZERO"):
        ost.match(query.format("<> 3"), table)
