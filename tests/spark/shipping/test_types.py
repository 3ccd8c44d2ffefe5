"""Every Spark type as key, order, condition, measure and output column. Unsupported types raise a QueryError."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import ostinato as ost

VALUES = {
    "boolean": ("false", "true"),
    "tinyint": ("1Y", "2Y"),
    "smallint": ("1S", "2S"),
    "int": ("1", "2"),
    "bigint": ("1152921504606846977", "1152921504606846978"),
    "float": ("float('-Infinity')", "float(0.1)"),
    "double": ("0.1D", "double('NaN')"),
    "decimal(5,2)": ("-1.25BD", "999.99BD"),
    "decimal(38,10)": ("1234567890123456789012345678.0123456789BD", "1234567890123456789012345678.0123456790BD"),
    "string": ("''", "'ärger 🎵'"),
    "binary": ("X'00FF'", "X'01'"),
    "date": ("DATE'1582-10-04'", "DATE'9999-12-31'"),
    "timestamp": ("TIMESTAMP'2024-11-03 00:59:59.999999'", "TIMESTAMP'2024-11-03 01:00:00.000001'"),
    "timestamp_ntz": ("TIMESTAMP_NTZ'1900-01-01 00:00:00.000001'", "TIMESTAMP_NTZ'2024-03-10 02:30:00'"),
    "interval day to second": (
        "INTERVAL '-1 02:03:04.000005' DAY TO SECOND",
        "INTERVAL '0 00:00:00.000001' DAY TO SECOND",
    ),
    "interval hour": ("INTERVAL '1' HOUR", "INTERVAL '2' HOUR"),
    "array<int>": ("array(1, 2)", "array(2, NULL)"),
    "struct<a:int,b:array<string>>": (
        "named_struct('a', 1, 'b', array('x'))",
        "named_struct('a', 2, 'b', CAST(NULL AS ARRAY<STRING>))",
    ),
}
"""Two values of each type, the smaller first."""
UNORDERED = {"map<string,decimal(2,1)>": ("map('k', 1.5BD)", "map('k', CAST(NULL AS DECIMAL(2,1)))")}


@pytest.fixture(scope="module")
def every(spark: SparkSession) -> DataFrame:
    """Rows 1 and 2 hold the values, row 0 only NULLs; c0, c1, ... are the columns."""
    typed = [
        (f"CAST({small} AS {kind}) AS c{i}", f"CAST({large} AS {kind}) AS c{i}", f"CAST(NULL AS {kind}) AS c{i}")
        for i, (kind, (small, large)) in enumerate((VALUES | UNORDERED).items())
    ]
    small, large, null = (", ".join(column) for column in zip(*typed, strict=True))
    selects = (f"SELECT {i} AS id, {columns}, NULL AS nothing" for i, columns in enumerate((null, small, large)))
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "1")
    return session.sql(" UNION ALL ".join(selects)).coalesce(1).localCheckpoint()  # simple plans for later steps


NAMES = [f"c{i}" for i in range(len(VALUES))]
WIDE = NAMES[list(VALUES).index("decimal(38,10)")]
ALL_NAMES = [*NAMES, f"c{len(VALUES)}", "nothing"]


def by_id(df: DataFrame, id_column: str = "id") -> dict[int, Any]:
    return {row[id_column]: comparable(row.asDict()) for row in df.collect()}


def comparable(value: Any) -> Any:
    """NaN equals itself."""
    return repr(value)


def test_the_columns_have_the_types_of_their_values(every: DataFrame) -> None:
    kinds = [field.dataType.simpleString() for field in every.schema.fields[1:-1]]
    assert kinds == [*VALUES, *UNORDERED]


def test_shown_columns_keep_type_and_value(every: DataFrame) -> None:
    shown = every.transform(ost.match_recognize("ORDER BY id ALL ROWS PER MATCH PATTERN (A+)"))
    assert shown.dtypes == every.dtypes
    assert by_id(shown) == by_id(every)


def test_measures_keep_type_and_value(every: DataFrame) -> None:
    measures = (
        f"FIRST({c}, 1) AS {c}_first, LAST({c}) AS {c}_last, PREV(FIRST({c}), 1) AS {c}_none" for c in ALL_NAMES
    )
    result = every.transform(ost.match_recognize(f"ORDER BY id MEASURES {', '.join(measures)} PATTERN (A+)"))
    (row,) = result.collect()
    values = {each.id: each for each in every.collect()}
    kinds = dict(every.dtypes)
    for name in ALL_NAMES:
        assert repr(row[f"{name}_first"]) == repr(values[1][name]), name
        assert repr(row[f"{name}_last"]) == repr(values[2][name]), name
        assert row[f"{name}_none"] is None
        assert [kind for column, kind in result.dtypes if column.startswith(f"{name}_")] == [kinds[name]] * 3


def test_aggregates_have_the_types_of_spark(every: DataFrame) -> None:
    functions = {"max": "max({})", "min": "min({})", "n": "count(DISTINCT {})", "all": "array_agg({})"}
    texts = [f"{text.format(c)} AS {name}_{c}" for c in NAMES for name, text in functions.items()]
    summed = ("tinyint", "int", "double", "decimal(5,2)", "interval day to second")
    numbers = [name for name, kind in zip(NAMES, VALUES, strict=True) if kind in summed]
    texts += [f"{name}({c}) AS {name}_{c}" for c in numbers for name in ("sum", "avg")]
    result = every.transform(ost.match_recognize(f"ORDER BY id MEASURES {', '.join(texts)} PATTERN (A+)"))
    expected = every.selectExpr(*texts)
    assert result.dtypes == expected.dtypes
    ((ours,), (theirs,)) = result.collect(), expected.collect()
    for name in result.columns:
        if not name.startswith("all_"):
            assert repr(ours[name]) == repr(theirs[name]), name
        else:
            assert sorted(map(repr, ours[name])) == sorted(map(repr, theirs[name])), name


def test_keys_and_order(every: DataFrame) -> None:
    """Each type in turn as key, with the next type as order; sorted by the worker and by Spark; one job for all."""
    others = every.select("id", *(F.col(name).alias(f"o{name}") for name in NAMES))
    pairs = every.select(*NAMES).crossJoin(others).localCheckpoint()
    result = None
    for i, (name, order) in enumerate(zip(NAMES, [*NAMES[1:], NAMES[0]], strict=True)):
        clause = (
            f"PARTITION BY {name} ORDER BY o{order} DESC MEASURES '{name}' AS c, FIRST(id) AS f, PREV(LAST(id)) AS m, "
            "LAST(id) AS l, count(*) AS n PATTERN (A+)"
        )
        matched = pairs.transform(ost.match_recognize(clause, sort="spark" if i % 2 else "worker"))
        matched_rows = matched.select("c", "f", "m", "l", "n")
        result = matched_rows if result is None else result.union(matched_rows)
    assert result is not None
    rows = [tuple(row) for row in result.collect()]
    assert sorted(rows) == sorted([(name, 2, 1, 0, 3) for name in NAMES] * 3)


def test_conditions(every: DataFrame) -> None:
    """Between neighbours, in the kernel across rows, row by row across rows. Row 0 is NULL and starts no match."""
    nested = [name for name, kind in zip(NAMES, VALUES, strict=True) if kind.startswith(("array", "struct"))]
    alone = " AND ".join(f"{c} IS NOT NULL" for c in ALL_NAMES[:-1])
    for pattern, condition, names in (
        ("A B", "{0} > PREV({0}) AND NOT {0} <=> PREV({0})", NAMES),
        ("A B", "{0} > A.{0} AND {0} IS DISTINCT FROM A.{0}", NAMES),
        ("A B+", "{0} > A.{0} AND {0} IS DISTINCT FROM A.{0}", [c for c in NAMES if c not in nested and c != WIDE]),
        ("A B+", "{0} > A.{0} AND {0} IS DISTINCT FROM A.{0}", nested),
    ):
        conditions = " AND ".join(condition.format(name) for name in names)
        clause = (
            f"ORDER BY id MEASURES A.id AS a, LAST(id) AS b PATTERN ({pattern}) DEFINE A AS {alone}, B AS {conditions}"
        )
        assert [tuple(row) for row in every.transform(ost.match_recognize(clause)).collect()] == [(1, 2)], clause


def test_wide_decimals_across_rows(every: DataFrame) -> None:
    """Beyond 18 digits values are compared exactly, by rank."""
    clause = f"ORDER BY id MEASURES A.id AS a PATTERN (A B+) DEFINE A AS {WIDE} IS NOT NULL, B AS {WIDE} > A.{WIDE}"
    assert [tuple(row) for row in every.transform(ost.match_recognize(clause)).collect()] == [(1,)]


def test_char_and_varchar_columns(spark: SparkSession, tmp_path: Any) -> None:
    spark.sql(f"CREATE TABLE ost_chars (id INT, c CHAR(3), v VARCHAR(5)) USING parquet LOCATION '{tmp_path / 'chars'}'")
    try:
        spark.sql("INSERT INTO ost_chars VALUES (1, 'a', 'x'), (2, 'a', 'y')")
        result = ost.sql(
            "SELECT * FROM ost_chars MATCH_RECOGNIZE (PARTITION BY c ORDER BY v MEASURES LAST(v) AS l, FIRST(c) AS f "
            "ALL ROWS PER MATCH PATTERN (A+) DEFINE A AS c = 'a' AND (v > PREV(v) OR PREV(v) IS NULL))",
            spark=spark,
        )
        assert sorted(tuple(row) for row in result.collect()) == [
            ("a  ", "x", "x", "a  ", 1),
            ("a  ", "y", "y", "a  ", 2),
        ]
    finally:
        spark.sql("DROP TABLE ost_chars")


# --- unsupported types ------------------------------------------------------------------------------------------------

STAY = {
    "interval year to month": "INTERVAL '1-2' YEAR TO MONTH",
    "variant": "parse_json('[1]')",
    "string collate": "'a' COLLATE UTF8_LCASE",
}


@pytest.mark.parametrize("kind", STAY)
def test_types_that_stay_in_spark(spark: SparkSession, kind: str) -> None:
    df = spark.sql(f"SELECT id, {STAY[kind]} AS v FROM range(1)")
    for clause in (
        "ORDER BY id ALL ROWS PER MATCH PATTERN (A)",
        "ORDER BY id MEASURES LAST(v) AS x PATTERN (A)",
        "ORDER BY id MEASURES LAST(id) AS x PATTERN (A B) DEFINE B AS PREV(v) IS NULL",
        "PARTITION BY v ORDER BY id MEASURES LAST(id) AS x PATTERN (A)",
    ):
        with pytest.raises(ost.QueryError) as caught:
            df.transform(ost.match_recognize(clause))
        assert caught.value.code == "UNSUPPORTED_TYPE", clause
        assert "'v'" in caught.value.message
        assert kind.split(maxsplit=1)[0] in caught.value.message
    unneeded = "ORDER BY id MEASURES LAST(id) AS x PATTERN (A) DEFINE A AS v IS NOT NULL"
    assert df.transform(ost.match_recognize(unneeded)).collect() == [(0,)]


# --- time zones -------------------------------------------------------------------------------------------------------


def test_timestamps_keep_microseconds_and_the_zone_of_the_session(spark: SparkSession) -> None:
    """On 2024-11-03 New York's clocks show 01:30 twice; hours, text and differences follow them, order doesn't."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    df = session.sql(
        "SELECT timestamp_micros(micros) AS ts FROM VALUES (1730611800000001), (1730615400000002), (1730608200000003) "
        "AS t(micros)"
    )
    result = df.transform(
        ost.match_recognize(
            "ORDER BY ts MEASURES array_agg(unix_micros(ts)) AS micros, "
            "date_format(FIRST(ts), 'HH:mm:ss.SSSSSS') AS f, "
            "date_format(LAST(ts), 'HH:mm:ss.SSSSSS z') AS l, LAST(ts) - FIRST(ts) AS took, LAST(ts) AS ts, "
            "LAST(CAST(ts AS STRING)) AS text PATTERN (A B+) "
            "DEFINE B AS ts > PREV(ts) AND ts - PREV(ts) < INTERVAL '1' HOUR AND ts < A.ts + INTERVAL '3' HOUR "
            "AND hour(ts) = 1 AND PREV(ts) > TIMESTAMP'2024-11-03 00:00:00'"
        )
    )
    (row,) = result.collect()
    assert row.micros == [1730608200000003, 1730611800000001, 1730615400000002]
    assert (row.f, row.l) == ("00:30:00.000003", "01:30:00.000002 EST")
    assert row.took == dt.timedelta(hours=1) - dt.timedelta(microseconds=1)
    assert row.text == "2024-11-03 01:30:00.000002"
    assert dict(result.dtypes)["ts"] == "timestamp"


def test_the_zone_in_conditions_across_rows(spark: SparkSession) -> None:
    """`date + 1 day` and casts between rows follow the session's zone, here across the night of the change."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    session.conf.set("spark.sql.shuffle.partitions", "1")
    df = session.sql(
        "SELECT * FROM VALUES (1, TIMESTAMP'2024-03-30 23:30:00'), (2, TIMESTAMP'2024-03-31 03:30:00') AS t(id, ts)"
    )
    clause = "ORDER BY id MEASURES count(*) AS n PATTERN (A B) DEFINE B AS {} "
    by_hours = "ts = A.ts + INTERVAL '3' HOUR"  # one hour is missing in that night
    by_days = "CAST(ts AS DATE) = date_add(CAST(A.ts AS DATE), 1)"
    for condition in (by_hours, by_days):
        assert df.transform(ost.match_recognize(clause.format(condition))).collect() == [(2,)], condition


def test_decimals_are_exact(spark: SparkSession) -> None:
    df = spark.sql("SELECT id, CAST(0.1 AS DECIMAL(38,10)) + id AS d FROM range(3)")
    result = df.transform(
        ost.match_recognize(
            "ORDER BY id MEASURES sum(d) AS s, LAST(d) * 2 AS t PATTERN (A B+) DEFINE B AS d - A.d >= 1"
        )
    )
    assert [tuple(row) for row in result.collect()] == [(Decimal("3.3000000000"), Decimal("4.2000000000"))]


def test_fields_of_structs_have_the_names_of_spark(spark: SparkSession) -> None:
    """Names come from columns and fields as written, not from the shipped columns. In process they are the same."""
    inputs = pa.table({"id": [1, 2], "name": ["a", "b"], "s": [{"x": 1, "y": {"z": 2}}] * 2})
    clause = """ORDER BY id MEASURES struct(id, name) AS a, (A.id, name AS q) AS b, LAST(struct(ID, s.x)) AS c,
        struct(A.s.y.z, LAST(A.id), PREV(id), count(*), id + 1) AS d, array_agg(struct(A.id, A.name)) AS e
        PATTERN (A+) DEFINE A AS struct(A.id, 1).id > 0"""
    expected_types = {
        "a": "struct<id:bigint,name:string>",
        "b": "struct<id:bigint,q:string>",
        "c": "struct<ID:bigint,x:bigint>",
        "d": "struct<z:bigint,col2:bigint,col3:bigint,col4:bigint,col5:bigint>",
        "e": "array<struct<id:bigint,name:string>>",
    }
    result = spark.createDataFrame(inputs).transform(ost.match_recognize(clause))
    assert {field.name: field.dataType.simpleString() for field in result.schema.fields} == expected_types
    in_process = ost.match(clause, inputs)
    assert result.toArrow().to_pylist() == in_process.to_pylist()
