"""The engines of a workload's queries."""

from __future__ import annotations

from tests.event_queries.plan.event_texts import planned

from ostinato.event_queries.trends.engine_groups import CHEAPER_APART, EngineGroup, Member, engine_groups, template_of


def groups(*texts: str, sharing: str = "dynamic") -> list[EngineGroup]:
    return list(engine_groups(planned(*(f"PATTERN {text}" for text in texts)), sharing=sharing))


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
    assert (rest.shared, queries(rest), rest.why) == (False, [1], ("no two queries repeat the same events",))


def test_queries_that_the_shared_engine_declines_run_separately_with_a_reason() -> None:
    engines = groups(
        "SEQ(A, B+ b) WHERE NEXT(b).x > b.x RETURN COUNT(*)",
        "SEQ(C, B+) RETURN COUNT(*)",
        "SEQ(D, B+) RETURN COUNT(*)",
    )
    assert [(queries(group), group.shared, group.why) for group in engines] == [
        ([0], False, (CHEAPER_APART,)),
        ([1, 2], True, ()),
    ]


def test_with_always_only_the_engine_may_decline_sharing() -> None:
    texts = ["SEQ(A, B+ b) WHERE NEXT(b).x > b.x RETURN COUNT(*)", "SEQ(C, B+ b) WHERE NEXT(b).x > b.x RETURN COUNT(*)"]
    (together,) = groups(*texts, sharing="always")
    assert together.shared and queries(together) == [0, 1]
    (apart,) = groups(*(text.replace("COUNT(*)", "MIN(b.x)") for text in texts), sharing="always")
    assert apart.why == ("conditions between adjacent events, with MIN or MAX",) * 2


PLAIN = ("SEQ(A, B+) RETURN COUNT(*)", "SEQ(C, B+) RETURN COUNT(*)")
PAIRS = tuple(f"SEQ({kind}, B+ b) WHERE abs(NEXT(b).x - b.x) < 9 RETURN COUNT(*)" for kind in "ACD")


def test_a_query_with_a_pair_condition_does_not_move_the_others() -> None:
    alone = groups(*PLAIN)
    beside, apart = groups(*PLAIN, PAIRS[0])
    assert [beside] == alone
    assert (queries(apart), apart.why) == ([2], ("nothing to share",))
    assert [queries(group) for group in groups(*PLAIN, *PAIRS) if group.shared] == [[0, 1], [2, 3, 4]]


def test_pair_conditions_of_different_events_have_separate_engines() -> None:
    other = "SEQ(B+, C+ c) WHERE abs(NEXT(c).x - c.x) < 9 RETURN COUNT(*)"
    assert [(queries(group), group.shared) for group in groups(*PAIRS, other)] == [([0, 1, 2], True), ([3], False)]


def test_a_query_with_many_windows_does_not_exclude_others() -> None:
    many = [f"SEQ({kind}, B+) WITHIN 8000 SECONDS SLIDE 1 SECOND RETURN COUNT(*)" for kind in "ACDE"]
    few = [f"SEQ({kind}, B+) WITHIN 60 SECONDS SLIDE 1 SECOND RETURN COUNT(*)" for kind in "AC"]
    shared, apart = groups(*many, *few)
    assert shared.shared and queries(shared)[-2:] == [4, 5]
    assert apart.why and set(apart.why) == {"too many windows are open at once"}


def test_never_share() -> None:
    (alone,) = groups("SEQ(A, B+) RETURN COUNT(*)", "SEQ(C, B+) RETURN COUNT(*)", sharing="never")
    assert not alone.shared and queries(alone) == [0, 1] and alone.why == ('sharing="never"',) * 2


def test_streams_are_not_mixed_and_match_queries_have_no_engine() -> None:
    engines = groups(
        "SEQ(A, B+) GROUP BY district RETURN COUNT(*)",
        "SEQ(C, B+) RETURN COUNT(*)",
        "SEQ(C, B+) RETURN MATCHES",
    )
    assert [(group.stream, queries(group), group.shared) for group in engines] == [(0, [0], False), (1, [1], False)]


def test_the_patterns_of_a_conjunction_share_with_each_other() -> None:
    (engines,) = groups("SEQ(A, B+) AND B+ RETURN COUNT(*)")
    assert engines.members == (Member(0, 0), Member(0, 1)) and engines.shared


def test_the_template_has_the_names_of_types() -> None:
    plan = planned("PATTERN SEQ(A a, NOT D gone, B+ b) RETURN COUNT(*)", "PATTERN SEQ(C c, B+ many) RETURN COUNT(*)")
    assert template_of(plan, (0, 1)).dump(["q1", "q2"]).split("\n") == [
        "start -> A [q1], C [q2]",
        "A -> B [q1]",
        "B+. [q1 q2] -> B [q1 q2]",
        "C -> B [q2]",
        "absent: D [q1]",
    ]
