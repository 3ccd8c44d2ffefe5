"""Ids: different for different matches, and the same whatever else the query shows and however the rows are held.

That ids are the same in slices and on streams is a part of the laws about these (`comparison.with_ids`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.clause_workloads import gapped_clauses, long_tables
from tests.laws.declined import CLAUSES, Declined
from tests.laws.strategies import COLUMNS, clauses, tables

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.clause.query.clause import MatchMode, MatchRecognize, Measure, Output, SortKey
from ostinato.errors import MatchError
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.syntax import Name
from ostinato.expressions.types import Settings
from ostinato.local.local_clause import match_table
from ostinato.local.local_clauses import LocalClauses

IDS = IdColumns("the_match", "the_run")
TABLES = st.one_of(tables(), long_tables())
DECLINED = Declined(CLAUSES)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def clause_of(text: str, **changes: Any) -> MatchRecognize:
    return replace(parse_clause(text), ids=IDS, **changes)


def ids_of(clause: MatchRecognize, table: pa.Table) -> list[tuple[Any, Any]]:
    """The match id and the run id of each row."""
    with DECLINED.example():
        try:
            rows = match_table(clause, table)
        except MatchError as error:
            DECLINED.leave_out(error.code)
    DECLINED.answered(rows=bool(rows.num_rows))
    return list(zip(rows["the_match"].to_pylist(), rows["the_run"].to_pylist(), strict=True))


@given(st.one_of(clauses(), clauses(modes=True)), TABLES)
def test_different_matches_have_different_ids(text: str, table: pa.Table) -> None:
    ids = ids_of(clause_of(text, output=Output.ONE_ROW), table)
    matches, runs = [match for match, _ in ids], [run for _, run in ids]
    assert len(set(matches)) == len(ids)
    assert all(len(one) == 32 for one in (*matches, *runs))
    if parse_clause(text).mode in (MatchMode.PREFERRED, MatchMode.MAXIMAL):  # at most one match begins at a row
        assert len(set(runs)) == len(ids)


@given(clauses(modes=True), TABLES)
def test_all_rows_of_a_match_have_its_ids(text: str, table: pa.Table) -> None:
    one_row = clause_of(text, output=Output.ONE_ROW)
    unmatched = one_row.mode is MatchMode.PREFERRED and not one_row.show_timeouts
    output = Output.ALL_ROWS_WITH_UNMATCHED if unmatched else Output.ALL_ROWS
    all_rows = replace(one_row, output=output, measures=(Measure("number", parse_expression("MATCH_NUMBER()")),))
    with DECLINED.example():
        try:
            shown = match_table(all_rows, table)
        except MatchError as error:
            DECLINED.leave_out(error.code)
    by_number = {
        (row["number"], row["the_match"], row["the_run"], *(repr(row[key.column.text]) for key in one_row.partition_by))
        for row in shown.to_pylist()
    }
    matched = {key for key in by_number if key[0] is not None}
    assert all(key[1:3] == (None, None) for key in by_number - matched)
    assert len({(key[0], *key[3:]) for key in matched}) == len(matched)
    # Matches whose rows are all excluded show no row.
    assert {key[1:3] for key in matched} <= set(ids_of(one_row, table))


def other_form(table: pa.Table) -> pa.Table:
    """The same values: other Arrow types, another zone, several chunks, further columns."""
    kinds = {
        pa.string(): pa.large_string(),
        pa.timestamp("us", "UTC"): pa.timestamp("us", "Asia/Kathmandu"),
        pa.decimal128(6, 2): pa.decimal128(12, 2),
    }
    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name == "k":
            column = column.combine_chunks().dictionary_encode()
            column = pa.chunked_array([column]) if isinstance(column, pa.Array) else column
        columns[name] = column.cast(kinds.get(column.type, column.type))
    columns["unused"] = pa.chunked_array([pa.array(range(table.num_rows))])
    half = table.num_rows // 2
    form = pa.table(columns)
    return pa.concat_tables([form.slice(0, half), form.slice(half)])


@given(st.one_of(clauses(), clauses(modes=True)), tables())
def test_representation_does_not_matter(text: str, table: pa.Table) -> None:
    clause = clause_of(text, measures=(), output=Output.ONE_ROW)  # measures may be texts of times
    assert ids_of(clause, other_form(table)) == ids_of(clause, table)


@given(st.one_of(clauses(), clauses(modes=True)), tables(), st.sampled_from(sorted(COLUMNS)))
def test_other_measures_keep_ids(text: str, table: pa.Table, column: str) -> None:
    """Where ORDER BY is unique; with ties, other columns may order equal rows otherwise."""
    clause = clause_of(text)
    order = (*clause.order_by, SortKey(Name("id")))
    other = Measure("other", parse_expression(f"LAST({column})"))
    first = replace(clause, order_by=order, output=Output.ONE_ROW)
    assert sorted(ids_of(replace(first, measures=(other,)), table)) == sorted(ids_of(first, table))


@settings(max_examples=examples(12))
@given(st.lists(gapped_clauses(), min_size=1, max_size=3), long_tables())
def test_clauses_that_are_matched_together_have_the_ids_of_each_alone(texts: list[str], table: pa.Table) -> None:
    clauses_with_ids = [clause_of(text) for text in texts]
    queries = [ClauseQuery(clause) for clause in clauses_with_ids]
    names = [f"q{number}" for number in range(len(queries))]
    alone = [sorted(ids_of(clause, table)) for clause in clauses_with_ids]
    together = LocalClauses(queries, names, table.schema, Settings(), sharing="always").run(table).tables
    columns = [(rows["the_match"].to_pylist(), rows["the_run"].to_pylist()) for rows in together]
    assert [sorted(zip(*pair, strict=True)) for pair in columns] == alone
