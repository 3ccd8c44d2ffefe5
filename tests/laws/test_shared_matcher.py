"""The shared matcher finds the oracle's matches, and with keep masks a subset, however the rows are cut."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.laws.declined import EVENT_QUERIES, Declined
from tests.laws.event_strategies import Draw, Example, Knobs, event_examples, event_tables, seeded_event_tables
from tests.workloads.matcher.shared_matching import Workload, in_calls, workloads

from ostinato.workloads.matcher.ledger import TAG_RANGE, KeepMasks
from ostinato.workloads.matcher.matcher_run import MatcherRun
from ostinato.workloads.matcher.store import CLASS, LISTED, STATUS, USED

SHAREABLE = Knobs(aggregates=False, conjunction=False, decimals=False, selections=("", "", "STRICT"))
NOT_SHARED = "the shared matcher takes none of the queries"
DECLINED = Declined(EVENT_QUERIES)
QUIET = settings(deadline=None, suppress_health_check=list(HealthCheck))
_PATTERNS = (
    "SEQ(A a, B b)",
    "SEQ(A a, B b, C c)",
    "SEQ(A a, B b, D d)",
    "SEQ(A a, B+ b, C c)",
    "SEQ(A a, NOT D d, B b, C c)",
    "SEQ(A a, NOT D d, B b)",
    "SEQ(C c, A a, B b)",
    "SEQ(C c, NOT D d, A a, B b, D e)",
    "SEQ(A+ a, B+ b)",
)
_AT_OFFSETS = ("SEQ(C c, A a, B b)", "SEQ(D d, A a, B b)", "SEQ(C c, NOT D d, A a, B b)", "SEQ(A e, A a, B b, D d)")
"""These queries share a chain in the middle, with a condition between a and b."""
TABLES = st.one_of(seeded_event_tables(), seeded_event_tables(), event_tables(10))
_WHERE = ("", "WHERE a.x < b.x", "WHERE a.x <= b.x AND a.y > 0", "WHERE a.x + b.x < 5", "WHERE a.x < 3")
_EXTENTS = ("", "WITHIN 5 EVENTS", "WITHIN 8 EVENTS", "WITHIN 3 SECONDS SLIDE 1 SECOND")


@pytest.fixture(autouse=True)
def most_examples_say_something() -> Iterator[None]:
    with DECLINED.counted():
        yield


@st.composite
def related_queries(draw: Draw) -> list[str]:
    """Queries of one stream that share many states."""
    within = draw(st.sampled_from(_EXTENTS))
    sharing = draw(st.sampled_from(["at the start", "at offsets", "but for conditions"]))
    patterns, conditions = (_AT_OFFSETS, _WHERE[1:3]) if sharing == "at offsets" else (_PATTERNS, _WHERE)
    if sharing == "but for conditions":
        patterns = (draw(st.sampled_from(_PATTERNS)),)
    pick = st.tuples(st.sampled_from(patterns), st.sampled_from(conditions))
    picks = draw(st.lists(pick, min_size=1, max_size=4, unique=True))
    return [f"TYPE kind TIME ts\nPATTERN {pattern}\n{where}\n{within}\nRETURN MATCHES" for pattern, where in picks]


def shared_workloads(texts: list[str], rows: Any, **options: bool) -> list[Workload]:
    """The workloads of these queries, one for each stream. Rejects queries without any."""
    with DECLINED.example():
        shared = workloads(texts, rows, **options)
        if not shared:
            DECLINED.leave_out(NOT_SHARED)
    DECLINED.answered(rows=any(work.expected(query) for work in shared for query in range(len(work.texts))))
    return shared


def cuts_of(data: st.DataObject, work: Workload) -> list[int]:
    """Rows at which calls start; cuts may separate rows of the same time."""
    return sorted(data.draw(st.lists(st.integers(0, len(work.events.time)), max_size=3)))


def random_keep_masks(seed: int, every: int = 3) -> Any:
    """Random keep masks. They drop some patterns of some slots for some tags, and change after `every` calls."""
    state: dict[str, Any] = {"calls": 0, "keep_masks": None}

    def next_keep_masks(run: MatcherRun) -> KeepMasks:
        if state["keep_masks"] is None or state["calls"] % every == 0:
            rng = np.random.default_rng((seed, state["calls"]))
            slots, words = len(run.ledger.visits), run.plan.nodes.patterns.shape[1]
            masks = rng.integers(0, 1 << 63, (2, slots, words), dtype=np.uint64)
            masks[rng.random((2, slots)) < 0.5] = ~np.uint64(0)
            state["keep_masks"] = KeepMasks(masks, rng.integers(0, TAG_RANGE, slots, dtype=np.uint64))
        state["calls"] += 1
        return state["keep_masks"]  # type: ignore[no-any-return]

    return next_keep_masks


def recount(run: MatcherRun) -> None:
    """Checks that `ledger.live` counts the listed partial matches of each class."""
    used = int(run.store.counts[USED])
    classes = run.store.links[:used, CLASS][run.store.ancestry[:used, STATUS] == LISTED]
    assert np.array_equal(np.bincount(classes, minlength=len(run.ledger.live)), run.ledger.live)


@given(event_examples(SHAREABLE), st.data())
@settings(QUIET, max_examples=examples(150))
def test_the_matches_are_those_of_the_oracle_however_rows_are_cut(example: Example, data: st.DataObject) -> None:
    for work in shared_workloads([example.text], example.rows):
        expected = work.expected(0)
        event("matches" if expected else "none")
        assert in_calls(work, cuts_of(data, work), watch=recount) == [expected], example.text


SHARING: st.SearchStrategy[dict[str, bool]] = st.fixed_dictionaries({"offsets": st.booleans(), "guards": st.booleans()})


@given(related_queries(), TABLES, SHARING, st.data())
@settings(QUIET, max_examples=examples(200))
def test_a_workload_gives_the_matches_of_each_query(
    texts: list[str], table: Any, sharing: dict[str, bool], data: st.DataObject
) -> None:
    for work in shared_workloads(texts, table.to_pylist(), **sharing):
        expected = [work.expected(query) for query in range(len(work.texts))]
        event("segments" if any(step.segment >= 0 for step in work.merged.steps) else "no segments")
        event("guards" if any(step.guards for step in work.merged.steps) else "no guards")
        assert in_calls(work, cuts_of(data, work), watch=recount) == expected


@given(
    related_queries(),
    TABLES,
    st.integers(0, 99),
    SHARING,
)
@settings(QUIET, max_examples=examples(200))
def test_keep_masks_only_remove_matches(texts: list[str], table: Any, seed: int, sharing: dict[str, bool]) -> None:
    for work in shared_workloads(texts, table.to_pylist(), **sharing):
        matches = in_calls(work, [], random_keep_masks(seed), recount)
        for query, matches_of_query in enumerate(matches):
            expected = work.expected(query)
            event("dropped" if len(matches_of_query) < len(expected) else "nothing dropped")
            for match in matches_of_query:
                expected.remove(match)


@given(related_queries(), TABLES, st.integers(0, 99), st.data())
@settings(QUIET, max_examples=examples(100))
def test_cuts_change_nothing_with_keep_masks_either(
    texts: list[str], table: Any, seed: int, data: st.DataObject
) -> None:
    for work in shared_workloads(texts, table.to_pylist()):
        once = in_calls(work, [], random_keep_masks(seed, 1 << 30))
        assert in_calls(work, cuts_of(data, work), random_keep_masks(seed, 1 << 30)) == once
