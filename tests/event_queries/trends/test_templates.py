"""The merged template of a workload. Each condition is one node, and each step has the labels of its queries."""

from __future__ import annotations

from tests.event_queries.plan.event_texts import planned

from ostinato.event_queries.trends.templates import MergedTemplate, merged_template


def template(*patterns: str) -> MergedTemplate:
    plan = planned(*(f"PATTERN {pattern} RETURN COUNT(*)" for pattern in patterns))
    return merged_template([query.programs[0] for query in plan.queries])


def dump(*patterns: str) -> list[str]:
    return template(*patterns).dump([f"q{i + 1}" for i in range(len(patterns))]).split("\n")


def nodes(merged: MergedTemplate) -> tuple[int, ...]:
    """The numbers of A, B and C."""
    return tuple(node for node, _ in sorted(merged.names, key=lambda item: item[1]))


def test_examples_2_and_3_of_the_paper() -> None:
    merged = template("SEQ(A, B+)", "SEQ(C, B+)")
    a, b, c = nodes(merged)
    assert merged.predecessors(b, 0) == {a, b} and merged.predecessors(a, 0) == frozenset()
    assert merged.start(0) == {a} and merged.end(0) == {b}
    assert merged.predecessors(b, 1) == {c, b}
    assert merged.shared_loops == (b,)
    assert dump("SEQ(A, B+)", "SEQ(C, B+)") == [
        "start -> A [q1], C [q2]",
        "A -> B [q1]",
        "B+. [q1 q2] -> B [q1 q2]",
        "C -> B [q2]",
    ]


def test_example_10_nested_loops_lead_back() -> None:
    merged = template("(SEQ(A, B+))+", "(SEQ(C, B+))+")
    a, b, c = nodes(merged)
    assert merged.predecessors(a, 0) == {b} and merged.predecessors(c, 1) == {b}
    assert dump("(SEQ(A, B+))+", "(SEQ(C, B+))+")[2] == "B+. [q1 q2] -> A [q1], B [q1 q2], C [q2]"


def test_a_type_that_occurs_twice_is_one_node() -> None:
    assert dump("SEQ(A, B+, A)") == ["start -> A [q1]", "A. [q1] -> B [q1]", "B -> A [q1], B [q1]"]


def test_absent_types_are_listed_separately() -> None:
    assert dump("SEQ(A, NOT C, B)") == ["start -> A [q1]", "A -> B [q1]", "B. [q1] -> nothing", "absent: C [q1]"]


def test_a_dump_counts_many_queries() -> None:
    lines = dump(*["SEQ(A, B+)"] * 7)
    assert lines == ["start -> A [7 queries]", "A -> B [7 queries]", "B+. [7 queries] -> B [7 queries]"]


def test_conditions_with_the_same_name_are_numbered() -> None:
    plan = planned("PATTERN B+ b WHERE b.x > 1 RETURN COUNT(*)", "PATTERN B+ b WHERE b.x > 2 RETURN COUNT(*)")
    merged = merged_template([query.programs[0] for query in plan.queries])
    assert [name for _, name in merged.names] == ["b#0", "b#1"]
