"""SQL text -> tokens: letters, quotes, numbers and comments as Spark reads them."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError
from ostinato.expressions.lexer import MAX_NUMBER_CHARACTERS, Kind, first_token, tokenize


def texts(text: str) -> list[str]:
    """The tokens without the closing END."""
    tokens = tokenize(text)
    assert tokens[-1].kind is Kind.END
    return [token.text for token in tokens[:-1]]


def kinds(text: str) -> list[Kind]:
    return [token.kind for token in tokenize(text)[:-1]]


def test_a_span_says_where_the_token_stands() -> None:
    text = "A.price  >= 'x' -- end"
    assert [text[token.span.start : token.span.end] for token in tokenize(text)] == ["A", ".", "price", ">=", "'x'", ""]
    assert tokenize(text)[-1].span.start == len(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<=b", ["a", "<=", "b"]),
        ("a<=>b", ["a", "<=>", "b"]),
        ("a>>>b>>c", ["a", ">>>", "b", ">>", "c"]),
        ("x->x+1", ["x", "->", "x", "+", "1"]),
        ("a::int||b", ["a", "::", "int", "||", "b"]),
        ("A*?{-B-}", ["A", "*", "?", "{", "-", "B", "-", "}"]),  # patterns read these one by one
    ],
)
def test_the_longest_symbol_counts(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


@pytest.mark.parametrize(
    "number", ["1", "1.5", ".5", "1.", "1e9", "1.5E-3", "2L", "2s", "2Y", "1.5d", "1.5F", "2BD", "1e3bd"]
)
def test_numbers(number: str) -> None:
    assert (texts(number), kinds(number)) == ([number], [Kind.NUMBER])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e", ["1", "e"]),
        ("1e+x", ["1", "e", "+", "x"]),
        ("1..2", ["1", ".", ".2"]),
        ("A{2,3}", ["A", "{", "2", ",", "3", "}"]),
        ("2days", ["2", "days"]),
        ("2d_", ["2", "d_"]),
        ("x1", ["x1"]),
        ("1²", ["1", "²"]),  # a superscript is no digit
    ],
)
def test_where_a_number_ends(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_number_has_a_longest_form() -> None:
    assert texts("1" * MAX_NUMBER_CHARACTERS) == ["1" * MAX_NUMBER_CHARACTERS]
    with pytest.raises(QueryError, match="INVALID_LITERAL"):
        tokenize("1" * (MAX_NUMBER_CHARACTERS + 1))


@pytest.mark.parametrize(
    ("text", "kind", "name"),
    [
        ("`a b`", Kind.BACK_QUOTED, "a b"),
        ("`a``b`", Kind.BACK_QUOTED, "a`b"),
        ("`a\\`", Kind.BACK_QUOTED, "a\\"),  # no escapes between back quotes
        ('"a b"', Kind.DOUBLE_QUOTED, "a b"),
        ("price", Kind.WORD, "price"),
        ("größe_1", Kind.WORD, "größe_1"),
    ],
)
def test_names(text: str, kind: Kind, name: str) -> None:
    (token, _) = tokenize(text)
    assert (token.kind, token.name) == (kind, name)


@pytest.mark.parametrize("text", ["'a'", "'it''s'", "'it\\'s'", "'a\nb'", "r'\\'", "X'1F'", "''"])
def test_strings(text: str) -> None:
    assert (texts(text), kinds(text)) == ([text], [Kind.STRING])


def test_a_quoted_word_is_no_keyword() -> None:
    plain, quoted, string, _ = tokenize("and `and` 'and'")
    assert (plain.upper, quoted.upper, string.upper) == ("AND", "", "")


@pytest.mark.parametrize("text", ["a -- b\nc", "a /* b */ c", "a /* b /* nested */ b */ c", "a\t\n c -- no end"])
def test_comments_and_blanks_are_dropped(text: str) -> None:
    assert texts(text) == ["a", "c"]


@pytest.mark.parametrize(
    ("text", "at"), [("a /* b", 2), ("a /* /* */", 2), ("a 'b", 2), ("a `b", 2), ('"b\\"', 0), ("r'b", 0)]
)
def test_a_missing_end_is_an_error_at_the_beginning(text: str, at: int) -> None:
    with pytest.raises(QueryError) as caught:
        tokenize(text)
    assert caught.value.code == "SYNTAX_ERROR"
    assert caught.value.span is not None
    assert caught.value.span.start == at


def test_a_lone_surrogate_is_an_error() -> None:
    with pytest.raises(QueryError, match="TEXT_NOT_UNICODE"):
        tokenize("a = '\ud800'")


def test_the_first_token_is_read_without_the_rest() -> None:
    assert first_token("  -- query\n SELECT 'no end").text == "SELECT"
    assert first_token("  ").kind is Kind.END
