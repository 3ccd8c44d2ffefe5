"""Errors on Spark: ours before any job where that is possible, else one line of Spark's that starts with our code."""

from __future__ import annotations

import re
import time
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import ostinato as ost


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    return spark.range(60).selectExpr(
        "id", "id % 3 AS k", "CAST(id AS INT) AS i", "9223372036854775800 + id % 3 AS big", "concat('t', id) AS s"
    )


def jobs(spark: SparkSession) -> int:
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


def refused(df: DataFrame, clause: str) -> ost.QueryError:
    """The error of a clause that is refused without a job, in little time."""
    before, started = jobs(df.sparkSession), time.monotonic()
    with pytest.raises(ost.QueryError) as caught:
        df.transform(ost.match_recognize(clause))
    assert jobs(df.sparkSession) == before
    assert time.monotonic() - started < 20
    return caught.value


B = "ORDER BY id MEASURES count(*) AS n PATTERN (A B+) DEFINE B AS "
M = "PATTERN (A B+)"


@pytest.mark.parametrize(
    ("clause", "code", "under"),
    [
        (B + "nope > 1", "UNKNOWN_COLUMN", "nope"),
        (B + "C.i > 1", "UNKNOWN_VARIABLE", "C.i"),
        (B + "nofn(i) > 1", "UNKNOWN_FUNCTION", "nofn(i) > 1"),
        (B + "nofn(PREV(i)) > 1", "UNKNOWN_FUNCTION", "nofn(PREV(i))"),
        (f"ORDER BY id MEASURES nofn(LAST(i)) AS x {M}", "UNKNOWN_FUNCTION", "nofn(LAST(i))"),
        (B + "i > array(1)", "TYPE_MISMATCH", "i > array(1)"),
        (B + "array(i) > PREV(s)", "TYPE_MISMATCH", "array(i) > PREV(s)"),
        (B + "array(i) > A.s", "TYPE_MISMATCH", "array(i) > A.s"),
        (f"ORDER BY id MEASURES LAST(i) + array(1) AS x {M}", "TYPE_MISMATCH", "LAST(i) + array(1)"),
        (f"ORDER BY id MEASURES sum(s) + sum(array(i)) AS x {M}", "TYPE_MISMATCH", None),
        (B + "i + 1", "NOT_A_CONDITION", "i + 1"),
        (B + "PREV(i)", "NOT_A_CONDITION", "PREV(i)"),
        (B + "A.i + 1", "NOT_A_CONDITION", None),
        (f"ORDER BY id MEASURES upper(LAST(s), 1) AS x {M}", "INVALID_ARGUMENTS", "upper(LAST(s), 1)"),
        (B + "rand() > 0.5", "NONDETERMINISTIC_FUNCTION", None),
        (B + "row_number() > 1", "UNSUPPORTED_FUNCTION", "row_number()"),
        (f"ORDER BY nope MEASURES count(*) AS n {M}", "UNKNOWN_COLUMN", "nope"),
        (f"PARTITION BY nope ORDER BY id MEASURES count(*) AS n {M}", "UNKNOWN_COLUMN", "nope"),
        ("ORDER BY id MEASURES count(*) AS n PATTERN (A B{3,1})", "INVALID_QUANTIFIER", None),
        ("ORDER BY id MEASURES count(*) AS n", "SYNTAX_ERROR", None),
        ("how do I find a V shape?", "SYNTAX_ERROR", None),
    ],
)
def test_refused_before_any_job(events: DataFrame, clause: str, code: str, under: str | None) -> None:
    error = refused(events, clause)
    assert error.code == code, str(error)
    assert error.text == clause
    if under is not None:
        assert error.span is not None
        assert clause[error.span.start : error.span.end] == under
        assert "^" in str(error)


def test_a_difference_of_dates_is_compared_with_an_interval(events: DataFrame) -> None:
    for condition in (
        "to_date(s) - DATE '2024-01-01' <= 3",
        "3 >= to_date(s) - DATE '2024-01-01'",
    ):
        error = refused(events, B + condition)
        assert error.code == "TYPE_MISMATCH"
        assert "INTERVAL '3' DAY" in (error.hint or "")


def test_the_caret_is_in_the_whole_statement(events: DataFrame) -> None:
    query = f"SELECT *\nFROM (SELECT * FROM e WHERE i > 1) MATCH_RECOGNIZE ({B}prise > 1\n) AS m"
    with pytest.raises(ost.QueryError) as caught:
        ost.sql(query, e=events)
    error = caught.value
    assert error.text == query
    assert error.span is not None
    assert query[error.span.start : error.span.end] == "prise"


@pytest.mark.parametrize(
    ("query", "code", "under"),
    [
        ("hello world", "SYNTAX_ERROR", "h"),
        ("SELECT * FORM e", "SYNTAX_ERROR", "e"),
        ("", "SYNTAX_ERROR", None),
        ("SELECT * FROM e MATCH_RECOGNIZE (ORDER BY id MEASURES 1 AS y PATTERN (A)) WHERE y >< 1", "SYNTAX_ERROR", "<"),
        ("SELECT * FROM e MATCH_RECOGNIZE", "SYNTAX_ERROR", "MATCH_RECOGNIZE"),
        ("SELECT * FROM nope MATCH_RECOGNIZE (ORDER BY id PATTERN (A))", "ANALYSIS_ERROR", "nope"),
        ("SELECT x FROM e MATCH_RECOGNIZE (ORDER BY id MEASURES 1 AS y PATTERN (A))", "UNKNOWN_COLUMN", None),
        (
            "SELECT * FROM (SELECT nope AS id FROM e) MATCH_RECOGNIZE (ORDER BY id MEASURES 1 AS y PATTERN (A))",
            "UNKNOWN_COLUMN",
            "(SELECT nope AS id FROM e)",
        ),
    ],
)
def test_invalid_statements_are_refused(
    spark: SparkSession, events: DataFrame, query: str, code: str, under: str | None
) -> None:
    before = jobs(spark)
    with pytest.raises(ost.QueryError) as caught:
        ost.sql(query, spark=spark, e=events)
    error = caught.value
    assert jobs(spark) == before
    assert error.code == code, str(error)
    assert "\n\tat " not in str(error)
    if under is not None:
        assert error.span is not None
        assert query[error.span.start : error.span.end] == under


# --- large and deep ---------------------------------------------------------------------------------------------------


def variables(count: int) -> list[str]:
    return [f"V{i}" for i in range(count)]


def test_more_than_a_thousand_different_conditions_are_refused(events: DataFrame) -> None:
    def clause(count: int) -> str:
        conditions = ", ".join(f"{name} AS i = {place}" for place, name in enumerate(variables(count)))
        return f"ORDER BY id MEASURES count(*) AS n PATTERN ({' '.join(variables(count))}) DEFINE {conditions}"

    assert refused(events, clause(1_001)).code == "TOO_MANY_CONDITIONS"
    assert events.transform(ost.match_recognize(clause(60))).collect() == [(60,)]


def test_equal_conditions_count_once(events: DataFrame) -> None:
    conditions = ", ".join(f"{name} AS i >= {place % 3}" for place, name in enumerate(variables(1_010)))
    clause = f"ORDER BY id MEASURES count(*) AS n PATTERN ({' '.join(variables(1_010))}) DEFINE {conditions}"
    assert events.transform(ost.match_recognize(clause)).collect() == []


def test_ten_thousand_variables(events: DataFrame) -> None:
    started = time.monotonic()
    for pattern in (" ".join(variables(10_000)), f"({' | '.join(variables(10_000))})*"):
        clause = f"ORDER BY id MEASURES count(*) AS n PATTERN ({pattern}) DEFINE V1 AS i > 0"
        try:
            result = [row.n for row in events.transform(ost.match_recognize(clause)).collect()]
        except ost.QueryError as error:
            assert error.code == "PATTERN_TOO_LARGE"
        else:
            assert result in ([], [60])
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("depth", [100, 20_000])
def test_deeply_nested_groups(events: DataFrame, depth: int) -> None:
    pattern = "(" * depth + "A" + ")" * depth
    try:
        result = events.transform(ost.match_recognize(f"ORDER BY id MEASURES count(*) AS n PATTERN ({pattern}+)"))
        assert result.collect() == [(60,)]
        assert depth == 100
    except ost.QueryError as error:
        assert error.code == "TOO_DEEP"
        assert depth > 100


# --- errors caused by data --------------------------------------------------------------------------------------------

RUN_TIME = {
    "SKIP_TO_FIRST_ROW": "ORDER BY id MEASURES count(*) AS n AFTER MATCH SKIP TO FIRST A PATTERN (A B)",
    "SKIP_TARGET_MISSING": (
        "PARTITION BY k ORDER BY id MEASURES count(*) AS n AFTER MATCH SKIP TO B PATTERN (A B?) DEFINE B AS false"
    ),
    "ARITHMETIC_OVERFLOW": "PARTITION BY k ORDER BY id MEASURES sum(big) AS n PATTERN (A+)",
}


@pytest.mark.parametrize("code", RUN_TIME)
def test_run_time_errors_are_one_line_that_unwraps(events: DataFrame, code: str) -> None:
    result = events.transform(ost.match_recognize(RUN_TIME[code]))
    with pytest.raises(PySparkException) as caught:
        result.collect()
    message = str(caught.value)
    assert message.startswith(f"[USER_RAISED_EXCEPTION] {code}: ")
    assert "\n" not in message.strip()
    ours = ost.unwrap(caught.value)
    assert isinstance(ours, ost.MatchError)
    assert ours.code == code
    assert "[ostinato]" not in str(ours)


def test_too_many_partial_matches_name_the_key_and_the_setting(events: DataFrame) -> None:
    clause = (
        "PARTITION BY k, s2 ORDER BY id MEASURES count(*) AS n PATTERN ((A | B)+ C) "
        "DEFINE A AS sum(A.id) < 100000, C AS sum(A.id) = -1"
    )
    one_key = events.where("k = 1").selectExpr("*", "CAST(NULL AS STRING) AS s2")
    ours = run_time_error(one_key.transform(ost.match_recognize(clause, max_partial_matches=100)))
    assert ours.code == "TOO_MANY_PARTIAL_MATCHES"
    assert "more than 100 partial matches" in ours.message
    assert "k = 1" in ours.message
    assert "s2 = None" in ours.message or "s2 = NULL" in ours.message
    assert ours.hint is not None
    assert "max_partial_matches" in ours.hint


def run_time_error(df: DataFrame) -> ost.OstinatoError:
    with pytest.raises(PySparkException) as caught:
        df.collect()
    ours = ost.unwrap(caught.value)
    assert ours is not None, str(caught.value)
    return ours


def test_division_by_zero_across_rows_follows_ansi(events: DataFrame) -> None:
    assert "ZERO" in run_time_error(events.transform(ost.match_recognize(B + "i / A.i > 0"))).code


@pytest.mark.parametrize(
    ("clause", "code", "expression"),
    [
        (B + "i < 0 OR 10 / i > 0", "DIVIDE_BY_ZERO", r"10 / i, in the row with id = \d+"),
        (B + "CAST(s AS INT) > PREV(i)", "CAST_INVALID_INPUT", r"CAST\(s AS INT\), in the row with id = \d+"),
        # No row has an index that is right or 0: tasks run beside each other, and the first error counts.
        (
            B + "element_at(array(1), i + 99) > 0",
            "INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
            r"element_at\(array\(1\), \(i \+ 99\)\)",
        ),
        (f"PARTITION BY k ORDER BY id MEASURES 1 / min(i) AS x {M}", "DIVIDE_BY_ZERO", r".* 'x', in .* with k = \d+"),
    ],
)
def test_errors_of_rows_that_spark_evaluates_become_ours(
    events: DataFrame, clause: str, code: str, expression: str
) -> None:
    with pytest.raises(PySparkException, match=code) as caught:
        events.transform(ost.match_recognize(clause)).collect()
    ours = ost.unwrap(caught.value)
    assert ours is not None
    assert ours.code == code
    assert re.search(f" in {expression}$", ours.message), ours.message


def test_errors_of_the_user_pass_through(events: DataFrame) -> None:
    clause = f"ORDER BY id MEASURES raise_error('mine: [x]') AS x {M}"
    with pytest.raises(PySparkException, match="mine") as caught:
        events.transform(ost.match_recognize(clause)).collect()
    assert ost.unwrap(caught.value) is None


def test_an_error_in_one_key_fails_the_whole_query_not_only_its_rows(events: DataFrame) -> None:
    clause = (
        "PARTITION BY k ORDER BY id MEASURES count(*) AS n AFTER MATCH SKIP TO B PATTERN (A B?) "
        "DEFINE A AS i < 57, B AS k < 2 OR i < 5"
    )
    for sort in ("worker", "spark"):
        matched: Any = ost.match_recognize(clause, sort=sort)  # type: ignore[arg-type]
        ours = run_time_error(events.transform(matched).groupBy().sum("n"))
        assert ours.code == "SKIP_TARGET_MISSING"
        assert "k = 2" in ours.message


@pytest.mark.parametrize("compiled", ["true", "false"])
def test_conditions_around_the_clause_do_not_drop_an_error(spark: SparkSession, compiled: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", compiled)
    clause = "ORDER BY id MEASURES LAST(A.id) AS n AFTER MATCH SKIP TO B PATTERN (A B?) DEFINE B AS FALSE"
    matched = session.range(3).transform(ost.match_recognize(clause))
    assert run_time_error(matched.where("n > 1")).code == "SKIP_TARGET_MISSING"


# --- arguments beside the text ---

SELECT = f"SELECT * FROM e MATCH_RECOGNIZE ({B}i > 0)"


@pytest.mark.parametrize(
    ("options", "code", "hint"),
    [
        ({"bucket": 5}, "INVALID_OPTION", "did you mean 'buckets'?"),
        ({"skwe": "slice"}, "INVALID_OPTION", "did you mean 'skew'?"),
        ({"other": None}, "INVALID_OPTION", "every other keyword is a DataFrame"),
        ({"other": pa.table({"id": [1]})}, "NOT_A_TABLE", "createDataFrame"),
        ({"spark": 5}, "INVALID_OPTION", None),
        ({"args": "text"}, "INVALID_OPTION", None),
        ({"eager": "no"}, "INVALID_OPTION", None),
        ({"memory_budget": "1 GB"}, "INVALID_OPTION", None),
        ({"max_partial_matches": -1}, "INVALID_OPTION", None),
    ],
    ids=str,
)
def test_arguments_of_sql_are_checked(events: DataFrame, options: dict[str, Any], code: str, hint: str | None) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.sql(SELECT, e=events, **options)
    assert caught.value.code == code
    assert hint is None or hint in str(caught.value.hint)


def test_calls_in_process_do_not_collect(spark: SparkSession, events: DataFrame) -> None:
    before = jobs(spark)
    for call in (lambda: ost.match(f"{B}i > 0", events), lambda: ost.sql(5)):  # type: ignore[arg-type]
        with pytest.raises(ost.QueryError) as caught:
            call()
        assert caught.value.code in ("NOT_A_TABLE", "NOT_A_QUERY")
    assert jobs(spark) == before
