"""Names and quotes as a session with other settings reads them, without Spark."""

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import NO_DEFAULTS, DefaultColumns
from ostinato.clause.language.clause_query import as_clause_query
from ostinato.clause.language.clause_render import render_clause
from ostinato.clause.language.statement_spans import read_statement
from ostinato.event_queries.event_request import EventRequest
from ostinato.event_queries.language.event_parser import parse_event_query
from ostinato.expressions.syntax import Literal
from ostinato.expressions.types import Settings

QUOTED = Settings(double_quoted_identifiers=True)
STRICT = Settings(case_sensitive=True)


def test_double_quotes_enclose_tables_aliases_and_common_tables() -> None:
    text = 'WITH "c d" AS (SELECT 1) SELECT * FROM "c d" JOIN "a b" MATCH_RECOGNIZE (PATTERN (A)) "m n" JOIN "x y"'
    statement = read_statement(text, QUOTED)
    assert [table.name for table in statement.tables] == ["x y"]
    assert [clause.input_name for clause in statement.clauses] == ["a b"]
    assert [table.name for table in read_statement(text).tables] == []
    alone = 'SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)) "m n"'
    assert (read_statement(alone, QUOTED).is_clause_alone, read_statement(alone).is_clause_alone) == (True, False)


def test_common_tables_are_compared_by_the_sessions_rule() -> None:
    text = "WITH t AS (SELECT 1) SELECT * FROM T"
    assert [table.name for table in read_statement(text).tables] == []
    assert [table.name for table in read_statement(text, STRICT).tables] == ["T"]


def test_a_clause_reads_double_quotes_as_its_session_does() -> None:
    text = 'MEASURES "x" AS v PATTERN (A) DEFINE A AS "x" > 1'
    query = as_clause_query(text, DefaultColumns(("k",), ("ts",)))
    assert isinstance(query.clause.measures[0].expression, Literal)
    assert query.under(Settings()) is query
    quoted = query.under(QUOTED).clause
    assert quoted == as_clause_query(text.replace('"', "`"), DefaultColumns(("k",), ("ts",))).clause
    assert '"' not in render_clause(quoted)


def test_a_select_reads_double_quotes_as_its_session_does() -> None:
    text = 'SELECT "v" AS "w" FROM "t" MATCH_RECOGNIZE (ORDER BY x MEASURES "x" AS v PATTERN (A)) AS "m"'
    unquoted = as_clause_query(text.replace('"', "`"))
    query = as_clause_query(text.replace('"t"', "t").replace(' AS "m"', ""), NO_DEFAULTS).under(QUOTED)
    assert (query.items, query.clause) == (unquoted.items, unquoted.clause)


def test_typed_literals_in_double_quotes_are_names_of_no_type() -> None:
    query = as_clause_query('MEASURES DATE "2024-01-01" AS d PATTERN (A)')
    assert query.clause.measures[0].expression == Literal("date", 'DATE "2024-01-01"')


def test_a_select_list_takes_the_column_in_its_own_case() -> None:
    query = as_clause_query("SELECT V, v FROM t MATCH_RECOGNIZE (MEASURES 1 AS v, 2 AS V PATTERN (A))")
    assert [expr.parts[0].text for _, expr in query.selected(["v", "V"])] == ["V", "v"]
    assert bind(query.clause, ["x"], case_sensitive=True).output_names == ("v", "V")


def test_an_event_query_reads_double_quotes_as_its_session_does() -> None:
    text = 'PATTERN SEQ(A a, B b) WHERE a."x" > 1 AND "y" = 1 RETURN COUNT(*) AS n'
    types = {"A": '"x" = 1', "B": "x = 2"}
    columns = ["ts", "x", "y"]
    request = EventRequest(parse_event_query(text), types, "ts")
    as_names = EventRequest(
        parse_event_query(text.replace('"', "`")), {kind: each.replace('"', "`") for kind, each in types.items()}, "ts"
    )
    assert request.bound(columns) != as_names.bound(columns)
    assert request.bound(columns, QUOTED) == as_names.bound(columns)
