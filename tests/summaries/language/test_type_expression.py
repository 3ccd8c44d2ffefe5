"""Text of an expression -> automaton, and errors."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError, Span
from ostinato.summaries.language.type_automaton import compile_expression
from ostinato.summaries.language.type_expression import MAX_TYPES, Letter, parse


def dump(expression: str, *declared: str) -> list[str]:
    return compile_expression(expression, frozenset(declared)).dump().splitlines()


def test_the_expression_of_the_paper() -> None:
    assert dump("a(b*c)*d(e|f)g*") == ["0: a->1", "1: b->2 c->1 d->3", "2: b->2 c->1", "3: e->4 f->4", "4: g->4 final"]


def test_an_ambiguous_expression_has_one_run_for_each_word() -> None:
    assert dump("a?a?b") == ["0: a->1 b->2", "1: a->3 b->2", "2: final", "3: b->2"]


def test_a_loop_at_the_start_does_not_lead_back_to_the_start_state() -> None:
    assert dump("A*B") == ["0: A->1 B->2", "1: A->1 B->2", "2: final"]


def test_the_empty_word_is_not_accepted() -> None:
    assert dump("a*") == ["0: a->1", "1: a->1 final"]


def test_equivalent_states_are_merged() -> None:
    assert dump("ad|bd") == ["0: a->1 b->1", "1: d->2", "2: final"]
    assert dump("a(b|bc?)") == ["0: a->1", "1: b->2", "2: c->3 final", "3: final"]


@pytest.mark.parametrize("same", ["E(H|K)*E", " E ( H | K ) * E ", "`E`(H|`K`)*E"])
def test_spaces_and_backquotes_change_nothing(same: str) -> None:
    assert dump(same) == ["0: E->1", "1: E->2 H->1 K->1", "2: final"]


def test_names_of_several_letters_are_declared_or_quoted() -> None:
    assert parse("pay", frozenset({"pay"})) == Letter("pay")
    assert parse("`pay now`") == Letter("pay now")
    assert dump("order pay+", "order", "pay") == ["0: order->1", "1: pay->2", "2: pay->2 final"]
    assert dump("ab", "a", "b", "pay") == ["0: a->1", "1: b->2", "2: final"]


def test_a_misspelt_name_is_not_read_as_letters() -> None:
    with pytest.raises(QueryError) as caught:
        parse("ordr pay", frozenset({"order", "pay"}))
    assert caught.value.code == "SUMMARY_UNKNOWN_TYPE"
    assert caught.value.span == Span(0, 4)
    assert caught.value.hint == "did you mean 'order'?"


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("", Span(0, 1)),
        ("a|", Span(2, 3)),
        ("(a", Span(2, 3)),
        ("a)", Span(1, 2)),
        ("()", Span(1, 2)),
        ("*a", Span(0, 1)),
        ("a{2}", Span(1, 2)),
        ("a`b", Span(1, 3)),
        ("a``", Span(1, 3)),
    ],
)
def test_invalid_expressions_are_underlined(text: str, span: Span) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert caught.value.code == "SUMMARY_EXPRESSION"
    assert caught.value.span == span


def test_repeats_of_repeats() -> None:
    assert dump("a" + "*" * 5000) == dump("a*") == dump("a?+") == dump("(a+)?")


@pytest.mark.parametrize("expression", ["(" * 3000 + "a" + ")" * 3000, "(a|b)*a" + "(a|b)" * 12])
def test_expressions_with_too_many_states_raise(expression: str) -> None:
    with pytest.raises(QueryError, match="SUMMARY_EXPRESSION"):
        compile_expression(expression)


def test_expressions_with_too_many_types_raise() -> None:
    assert parse("a*" * MAX_TYPES)
    with pytest.raises(QueryError, match="at most 1,000 types") as caught:
        parse("a*" * (MAX_TYPES + 1))
    assert caught.value.span == Span(2 * MAX_TYPES, 2 * MAX_TYPES + 1)
