"""Text -> syntax tree, shown as text with all parentheses."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError
from ostinato.expressions.argument_parser import MAX_DEPTH
from ostinato.expressions.parsing import MAX_CHAIN, parse_expression
from ostinato.expressions.render import render_expression


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a + b * c", "(a + (b * c))"),
        ("a - b - c", "((a - b) - c)"),
        ("a | b & c << d", "(a | (b & (c << d)))"),
        ("- a * b", "((- a) * b)"),
        ("a < b + c", "(a < (b + c))"),
        ("NOT a = b AND c OR d", "(((NOT (a = b)) AND c) OR d)"),
        ("a AND b AND c", "(a AND b AND c)"),  # one node, so that long chains aren't deep
        ("a != b", "(a <> b)"),
        ("a == b", "(a = b)"),
        ("a NOT IN (1, 2)", "(NOT (a IN (1, 2)))"),
        ("a BETWEEN b AND c AND d", "((a BETWEEN b AND c) AND d)"),
        ("a IS NOT NULL", "(NOT (a IS NULL))"),
        ("a LIKE 'x' ESCAPE '!'", "(a LIKE 'x' ESCAPE '!')"),
        ("a::int + 1", "(CAST(a AS int) + 1)"),
        ("a.b[1].c", "a.b[1].c"),
        ("(a, b)", "named_struct('a', a, 'b', b)"),
        ("x -> x + 1", "x -> (x + 1)"),
        ("FINAL last(a.b)", "FINAL last(a.b)"),
        ("substring(a FROM 2 FOR 3)", "substring(a, 2, 3)"),
        ("substring(a)", "substring(a)"),
        ("overlay(a PLACING b FROM 2 FOR 3)", "overlay(a, b, 2, 3)"),
        ("overlay(a, b, 2)", "overlay(a, b, 2)"),
        ("trim(a)", "trim(a)"),
        ("trim(b, a)", "trim(b, a)"),
        ("trim(b FROM a)", "trim(b, a)"),
        ("trim(BOTH FROM a)", "trim(a)"),
        ("trim(BOTH 'b' FROM a)", "trim('b', a)"),
        ("trim(LEADING b FROM a)", "ltrim(b, a)"),
        ("trim(TRAILING (b || c) FROM a)", "rtrim((b || c), a)"),
        ("trim(leading) || trim(both || a)", "(trim(leading) || trim((both || a)))"),  # columns of these names
        ("a LIKE ANY ('x', b)", "(a LIKE ANY ('x', b))"),
        ("a ILIKE SOME ('x') OR c", "((a ILIKE ANY ('x')) OR c)"),
        ("a NOT LIKE ANY ('x', 'y')", "(NOT (a LIKE ALL ('x', 'y')))"),
        ("a NOT LIKE ALL ('x', 'y')", "(NOT (a LIKE ANY ('x', 'y')))"),
        ("a LIKE any(b, 1)", "(a LIKE ANY (b, 1))"),
        ("a = 'b' /* and */ 'c' AND d", "((a = 'b' 'c') AND d)"),
        ("""'a' "b" r'c'""", """'a' "b" r'c'"""),
        ("mask(a, lowerChar => 'q', `x` => b + 1)", "mask(a, lowerChar => 'q', `x` => (b + 1))"),
        ("end > from AND in IS NULL", "((end > from) AND (in IS NULL))"),
        ("CASE end WHEN as THEN then ELSE end END", "CASE end WHEN as THEN then ELSE end END"),
        ("f(end, like, `and`)[end]", "f(end, like, `and`)[end]"),
        ("INTERVAL 1 day 2 hours", "INTERVAL 1 day 2 hours"),
    ],
)
def test_precedence_and_forms(text: str, tree: str) -> None:
    assert render_expression(parse_expression(text)) == tree


@pytest.mark.parametrize(
    ("text", "code", "underlined"),
    [
        ("a +", "SYNTAX_ERROR", ""),
        ("a b", "SYNTAX_ERROR", "b"),
        ("a > AND b", "SYNTAX_ERROR", "AND"),
        ("CASE WHEN a THEN ELSE 0 END", "SYNTAX_ERROR", "ELSE"),
        ("a IN ()", "SYNTAX_ERROR", ""),
        ("()", "SYNTAX_ERROR", "("),
        ("a LIKE ANY ()", "SYNTAX_ERROR", ""),
        ("trim(BOTH 'x', a)", "SYNTAX_ERROR", ","),
        ("overlay(a PLACING b)", "SYNTAX_ERROR", ")"),
        ("'a' x'00'", "SYNTAX_ERROR", "x'00'"),
        ("sum(a) OVER (PARTITION BY b)", "UNSUPPORTED_IN_CLAUSE", "OVER"),
        ("a IN (SELECT 1)", "UNSUPPORTED_IN_CLAUSE", "SELECT"),
    ],
)
def test_errors_have_a_caret(text: str, code: str, underlined: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse_expression(text)
    assert caught.value.code == code
    assert caught.value.span is not None
    assert text[caught.value.span.start : caught.value.span.end] == underlined


@pytest.mark.parametrize(
    "text", ["(" * (MAX_DEPTH + 1) + "a", " + ".join("a" * (MAX_CHAIN + 2)), "a" + " IS NULL" * 200]
)
def test_text_that_would_overflow_the_stack_is_refused(text: str) -> None:
    with pytest.raises(QueryError, match="TOO_DEEP"):
        parse_expression(text)


@pytest.mark.parametrize(
    "text",
    [
        "array_agg(DISTINCT a ORDER BY a DESC, b NULLS LAST)",
        "FINAL listagg(a, ',') WITHIN GROUP (ORDER BY b) FILTER (WHERE (a > 1))",
        "first_value(a) FILTER (WHERE (a LIKE ANY ('x', b))) IGNORE NULLS",
        "percentile_cont(0.5) WITHIN GROUP (ORDER BY a DESC NULLS FIRST)",
        "count(A.*) FILTER (WHERE b)",
    ],
)
def test_words_around_aggregates(text: str) -> None:
    tree = parse_expression(text, reads_aggregates=True)
    assert render_expression(tree) == text
    assert parse_expression(render_expression(tree), reads_aggregates=True) == tree
    with pytest.raises(QueryError):
        parse_expression(text)  # event queries and others don't take them
