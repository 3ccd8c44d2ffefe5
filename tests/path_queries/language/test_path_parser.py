"""Texts of path queries: their meaning, and the errors of invalid ones."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError
from ostinato.path_queries.language.path_parser import path_query, render_path
from ostinato.path_queries.language.path_query import EdgesInOrder, EitherPath, OneEdge, RepeatedPath

A, B = OneEdge("a"), OneEdge("b")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", A),
        ("^a", OneEdge("a", inverse=True)),
        (".", OneEdge(None)),
        ("^.", OneEdge(None, inverse=True)),
        ("a/b", EdgesInOrder((A, B))),
        ("a|b / a", EitherPath((A, EdgesInOrder((B, A))))),
        ("(a|b)/a", EdgesInOrder((EitherPath((A, B)), A))),
        ("a*", RepeatedPath(A, 0, None)),
        ("a+", RepeatedPath(A, 1, None)),
        ("a?", RepeatedPath(A, 0, 1)),
        ("a{2}", RepeatedPath(A, 2, 2)),
        ("a{2,}", RepeatedPath(A, 2, None)),
        ("a{,3}", RepeatedPath(A, 0, 3)),
        ("a{1,3}", RepeatedPath(A, 1, 3)),
        ("a[P|Q]", OneEdge("a", node_types=frozenset({"P", "Q"}))),
        ("film.written_by", OneEdge("film.written_by")),
        ("`written by`", OneEdge("written by")),
        ("^(a/b)", EdgesInOrder((OneEdge("b", inverse=True), OneEdge("a", inverse=True)))),
        ("^(^a|b*)", EitherPath((A, RepeatedPath(OneEdge("b", inverse=True), 0, None)))),
    ],
)
def test_text_and_meaning(text: str, expected: object) -> None:
    parsed = path_query(text)
    assert parsed.expression == expected
    assert path_query(render_path(parsed.expression)).expression == expected


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("", "expected a relation, found the end of the text", 0),
        ("a /", "expected a relation, found the end of the text", 3),
        ("a b", "expected '/', '|' or the end of the path, found 'b'", 2),
        ("a{3,2}", "from 3 to 2 times is never an edge", 1),
        ("a{0}", "from 0 to 0 times is never an edge", 1),
        ("a{}", "expected a number", 2),
        ("a{1001}", "'1001' is no number of times up to 1,000", 2),
        ("(a", "expected ), found the end of the text", 2),
        ("^(a[P]/b)", "a path with node types can't be walked backwards as a whole", 0),
        ("(a/b)[P]", "node types stand behind one edge", 5),
        ("a[]", "expected a node type, found ']'", 2),
    ],
)
def test_errors_have_a_caret(text: str, message: str, place: int) -> None:
    with pytest.raises(QueryError) as caught:
        path_query(text)
    assert caught.value.code == "SYNTAX_ERROR"
    assert caught.value.message == message
    assert caught.value.span is not None
    assert caught.value.span.start == place


def test_deep_nesting_is_an_error_of_ours() -> None:
    with pytest.raises(QueryError) as caught:
        path_query("(" * 60 + "a" + ")" * 60)
    assert caught.value.code == "TOO_DEEP"
