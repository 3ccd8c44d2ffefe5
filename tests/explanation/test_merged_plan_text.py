"""What explain says of a shared plan."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from tests.workloads.merging.plan_patterns import RISING, sequence

import ostinato as ost
from ostinato.explanation.merged_plan_text import MOST_LINES, declined_lines, merged_plan_lines, merged_plan_picture
from ostinato.pictures.automaton_svg import draw_automata
from ostinato.workloads.merging.merged_plan import merge
from ostinato.workloads.merging.pattern_program import PatternProgram, PatternStep


def variables(programs: Sequence[PatternProgram]) -> list[list[str]]:
    """The letters of the patterns, small."""
    return [[chr(ord("a") + number) for number in program.qualifies] for program in programs]


def told(*programs: PatternProgram) -> list[str]:
    return merged_plan_lines(merge(programs), variables(programs))


def test_figure_2() -> None:
    assert told(sequence("ABCD"), sequence("ABEF"), sequence("ABEG")) == [
        "7 states instead of 12; 3 serve more than one pattern",
        "bits from right to left: ABCD, ABEF, ABEG",
        "111  a",
        "111  a b",
        "001  a b c",
        "110  a b e",
        "001  a b c d",
        "010  a b e f",
        "100  a b e g",
        "cluster 111: 2 states",
        "cluster 110: 1 state",
        "cluster 001: 2 states",
        "cluster 010: 1 state",
        "cluster 100: 1 state",
    ]


def test_loops_and_segments() -> None:
    looped = sequence("AB")
    looped = PatternProgram(
        "loop", looped.labels, looped.qualifies, 3, (*looped.steps, PatternStep(2, 1, 2)), ((2, ()),)
    )
    assert "1  a b+" in told(looped)
    lines = told(sequence("ABCX", edges={2: RISING}), sequence("DBCY", edges={2: RISING}))
    assert "11  b c" in lines and "01  a [b c]" in lines and "10  d [b c] y" in lines
    assert "[b c] is matched once and joined after a, d" in lines


def test_a_pattern_that_asks_more() -> None:
    programs = [sequence("AB", edges={1: RISING}), sequence("AB")]
    lines = merged_plan_lines(merge(programs, guards=True), variables(programs))
    assert "a b: 01 has further conditions" in lines


def test_names_are_those_of_the_first_pattern_that_a_state_serves() -> None:
    programs = [sequence("AB"), sequence("CD")]
    lines = merged_plan_lines(merge(programs), [["first", "second"], ["third", "fourth"]])
    assert "01  first second" in lines and "10  third fourth" in lines


def test_many_patterns_are_counted_and_cut_off() -> None:
    lines = told(*(sequence("A" + chr(ord("B") + number)) for number in range(100)))
    assert lines[:2] == ["101 states instead of 200; 1 serves more than one pattern", "100 patterns  a"]
    assert len(lines) == 1 + 2 * (MOST_LINES + 1)
    assert lines[-1] == f"and {101 - MOST_LINES} more" and not any("bits" in line for line in lines)


def test_why_queries_have_no_part() -> None:
    assert declined_lines({"q1": "with LIMIT", "query2": "AND"}) == ["q1      with LIMIT", "query2  AND"]
    assert declined_lines({}) == []


def test_the_picture_has_every_state_once() -> None:
    programs = [sequence("AB", edges={1: RISING}), sequence("AB")]
    picture = merged_plan_picture(merge(programs, guards=False), variables(programs))
    assert [state.variable for state in picture.nfa.states] == ["a", "b", "b (2)"]
    assert picture.conditions == {"a": "11", "b": "01", "b (2)": "10"}
    assert picture.caption == "3 states instead of 4"
    drawn = draw_automata([picture])
    assert drawn.startswith("<svg") and "b (2)" in drawn


def test_a_workload_of_clauses_says_what_it_gave_up() -> None:
    table = pa.table({"ts": range(20), "x": [i % 3 for i in range(20)]})
    clause = "ORDER BY ts MEASURES A.ts AS a ALL MATCHES PATTERN (A X* B) MAXLENGTH 5 DEFINE A AS x = 1, B AS x = 2"
    found = ost.Workload({"q1": clause}, selection_ratio=0.5).run(table)
    text = ost.explain(found, table).text
    assert "Losses of the last run\n" in text
    told = text.splitlines()[-2:]
    assert told[0].startswith("q1: ") and told[1].startswith("selection: 0.5 of the partial matches")


def test_the_picture_of_a_workload_has_what_queries_share() -> None:
    table = pa.table({"ts": range(3), "kind": ["A", "B", "C"]})
    texts = [f"PATTERN SEQ(A a, B b, {last} z) WITHIN 5 EVENTS RETURN MATCHES" for last in "CDEF"]
    asked = ost.Workload(texts, type="kind", time="ts", sharing="always")
    assert "6 states instead of 12" in ost.explain(asked, table).svg


def test_clauses_of_a_workload_say_who_is_matched_together() -> None:
    head = "ORDER BY n MEASURES FIRST(n) AS a ALL MATCHES PATTERN"
    texts = {
        "two": f"{head} (A X* B) DEFINE B AS x > A.x",
        "three": f"{head} (A X* B X* C) DEFINE B AS x > A.x, C AS x > 2",
        "fixed": f"{head} (A B) DEFINE B AS x > 2",
    }
    table = pa.table({"n": [1, 2], "x": [1.0, 2.0]})
    told = ost.explain(ost.Workload(texts), table).text
    assert told.startswith("How the clauses run together")
    assert "shared matcher   two, three:" in told
    assert "alone            fixed: a pattern of fixed length" in told
    assert "run together" not in ost.explain(ost.Workload(texts)).text  # types decide, and aren't known
