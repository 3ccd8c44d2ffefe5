"""Which engine runs which queries of a workload."""

from __future__ import annotations

from collections.abc import Sequence

from tests.planning.event_texts import planned

from ostinato.matching.event_program import Program
from ostinato.planning.workload_plan import CHEAPER_APART, EngineGroup, Member, engine_groups, template_of


def declined(programs: Sequence[Program]) -> str | None:
    """A shared engine that takes everything but conditions between adjacent events."""
    return "edges" if any(program.edges for program in programs) else None


def groups(*texts: str, sharing: str = "dynamic") -> list[EngineGroup]:
    return list(engine_groups(planned(*(f"PATTERN {text}" for text in texts)), declined, sharing=sharing))


def queries(group: EngineGroup) -> list[int]:
    return [member.query for member in group.members]


def test_queries_that_share_a_loop_run_together() -> None:
    shared, rest = groups(
        "SEQ(A, B+) WITHIN 10 MINUTES SLIDE 5 MINUTES RETURN COUNT(*)",
        "SEQ(A, C) WITHIN 10 MINUTES SLIDE 5 MINUTES RETURN COUNT(*)",
        "SEQ(C, B+) WITHIN 15 MINUTES SLIDE 5 MINUTES RETURN MIN(B.x)",
    )
    assert (shared.shared, queries(shared)) == (True, [0, 2])
    assert [loop.programs for loop in shared.loops] == [(0, 1)]
    assert (rest.shared, queries(rest), rest.why) == (False, [1], ("nothing to share",))


def test_what_the_shared_engine_declines_runs_apart_and_says_why() -> None:
    found = groups(
        "SEQ(A, B+ b) WHERE NEXT(b).x > b.x RETURN COUNT(*)",
        "SEQ(C, B+) RETURN COUNT(*)",
        "SEQ(D, B+) RETURN COUNT(*)",
    )
    assert [(queries(group), group.shared, group.why) for group in found] == [
        ([0], False, (CHEAPER_APART,)),
        ([1, 2], True, ()),
    ]


def test_always_sharing_asks_the_engine_alone() -> None:
    texts = ("SEQ(A, B+ b) WHERE NEXT(b).x > b.x RETURN COUNT(*)", "SEQ(C, B+ b) WHERE NEXT(b).x > b.x RETURN COUNT(*)")
    (apart,) = groups(*texts, sharing="always")
    assert apart.why == ("edges", "edges")


def test_never_share() -> None:
    (alone,) = groups("SEQ(A, B+) RETURN COUNT(*)", "SEQ(C, B+) RETURN COUNT(*)", sharing="never")
    assert not alone.shared and queries(alone) == [0, 1] and alone.why == ('sharing="never"',) * 2


def test_streams_never_mix_and_matches_are_not_aggregated() -> None:
    found = groups(
        "SEQ(A, B+) GROUP BY district RETURN COUNT(*)",
        "SEQ(C, B+) RETURN COUNT(*)",
        "SEQ(C, B+) RETURN MATCHES",
    )
    assert [(group.stream, queries(group), group.shared) for group in found] == [(0, [0], False), (1, [1], False)]


def test_the_parts_of_a_conjunction_share_with_each_other() -> None:
    (found,) = groups("SEQ(A, B+) AND B+ RETURN COUNT(*)")
    assert found.members == (Member(0, 0), Member(0, 1)) and found.shared


def test_the_template_calls_events_by_their_types() -> None:
    plan = planned("PATTERN SEQ(A a, NOT D gone, B+ b) RETURN COUNT(*)", "PATTERN SEQ(C c, B+ many) RETURN COUNT(*)")
    assert template_of(plan, (0, 1)).dump(["q1", "q2"]).split("\n") == [
        "start -> A [q1], C [q2]",
        "A -> B [q1]",
        "B+. [q1 q2] -> B [q1 q2]",
        "C -> B [q2]",
        "absent: D [q1]",
    ]
