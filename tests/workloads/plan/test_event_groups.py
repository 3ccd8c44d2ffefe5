"""Groups of RETURN MATCHES queries that are matched together, and reasons to leave queries out."""

from __future__ import annotations

import pytest
from tests.event_queries.plan.event_texts import typed

from ostinato.calls.bounds import Bounds, LatencyBound
from ostinato.workloads.plan.event_groups import MOST_HELD_A_QUERY, NOT_SHARED, NOTHING_IN_COMMON, SharedGroups
from ostinato.workloads.plan.event_groups import shared_groups as planned_matches

ABC, ABD, BCD, CD = "SEQ(A a, B b, C c)", "SEQ(A x, B y, D z)", "SEQ(B b, C c, D d)", "SEQ(C c, D d)"
NAMES = ("q1", "q2", "q3", "q4")


def planned(
    *patterns: str, sharing: str = "dynamic", bounded: tuple[int, ...] = (), carried: tuple[int, ...] = ()
) -> SharedGroups:
    plan = typed(*(f"PATTERN {pattern} WITHIN 9 SECONDS RETURN MATCHES" for pattern in patterns))
    names = NAMES[: len(patterns)]
    latency = tuple(LatencyBound(ns=1000.0) if i in bounded else None for i in range(len(names)))
    bounds = Bounds(names, latency, (1.0,) * len(names)) if bounded else None
    return planned_matches(plan, names, sharing, bounds, carried=frozenset(carried))


def queries_by_group(groups: SharedGroups) -> list[tuple[int, ...]]:
    return [group.queries for group in groups.groups]


def test_only_queries_with_a_common_state_are_matched_together() -> None:
    groups = planned(ABC, BCD, ABD)
    assert queries_by_group(groups) == [(0, 2)] and groups.declined == {1: NOTHING_IN_COMMON}
    assert groups.groups[0].merged.names == ("q1", "q3")


def test_one_common_state_is_enough() -> None:
    assert queries_by_group(planned("SEQ(A a, B b)", "SEQ(A a, C c)")) == [(0, 1)]


def test_two_unrelated_pairs_share_a_plan() -> None:
    groups = planned(ABC, CD, ABD, CD)
    assert queries_by_group(groups) == [(0, 1, 2, 3)] and not groups.declined


@pytest.mark.parametrize("patterns", [(ABC,), (ABC, BCD)])
def test_queries_without_common_states_are_not_shared(patterns: tuple[str, ...]) -> None:
    groups = planned(*patterns)
    assert queries_by_group(groups) == [] and groups.declined == dict.fromkeys(range(len(patterns)), NOTHING_IN_COMMON)
    assert queries_by_group(planned(*patterns, sharing="always")) == [tuple(range(len(patterns)))]


def test_sharing_can_be_off() -> None:
    groups = planned(ABC, ABD, sharing="never")
    assert queries_by_group(groups) == [] and groups.declined == {0: NOT_SHARED, 1: NOT_SHARED}


def test_only_optional_sharing_limits_partial_matches() -> None:
    """With more queries, enumerating each of them costs more, so the limit on shared partial matches is higher."""
    assert [group.most_held for group in planned(ABC, ABD).groups] == [2 * MOST_HELD_A_QUERY]
    assert [group.most_held for group in planned(ABC, ABD, ABC).groups] == [3 * MOST_HELD_A_QUERY]
    for required in (
        planned(ABC, ABD, sharing="always"),
        planned(ABC, ABD, bounded=(0,)),
        planned(ABC, ABD, bounded=(0, 1), sharing="never"),
        planned(ABC, ABD, carried=(0, 1)),
    ):
        assert [group.most_held for group in required.groups] == [None] and queries_by_group(required) == [(0, 1)]
