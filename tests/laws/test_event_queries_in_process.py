"""For every event query, `ost.match` returns the oracle's rows. Tests everything from the text to the Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.declined import TRENDS, Declined
from tests.laws.event_comparison import differing, plain_value
from tests.laws.event_strategies import (
    AGGREGATES_ONLY,
    MATCHES_ONLY,
    Example,
    bind,
    event_examples,
    event_queries,
    event_tables,
    sharing_workloads,
)

import ostinato as ost
from ostinato.errors import QueryError

DECLINED = Declined(TRENDS)


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


def check(example: Example) -> None:
    with DECLINED.example():
        result = ost.match(ost.events(example.text), example.table)
    with DECLINED.oracle():
        difference = differing(bind(example.text), example.rows, result.to_pylist())
    DECLINED.answered(rows=result.num_rows > 0)
    assert difference is None, f"{example.text}\n{example.rows}\n{difference}"


@given(event_examples(AGGREGATES_ONLY))
def test_aggregates(example: Example) -> None:
    check(example)


@given(event_examples(MATCHES_ONLY, 7))
def test_matches(example: Example) -> None:
    check(example)


def is_supported(text: str, table: pa.Table) -> bool:
    try:
        ost.match(ost.events(text), table)
    except QueryError as error:
        assert error.code in TRENDS, error
        return False
    return True


WORKLOADS = st.one_of(sharing_workloads(), st.lists(event_queries(), min_size=2, max_size=4))


@given(WORKLOADS, event_tables(6), st.sampled_from(["dynamic", "always"]))
def test_a_workload_gives_the_rows_of_each_query_alone(texts: list[str], table: pa.Table, sharing: str) -> None:
    with DECLINED.example():
        supported = [text for text in texts if is_supported(text, table)]
        if not supported:
            DECLINED.leave_out("every query is declined")
    result = ost.Workload(supported, sharing=sharing).run(table)
    for text, name in zip(supported, result, strict=True):
        expected = ost.match(ost.events(text), table)
        assert result[name].schema == expected.schema
        assert [plain(row) for row in result[name].to_pylist()] == [plain(row) for row in expected.to_pylist()]
    DECLINED.answered(rows=any(result[name].num_rows for name in result))


def plain(value: Any) -> Any:
    """A comparable value, see `plain_value`; also for values inside events."""
    if isinstance(value, dict):
        return tuple(plain(each) for each in value.values())
    return tuple(map(plain, value)) if isinstance(value, list) else plain_value(value)


@pytest.mark.slow
@settings(max_examples=examples(375))
@given(event_examples(AGGREGATES_ONLY))
def test_aggregates_deeply(example: Example) -> None:
    check(example)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(event_examples(MATCHES_ONLY))
def test_matches_deeply(example: Example) -> None:
    check(example)
