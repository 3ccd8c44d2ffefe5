"""Parallel runs: the result depends neither on the size of slices nor on the number of workers."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases import Case, load_cases
from tests.examples import examples
from tests.laws.clause_workloads import long_tables
from tests.laws.comparison import rows_of, with_ids
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import clauses, tables

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import MatchError, OstinatoError, QueryError
from ostinato.local.local_clause import match_table
from ostinato.slices import cutting as slices
from ostinato.slices import in_process
from ostinato.slices.slice_threads import Parallel

TABLES = st.one_of(tables(), long_tables())
DECLINED = Declined(CLAUSES)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


@pytest.fixture(autouse=True, scope="module")
def short_searches() -> Iterator[None]:
    """Slices search few rows at a time, so that small tables need several searches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_process, "_FIRST_LOOK", 2)
        patch.setattr(in_process, "_FIRST_REPEAT", 1)
        yield


def answer(query: MatchRecognize, table: pa.Table, parallel: Parallel) -> list[str] | str:
    """The rows as texts in their order, or the code of an error in the data."""
    try:
        return [repr(row) for row in rows_of(match_table(query, table, parallel=parallel))]
    except MatchError as error:
        return error.code


def answer_unsliced(text: str, table: pa.Table) -> tuple[MatchRecognize, list[str] | str]:
    """The query, and its answer without slices."""
    with DECLINED.example():
        query = with_ids(text)
        unsliced = answer(query, table, Parallel())
    DECLINED.answered(rows=isinstance(unsliced, list) and bool(unsliced))
    return query, unsliced


def smallest_slice(query: MatchRecognize, table: pa.Table) -> int:
    """The smallest number of rows per slice that the engine accepts."""
    for rows in range(1, 200):
        try:
            match_table(query, table, parallel=Parallel(2, rows))
        except QueryError as error:
            if error.code != "SLICE_TOO_SMALL":
                raise
        except MatchError:
            return rows
        else:
            return rows
    raise AssertionError("no slice is large enough")


def check(text: str, table: pa.Table, more: int, workers: int) -> None:
    query, unsliced = answer_unsliced(text, table)
    assert answer(query, table, Parallel(workers, smallest_slice(query, table) + more)) == unsliced


@given(clauses(), TABLES, st.integers(0, 5), st.integers(2, 3))
def test_preferred_matches(text: str, table: pa.Table, more: int, workers: int) -> None:
    check(text, table, more, workers)


@given(clauses(modes=True), tables(), st.integers(0, 5), st.integers(2, 3))
def test_match_modes(text: str, table: pa.Table, more: int, workers: int) -> None:
    check(text, table, more, workers)


@settings(max_examples=examples(40))
@given(st.one_of(clauses(), clauses(modes=True)), TABLES, st.sampled_from([1, 2, 8]))
def test_automatic_slices_and_slices_that_give_up(text: str, table: pa.Table, spare: int) -> None:
    """A slice gives up when one row in `spare` would be searched twice."""
    query, unsliced = answer_unsliced(text, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(slices, "SMALLEST_SLICE", 1)
        patch.setattr(slices, "SLICES_PER_WORKER_IF_WASTED", 2)
        for module in (slices, in_process):
            patch.setattr(module, "ROWS_PER_REPEATED_ROW", spare)
        assert answer(query, table, Parallel(2)) == unsliced


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(clauses(), tables(most_rows=24), st.integers(0, 5), st.integers(2, 3))
def test_preferred_matches_deeply(text: str, table: pa.Table, more: int, workers: int) -> None:
    check(text, table, more, workers)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(clauses(modes=True), tables(most_rows=16), st.integers(0, 5), st.integers(2, 3))
def test_match_modes_deeply(text: str, table: pa.Table, more: int, workers: int) -> None:
    check(text, table, more, workers)


@pytest.mark.parametrize("case", load_cases(), ids=lambda case: case.id)
def test_cases(case: Case) -> None:
    """Every conformance case in slices that own two rows."""
    query = None
    try:
        query = parse_clause(case.clause, input_name=case.input_name)
        unsliced = answer(query, case.table(), Parallel())
    except OstinatoError as error:
        assert error.code == case.error  # errors of the clause are raised before matching
        return
    assert answer(query, case.table(), Parallel(2, smallest_slice(query, case.table()) + 1)) == unsliced
