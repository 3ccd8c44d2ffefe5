"""Explanations: what may be asked, what they must say, and that no case of the conformance set breaks them."""

from __future__ import annotations

from itertools import takewhile
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pytest
from tests.cases import Case, load_cases

from ostinato.api.clause_builder import pattern
from ostinato.api.explain import Explanation, explain
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.matching import match_engine as engine
from ostinato.clause.matching import search_arrays
from ostinato.clause.matching.spans import whole_keys
from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError
from ostinato.explanation.clause_text import query_text
from ostinato.explanation.execution_text import memo_rule
from ostinato.explanation.explained_clauses import mentioned_columns, read_clauses
from ostinato.explanation.planned_clause import plan_clause

CLAUSE = "ORDER BY ts MEASURES LAST(price) AS p PATTERN (A B*) DEFINE B AS price > A.price"
SCHEMA = pa.schema([("ts", pa.int64()), ("price", pa.float64()), ("note", pa.string())])


def test_a_clause_may_be_text_builder_or_parsed() -> None:
    built = pattern("A B*").order_by("ts").measures(p="LAST(price)").define(B="price > A.price")
    expected = explain(CLAUSE, SCHEMA)
    assert explain(f"MATCH_RECOGNIZE ({CLAUSE})", SCHEMA) == expected
    assert explain(parse_clause(CLAUSE), SCHEMA) == expected
    assert explain(built, SCHEMA) == expected
    assert explain(f"SELECT p FROM t MATCH_RECOGNIZE ({CLAUSE})", SCHEMA) == expected


def test_a_table_may_be_arrow_pandas_or_have_columns() -> None:
    class LikeSpark:
        columns = ("ts", "price", "note")
        dtypes = [("ts", "bigint"), ("price", "double"), ("note", "string")]

    expected = explain(CLAUSE, SCHEMA)
    assert explain(CLAUSE, SCHEMA.empty_table()) == expected
    assert explain(CLAUSE, SCHEMA.empty_table().to_pandas().astype({"note": "string"})) == expected
    assert explain(CLAUSE, LikeSpark()) == expected
    assert explain(CLAUSE, {"anything": SCHEMA}) == expected


def test_without_types_the_kernel_stays_open() -> None:
    assert "kernel or Python" in explain(CLAUSE).text
    assert "the last row of A" in explain(CLAUSE, SCHEMA).text


def test_a_function_that_only_spark_knows_leaves_types_open() -> None:
    query = "ORDER BY ts MEASURES 1 AS one PATTERN (A B*) DEFINE B AS soundex(note) > soundex(A.note)"
    text = explain(query, SCHEMA).text
    assert "Only Spark knows the type of soundex(note)." in text


def test_shows_itself() -> None:
    explanation = explain(CLAUSE)
    assert isinstance(explanation, Explanation)
    assert str(explanation) == explanation.text
    assert explanation.svg in explanation._repr_html_()
    assert "price &gt; A.price" in explanation._repr_html_()
    assert "font-family:monospace" in explanation._repr_html_()  # the text is drawn in columns


def test_clauses_inside_the_input_of_another_come_first() -> None:
    inner = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES LAST(ts) AS ts PATTERN (INNER_ONE))"
    query = f"SELECT * FROM ({inner}) AS x MATCH_RECOGNIZE (ORDER BY ts MEASURES ts AS t PATTERN (OUTER_ONE))"
    names = [asked.clause.pattern for asked in read_clauses(query)]
    assert [name.name for name in names] == ["INNER_ONE", "OUTER_ONE"]  # type: ignore[union-attr]
    assert "MATCH_RECOGNIZE 2 of 2" in explain(query).text


def test_columns_that_a_query_mentions() -> None:
    clause = parse_clause(
        """PARTITION BY k ORDER BY ts MEASURES CLASSIFIER(U) AS c, transform(xs, x -> x + y) AS t, current_date AS d
           PATTERN (A B) SUBSET U = (A, B) DEFINE B AS U.price > `odd name` AND address.city = A.K"""
    )
    assert mentioned_columns(clause) == ("k", "ts", "xs", "y", "price", "odd name", "address")


@pytest.mark.parametrize(
    ("query", "table", "code"),
    [
        (42, None, "NOT_A_QUERY"),
        ("SELECT 1", None, "NO_CLAUSE"),
        (CLAUSE, 42, "NOT_A_TABLE"),
        (CLAUSE, pa.schema([("ts", pa.int64())]), "UNKNOWN_COLUMN"),
        ("PATTERN (A", None, "SYNTAX_ERROR"),
        (CLAUSE.replace("A.price", "C.price"), SCHEMA, "UNKNOWN_VARIABLE"),
    ],
)
def test_what_cannot_be_explained(query: object, table: object, code: str) -> None:
    with pytest.raises(QueryError) as caught:
        explain(query, table)
    assert caught.value.code == code


@pytest.mark.parametrize(
    "mode", ["AFTER MATCH SKIP TO NEXT ROW", "ALL MATCHES", "INCREMENTAL MATCHES", "MAXIMAL MATCHES"]
)
@pytest.mark.parametrize("bound", ["", "MAXLENGTH 5"])
@pytest.mark.parametrize("condition", ["price > 1", "price > A.price"])
def test_the_memo_rule_told_is_the_one_that_is_followed(mode: str, bound: str, condition: str) -> None:
    text = f"ORDER BY ts MEASURES LAST(ts) AS t {mode} PATTERN (A B*) {bound} DEFINE B AS {condition}"
    plan = plan_clause(read_clauses(text, SCHEMA)[0]).plan
    clause = plan.bound.clause
    task = engine.Task(
        nfa=plan.nfa,
        variables=plan.bound.variables,
        mode=clause.mode,
        skip=clause.skip,
        skip_rows=frozenset(),
        max_length=clause.max_length,
        within_us=None,
        show_timeouts=False,
        max_partial_matches=10,
        needs_path=plan.needs_path,
    )
    followed = engine.rules_of(task, whole_keys(np.zeros(1, np.int64)), reads_run=bool(plan.run_conditions)).memo
    told = {
        search_arrays.NO_MEMO: ("Nothing is repeated", "A state may be tried several times on one row"),
        search_arrays.MEMO_PER_START: "Each state is tried once on a row for each start",
        search_arrays.MEMO_FOREVER: "Each state is tried once on a row for all starts",
    }
    assert memo_rule(plan).startswith(told[followed])


# --- slices ---


def told(text: str, label: str) -> str:
    """The text of a label, in one line."""
    lines = text.split("6. How it runs", 1)[1].splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith(f"   {label:<15}  "))
    rest = takewhile(lambda line: line.startswith(" " * 20), lines[at + 1 :])
    return " ".join([lines[at][20:], *(line.strip() for line in rest)])


@pytest.mark.parametrize(
    ("clause", "begins"),
    [
        ("AFTER MATCH SKIP TO NEXT ROW", "Each slice tries all its rows as starts"),
        ("ALL MATCHES", "Each slice tries all its rows as starts"),
        ("MAXIMAL MATCHES", "Each slice tries all its rows as starts"),
        ("AFTER MATCH SKIP PAST LAST ROW", "Each slice starts where all possible earlier matches have ended"),
        ("AFTER MATCH SKIP TO LAST B", "Each slice starts where all possible earlier matches have ended"),
        ("INCREMENTAL MATCHES", "Each slice starts at a row that no match spans"),
        (
            "ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO NEXT ROW",
            "Each slice starts at a row that no match spans",
        ),
    ],
)
def test_the_handover_told_depends_on_what_is_asked(clause: str, begins: str) -> None:
    text = explain(f"ORDER BY ts MEASURES 1 AS x {clause} PATTERN (A B*) DEFINE B AS price > 1", SCHEMA).text
    assert told(text, "handover").startswith(begins)


@pytest.mark.parametrize(
    ("pattern_and_bounds", "expected"),
    [
        ("(A B)", "at most 1 row beyond the slice that it starts in: the pattern takes at most 2 rows"),
        ("(A B*) MAXLENGTH 40", "at most 39 rows beyond the slice that it starts in: MAXLENGTH 40"),
        ("(A B*) WITHIN INTERVAL '2' HOUR", "up to 2 hours beyond the slice that it starts in: WITHIN"),
        ("(A B*)", "any number of rows beyond the slice that it starts in: nothing limits"),
    ],
)
def test_the_shared_part_with_its_reason(pattern_and_bounds: str, expected: str) -> None:
    schema = pa.schema([("ts", pa.timestamp("us", "UTC")), ("price", pa.float64())])
    text = explain(f"ORDER BY ts MEASURES 1 AS x PATTERN {pattern_and_bounds}", schema).text
    assert expected in told(text, "shared part")


def test_keys_are_cut_on_request_only() -> None:
    clause = "MEASURES MATCH_NUMBER() AS n PATTERN (A B)"
    by_key = explain(f"PARTITION BY note ORDER BY ts {clause}", SCHEMA).text
    assert "repartition by note" in told(by_key, "Spark plan")
    assert 'With skew="slice", Spark cuts the rows into ranges of (note, ts)' in told(by_key, "slices")
    in_ranges = told(explain(f"ORDER BY ts {clause}", SCHEMA).text, "Spark plan")
    assert "ranges of (ts)" in in_ranges
    assert "renumber matches" in in_ranges


@pytest.mark.parametrize(
    ("clause", "on_spark", "in_process"),
    [
        (
            "ORDER BY ts MEASURES 1 AS x PATTERN (A B*) DEFINE B AS MATCH_NUMBER() + A.price < 9",
            "None on Spark: MATCH_NUMBER() in DEFINE",
            "workers=n has no effect: MATCH_NUMBER() in DEFINE",
        ),
        (
            "ORDER BY ts MEASURES sum(MATCH_NUMBER()) AS s PATTERN (A B*)",
            "None on Spark: an aggregate over MATCH_NUMBER()",
            "With workers=n, n threads match slices",
        ),
        (
            "ORDER BY ts MEASURES 1 AS x PATTERN (A B*) DEFINE B AS concat(A.note, note) = 'x'",
            "Spark cuts the rows into ranges of (ts)",
            "workers=n has no effect: conditions run row by row in Python",
        ),
        (
            "ORDER BY ts MEASURES 1 AS x PATTERN (A B) DEFINE B AS price > PREV(price)",
            "Spark cuts the rows into ranges of (ts)",
            "workers=n has no effect without slice_rows: a pattern of fixed length",
        ),
        (
            "ORDER BY ts MEASURES 1 AS x PATTERN (A B*) MAXLENGTH 9 DEFINE B AS price > PREV(price)",
            "Spark cuts the rows into ranges of (ts)",
            "one thread does the rest if matches skip rows and no row is found",
        ),
    ],
)
def test_why_not(clause: str, on_spark: str, in_process: str) -> None:
    text = explain(clause, SCHEMA).text
    assert told(text, "slices").startswith(on_spark)
    assert in_process in told(text, "in process")


# --- on the conformance cases ---


@pytest.fixture(scope="module")
def cases() -> list[tuple[Case, MatchRecognize]]:
    """The cases that aren't refused, with their clauses."""
    found = []
    for case in load_cases():
        if case.error is None or case.fails_while_running:
            found.append((case, parse_clause(case.clause, input_name=case.input_name)))
    assert len(found) > 400
    return found


def test_the_query_as_understood_reads_back_as_the_same_query(cases: list[tuple[Case, MatchRecognize]]) -> None:
    for case, clause in cases:
        text = query_text(clause)
        assert parse_clause(text, input_name=case.input_name) == clause, f"{case.id}\n{text}"


def test_every_case_is_explained_with_a_picture_that_is_xml(cases: list[tuple[Case, MatchRecognize]]) -> None:
    for case, clause in cases:
        for table in (None, case.table()):
            explanation = explain(clause, table)
            assert "__ost" not in explanation.text, case.id
            assert ElementTree.fromstring(explanation.svg).tag.endswith("svg"), case.id
