"""`ost.match` of an event query gives the oracle's rows, whatever the query: from the text to the Arrow columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.laws.event_comparison import differing, plain_value
from tests.laws.event_strategies import AGGREGATES_ONLY, DECLINED, MATCHES_ONLY, bind, event_queries, event_tables

import ostinato as ost
from ostinato.errors import QueryError


def check(text: str, table: pa.Table) -> None:
    try:
        found = ost.match(ost.events(text), table)
    except QueryError as error:
        assert error.code in DECLINED, error
        return
    difference = differing(bind(text), table.to_pylist(), found.to_pylist())
    assert difference is None, difference


@given(event_queries(AGGREGATES_ONLY), event_tables())
def test_aggregates(text: str, table: pa.Table) -> None:
    check(text, table)


@given(event_queries(MATCHES_ONLY), event_tables(6))
def test_matches(text: str, table: pa.Table) -> None:
    check(text, table)


def runs(text: str, table: pa.Table) -> bool:
    try:
        ost.match(ost.events(text), table)
    except QueryError:
        return False
    return True


@given(st.lists(event_queries(), min_size=2, max_size=4), event_tables(6), st.sampled_from(["dynamic", "always"]))
def test_a_workload_gives_what_its_queries_give(texts: list[str], table: pa.Table, sharing: str) -> None:
    asked = [text for text in texts if runs(text, table)]
    if asked:
        found = ost.Workload(asked, sharing=sharing).run(table)
        for text, name in zip(asked, found, strict=True):
            alone = ost.match(ost.events(text), table)
            assert found[name].schema == alone.schema
            assert [plain(row) for row in found[name].to_pylist()] == [plain(row) for row in alone.to_pylist()]


def plain(value: Any) -> Any:
    """What can be compared: NaN equals NaN, doubles to 12 digits, also inside events."""
    if isinstance(value, dict):
        return tuple(plain(each) for each in value.values())
    return tuple(map(plain, value)) if isinstance(value, list) else plain_value(value)


@pytest.mark.slow
@settings(max_examples=1_500)
@given(event_queries(AGGREGATES_ONLY), event_tables(7))
def test_aggregates_deeply(text: str, table: pa.Table) -> None:
    check(text, table)
