"""The cases themselves: that the files can be read, say what they cover, and don't contradict themselves."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from tests.cases import Case, load_cases, load_file, parse_cell, parse_columns

CASES = load_cases()
EXPECTED_CODES = frozenset(
    """SYNTAX_ERROR UNKNOWN_COLUMN UNKNOWN_VARIABLE VARIABLE_NOT_IN_PATTERN DUPLICATE_DEFINITION DUPLICATE_SUBSET
    INVALID_QUANTIFIER INVALID_NAVIGATION MIXED_VARIABLES FINAL_IN_DEFINE NO_OUTPUT_COLUMNS EXCLUSION_WITH_UNMATCHED
    DUPLICATE_COLUMN KEY_NOT_A_COLUMN NOT_A_CONDITION NESTED_AGGREGATE UNKNOWN_FUNCTION TYPE_MISMATCH
    SKIP_TO_FIRST_ROW SKIP_TARGET_MISSING AMBIGUOUS_COLUMN INVALID_WITHIN INVALID_MAXLENGTH NONDETERMINISTIC_FUNCTION
    UNSUPPORTED_IN_CLAUSE SKIP_WITH_MODE UNMATCHED_WITH_MODE UNSUPPORTED_FUNCTION
    INVALID_ARGUMENTS TOO_DEEP""".split()
)


def test_there_are_many_cases() -> None:
    assert len(CASES) >= 600


def test_names_are_unique() -> None:
    assert [name for name, times in Counter(case.id for case in CASES).items() if times > 1] == []


def test_every_rule_of_the_semantics_has_cases() -> None:
    rules = {int(number) for case in CASES for number in re.findall(r"SEMANTICS (\d+)", case.about)}
    assert set(range(1, 23)) - rules == set()


def test_every_error_code_has_a_case_and_no_other_is_used() -> None:
    assert {case.error for case in CASES if case.error} == EXPECTED_CODES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_input_fits_its_types(case: Case) -> None:
    table = case.table()
    assert table.num_rows == len(case.rows)
    assert table.column_names == [column.name for column in case.columns]


@pytest.mark.parametrize("case", [case for case in CASES if not case.error], ids=lambda case: case.id)
def test_rows_fit_the_expected_columns(case: Case) -> None:
    assert case.expect is not None
    assert case.expect_columns
    assert all(len(row) == len(case.expect_columns) for row in case.expect)
    ordered = "ORDER BY" in case.clause.upper()
    assert ordered or case.arrival_order or case.error, "say arrival_order = true, or order the rows"


def test_the_expectation_equals_itself_and_nothing_else() -> None:
    for case in CASES:
        if not case.expect:
            continue
        assert case.difference(case.expect_columns, case.expect) is None
        assert case.difference(case.expect_columns, case.expect[1:]) is not None
        assert case.difference((*case.expect_columns, "more"), case.expect) is not None


def test_letters_are_a_short_form(tmp_path: Path) -> None:
    file = tmp_path / "short.toml"
    file.write_text('[[letters]]\nname = "n"\npattern = "A {- B -} C?"\nrows = "ABx"\nexpect = "1:A(B)"\n')
    (case,) = load_file(file)
    assert case.expect == ((1, 1, "A", "A"),)
    assert case.clause.endswith("PATTERN (A {- B -} C?)\nDEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'")


def test_a_misspelt_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('[[case]]\nname = "n"\ncolumns = "id int"\nclause = "c"\nexpects = ""\n')
    with pytest.raises(ValueError, match="expects"):
        load_file(file)


def test_cells_and_columns() -> None:
    assert parse_cell(" a b ", "string") == "a b"
    assert parse_cell("' it''s '", "string") == " it's "
    assert parse_cell("[[1, 2], []]", "array<array<int>>") == [[1, 2], []]
    assert parse_cell("1.50", "decimal(5,2)").as_tuple().exponent == -2
    columns = parse_columns("`my id` int, price decimal(5, 2), tags array<string>")
    assert [column.name for column in columns] == ["my id", "price", "tags"]
    with pytest.raises(KeyError):
        parse_columns("id integer64")


def test_tables_have_spark_types() -> None:
    kinds = {case.table().schema.field(0).type for case in CASES}
    assert pa.int32() in kinds
