"""Ids of the matches of event queries. That streams have the ids of a batch is tested with the shared matcher."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import OstinatoError
from ostinato.rows.match_ids import check_identifies

EVENTS = pa.table({"ts": [1, 2, 2, 2, 4], "kind": list("ABBBC"), "u": ["u"] * 5, "x": [5, 7, 7, 8, 9]})
QUERY = "TYPE kind TIME ts PATTERN SEQ(A a, B b, C c) GROUP BY u RETURN MATCHES"
GOLDEN = ["3832be7508578b34dd090e2bb698dc61", "1447a4649aad3799988a0c05d5224852", "06db36b4761bd35bcbcf9fea1356dd10"]


def ids(table: pa.Table, query: str = QUERY) -> list[str]:
    return ost.match(query, table, match_id="id")["id"].to_pylist()  # type: ignore[no-any-return]


def test_golden_ids() -> None:
    """Matches of events with equal times have different ids, also if the events are equal."""
    assert ids(EVENTS) == GOLDEN


def test_neither_the_order_of_rows_nor_names_matter() -> None:
    shuffled = EVENTS.take(np.random.default_rng(3).permutation(EVENTS.num_rows))
    assert sorted(ids(shuffled)) == sorted(GOLDEN)
    renamed = EVENTS.rename_columns(["at", "type", "user", "x"])
    query = QUERY.replace("kind", "type").replace("TIME ts", "TIME at").replace("BY u", "BY user")
    assert ids(renamed, query) == GOLDEN


def test_windows_groups_and_variables_matter() -> None:
    windows = QUERY.replace("RETURN", "WITHIN 4 SECONDS SLIDE 1 SECOND RETURN")
    timed = EVENTS.set_column(0, "ts", EVENTS["ts"].cast(pa.timestamp("s")))
    other_group = EVENTS.set_column(2, "u", pa.array(["v"] * 5))
    other_label = QUERY.replace("C c", "C d")
    found = [*ids(EVENTS), *ids(timed, windows), *ids(other_group), *ids(EVENTS, other_label)]
    assert len(set(found)) == len(found) > 9


def test_queries_of_a_workload_have_the_ids_that_each_has_alone() -> None:
    clause = "ORDER BY ts, x MEASURES A.x AS x PATTERN (A B) DEFINE A AS kind = 'A'"
    workload = ost.Workload(
        {"events": QUERY, "clause": clause, "count": QUERY.replace("MATCHES", "COUNT(*)")}, match_id="id"
    )
    result = workload.run(EVENTS)
    assert result["events"]["id"].to_pylist() == GOLDEN
    assert result["clause"].equals(ost.match(clause, EVENTS, match_id="id"))
    assert "id" not in result["count"].column_names
    assert result.table["match_id"].drop_null().to_pylist() == GOLDEN


@pytest.mark.parametrize(
    ("query", "options", "code"),
    [
        (
            QUERY.replace("MATCHES", "COUNT(*)"),
            {"match_id": "id"},
            "INVALID_OPTION: match_id is for queries that return",
        ),
        (QUERY, {"run_id": "id"}, "INVALID_OPTION: there is no option 'run_id'"),
        (QUERY, {"match_id": ""}, "INVALID_OPTION: match_id is a text"),
        (QUERY, {"match_id": "Match_Number"}, "DUPLICATE_COLUMN"),
    ],
)
def test_refused(query: str, options: dict[str, str], code: str) -> None:
    with pytest.raises(OstinatoError, match=code):
        ost.match(query, EVENTS, **options)  # type: ignore[arg-type]


def test_a_column_without_canonical_bytes_is_refused_even_if_no_matches_are_equal() -> None:
    spans = pa.array([(1, 2, 3)] * EVENTS.num_rows, pa.month_day_nano_interval())
    nested = pa.StructArray.from_arrays([spans], ["span"])
    for column in (spans, nested):
        for table in (EVENTS, EVENTS.slice(0, 1)):
            with pytest.raises(OstinatoError, match="UNSUPPORTED_TYPE: ids of matches can't depend on the column 's'"):
                ost.match(QUERY, table.append_column("s", column[: table.num_rows]), match_id="id")


@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.float16(), pa.string(), pa.binary(4), pa.bool_(), pa.decimal256(40, 3), pa.date64(), pa.time32("s"),
     pa.duration("ns"), pa.timestamp("ns", "UTC"), pa.null(), pa.dictionary(pa.int8(), pa.string()),
     pa.list_(pa.int8()), pa.list_(pa.int8(), 2), pa.large_list(pa.string()), pa.map_(pa.string(), pa.int8()),
     pa.struct([("a", pa.list_(pa.string()))]), pa.struct([])],
)  # fmt: skip
def test_types_that_identify(kind: pa.DataType) -> None:
    check_identifies("s", kind)


def test_a_workload_of_aggregates_refuses_match_id() -> None:
    with pytest.raises(OstinatoError, match="only aggregates"):
        ost.Workload([QUERY.replace("MATCHES", "COUNT(*)")], match_id="id")
