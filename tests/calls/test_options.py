"""Every option of every public call is checked for type and range, in one wording, before anything runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from tests.summaries.fed_summaries import grouped

import ostinato as ost
from ostinato import testing

TABLE = pa.table({"id": [1, 2, 3], "k": ["a", "a", "b"], "x": [1.0, 2.0, 3.0]})
CLAUSE = "PARTITION BY k ORDER BY id MEASURES count(*) AS n PATTERN (A+) DEFINE A AS x > 0"
EVENTS = "PATTERN SEQ(a, b+) RETURN COUNT(*)"
HUGE = 10**30


def match(**options: Any) -> Any:
    return ost.match(CLAUSE, TABLE, **options)


def event_query(**options: Any) -> Any:
    return ost.events(EVENTS, **options)


def workload(**options: Any) -> Any:
    return ost.Workload([CLAUSE], **options)


def summary(**options: Any) -> Any:
    return ost.summary("a b", **grouped({"type": "k", "time": "id", "within": 10, "size": 4, **options}))


def correlate(**options: Any) -> Any:
    return ost.correlate("SELECT", **options)


def paths(**options: Any) -> Any:
    graph = pa.table({"head": ["a"], "relation": ["r"], "tail": ["b"]})
    return ost.paths("r", start="a", **options).run(graph)


def stream(**options: Any) -> Any:
    return testing.StreamTester(
        CLAUSE.replace("id", "at"), {"k": "string", "at": "timestamp", "x": "double"}, **options
    )


def builder(method: str) -> Callable[..., Any]:
    def call(**options: Any) -> Any:
        return getattr(ost.pattern("A"), method)(*options.values())

    return call


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    *(
        (call, {"max_partial_matches": value}, "")
        for call in (match, workload, correlate, stream)
        for value in (HUGE, -1)
    ),
    (event_query, {"max_partial_matches": HUGE}, ""),
    (match, {"max_partial_matches": True}, ""),
    (match, {"workers": 0}, "NO_WORKERS"),
    (match, {"workers": "2"}, ""),
    (match, {"workers": HUGE}, ""),
    (match, {"slice_rows": 0}, "SLICE_TOO_SMALL"),
    (match, {"slice_rows": 2.5}, ""),
    (match, {"ansi": "no"}, ""),
    (match, {"timezone": "Mars/Phobos"}, ""),
    (match, {"timezone": 2}, ""),
    (lambda **options: correlate().run(TABLE, **options), {"timezone": "Nowhere"}, ""),
    (correlate, {"cache": "no"}, ""),
    (correlate, {"ordered": 1}, ""),
    (correlate, {"strategy": "eagre"}, ""),
    (correlate, {"recent_rows": 0}, ""),
    (correlate, {"step_rows": "many"}, ""),
    (event_query, {"numbers": "log"}, ""),
    (event_query, {"approximate": "yes"}, ""),
    (event_query, {"buckets": 2**40}, ""),
    (event_query, {"number": "text"}, ""),
    (workload, {"names": 5}, ""),
    (workload, {"shedding": "sharp"}, ""),
    (workload, {"latency": "5 ms"}, ""),
    (summary, {"size": 10**9}, ""),
    (summary, {"size": 0}, "SUMMARY_SIZE"),
    (summary, {"size": "4"}, ""),
    (ost.Eviction, {"half_life": 0}, "SUMMARY_HALF_LIFE"),
    (ost.Eviction, {"seed": -1}, ""),
    (ost.Eviction, {"strategy": "best"}, ""),
    (ost.EventTypes, {"unknown": "keep"}, ""),
    (summary, {"buckets": 0}, ""),
    (summary, {"numbers": "words"}, ""),
    (ost.EventTypes, {"keyed": 5}, ""),
    (ost.EventTypes, {"keyed": ()}, ""),
    (summary, {"eviction": "fifo"}, ""),
    (summary, {"event_types": ("a",)}, ""),
    (summary, {"keys": 5}, ""),
    (summary, {"keys": ["k", "k"]}, ""),
    (match, {"keys": 5}, ""),
    (match, {"time": ["id", None]}, ""),
    (match, {"type": "k"}, ""),
    (match, {"numbers": "text"}, ""),
    (workload, {"keys": b"k"}, ""),
    (event_query, {"keys": {"k": 1}}, ""),
    (match, {"deadline": 10}, "INVALID_BOUND"),
    (match, {"deadline": "\N{ARABIC-INDIC DIGIT THREE} seconds"}, "INVALID_BOUND"),
    (paths, {"simple": "yes"}, ""),
    (paths, {"max_hops": -1}, ""),
    (paths, {"limit": 0}, ""),
    (paths, {"shedding": "selective"}, ""),
    (stream, {"timezone": "Nowhere"}, ""),
    (stream, {"late": "shwo"}, ""),
    (stream, {"eager": "yes"}, ""),
    (stream, {"decision_time": 5}, ""),
    (stream, {"forget_keys_after": "30"}, ""),
    (stream, {"forget_keys_after": "1 month"}, ""),
    (stream, {"forget_keys_after": "0 days"}, ""),
    (stream, {"forget_keys_after": 30}, ""),
    (builder("max_length"), {"rows": 0}, "INVALID_MAXLENGTH"),
    (builder("max_length"), {"rows": "x"}, ""),
    (builder("within"), {"length": 5}, "INVALID_WITHIN"),
    (builder("partition_by"), {"column": 5}, ""),
    (builder("order_by"), {"key": None}, ""),
    (builder("skip_to_first"), {"variable": 5}, ""),
]


@pytest.mark.parametrize(
    ("call", "options", "code"), REFUSED, ids=lambda value: getattr(value, "__name__", str(value)[:40])
)
def test_refused(call: Callable[..., Any], options: dict[str, Any], code: str) -> None:
    with pytest.raises(ost.QueryError) as caught:
        call(**options)
    assert caught.value.code == (code or "INVALID_OPTION")
    (name,) = options
    known = name in ("rows", "length", "column", "key", "variable")  # the names of this test, not of an option
    assert known or name in caught.value.message


@pytest.mark.parametrize(
    ("call", "option"), [(match, "deadline"), (paths, "latency_bound"), (paths, "memory_bound"), (paths, "end")]
)
def test_no_message_writes_a_huge_number_out(call: Callable[..., Any], option: str) -> None:
    for value in (10**400, 10**5000, [10**5000]):
        with pytest.raises(ost.QueryError) as caught:
            call(**{option: value})
        assert caught.value.message.startswith(option)
        assert len(str(caught.value)) < 300


def test_a_misspelt_option_names_the_right_one() -> None:
    with pytest.raises(ost.QueryError, match="did you mean 'numbers'"):
        event_query(number="text")
    with pytest.raises(ost.QueryError, match="did you mean 'eager'"):
        correlate(strategy="eagre")


@pytest.mark.parametrize(
    ("call", "misspelt", "meant"),
    [
        (match, "workrs", "workers"),
        (paths, "latency_bond", "latency_bound"),
        (summary, "sizes", "size"),
        (summary().feed, "deadlin", "deadline"),
        (ost.Eviction, "strateg", "strategy"),
        (ost.EventTypes, "key", "keyed"),
        (lambda **options: ost.explain(CLAUSE, **options), "tabel", "table"),
        (lambda **options: ost.match_recognize(CLAUSE, **options), "max_partial_match", "max_partial_matches"),
    ],
)
def test_a_misspelt_keyword_names_the_right_one(call: Callable[..., Any], misspelt: str, meant: str) -> None:
    with pytest.raises(ost.QueryError, match=f"there is no option '{misspelt}'") as caught:
        call(**{misspelt: 1})
    assert caught.value.code == "INVALID_OPTION"
    assert caught.value.hint == f"did you mean '{meant}'?"


@pytest.mark.parametrize(
    ("call", "old", "new"),
    [
        (summary, "order_by", "time="),
        (summary, "partition_by", "keys="),
        (summary, "strategy", "eviction=ost.Eviction(strategy=...)"),
        (summary, "keyed_types", "event_types=ost.EventTypes(keyed=...)"),
        (correlate, "live", ".run(live)"),
        (paths, "graph", ".run(graph)"),
    ],
)
def test_an_old_option_names_the_new_one(call: Callable[..., Any], old: str, new: str) -> None:
    with pytest.raises(ost.QueryError, match="RENAMED_OPTION") as caught:
        call(**{old: "x"})
    assert caught.value.hint is not None and new in caught.value.hint


def test_an_old_name_at_the_top_level_names_the_new_one() -> None:
    with pytest.raises(AttributeError, match="it is called 'finish_stream' now"):
        _ = ost.finish


def test_the_largest_and_smallest_that_will_do() -> None:
    assert match(max_partial_matches=10**15, workers=1, timezone="Europe/Berlin") == match(
        timezone="+02:00", ansi=False
    )
    assert (
        summary(size=1, event_types=ost.EventTypes(keyed=None), eviction=ost.Eviction(half_life=1, seed=0)).query.size
        == 1
    )
    assert ost.pattern("A").max_length(1).within(timedelta(seconds=1)).clause.max_length == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: ost.pattern(5),
        lambda: ost.pattern("A").define(A=5),
        lambda: ost.pattern("A").measures(x=None),
        lambda: ost.pattern("A").subset(U=5),
        lambda: ost.event_seq(5),
        lambda: ost.events(EVENTS, type={"a": 5}),
        lambda: ost.events(EVENTS, type="k", time="id").to_sql(5, "t"),
        lambda: ost.Workload(None),
        lambda: ost.Workload(query for query in (5,)),
        lambda: ost.match(None, TABLE),
        lambda: ost.explain(CLAUSE, 5),
        lambda: ost.correlate(5),
    ],
)
def test_things_that_are_no_query_or_no_table(call: Callable[[], Any]) -> None:
    with pytest.raises(ost.QueryError) as caught:
        call()
    assert caught.value.code in ("NOT_A_QUERY", "NOT_A_TABLE", "INVALID_OPTION", "INVALID_ARGUMENTS")


def test_an_event_query_has_options_of_its_own() -> None:
    query = ost.events(EVENTS, type="k", time="id")
    with pytest.raises(ost.QueryError, match="there is no option 'skew'"):
        ost.match(query, TABLE, skew="slice")
    with pytest.raises(ost.QueryError, match="slices"):
        ost.match(query, TABLE, workers=2)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ost.correlate("SELECT").start(TABLE, output="folder", checkpoint="other"),
        lambda: workload().run(TABLE).finish(),
        lambda: summary()(TABLE),
        lambda: workload()(TABLE),
        lambda: ost.correlate("SELECT")(TABLE),
        lambda: ost.paths("r", start="a")(TABLE),
        lambda: ost.events(EVENTS, type="k", time="id")(TABLE),
        lambda: ost.match_recognize(CLAUSE)(TABLE),
    ],
)
def test_calls_for_spark_say_where_tables_go(call: Callable[[], Any]) -> None:
    with pytest.raises(ost.QueryError, match="expected a Spark DataFrame, got Table") as caught:
        call()
    assert caught.value.code == "NOT_A_TABLE"
    assert caught.value.hint
