"""The bounds of a workload: read, checked, and stored beside the state of a stream."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.api.events import EventsQuery
from ostinato.clause.language.clause_query import ClauseQuery
from ostinato.errors import MatchError, QueryError
from ostinato.kernels.clock import RealClock
from ostinato.workloads.bound_request import UNBOUNDED, BoundRequest

PAIR = "TYPE kind TIME ts PATTERN SEQ(A a, B b) WITHIN 5 SECONDS RETURN MATCHES"
COUNT = "TYPE kind TIME ts PATTERN SEQ(A, B+) RETURN COUNT(*)"
CLAUSE = "ORDER BY ts MEASURES A.ts AS began ALL MATCHES PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B'"


def refused(**options: Any) -> QueryError:
    with pytest.raises(QueryError) as caught:
        ost.Workload([PAIR, PAIR], **options)
    return caught.value


@pytest.mark.parametrize("bound", ["0 ms", "-5 ms", 0, -0.5, 1.5, "5", "soon", "5 parsecs", True, {"q1": "0 s"}])
def test_invalid_latency_bounds_are_refused(bound: Any) -> None:
    assert refused(latency_bound=bound).code == "INVALID_BOUND"


def test_a_bound_of_an_unknown_query_is_refused() -> None:
    error = refused(latency_bound={"q3": "5 ms"})
    assert error.code == "INVALID_OPTION"
    assert "'q3'" in error.message and error.hint == "the queries are q1, q2"
    assert refused(latency_bound="5 ms", weights={"q9": 1.0}).code == "INVALID_OPTION"


@pytest.mark.parametrize("memory", ["0 MB", "many", -1])
def test_invalid_memory_bounds_are_refused(memory: Any) -> None:
    assert refused(memory_bound=memory).code == "INVALID_BOUND"


def test_options_of_earlier_versions_are_read_or_refused() -> None:
    values = BoundRequest("5 ms").to_values()
    assert BoundRequest.from_values({**values, "shedding": "sharp", "state": "view"}) == BoundRequest("5 ms")
    for removed in ({"shedding": "random_state"}, {"state": "instance"}):
        with pytest.raises(MatchError, match="STATE_FORMAT"):
            BoundRequest.from_values({**values, **removed})


def test_a_clock_of_another_type_is_refused() -> None:
    assert refused(latency_bound="5 ms", clock=5).code == "INVALID_OPTION"


def test_a_clock_that_a_checkpoint_cannot_store_is_refused() -> None:
    """`ost.finish_stream` would continue with another clock."""

    class Slow(RealClock):
        pass

    with pytest.raises(QueryError, match="INVALID_OPTION: a stream can't keep this clock in its checkpoint"):
        BoundRequest("5 ms", clock=Slow()).to_values()
    assert BoundRequest("5 ms", clock=RealClock()).to_values() == BoundRequest("5 ms").to_values()


def test_a_workload_without_options_is_unbounded() -> None:
    assert ost.Workload([PAIR]).request == UNBOUNDED
    assert UNBOUNDED.is_empty
    assert not BoundRequest(memory_bound="1 MB").is_empty


def test_a_request_for_some_of_the_queries() -> None:
    request = BoundRequest(latency_bound={"q1": "5 ms", "q2": 0.5}, weights={"q2": 3.0})
    assert request.for_queries(["q2", "q3"]) == BoundRequest(latency_bound={"q2": 0.5}, weights={"q2": 3.0})
    assert request.for_queries(["q3"]).is_empty
    assert BoundRequest("5 ms").for_queries(["q3"]) == BoundRequest("5 ms")


@pytest.mark.parametrize(
    "request_",
    [
        UNBOUNDED,
        BoundRequest("5 ms", "512 MB", None, "2 s", {"q1": 2.0}, ost.VirtualClock(7, 3, 2)),
        BoundRequest({"q1": 0.5, "q2": "3 us"}),
        BoundRequest(selection_ratio=0.25),
    ],
)
def test_a_request_survives_json(request_: BoundRequest) -> None:
    assert BoundRequest.from_values(json.loads(json.dumps(request_.to_values()))) == request_


def test_times_of_the_standard_library_become_text_in_json() -> None:
    request = BoundRequest({"q1": timedelta(milliseconds=5)}, batch_budget=timedelta(seconds=2))
    restored = BoundRequest.from_values(json.loads(json.dumps(request.to_values())))
    assert restored.bounds(["q1"]) == request.bounds(["q1"])


def test_event_queries_and_clauses_are_distinguished() -> None:
    workload = ost.Workload([PAIR, COUNT, CLAUSE, f"SELECT * FROM t MATCH_RECOGNIZE ({CLAUSE})"])
    assert [type(query) for query in workload.queries] == [EventsQuery, EventsQuery, ClauseQuery, ClauseQuery]
    assert list(workload.events) == ["q1", "q2"]
    assert list(workload.clauses) == ["q3", "q4"]


@pytest.mark.parametrize(
    "text",
    [
        "PATTERN (A B) DEFINE A AS x >",  # words that event queries have, too
        "MEASURES A.ts AS t ORDER BY ts PATTERN (A)",
        "MATCH_RECOGNIZE (PATTERN (A)",
    ],
)
def test_errors_of_a_clause_are_those_of_the_clause_parser(text: str) -> None:
    with pytest.raises(QueryError) as alone:
        ost.match(text, pa.table({"ts": [1]}))
    with pytest.raises(QueryError) as among_others:
        ost.Workload([PAIR, text])
    assert (among_others.value.code, among_others.value.message) == (alone.value.code, alone.value.message)


def test_a_text_that_is_neither_is_read_as_an_event_query() -> None:
    with pytest.raises(QueryError, match="PATTERN"):
        ost.Workload(["SEQ(A, B) RETURN COUNT(*)"])
