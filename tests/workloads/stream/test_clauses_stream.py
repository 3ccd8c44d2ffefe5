"""Clauses that run together on a stream, step by step and in process: when matches leave, and what is remembered."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from tests.laws.clause_streams import ClauseStream

import ostinato as ost
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.bucket_state import EMPTY
from ostinato.workloads.bound_request import BoundRequest
from ostinato.workloads.plan.clauses_task import ClausesTask
from ostinato.workloads.plan.typed_clauses import TypedStream
from ostinato.workloads.stream.clauses_stream_rows import Reach

HEAD = "PARTITION BY k ORDER BY ts MEASURES A.n AS a, B.n AS b ALL MATCHES"
WITHIN = f"{HEAD} PATTERN (A X* B) WITHIN INTERVAL '5' SECOND DEFINE A AS kind = 'a', B AS kind = 'b'"
ABSENT = f"{HEAD} PATTERN (A Y* B) WITHIN INTERVAL '5' SECOND DEFINE A AS kind = 'a', B AS kind = 'b', Y AS kind <> 'c'"
LENGTH = f"{HEAD} PATTERN (A X* B) MAXLENGTH 4 DEFINE A AS kind = 'a', B AS kind = 'b'"
BEFORE = f"{HEAD} PATTERN (A X* B) MAXLENGTH 4 DEFINE A AS kind = 'a' AND PREV(n, 2) >= 0, B AS kind = 'b'"
SECOND = 1_000_000


def letters(kinds: str, key: str | None = "p", first: int = 0) -> pa.Table:
    """A row a second, of these kinds."""
    seconds = range(first, first + len(kinds))
    return pa.table(
        {
            "k": pa.array([key] * len(kinds), pa.string()),
            "ts": pa.array([second * SECOND for second in seconds], pa.timestamp("us", "UTC")),
            "kind": pa.array(list(kinds), pa.string()),
            "n": pa.array(seconds, pa.int64()),
        }
    )


def stream(*texts: str, **bounds: object) -> ClauseStream:
    return ClauseStream(texts, letters("a").schema, BoundRequest(**bounds))  # type: ignore[arg-type]


def pairs(fed: ClauseStream, clause: int = 0) -> list[tuple[int, int]]:
    return [(row["a"], row["b"]) for table in fed.tables[clause] for row in table.to_pylist()]


def kept_rows(fed: ClauseStream) -> int:
    return fed.steps[-1].counts.buffered_rows


def test_partial_matches_are_counted_by_state() -> None:
    fed = stream(WITHIN, LENGTH)
    fed.step(pa.concat_tables([letters("axa"), letters("ca", "q")]), 3 * SECOND)
    counts = fed.worker.partial_matches(fed.state).to_pylist()
    assert sum(row["partial_matches"] for row in counts) == fed.steps[-1].counts.open_runs > 0
    assert all(row["queries"] for row in counts)
    assert {row["variable"] for row in counts if row["partial_matches"]} == {"A"}
    assert fed.worker.partial_matches(EMPTY).num_rows == len(counts)


def test_a_timer_releases_silent_partitions() -> None:
    """Five seconds after its last row, nothing in the state can be in a match: a silent bucket is emptied."""
    fed = stream(WITHIN, ABSENT)
    fed.step(letters("axa"), 2 * SECOND)
    assert (fed.steps[-1].counts.open_runs > 0, fed.steps[-1].wake_at_us) == (True, 7 * SECOND)
    fed.step(None, 7 * SECOND)
    assert (fed.steps[-1].counts.open_runs, kept_rows(fed), fed.steps[-1].wake_at_us) == (0, 0, None)
    fed.step(letters("ab", first=20), 21 * SECOND)
    assert pairs(fed) == [(20, 21)]


def test_a_match_is_emitted_when_the_watermark_passes_its_last_row() -> None:
    fed = stream(WITHIN)
    fed.step(letters("axbb"), NO_TIME)
    assert pairs(fed) == []
    assert fed.steps[-1].wake_at_us == 0
    fed.step(None, 2 * SECOND - 1)
    assert pairs(fed) == []
    fed.step(None, 2 * SECOND)
    assert pairs(fed) == [(0, 2)]
    fed.step(None, 3 * SECOND)
    assert pairs(fed) == [(0, 2), (0, 3)]
    assert [step.counts.matches for step in fed.steps] == [0, 0, 1, 1]
    assert fed.steps[-1].results.decided_us == 3 * SECOND + 1


def test_each_clause_has_its_own_matches() -> None:
    fed = stream(WITHIN, ABSENT)
    fed.feed([(letters("axcb"), NO_TIME), (letters("ab", first=4), 3 * SECOND)])
    assert sorted(pairs(fed, 0)) == [(0, 3), (0, 5), (4, 5)]
    assert sorted(pairs(fed, 1)) == [(4, 5)]


def test_late_rows_are_counted_and_dropped() -> None:
    fed = stream(WITHIN)
    fed.step(letters("ax"), SECOND)
    fed.step(letters("bb", first=1), 5 * SECOND)
    assert fed.late_rows == 1
    assert pairs(fed) == [(0, 2)]


def test_partitions_without_partial_matches_keep_no_rows() -> None:
    fed = stream(WITHIN)
    for number in range(20):
        fed.step(letters("xb", key=str(number), first=2 * number), (2 * number + 2) * SECOND)
        assert kept_rows(fed) == 0


def test_prev_keeps_its_number_of_rows_of_each_partition() -> None:
    fed = stream(BEFORE)
    for number in range(3):
        fed.step(letters("xxxx", key=str(number), first=4 * number), (4 * number + 4) * SECOND)
        assert kept_rows(fed) == 2 * (number + 1)


def test_rows_before_the_first_possible_match_are_dropped() -> None:
    fed = stream(WITHIN)
    fed.step(letters("xxxax"), 4 * SECOND)
    assert kept_rows(fed) == 2
    fed = stream(LENGTH)
    fed.step(letters("axaxx"), 4 * SECOND)
    assert kept_rows(fed) == 3 + 1  # the first A is too old, but its row stays until the matcher checks it
    fed.step(letters("b", first=5), 5 * SECOND)
    assert pairs(fed) == [(2, 5)]


@pytest.mark.parametrize("text", [WITHIN, ABSENT, LENGTH], ids=["within", "absent", "maxlength"])
def test_the_number_of_kept_rows_does_not_grow_with_the_stream(text: str) -> None:
    """Also with an absence far back, of which only one row is kept."""
    fed = stream(text)
    fed.step(letters("c"), 0)
    sizes = []
    for second in range(1, 3_000, 100):
        fed.step(letters("a" * 100, first=second), (second + 99) * SECOND)
        sizes.append(kept_rows(fed))
    assert max(sizes[10:]) <= max(sizes[:10]) < 1_500


def test_unneeded_rows_stay_until_the_matcher_drops_their_partial_matches() -> None:
    fed = stream(WITHIN)
    fed.step(letters("a"), 0)
    fed.step(letters("xxa", key="q", first=56), 60 * SECOND)
    assert kept_rows(fed) == 2
    fed.step(letters("ab", first=70), 80 * SECOND)
    assert pairs(fed) == [(70, 71)]


def test_another_workload_refuses_the_state() -> None:
    one, other = stream(WITHIN), stream(WITHIN, LENGTH)
    one.step(letters("ab"), 0)
    other.state = one.state
    with pytest.raises(ost.MatchError, match="STATE_OF_OTHER_QUERY"):
        other.step(None, SECOND)


def test_buckets_share_the_budget_of_a_micro_batch() -> None:
    request = BoundRequest(batch_budget="1 ms", clock=ost.VirtualClock())
    fed = stream(WITHIN, batch_budget="1 ms", clock=ost.VirtualClock())
    task: ClausesTask = fed.worker.matcher.task
    typed: TypedStream = fed.worker.matcher.typed
    bounds = ClausesTask(task.typed, task.names, request, task.limits, buckets=4).bounds(typed)
    assert bounds is not None
    assert bounds.batch_budget_ns == 250_000


def test_reach_of_matches_into_earlier_rows() -> None:
    reach = Reach([clause.plan for clause in stream(BEFORE, LENGTH).worker.typed.clauses])
    assert reach.before == 2
    assert reach.may_begin(np.array([1, 3, 4]), np.zeros(3, np.int64), 0).tolist() == [True, True, False]


def test_a_stream_may_end_before_its_first_watermark() -> None:
    fed = stream(WITHIN)
    fed.feed([(letters("axb"), NO_TIME)])
    assert pairs(fed) == [(0, 2)]
    last = fed.steps[-1]
    assert (last.counts.open_runs, last.counts.buffered_rows, last.state.size) == (0, 0, 0)
    assert last.results.decided_us == 2 * SECOND + 1
