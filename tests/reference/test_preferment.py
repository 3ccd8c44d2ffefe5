"""Which match is preferred, and in which order all of them come."""

from __future__ import annotations

import pytest
from tests.reference.letters import EMPTY, labels, match

from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.reference.preferment import Path, Search, in_preferment_order


def ways(pattern: str, text: str, start: int = 0) -> list[str]:
    """Every match from the row in preferment order, each once; a variable X takes the rows of kind 'X'."""

    def admits(path: Path) -> bool:
        return text[start + len(path) - 1] == path[-1].variable

    search = Search(start, len(text), admits)
    found = (
        "".join(label.variable for label in path) for path in in_preferment_order(parse_row_pattern(pattern), search)
    )
    return list(dict.fromkeys(found))


def free(pattern: str, size: int) -> list[str]:
    """The same where every row may be anything."""
    found = in_preferment_order(parse_row_pattern(pattern), Search(0, size, lambda path: True))
    return list(dict.fromkeys("".join(label.variable for label in path) for path in found))


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("A B+ C", "ABBC", [(0, 3)]),
        ("A B+ C", "ABBCABC", [(0, 3), (4, 6)]),
        ("A B+", "ABBB", [(0, 3)]),
        ("A B+?", "ABBB", [(0, 1)]),
        ("A B+? C", "ABBC", [(0, 3)]),
        ("A | A B", "AB", [(0, 0)]),
        ("A B | A", "AB", [(0, 1)]),
        ("(A|A B)(C|B C)", "ABC", [(0, 2)]),
        ("A*? $", "AAA", [(0, 2)]),
        ("A{2}", "AAAAA", [(0, 1), (2, 3)]),
        ("A{2,}", "AAAAA", [(0, 4)]),
        ("A{,2}", "AAAAA", [(0, 1), (2, 3), (4, 4)]),
        ("A{2,3}?", "AAAAA", [(0, 1), (2, 3)]),
        ("^ A", "AA", [(0, 0)]),
        ("A $", "AA", [(1, 1)]),
    ],
)
def test_first_and_last_row(pattern: str, text: str, expected: list[tuple[int, int]]) -> None:
    assert match(pattern, text) == expected


def test_left_alternative_first_over_the_whole_pattern() -> None:
    assert free("(A|A B)(C|B C)", 3) == ["AC", "ABC"]
    assert free("(A|A B)(C|B C)", 4) == ["AC", "ABC", "ABBC"]
    assert ways("(A|A B)(C|B C)", "ABC") == ["ABC"]


def test_greedy_more_first_reluctant_less_first() -> None:
    assert free("A*", 3) == ["AAA", "AA", "A", ""]
    assert free("A*?", 3) == ["", "A", "AA", "AAA"]
    assert free("A?", 3) == ["A", ""]
    assert free("A??", 3) == ["", "A"]
    assert free("A{1,2}?", 3) == ["A", "AA"]


def test_reluctant_loop_over_an_alternation() -> None:
    assert free("(A|B)*?", 2) == ["", "A", "AA", "AB", "B", "BA", "BB"]
    assert free("(A|B)*", 2) == ["AA", "AB", "A", "BA", "BB", "B", ""]


def test_a_loop_is_greedy_outside_and_reluctant_inside() -> None:
    assert free("(A+?)*", 3) == ["AAA", "AA", "A", ""]
    assert free("(A+)*?", 3) == ["", "AAA", "AA", "A"]


def test_an_iteration_past_the_minimum_that_takes_no_row_ends_the_loop() -> None:
    assert free("(A??)*", 2) == ["", "A", "AA"]
    assert free("(A??)+", 2) == ["", "A", "AA"]
    assert free("(A?)*", 2) == ["AA", "A", ""]
    assert free("(A??){0,2}", 2) == ["", "A", "AA"], "a loop with an end is its expansion"


def test_nested_quantifiers() -> None:
    assert free("(A{2,3}){1,2}", 6) == ["AAAAAA", "AAAAA", "AAA", "AAAA", "AA"]
    assert ways("(A{2,3}){1,2}", "AAAAA") == ["AAAAA", "AAA", "AAAA", "AA"]
    assert match("(A{2,3}){2}", "AAAA") == [(0, 3)]


def test_permute_is_the_alternation_of_the_orders_in_lexicographic_order() -> None:
    assert free("PERMUTE(A, B, C)", 3) == ["ABC", "ACB", "BAC", "BCA", "CAB", "CBA"]
    assert free("PERMUTE(A, B?)", 2) == ["AB", "A", "BA"]
    assert ways("PERMUTE(A, B?, C+)", "CCBA") == ["CCBA"]
    assert ways("PERMUTE(A, B?, C+)", "CCA") == ["CCA"]
    assert ways("PERMUTE(A, B?, C+)", "ACCB") == ["ACC", "AC", "ACCB"]
    assert free("PERMUTE(A, A)", 2) == ["AA"]


@pytest.mark.parametrize("pattern", ["()*", "(B ()*)*", "(){5,}", "(Y?){2,}", "()+?", "(()|())*", "((A*)*)*"])
def test_empty_loops_end(pattern: str) -> None:
    assert match(pattern, "XX") == [EMPTY, EMPTY]


def test_loops_over_anchors_end() -> None:
    assert match("^*", "XX") == [EMPTY, EMPTY]
    assert match("$+", "XX") == []
    assert match("^+", "XX") == [EMPTY]
    assert match("A* $+", "AA") == [(0, 1)]


def test_anchors_out_of_place_never_match() -> None:
    assert match("A ^", "AA") == []
    assert match("$ A", "AA") == []
    assert match("^", "AA") == [EMPTY]
    assert match("$", "AA") == []
    assert match("^", "") == []


def test_a_condition_on_the_labels_may_choose_the_last_candidate() -> None:
    define = "DEFINE L AS array_agg(classifier())[0] = 'B' AND count(A.*) = 0"
    assert labels("(A|B){4} L", "xxxxx", define=define) == ["BBBBL"]


def test_long_loops_don_t_meet_the_recursion_limit() -> None:
    assert match("A* B", "A" * 400 + "B") == [(0, 400)]
