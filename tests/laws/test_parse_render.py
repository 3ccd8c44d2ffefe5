"""Text -> query -> text -> the same query."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from tests.laws.event_strategies import bind, event_queries
from tests.laws.strategies import Names, clauses, conditions, patterns, values

from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.clause_render import render_clause, render_pattern
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.event_queries.language.event_render import render_event_query
from ostinato.expressions.parsing import parse_expression
from ostinato.expressions.render import render_expression

NAMES = Names(("A", "B"), (("U", ("A", "B")),), in_measures=True)


@given(st.booleans().flatmap(lambda modes: clauses(modes=modes)))
def test_clauses(text: str) -> None:
    query = parse_clause(text)
    rendered = render_clause(query)
    assert parse_clause(rendered) == query, rendered
    assert render_clause(parse_clause(rendered)) == rendered


@given(clauses())
def test_white_space_and_comments_do_not_matter(text: str) -> None:
    apart = re.sub(r"(?<=[A-Z,)]) (?=[A-Z(])", " /* so */\n\t-- it is\n", text)
    assert parse_clause(apart) == parse_clause(text)


@given(patterns("ABCD", 4))
def test_patterns(text: str) -> None:
    pattern = parse_row_pattern(text)
    assert parse_row_pattern(render_pattern(pattern)) == pattern, render_pattern(pattern)


@given(conditions(NAMES, 3))
def test_conditions(text: str) -> None:
    expression = parse_expression(text)
    assert parse_expression(render_expression(expression)) == expression, render_expression(expression)


@given(
    st.sampled_from(["whole", "real", "exact", "text", "moment", "truth"]).flatmap(lambda kind: values(kind, NAMES, 3))
)
def test_values(text: str) -> None:
    expression = parse_expression(text)
    assert parse_expression(render_expression(expression)) == expression, render_expression(expression)


@given(event_queries())
def test_event_queries(text: str) -> None:
    query, bound = parse_event_query(text), bind(text)
    assert parse_event_query(render_event_query(query)) == query
    assert bind(render_event_query(bound.written)) == bound  # a stream stores this text, and `ost.finish` reads it
