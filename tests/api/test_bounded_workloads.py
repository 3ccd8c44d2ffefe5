"""Workloads on the shared matcher, in process: exact without a bound, a subset of that with one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import MatchError, QueryError
from ostinato.kernels.clock import Work
from ostinato.workloads.plan import event_groups as planning
from ostinato.workloads.task.shared_event_matches import ENUMERATED_AFTER_ALL

HEAD = "TYPE kind TIME ts"
FIRST = f"{HEAD} PATTERN SEQ(A a, B b, C c) WHERE a.v + b.v < c.v * 3 GROUP BY g WITHIN 20 SECONDS RETURN MATCHES"
SECOND = f"{HEAD} PATTERN SEQ(A a, B b, D d) WHERE a.v <= d.v GROUP BY g WITHIN 20 SECONDS RETURN MATCHES"
WINDOWS = f"{HEAD} PATTERN SEQ(A a, NOT D x, C+ c) GROUP BY g WITHIN 6 SECONDS SLIDE 4 SECONDS RETURN MATCHES"
NEXT = f"{HEAD} PATTERN SEQ(A a, C c) SKIP TILL NEXT MATCH GROUP BY g WITHIN 6 SECONDS RETURN MATCHES"
OTHER_KEYS = f"{HEAD} PATTERN SEQ(A a, B b) WHERE SAME[v] WITHIN 30 EVENTS RETURN MATCHES"
COUNT = f"{HEAD} PATTERN SEQ(A a, B+ b) GROUP BY g WITHIN 6 SECONDS TUMBLE RETURN g, COUNT(*) AS n"
IN_EVENTS = f"{HEAD} PATTERN SEQ(A+ a, B b) STRICT GROUP BY g WITHIN 10 EVENTS SLIDE 4 EVENTS RETURN MATCHES"
_EVENTS = f"{HEAD} PATTERN SEQ(A a, B b, C c, {{0}} z) WHERE z.v > 7 GROUP BY g WITHIN 60 SECONDS RETURN MATCHES"
_CLAUSE = """PARTITION BY g ORDER BY ts, kind, v MEASURES A.ts AS began, LAST(ts) AS ended ALL MATCHES
    PATTERN (A X* B X* C X* {0}) WITHIN INTERVAL '60' SECOND
    DEFINE A AS kind = 'A', B AS kind = 'B' AND B.v > A.v, C AS kind = 'C', {0} AS kind = '{0}' AND v > 7"""
RARE_ENDS = {"event queries": [_EVENTS.format(end) for end in "DE"], "clauses": [_CLAUSE.format(end) for end in "DE"]}
"""Nearly all of the work is on the prefix, which the two queries of a pair have in common."""
CLOCK = ost.VirtualClock(ns_per_event=0)
"""Nothing is charged for an event itself, so every part of the latency can be given up."""


def some_events(count: int, seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    seconds = np.sort(rng.integers(0, count // 2, count)) * 1_000_000
    return pa.table(
        {
            "ts": pa.array(seconds, pa.timestamp("us", "UTC")),
            "kind": pa.array(rng.choice(list("ABCDE"), count)),
            "g": pa.array(rng.integers(0, 3, count)),
            "v": pa.array(rng.integers(0, 9, count)),
        }
    )


def matches(table: pa.Table) -> list[str]:
    """The matches of a result, whatever their numbers."""
    return sorted(repr({**row, "match_number": None}) for row in table.to_pylist())


def part_of_latency(queries: list[str], table: pa.Table, part: float) -> dict[str, str]:
    """A bound for each query: a part of what its usual event takes without one, whatever the clock charges."""
    calm = ost.Workload(queries, latency_bound="1 s", clock=CLOCK).run(table)
    rows = [row for report in calm.reports for row in report.table().to_pylist()]
    assert all(row["dropped"] == 0 for row in rows)
    return {row["query"]: f"{part * row['latency_p50_ns']:.3f} ns" for row in rows}


# --- without a bound --------------------------------------------------------------------------------------------------


def test_sharing_changes_nothing() -> None:
    table, queries = some_events(400), [FIRST, SECOND, WINDOWS, NEXT, OTHER_KEYS, COUNT]
    alone = ost.Workload(queries, sharing="never").run(table)
    together = ost.Workload(queries, sharing="always").run(table)
    assert together.table.equals(alone.table)
    for name in alone:
        assert together[name].equals(alone[name]) and alone[name].num_rows > 0, name


def test_one_query_and_identical_queries() -> None:
    table = some_events(200)
    alone = ost.match(ost.events(FIRST), table)
    assert ost.Workload([FIRST], sharing="always").run(table)["q1"].equals(alone)
    twice = ost.Workload([FIRST, FIRST], sharing="always").run(table)
    assert twice["q1"].equals(alone) and twice["q2"].equals(alone)


def test_ties_at_the_edge_of_a_window_of_events() -> None:
    """The B and the C have one time, but the first window ends between them: there, and only there, the B is next."""
    table = pa.table({"ts": [*range(10), 10, 10], "kind": [*"EEEEEEEEEABC"], "g": [1] * 12, "v": [1] * 12})
    text = IN_EVENTS.replace("10 EVENTS SLIDE 4", "11 EVENTS SLIDE 11")
    alone = ost.match(ost.events(text), table)
    assert alone.num_rows == 1
    assert ost.Workload([text, text], sharing="always").run(table)["q1"].equals(alone)


def test_a_thousand_queries() -> None:
    table = some_events(60)
    texts = [
        f"{HEAD} PATTERN SEQ(A a, B b) WHERE a.v < {i} AND b.v < {j} GROUP BY g WITHIN 9 SECONDS RETURN MATCHES"
        for i in range(33)
        for j in range(33)
    ]
    found = ost.Workload(texts, sharing="always").run(table)
    assert found["q1"].num_rows == 0
    assert found["q1089"].equals(ost.match(ost.events(texts[-1]), table)) and found["q1089"].num_rows > 0


def test_queries_with_a_state_in_common_are_shared_by_default() -> None:
    table, queries = some_events(200), [FIRST, SECOND, OTHER_KEYS]
    found = ost.Workload(queries).run(table)
    assert ENUMERATED_AFTER_ALL not in found.counters.statistics
    assert found.table.equals(ost.Workload(queries, sharing="never").run(table).table)
    told = ost.explain(ost.Workload(queries), table).text
    assert "shared matcher: q1, q2\n" in told and "enumeration of matches: q3\n" in told
    assert "A batch is enumerated instead if sharing fails or needs more than 131,072 partial matches." in told
    assert "q3  no other query has a state in common with it" in told
    assert "A batch is enumerated" not in ost.explain(ost.Workload(queries, sharing="always"), table).text


def test_a_state_that_grows_large_is_given_up_for_the_enumerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The matcher makes every A B C, the enumerator only those that an E completes."""
    queries = [f"{HEAD} PATTERN SEQ(A a, B b, C c, E e) WHERE e.v = 8 RETURN MATCHES"] * 2
    table = some_events(200)
    exact = ost.Workload(queries, sharing="never").run(table)
    shared = ost.Workload(queries).run(table)
    assert shared.table.equals(exact.table) and ENUMERATED_AFTER_ALL not in shared.counters.statistics
    monkeypatch.setattr(planning, "MOST_HELD_A_QUERY", 5_000)
    enumerated = ost.Workload(queries).run(table)
    assert enumerated.table.equals(exact.table) and enumerated.counters.statistics == {ENUMERATED_AFTER_ALL: 2}
    assert f"{ENUMERATED_AFTER_ALL}  2" in ost.explain(enumerated).text


def test_what_is_shared_by_choice_never_fails_where_the_enumerator_would_not() -> None:
    """Limits are met sooner by all queries together than by each, and conditions are asked of more events."""
    table = some_events(200)
    late = [f"{HEAD} PATTERN SEQ(A a, B b, C c, E e) WHERE e.v = 8 RETURN MATCHES"] * 2
    zero = f"{HEAD} PATTERN SEQ(A a, B b, C c, E e) WHERE 9 / (a.v - b.v) > c.v AND e.v > 100 RETURN MATCHES"
    most = ost.Workload([FIRST], sharing="never").run(table).table.num_rows
    for queries, options, code in (
        (late, {"max_partial_matches": 9_500}, "TOO_MANY_PARTIAL_MATCHES"),
        ([FIRST, FIRST], {"max_matches": most}, "TOO_MANY_MATCHES"),
        ([zero, zero], {}, "DIVIDE_BY_ZERO"),
    ):
        exact = ost.Workload(queries, sharing="never", **options).run(table)
        with pytest.raises(MatchError, match=code):
            ost.Workload(queries, sharing="always", **options).run(table)
        assert ost.Workload(queries, **options).run(table).table.equals(exact.table)


# --- with a bound -----------------------------------------------------------------------------------------------------


def test_a_bound_gives_a_subset() -> None:
    table, queries = some_events(3_000), [FIRST, SECOND]
    exact = ost.Workload(queries).run(table)
    bounds = part_of_latency(queries, table, 0.3)
    bounded = ost.Workload(queries, latency_bound=bounds, clock=CLOCK).run(table)
    for name in exact:
        assert set(matches(bounded[name])) < set(matches(exact[name])), name


def test_the_same_run_again_under_a_virtual_clock() -> None:
    table = some_events(2_000)
    workload = ost.Workload([FIRST, SECOND], latency_bound=part_of_latency([FIRST, SECOND], table, 0.5), clock=CLOCK)
    found = workload.run(table)
    assert found.table.equals(workload.run(table).table) and found.reports[0].patterns[0].dropped > 0


def test_what_has_no_bound_stays_exact() -> None:
    """q1 shares its partial matches with q2: they are dropped for one, and kept for the other."""
    table, queries = some_events(2_000), [FIRST, SECOND, OTHER_KEYS, COUNT]
    exact = ost.Workload(queries).run(table)
    bound = {"q1": part_of_latency(queries[:2], table, 0.1)["q1"]}
    bounded = ost.Workload(queries, latency_bound=bound, clock=CLOCK).run(table)
    assert set(matches(bounded["q1"])) < set(matches(exact["q1"]))
    for name in ("q2", "q3", "q4"):
        assert bounded[name].equals(exact[name]), name


@pytest.mark.parametrize("texts", RARE_ENDS.values(), ids=RARE_ENDS)
def test_a_bounded_query_keeps_as_much_beside_an_unbounded_one_as_by_itself(texts: list[str]) -> None:
    """Shared work is done for the unbounded query in any case: the bounded one would have next to nothing left."""
    table = some_events(4_000)
    exact = ost.Workload(texts).run(table)
    bound = part_of_latency(texts[:1], table, 0.6)
    alone = ost.Workload(texts[:1], latency_bound=bound, clock=CLOCK).run(table)
    beside = ost.Workload(texts, latency_bound=bound, clock=CLOCK).run(table)
    whole, found = exact["q1"].num_rows, beside["q1"].num_rows
    assert 0.3 * whole < 0.9 * alone["q1"].num_rows <= found < whole
    assert beside["q2"].equals(exact["q2"])
    bounded, free = beside.report.table.to_pylist()
    assert bounded["matches"] == found and bounded["dropped"] > 0
    assert (free["dropped"], free["lost_estimate"], free["recall_estimate"]) == (0, 0.0, 1.0)


@pytest.mark.parametrize("texts", RARE_ENDS.values(), ids=RARE_ENDS)
def test_explain_says_that_a_bounded_query_does_not_share_with_an_unbounded_one(texts: list[str]) -> None:
    table = some_events(50)
    mixed = ost.explain(ost.Workload(texts, latency_bound={"q1": "5 ms"}), table).text
    told = [line.strip() for line in mixed.splitlines()]
    assert any(line.startswith("shared matcher") and "q1, q2" in line for line in told)
    at = told.index("8 states instead of 8; 0 serve more than one pattern")
    assert told[at + 1 : at + 3] == [
        "One matcher runs all queries. Queries with a bound share no state with queries without one.",
        "queries with a bound: q1",
    ]
    both = ost.explain(ost.Workload(texts, latency_bound="5 ms"), table).text
    assert "share no state" not in both and "5 states instead of 8; 3 serve more than one pattern" in both


def test_an_absence_is_never_forgotten() -> None:
    """Dropping the memory of a D would make matches that aren't there."""
    table = some_events(3_000)
    exact = ost.Workload([WINDOWS, FIRST]).run(table)
    bounds = part_of_latency([WINDOWS, FIRST], table, 0.1)
    bounded = ost.Workload([WINDOWS, FIRST], latency_bound=bounds, clock=CLOCK).run(table)
    assert set(matches(bounded["q1"])) < set(matches(exact["q1"]))


def test_a_bound_that_nothing_can_keep_drops_what_it_may() -> None:
    table = some_events(500)
    found = ost.Workload([FIRST], latency_bound="1 ns", clock=ost.VirtualClock(ns_per_event=30)).run(table)
    exact = ost.Workload([FIRST]).run(table)
    assert found["q1"].num_rows < exact["q1"].num_rows
    (row,) = found.report.table.to_pylist()
    assert row["dropped"] > 0 and row["recall_estimate"] is None and row["within_bound"] == 0


def test_a_bound_that_is_never_reached_drops_nothing() -> None:
    table = some_events(500)
    found = ost.Workload([FIRST, SECOND], latency_bound="1 s", memory_bound="1 GB", clock=CLOCK).run(table)
    assert found.table.equals(ost.Workload([FIRST, SECOND]).run(table).table)
    assert [row["dropped"] for row in found.report.table.to_pylist()] == [0, 0]


def test_a_ratio_of_one_keeps_everything() -> None:
    table = some_events(2_000)
    found = ost.Workload([FIRST, SECOND], selection_ratio=1, clock=CLOCK).run(table)
    assert found.table.equals(ost.Workload([FIRST, SECOND]).run(table).table)


@pytest.mark.parametrize(
    "options",
    [
        {"memory_bound": "2 KB"},
        {"selection_ratio": 0.2},
        {"batch_budget": "5 us"},
        {"latency_bound": 0.4},  # of what the first 3,840 events take
    ],
    ids=lambda options: next(iter(options)),
)
def test_other_bounds(options: dict[str, Any]) -> None:
    table = some_events(8_000)
    exact = ost.Workload([FIRST, SECOND]).run(table)
    found = ost.Workload([FIRST, SECOND], clock=CLOCK, **options).run(table)
    assert set(matches(found["q1"])) <= set(matches(exact["q1"]))
    assert found.table.num_rows < exact.table.num_rows


@dataclass(frozen=True)
class SummingClock:
    """By the tariff of CLOCK; adds up what all engines were charged."""

    charged: list[int] = field(default_factory=list)

    def now_ns(self) -> int:
        return 0

    def spent_ns(self, began_ns: int, work: Work) -> int:
        self.charged.append(CLOCK.spent_ns(began_ns, work))
        return self.charged[-1]


@pytest.mark.parametrize("queries", [[FIRST], [FIRST, OTHER_KEYS, FIRST.replace("GROUP BY g ", "")]])
def test_the_plans_of_a_task_share_its_budget(queries: list[str]) -> None:
    table, clock, free = some_events(8_000), SummingClock(), SummingClock()
    ost.Workload(queries, latency_bound="1 s", clock=free).run(table)
    budget = sum(free.charged) // 4
    found = ost.Workload(queries, batch_budget=f"{budget} ns", clock=clock).run(table)
    assert len(found.reports) == len(queries)
    assert 0 < sum(clock.charged) < 1.1 * budget


def test_the_plans_of_a_task_share_its_memory() -> None:
    table = some_events(3_000)
    alone = ost.Workload([FIRST], memory_bound="3 KB", clock=CLOCK).run(table)["q1"]
    beside = ost.Workload([FIRST, OTHER_KEYS], memory_bound="6 KB", clock=CLOCK).run(table)["q1"]
    assert beside.equals(alone) and 0 < alone.num_rows < ost.Workload([FIRST]).run(table)["q1"].num_rows


def test_state_of_its_own_for_each_query() -> None:
    """With a bound `sharing="never"` is the shared matcher with nothing shared."""
    table = some_events(2_000)
    workload = ost.Workload([FIRST, SECOND], sharing="never", latency_bound="1 s", clock=CLOCK)
    text = ost.explain(workload, table).text
    assert "shared matcher: q1, q2" in text and "6 states instead of 6; 0 serve more than one pattern" in text
    assert workload.run(table).table.equals(ost.Workload([FIRST, SECOND]).run(table).table)


def test_no_rows() -> None:
    found = ost.Workload([FIRST, SECOND], latency_bound="5 ms").run(some_events(10).slice(0, 0))
    assert found.table.num_rows == 0


def test_a_pattern_that_asks_nothing_of_a_row() -> None:
    text = "PARTITION BY g ORDER BY ts, v MEASURES MATCH_NUMBER() AS n ALL MATCHES PATTERN (())"
    found = ost.Workload([text], latency_bound="1 ns", clock=CLOCK).run(some_events(300))
    assert found["q1"].equals(ost.match(text, some_events(300)))


def test_streams_have_reports_of_their_own() -> None:
    found = ost.Workload([FIRST, OTHER_KEYS], latency_bound="5 ms", clock=CLOCK).run(some_events(300))
    assert [report.table()["query"].to_pylist() for report in found.reports] == [["q1"], ["q2"]]
    assert found.report.table["query"].to_pylist() == ["q1", "q2"]
    assert str(found.report) == "\n\n".join(map(str, found.reports))


def test_a_report_covers_all_events_once() -> None:
    """Shorter than a chunk, or not a whole number of them; matches in several windows, too."""
    for count in (20, 700, 2_001):
        found = ost.Workload([WINDOWS, FIRST], selection_ratio=0.3, clock=CLOCK).run(some_events(count))
        whole = {row["query"]: row for row in found.report.table.to_pylist()}
        for name, row in whole.items():
            parts = [part for part in found.reports[0].by_period().to_pylist() if part["query"] == name]
            ends = [part["first_event"] + part["events"] for part in parts]
            assert [part["first_event"] for part in parts] == [0, *ends[:-1]] and ends[-1] == row["events"]
            assert sum(part["dropped"] for part in parts) == row["dropped"]
            assert row["matches"] == found[name].num_rows and row["latency_p50_ns"] > 0
        assert sum(part["matches"] for part in parts) == whole["q2"]["matches"]


def test_explain_tells_what_was_given_up() -> None:
    workload = ost.Workload([FIRST, SECOND], selection_ratio=0.5, clock=CLOCK)
    table = some_events(2_000)
    before, after = ost.explain(workload, table).text, ost.explain(workload.run(table), table).text
    assert "Bounds\n" in before and "Losses of the last run" not in before
    assert "Losses of the last run" in after
    assert "by period (about one window of events each" in after


@pytest.mark.parametrize(
    ("text", "why"), [(NEXT, "SKIP TILL NEXT MATCH"), (COUNT, "aggregates"), (IN_EVENTS, "windows of events")]
)
def test_what_cannot_be_shed_refuses_a_bound(text: str, why: str) -> None:
    with pytest.raises(QueryError, match="BOUND_NOT_SUPPORTED") as caught:
        ost.Workload([FIRST, text], latency_bound="5 ms").run(some_events(50))
    assert "'q2'" in caught.value.message and why in caught.value.message
    assert caught.value.hint is not None and "latency_bound={name: ...}" in caught.value.hint
    found = ost.Workload([FIRST, text], latency_bound={"q1": "5 ms"}).run(some_events(50))
    assert found["q2"].equals(ost.match(ost.events(text), some_events(50)))


def test_without_a_bound_the_report_says_so() -> None:
    found = ost.Workload([FIRST]).run(some_events(20))
    assert str(found.report) == "Nothing was bounded: the run found all matches."
    assert (found.report.table.num_rows, found.reports) == (0, ())
    with pytest.raises(QueryError, match="NO_REPORT"):
        _ = found.table_with_report


def test_a_report_tells_memory_and_budget_used_and_allowed() -> None:
    table = some_events(3_000)
    memory = ost.Workload([FIRST], memory_bound="2 KB", clock=CLOCK).run(table).reports[0]
    assert memory.bounds is not None and memory.bounds.memory_bytes == 2_000
    assert memory.memory_bytes is not None and memory.memory_bytes > 0
    assert f"memory: 2,000 bytes allowed; at most {memory.memory_bytes:,} when deciding" in str(memory)
    clock = SummingClock()
    budget = ost.Workload([FIRST], batch_budget="5 us", clock=clock).run(table).reports[0]
    assert budget.spent_ns == sum(clock.charged)
    assert "budget: 5 us; " in str(budget) and budget.table()["batch_budget_ns"].to_pylist() == [5_000]
