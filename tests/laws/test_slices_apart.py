"""Slices that can't read the rows of their neighbours, stitched at their edges, give the same rows as one slice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.cases import Case, load_cases
from tests.examples import examples
from tests.laws.comparison import rows_of, with_ids
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import clauses, tables

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.slicing import declined_by_tasks
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.task.clause_worker import Worker
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import MatchError, OstinatoError
from ostinato.expressions.types import Settings
from ostinato.local.local_clause import match_table
from ostinato.rows.arrow_tables import as_table
from ostinato.rows.batches import OutputRows, one_array
from ostinato.slices import slice_worker
from ostinato.slices.slice_records import edge_records, edges_of, numbered_slots, renumbered
from ostinato.slices.slice_worker import SliceWorker
from ostinato.slices.stitcher import Stitcher

Answer = Counter[str] | str

DECLINED = Declined(CLAUSES)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def answer(query: MatchRecognize, table: pa.Table) -> Answer:
    try:
        return Counter(map(repr, rows_of(match_table(query, table))))
    except MatchError as error:
        return error.code


def answer_in_slices(query: MatchRecognize, table: pa.Table, cuts: list[int]) -> tuple[Answer, int]:
    """The answer, and the number of rows that slices found before stitching."""
    table = as_table(table, Settings())
    local = EvaluatedPlan(make_plan(bind(query, table.column_names)), table.schema, Settings(), Limits())
    try:
        return _in_slices(local, table, cuts)
    except MatchError as error:
        return error.code, 0


def _in_slices(local: EvaluatedPlan, table: pa.Table, cuts: list[int]) -> tuple[Answer, int]:
    batch = local.batch({name: one_array(table.column(name)) for name in table.column_names}, table.num_rows)
    bits = {f"__bits{i}": pa.array(mask.astype(np.int64)) for i, mask in enumerate(batch.row_masks)}
    shipped = pa.table({**batch.arrays, **bits})
    conditions = [(name, 0) for name in bits]
    numbered_rows: list[tuple[int, OutputRows]] = []
    records: list[bytes] = []
    for number, slice_rows in enumerate(_ranges(local, batch, shipped, cuts)):
        outcome = SliceWorker(local.typed, conditions).run(slice_rows, number)
        numbered_rows += [(number, outcome.front), (-1, outcome.rest)]
        records += edge_records(outcome.edges)
    rows_of_slices = sum(rows.count for _, rows in numbered_rows)
    before: dict[int, int] = {}
    for stitched in Stitcher(local.typed, conditions).run(edges_of(reversed(records))):
        numbered_rows.append((-1, stitched.rows))
        before |= stitched.numbers_before
    numbers = numbered_slots(local.plan)
    answers: Counter[str] = Counter()
    for number, rows in numbered_rows:
        offsets = pa.array(np.full(rows.count, before.get(number, 0)))
        measured = local.measured(OutputRows(rows.count, renumbered(rows.arrays, numbers, offsets)))
        answers.update(map(repr, rows_of(measured)))
    return answers, rows_of_slices


def _ranges(local: EvaluatedPlan, batch: object, shipped: pa.Table, cuts: list[int]) -> list[pa.Table]:
    """Ranges of rows as of Spark's range partitioning. Ties are in the same range. Rows of a range have any order."""
    bound = local.plan.bound
    columns = [*bound.partition_by, *(key.column for key in bound.order_by)]
    ordered = Worker(local.typed).order(batch, sorts_keys=True)  # type: ignore[arg-type]
    rows = np.arange(len(shipped)) if ordered.rows is None else ordered.rows
    in_order = shipped.take(pa.array(rows))
    ties = [repr(row) for row in rows_of(in_order.select(dict.fromkeys(columns)))]
    edges = sorted({min(cut, len(shipped)) for cut in cuts} | {0, len(shipped)})
    edges = [edge for edge in edges if edge in (0, len(shipped)) or ties[edge] != ties[edge - 1]]
    ranges = [in_order.slice(first, end - first) for first, end in pairwise(edges)]
    return [
        rows_of_range.take(pa.array(np.arange(len(rows_of_range))[::-1]))
        for rows_of_range in ranges
        if len(rows_of_range)
    ]


def check(text: str, table: pa.Table, cuts: list[int]) -> None:
    with DECLINED.example():
        query = with_ids(text)
        if not query.order_by:
            DECLINED.leave_out("nothing to slice by: there is no ORDER BY")
        unsliced = answer(query, table)
        if declined_by_tasks(make_plan(bind(query, table.column_names))) is not None:
            DECLINED.leave_out("tasks decline to slice it")
    DECLINED.answered(rows=isinstance(unsliced, Counter) and bool(unsliced))
    sliced, rows_of_slices = answer_in_slices(query, table, cuts)
    event(f"slices found rows before stitching: {rows_of_slices > 0}")
    if isinstance(unsliced, str):  # the query doesn't define which error comes first
        assert isinstance(sliced, str), f"{text}\n{cuts}\n{table.to_pylist()}"
    else:
        assert sliced == unsliced, f"{text}\n{cuts}\n{table.to_pylist()}"


@pytest.fixture(autouse=True, scope="module")
def short_searches() -> Iterator[None]:
    """Slices search few rows at a time, so that small tables need several searches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slice_worker, "_FIRST_LOOK", 2)
        yield


CUTS = st.lists(st.integers(0, 24), max_size=4)


@given(clauses(), tables(most_rows=16), CUTS)
def test_preferred_matches(text: str, table: pa.Table, cuts: list[int]) -> None:
    check(text, table, cuts)


@given(clauses(modes=True), tables(most_rows=12), CUTS)
def test_match_modes(text: str, table: pa.Table, cuts: list[int]) -> None:
    check(text, table, cuts)


@pytest.mark.slow
@settings(max_examples=examples(175))
@given(clauses(), tables(most_rows=24), CUTS)
def test_preferred_matches_deeply(text: str, table: pa.Table, cuts: list[int]) -> None:
    check(text, table, cuts)


@pytest.mark.slow
@settings(max_examples=examples(175))
@given(clauses(modes=True), tables(most_rows=20), CUTS)
def test_match_modes_deeply(text: str, table: pa.Table, cuts: list[int]) -> None:
    check(text, table, cuts)


# Keys that are expressions are columns before rows are cut into slices.
SLICED = [case for case in load_cases() if "ORDER BY" in case.clause and case.file != "computed_keys"]


@pytest.mark.parametrize("case", SLICED, ids=lambda case: case.id)
@pytest.mark.parametrize("rows", [1, 3, 1000])
def test_cases(case: Case, rows: int) -> None:
    """All conformance cases in slices of `rows` rows."""
    try:
        query = parse_clause(case.clause, input_name=case.input_name)
        unsliced = answer(query, case.table())
    except OstinatoError as error:
        assert error.code == case.error  # errors of the clause are raised before matching
        return
    if declined_by_tasks(make_plan(bind(query, case.table().column_names))) is None:
        cuts = list(range(0, case.table().num_rows, rows))
        assert answer_in_slices(query, case.table(), cuts)[0] == unsliced


def test_ids_at_an_edge_count_rows_that_the_seam_does_not_have() -> None:
    """The match begins at the last of three rows of one time, and the seam has at most one of the others."""
    table = pa.table({"t": [0, 0, 0, 0, 0, 1, 2], "x": [0, 0, 0, 0, 1, 2, 3]})
    text = "ORDER BY t MEASURES A.x AS x PATTERN (A B C) DEFINE A AS x = 1, B AS x = 2, C AS x >= 3"
    query = replace(parse_clause(text), ids=IdColumns("the_match", "the_run"))
    unsliced = answer(query, table)
    assert isinstance(unsliced, Counter)
    assert len(unsliced) == 1
    assert answer_in_slices(query, table, [5])[0] == unsliced
