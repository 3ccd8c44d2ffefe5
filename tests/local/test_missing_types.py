"""In process, a type that no event has is a warning. It is mostly a misspelled name."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import OstinatoWarning

RIDES = pa.table({"ts": [1, 2, 3], "Kind": ["Request", "Travel", None], "x": [1, 2, 3]})


def warnings_of(text: str, table: pa.Table = RIDES, **types: object) -> list[str]:
    query = ost.events(f"PATTERN {text} RETURN COUNT(*)", **{"type": "kind", "time": "ts", **types})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ost.match(query, table)
    assert all(one.category is OstinatoWarning and one.filename == __file__ for one in caught)
    return [str(one.message) for one in caught]


def test_a_misspelled_type_warns_with_a_similar_name() -> None:
    expected = ["no event has type 'Reqest' in the column 'Kind'; did you mean 'Request'?"]
    assert warnings_of("SEQ(Reqest, Travel+, Reqest r)") == expected
    assert warnings_of("SEQ(Request, Travel+)") == []


@pytest.mark.parametrize("pattern", ["SEQ(Request, NOT Zzz, Travel)", "Travel+ WITHOUT Zzz", "Travel STRICT ON (Zzz)"])
def test_types_that_must_be_absent_warn_too(pattern: str) -> None:
    assert warnings_of(pattern) == ["no event has type 'Zzz' in the column 'Kind'"]


def test_an_empty_table_and_types_by_conditions_do_not_warn() -> None:
    assert warnings_of("Zzz", RIDES.slice(0, 0)) == []
    assert warnings_of("Zzz", type={"Zzz": "x > 100"}) == []


def test_columns_in_other_forms() -> None:
    encoded = RIDES.set_column(1, "Kind", RIDES["Kind"].dictionary_encode())
    assert warnings_of("Travl", encoded) == ["no event has type 'Travl' in the column 'Kind'; did you mean 'Travel'?"]
    assert warnings_of("`7`", RIDES, type="x") == []


def test_a_workload_warns_once_for_a_type() -> None:
    query = "PATTERN SEQ(Request, Zzz+) RETURN COUNT(*)"
    workload = ost.Workload({"one": query, "two": query}, type="Kind", time="ts")
    with pytest.warns(OstinatoWarning, match="no event has type 'Zzz'") as caught:
        workload.run(RIDES)
    assert len(caught) == 1
