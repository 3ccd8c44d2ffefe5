"""Clauses -> pattern programs: skipped rows, conditions of steps, sharing, and reasons to decline."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits, TypedPlan
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import QueryError
from ostinato.event_queries.plan.event_program import BoundKind, Extent
from ostinato.expressions.render import render_expression
from ostinato.expressions.types import Settings
from ostinato.workloads.merging.merged_plan import merge
from ostinato.workloads.merging.pattern_program import PatternProgram
from ostinato.workloads.plan.clause_groups import ClausesPlan, ClauseStream, plan_clauses
from ostinato.workloads.plan.event_groups import MOST_HELD_A_QUERY, NOTHING_IN_COMMON

SCHEMA = pa.schema(
    {"ward": pa.int64(), "ts": pa.timestamp("us"), "n": pa.int64(), "kind": pa.string(), "x": pa.float64()}
)


def typed(text: str) -> TypedPlan:
    plan = make_plan(bind(parse_clause(text), SCHEMA.names))
    return EvaluatedPlan(plan, SCHEMA, Settings(), Limits()).typed


def planned(*texts: str, sharing: str = "always") -> ClausesPlan:
    names = [f"q{i}" for i in range(1, len(texts) + 1)]
    return plan_clauses([typed(text) for text in texts], names, [False] * len(texts), sharing)  # type: ignore[arg-type]


def clause(pattern: str, define: str = "", *, mode: str = "ALL MATCHES", rest: str = "", order: str = "ts, n") -> str:
    head = f"PARTITION BY ward ORDER BY {order} MEASURES LAST(n) AS n {mode}"
    return f"{head} PATTERN ({pattern}) {rest} {'DEFINE ' + define if define else ''}"


def steps(program: PatternProgram) -> list[str]:
    """`source label target`, with `+` for neighbours only, `!` for absent conditions, `?` for run conditions."""
    return [
        f"{step.source} {program.labels[step.label]} {step.target}"
        + "+" * step.adjacent
        + "".join(f" !{absent}" for absent in step.absent)
        + "".join(f" ?{check}" for check in step.checks)
        for step in program.steps
    ]


def first_program(plan: ClausesPlan) -> tuple[ClauseStream, PatternProgram]:
    stream = plan.streams[0]
    return stream, stream.clauses[0].program


Q5 = clause("A X* B Y* D", "A AS kind = 'A', B AS kind = 'B' AND A.x < B.x, Y AS kind <> 'C', D AS kind = 'D'")
Q6 = clause("A X* B Y* E", "A AS kind = 'A', B AS kind = 'B', Y AS kind <> 'C', E AS kind = 'E'")


def test_q5_of_table_2_skips_rows_that_no_condition_reads() -> None:
    stream, program = first_program(planned(Q5))
    assert steps(program) == ["0 c0#1 1", "1 c1#1 2 ?0", "2 c2#1 3 !3"]
    assert [render_expression(test.row) for test in stream.tests if test.row is not None] == [
        "(`kind` = 'A')",
        "(`kind` = 'B')",
        "(`kind` = 'D')",
        "(`kind` <> 'C')",
    ]
    assert [test.is_negated for test in stream.tests] == [False, False, False, True]
    condition = program.run[0]
    assert condition.variables == {"c0#1", "c1#1"}
    assert program.accepting == ((3, ()),)


def test_conditions_of_one_row_are_numbered_once_for_all_clauses() -> None:
    stream = planned(Q5, Q6).streams[0]
    assert [clause.program.qualifies for clause in stream.clauses] == [(0, 1, 2), (0, 1, 4)]
    assert len(stream.tests) == 5


def test_equal_prefixes_share_nodes() -> None:
    other = Q5.replace("D AS kind = 'D'", "D AS kind = 'E'")
    stream = planned(Q5, other).streams[0]
    assert len(merge([clause.program for clause in stream.clauses]).nodes) == 5  # the root, A, AB, and the two ends


def test_a_loop_is_skipped_after_its_first_row() -> None:
    _, program = first_program(planned(clause("A B+ C", "A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'")))
    assert steps(program) == ["0 c0#1 1", "1 c1#1 2+", "2 c2#1 3 !3"]


def test_steps_of_read_rows_are_adjacent() -> None:
    _, program = first_program(planned(clause("A B+ C", "A AS kind = 'A', B AS B.x > A.x, C AS kind = 'C'")))
    assert steps(program) == ["0 c0#1 1", "1 c1#1 2+ ?0", "2 c1#1 2+ ?0", "2 c2#1 3+"]


def test_rows_that_a_run_condition_reads_are_not_skipped() -> None:
    count_x = clause("A X* B", "A AS kind = 'A', B AS COUNT(X.n) < 3")
    _, program = first_program(planned(count_x))
    assert all(step.adjacent for step in program.steps if step.source)
    count_all = clause("A X* B", "A AS kind = 'A', B AS COUNT(*) < 3")
    _, program = first_program(planned(count_all))
    assert all(step.adjacent for step in program.steps if step.source)
    both_ends = clause("A X* B", "A AS kind = 'A', B AS x > FIRST(x)")
    _, program = first_program(planned(both_ends))
    assert not any(step.adjacent for step in program.steps)


def test_a_condition_reads_only_labels_of_its_path() -> None:
    """`A.x` on the first path differs from that on the second. Equal beginnings have equal conditions."""
    longer = clause("A X* B X* A X* B", "A AS kind = 'A', B AS kind = 'B' AND B.x > FIRST(A.x)")
    _, program = first_program(planned(longer))
    assert [sorted(condition.variables) for condition in program.run] == [
        ["c0#1", "c1#1"],
        ["c0#1", "c0#2", "c1#2"],
    ]


def test_previous_rows_of_other_variables_are_columns() -> None:
    stream, program = first_program(planned(clause("A X* B", "B AS PREV(A.x, 2) < x")))
    assert [navigation.shift for navigation in stream.neighbours.values()] == [-2]
    assert "__ost_n0" in render_expression(program.run[0].condition)


@pytest.mark.parametrize(
    ("rest", "extent", "conditions"),
    [
        ("", Extent(), 0),
        ("MAXLENGTH 5", Extent(BoundKind.SPAN, by_place=True, length=4), 0),
        ("WITHIN INTERVAL '2' SECOND", Extent(BoundKind.SPAN, length=2_000_000), 0),
        ("WITHIN INTERVAL '2' SECOND MAXLENGTH 5", Extent(BoundKind.SPAN, length=2_000_000), 2),
    ],
)
def test_bounds_of_a_match(rest: str, extent: Extent, conditions: int) -> None:
    stream, program = first_program(planned(clause("A X* B", rest=rest)))
    assert program.extent == extent
    assert len(program.run) == conditions
    assert stream.has_times == ("WITHIN" in rest)


def test_clauses_with_another_order_are_another_stream() -> None:
    plan = planned(clause("A X* B"), clause("A X* C"), clause("A X* B", order="n"), clause("A X* B", order="n DESC"))
    assert [[clause.clause for clause in stream.clauses] for stream in plan.streams] == [[0, 1], [2], [3]]
    assert [clause.program.stream for stream in plan.streams for clause in stream.clauses] == [0, 0, 1, 2]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (clause("A B", mode=""), "one preferred match from each start"),
        (clause("A B", mode="MAXIMAL MATCHES"), "it asks for MAXIMAL MATCHES"),
        (clause("A X* B", "B AS COUNT(DISTINCT A.kind) < 2"), r"COUNT\(DISTINCT ...\)"),
        (clause("A X* B", "B AS LAST(CLASSIFIER(), 1) = 'A'"), r"the CLASSIFIER\(\) of other rows"),
        (clause("A X* B", "B AS concat(A.kind, B.kind) = 'ab'"), "row by row: concat"),
    ],
)
def test_clauses_that_cannot_be_bounded_run_alone_or_raise(text: str, reason: str) -> None:
    plan = plan_clauses([typed(text)], ["mine"], [False])
    assert not plan.streams
    with pytest.raises(QueryError, match=reason) as caught:
        plan_clauses([typed(text)], ["mine"], [True])
    assert caught.value.code == "BOUND_NOT_SUPPORTED"
    assert "'mine'" in caught.value.message


def test_without_a_bound_some_clauses_run_alone() -> None:
    fixed, close = clause("A B C", "B AS x > A.x"), clause("A (B | C) D", "B AS x > A.x, D AS COUNT(*) < 9")
    texts = (Q5, fixed, close, clause("A X* B+ C", "B AS x > A.x"), Q5)
    plan = planned(*texts, sharing="dynamic")
    assert plan.alone == {
        1: "a pattern of fixed length is matched by shifting columns",
        2: "every row of a match follows the one before it, so partial matches are few",
        3: "a loop goes row by row: the search forgets its rows, the shared matcher would keep them all",
    }
    assert planned(*texts, sharing="never").alone == dict.fromkeys(range(5), "sharing is off")
    assert planned(*texts).alone == {}


def clauses_by_stream(plan: ClausesPlan) -> list[list[int]]:
    return [[clause.clause for clause in stream.clauses] for stream in plan.streams]


OTHER = clause("F X* G", "F AS kind = 'F', G AS kind = 'G'")


def test_without_a_bound_clauses_with_a_common_state_are_matched_together() -> None:
    plan = planned(OTHER, Q5, Q6, Q6.replace("ORDER BY ts, n", "ORDER BY n"), sharing="dynamic")
    assert clauses_by_stream(plan) == [[1, 2]]
    assert plan.alone == {0: NOTHING_IN_COMMON, 3: NOTHING_IN_COMMON}
    stream = plan.streams[0]
    assert not any(test.row is not None and "'F'" in render_expression(test.row) for test in stream.tests)
    assert [clause.program.stream for clause in stream.clauses] == [0, 0]


def test_with_a_bound_or_on_a_stream_all_clauses_are_matched_together() -> None:
    plans, names = [typed(OTHER), typed(Q6)], ["q1", "q2"]
    assert clauses_by_stream(plan_clauses(plans, names, [False, False])) == []
    bounded = plan_clauses(plans, names, [False, True])
    on_stream = plan_clauses(plans, names, [False, False], on_stream=True)
    assert clauses_by_stream(bounded) == clauses_by_stream(on_stream) == [[0, 1]]
    assert not bounded.streams[0].by_choice and not on_stream.streams[0].by_choice


def test_only_optional_sharing_of_unbounded_matches_limits_partial_matches() -> None:
    within = Q6.replace("DEFINE", "WITHIN INTERVAL '9' SECOND DEFINE")
    assert [stream.most_held for stream in planned(Q6, Q6, Q6, sharing="dynamic").streams] == [3 * MOST_HELD_A_QUERY]
    assert [stream.most_held for stream in planned(Q6, Q6, within, within, sharing="dynamic").streams] == [
        4 * MOST_HELD_A_QUERY
    ]
    for plan, by_choice in ((planned(within, within, sharing="dynamic"), True), (planned(Q6, Q6), False)):
        assert [(stream.most_held, stream.by_choice) for stream in plan.streams] == [(None, by_choice)]


# --- on a stream ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (Q6, None),
        (Q6.replace("kind = 'B'", "kind = 'B' AND PREV(x) < x"), None),
        (Q6.replace("Y* E", "Y* E $"), "`$` is known at the end of the input only"),
        (Q6.replace("(A X*", "(^ A X*"), "`^` has to remember every partition"),
        (Q6.replace("kind = 'B'", "kind = 'B' AND NEXT(x) < x"), "NEXT waits for further rows"),
        (Q6.replace("LAST(n) AS n", "NEXT(LAST(n)) AS n"), "NEXT waits for further rows"),
        (Q6.replace("LAST(n) AS n", "MATCH_NUMBER() AS n"), "has no MATCH_NUMBER()"),
    ],
)
def test_clauses_that_can_be_matched_together_on_a_stream(text: str, reason: str | None) -> None:
    """All of these clauses can be matched together in a batch."""
    assert not planned(text).alone
    plan = plan_clauses([typed(text)], ["q1"], [False], "always", on_stream=True)
    assert (reason is None) == (not plan.alone)
    assert reason is None or reason in plan.alone[0]
    if reason is not None:
        with pytest.raises(QueryError, match="query 'q1' can't be bounded: on a stream") as caught:
            plan_clauses([typed(text)], ["q1"], [True], on_stream=True)
        assert caught.value.code == "BOUND_NOT_SUPPORTED"
