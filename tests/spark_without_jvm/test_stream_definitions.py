"""Definitions of streams: JSON and back gives an equal definition, and the fingerprint depends on the right values."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import MatchError
from ostinato.event_queries.workload_options import WorkloadOptions
from ostinato.expressions.types import Settings
from ostinato.kernels.clock import VirtualClock
from ostinato.kernels.numbers.number_columns import NumberForm
from ostinato.spark.clause.clause_stream_definition import ClauseDefinition
from ostinato.spark.event_queries.event_stream_definition import EventsDefinition
from ostinato.spark.streams.stream_definition import StreamDefinition, read_definition
from ostinato.spark.summaries.summary_stream_definition import SummaryDefinition
from ostinato.spark.workloads.clauses_stream_definition import ClausesDefinition
from ostinato.streams.stream_settings import StreamSettings
from ostinato.summaries.language.summary_query import SummaryQuery
from ostinato.summaries.task.summary_input import SummaryColumns
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest

CLAUSE = "ORDER BY ts MEASURES count(*) AS n PATTERN (A) DEFINE A AS x > 1"
BOUNDED = BoundRequest(latency_bound="1 s", weights={"q1": 2.0}, clock=VirtualClock())
ONE = ClauseDefinition(CLAUSE, None, "{}", "ts timestamp", Settings(), Limits(), StreamSettings())
EVENTS = EventsDefinition(("q",), ("q1",), "{}", "ts", Settings(), WorkloadOptions(), BOUNDED, False, "[]")
CLAUSES = ClausesDefinition((CLAUSE,), ("q1",), "{}", "ts", Settings(), WorkloadOptions(), UNBOUNDED, (None,))
SUMMARY = SummaryDefinition(
    SummaryQuery("A B", 6, 4),
    SummaryColumns("kind", "ts"),
    NumberForm.DECIMAL,
    4,
    '{"type": "struct", "fields": []}',
    None,
    Settings(),
)
ALL: tuple[StreamDefinition, ...] = (ONE, EVENTS, CLAUSES, SUMMARY)
KINDS: list[type[StreamDefinition]] = [type(definition) for definition in ALL]


@pytest.mark.parametrize("definition", ALL, ids=lambda one: one.kind)
def test_read_back_as_it_was(definition: StreamDefinition) -> None:
    again = read_definition(definition.to_json(), KINDS)
    assert again == definition
    assert again is not None and again.fingerprint == definition.fingerprint


def test_of_another_kind() -> None:
    assert read_definition(ONE.to_json(), [SummaryDefinition]) is None


@pytest.mark.parametrize("damage", [{"format": 1}, {"settings": {"ansi": 1, "nonsense": 2}}])
def test_not_readable(damage: dict[str, Any]) -> None:
    text = json.dumps({**json.loads(ONE.to_json()), **damage})
    with pytest.raises(MatchError, match="STATE_FORMAT"):
        read_definition(text, KINDS)


OTHERS: list[tuple[StreamDefinition, StreamDefinition]] = [
    (ONE, replace(ONE, stream=StreamSettings(buckets=5))),
    (ONE, replace(ONE, clause=CLAUSE.replace("> 1", "> 2"))),
    (ONE, replace(ONE, settings=Settings(ansi=False))),
    (ONE, replace(ONE, ids=IdColumns("id"))),
    (EVENTS, replace(EVENTS, options=WorkloadOptions(buckets=5))),
    (EVENTS, replace(EVENTS, engines="[([(0, 0)], True)]")),
    (CLAUSES, replace(CLAUSES, names=("q2",))),
    (CLAUSES, replace(CLAUSES, request=BOUNDED)),
    (SUMMARY, replace(SUMMARY, buckets=5)),
    (SUMMARY, replace(SUMMARY, trigger="kind = 'ASK'")),
]
SAME: list[tuple[StreamDefinition, StreamDefinition]] = [
    (ONE, replace(ONE, limits=Limits(7), stream=StreamSettings(late="show"), columns="[]")),
    (replace(ONE, ids=IdColumns("id")), replace(ONE, ids=IdColumns("other", "run"))),
    (EVENTS, replace(EVENTS, options=WorkloadOptions(max_matches=7))),
    (CLAUSES, replace(CLAUSES, queries=(CLAUSE.replace("PATTERN", "\n  PATTERN"),))),
    (SUMMARY, replace(SUMMARY, form=NumberForm.TEXT)),
    (replace(SUMMARY, trigger="a"), replace(SUMMARY, trigger="b")),
]


@pytest.mark.parametrize(("one", "other"), OTHERS)
def test_another_meaning_has_another_fingerprint(one: StreamDefinition, other: StreamDefinition) -> None:
    assert one.fingerprint != other.fingerprint


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_may_change_between_runs(one: StreamDefinition, other: StreamDefinition) -> None:
    assert one != other and one.fingerprint == other.fingerprint
