"""The merged template of a workload: each condition once, each step labelled by its queries."""

from __future__ import annotations

from tests.event_queries.plan.event_texts import planned

from ostinato.event_queries.trends.templates import MergedTemplate, merged_template


def template(*patterns: str) -> MergedTemplate:
    plan = planned(*(f"PATTERN {pattern} RETURN COUNT(*)" for pattern in patterns))
    return merged_template([query.programs[0] for query in plan.queries])


def dump(*patterns: str) -> list[str]:
    return template(*patterns).dump([f"q{i + 1}" for i in range(len(patterns))]).split("\n")


def nodes(found: MergedTemplate) -> tuple[int, ...]:
    """The numbers of A, B and C."""
    return tuple(node for node, _ in sorted(found.names, key=lambda item: item[1]))


def test_examples_2_and_3_of_the_paper() -> None:
    found = template("SEQ(A, B+)", "SEQ(C, B+)")
    a, b, c = nodes(found)
    assert found.predecessors(b, 0) == {a, b} and found.predecessors(a, 0) == frozenset()
    assert found.start(0) == {a} and found.end(0) == {b}
    assert found.predecessors(b, 1) == {c, b}
    assert found.shared_loops == (b,)
    assert dump("SEQ(A, B+)", "SEQ(C, B+)") == [
        "start -> A [q1], C [q2]",
        "A -> B [q1]",
        "B+. [q1 q2] -> B [q1 q2]",
        "C -> B [q2]",
    ]


def test_example_10_nested_loops_lead_back() -> None:
    found = template("(SEQ(A, B+))+", "(SEQ(C, B+))+")
    a, b, c = nodes(found)
    assert found.predecessors(a, 0) == {b} and found.predecessors(c, 1) == {b}
    assert dump("(SEQ(A, B+))+", "(SEQ(C, B+))+")[2] == "B+. [q1 q2] -> A [q1], B [q1 q2], C [q2]"


def test_a_type_that_stands_twice_is_one_node() -> None:
    assert dump("SEQ(A, B+, A)") == ["start -> A [q1]", "A. [q1] -> B [q1]", "B -> A [q1], B [q1]"]


def test_absent_types_are_listed_apart() -> None:
    assert dump("SEQ(A, NOT C, B)") == ["start -> A [q1]", "A -> B [q1]", "B. [q1] -> nothing", "absent: C [q1]"]


def test_many_queries_are_counted() -> None:
    lines = dump(*["SEQ(A, B+)"] * 7)
    assert lines == ["start -> A [7 queries]", "A -> B [7 queries]", "B+. [7 queries] -> B [7 queries]"]


def test_conditions_of_one_name_are_told_apart() -> None:
    plan = planned("PATTERN B+ b WHERE b.x > 1 RETURN COUNT(*)", "PATTERN B+ b WHERE b.x > 2 RETURN COUNT(*)")
    found = merged_template([query.programs[0] for query in plan.queries])
    assert [name for _, name in found.names] == ["b#0", "b#1"]
