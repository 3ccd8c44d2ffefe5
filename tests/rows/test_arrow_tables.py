"""The forms in which tables come to calls in process, and the column types that Spark doesn't have."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato as ost

TABLE = pa.table({"id": [1, 2, 3], "k": ["a", "a", "b"], "x": [1.0, 2.0, 3.0]})
CLAUSE = "PARTITION BY k ORDER BY id MEASURES count(*) AS n PATTERN (A+) DEFINE A AS x > 0"
ALL_ROWS = CLAUSE.replace("PATTERN", "ALL ROWS PER MATCH PATTERN")
MATCHES = [{"k": "a", "n": 2}, {"k": "b", "n": 1}]


class Polars:
    """Stands in for a Polars DataFrame: `__dataframe__` is deprecated there, and warns or fails."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return TABLE.__arrow_c_stream__(requested_schema)

    def __dataframe__(self, **options: Any) -> Any:
        raise RuntimeError("deprecated")


class Interchange:
    """Has the older protocol alone."""

    def __dataframe__(self, **options: Any) -> Any:
        return TABLE.__dataframe__(**options)


class SparkDataFrame:
    """Stands in for PySpark's, which would collect itself."""

    isStreaming = False

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise AssertionError("collected")


SparkDataFrame.__module__ = "pyspark.sql.classic.dataframe"


@pytest.mark.parametrize(
    "table",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_batches(),
        TABLE.to_reader(),
        Polars(),
        Interchange(),
    ],
    ids=lambda table: type(table).__name__,
)
def test_forms_of_tables(table: Any) -> None:
    assert ost.match(CLAUSE, table).to_pylist() == MATCHES


def test_pandas_gives_pandas() -> None:
    assert ost.match(CLAUSE, TABLE.to_pandas().set_index("x", drop=False)).to_dict("records") == MATCHES


def test_a_form_of_tables_is_explained_without_its_rows() -> None:
    assert ost.explain(CLAUSE, Polars()).text == ost.explain(CLAUSE, TABLE).text


def test_a_spark_dataframe_is_not_collected() -> None:
    calls = [
        lambda: ost.match(CLAUSE, SparkDataFrame()),
        lambda: ost.summary("a", type="k", time="id", within=1, size=1).feed(SparkDataFrame()),
    ]
    for call in calls:
        with pytest.raises(ost.QueryError, match=r"df\.transform") as caught:
            call()
        assert caught.value.code == "NOT_A_TABLE"


@pytest.mark.parametrize(
    "wrong", [None, 5, "text", {"id": [1]}, [], [1], object()], ids=lambda wrong: type(wrong).__name__
)
def test_no_tables(wrong: Any) -> None:
    with pytest.raises(ost.QueryError) as caught:
        ost.match(CLAUSE, wrong)
    assert caught.value.code == "NOT_A_TABLE"


def test_batches_of_different_schemas() -> None:
    batches = [TABLE.to_batches()[0], pa.record_batch({"id": [1]})]
    with pytest.raises(ost.QueryError, match="record batch 1 has other columns") as caught:
        ost.match(CLAUSE, batches)
    assert caught.value.code == "NOT_A_TABLE"


def test_a_column_of_mixed_types() -> None:
    frame = TABLE.to_pandas().astype({"x": object})
    frame.loc[0, "x"] = "one"
    for call in (ost.match, ost.explain):
        with pytest.raises(ost.QueryError, match="read this DataFrame") as caught:
            call(CLAUSE, frame)
        assert caught.value.code == "TABLE_NOT_READABLE"
        assert isinstance(caught.value.__cause__, pa.ArrowException)


# --- columns ---


def with_column(column: pa.Array) -> pa.Table:
    return TABLE.append_column("c", column)


def test_a_name_that_stands_twice_matters_only_where_it_is_used() -> None:
    twice = pa.Table.from_arrays([*TABLE.columns, TABLE["x"], TABLE["x"]], names=[*TABLE.column_names, "u", "u"])
    assert ost.match(CLAUSE, twice).to_pylist() == MATCHES
    trend = "PATTERN SEQ(a+, b) RETURN COUNT(*)"
    assert ost.match(ost.events(trend, type="k", time="id"), twice).to_pylist() == [{"count(*)": 3}]
    result = ost.Workload([trend, CLAUSE], type="k", time="id").run(twice)
    assert result["q2"].to_pylist() == MATCHES
    summary = ost.summary("a b", type="k", time="id", within=10, size=4)
    assert summary.feed(twice).ask().count == 2
    for query, code in ((CLAUSE.replace("x >", "u >"), "AMBIGUOUS_COLUMN"), (ALL_ROWS, "DUPLICATE_COLUMN")):
        with pytest.raises(ost.QueryError) as caught:
            ost.match(query, twice)
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("column", "shown"),
    [
        (pa.array([Decimal(1)] * 3, pa.decimal256(38, 2)), [Decimal("1.00")] * 3),
        (pc.run_end_encode(pa.array([1, 1, 2])), [1, 1, 2]),
        (pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"0" * 16] * 3, pa.binary(16))), [b"0" * 16] * 3),
        (pa.array(["u", "v", "u"]).dictionary_encode(), ["u", "v", "u"]),
    ],
    ids=["decimal256", "run-end encoded", "uuid", "dictionary"],
)
def test_types_that_have_a_form_in_spark(column: pa.Array, shown: list[Any]) -> None:
    assert ost.match(ALL_ROWS, with_column(column))["c"].to_pylist() == shown


def test_a_type_that_spark_does_not_have_names_its_column() -> None:
    with pytest.raises(ost.QueryError, match=r"column 'c' is decimal256\(50, 2\)") as caught:
        ost.match(CLAUSE, with_column(pa.array([Decimal(1)] * 3, pa.decimal256(50, 2))))
    assert caught.value.code == "UNSUPPORTED_TYPE"
