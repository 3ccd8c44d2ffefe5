"""The rules for expressions of a workload in process: those that `ost.match` takes."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError

ROWS = pa.table({"at": pa.array([datetime(2024, 1, 1, 23, 30, tzinfo=UTC)]), "text": ["no number"]})
CLAUSE = "ORDER BY at MEASURES {} AS value ALL MATCHES PATTERN (A) DEFINE A AS true"


def measured(expression: str, **settings: object) -> object:
    found = ost.Workload([CLAUSE.format(expression)]).run(ROWS, **settings)  # type: ignore[arg-type]
    assert found["q1"].equals(ost.match(CLAUSE.format(expression), ROWS, **settings))  # type: ignore[arg-type]
    return found["q1"].to_pylist()[0]["value"]


def test_time_zone() -> None:
    assert [measured("hour(A.at)", timezone=zone) for zone in ("UTC", "Europe/Berlin")] == [23, 0]


def test_ansi() -> None:
    assert measured("CAST(A.text AS INT)", ansi=False) is None
    with pytest.raises(ost.MatchError, match="CAST_INVALID_INPUT"):
        measured("CAST(A.text AS INT)")


def test_a_zone_that_is_none() -> None:
    with pytest.raises(QueryError, match="timezone can't be 'Mars'"):
        ost.Workload([CLAUSE.format("1")]).run(ROWS, timezone="Mars")


@pytest.mark.parametrize("option", [{"numbers": "text"}, {"approximate": True}])
def test_options_of_aggregates_are_refused_if_no_query_has_any(option: dict[str, object]) -> None:
    with pytest.raises(QueryError, match=f"{next(iter(option))} is the form of aggregates") as caught:
        ost.Workload([CLAUSE.format("1")], **option)
    assert caught.value.code == "INVALID_OPTION"
