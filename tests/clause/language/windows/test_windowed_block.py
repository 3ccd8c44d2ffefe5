"""Statements with row patterns in windows -> the query of the input, the window, and the text that Spark gets."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.language.windows.parameter_marks import parameter_marks
from ostinato.clause.language.windows.select_blocks import StatementTokens, blocks_with_patterns
from ostinato.clause.language.windows.windowed_block import WindowedBlock
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import QueryError
from ostinato.expressions.parameters import Parameters
from ostinato.expressions.render import render_expression

FRAME = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A B+) DEFINE B AS v < PREV(v)"
W = f"PARTITION BY k ORDER BY id MEASURES LAST(v) AS low {FRAME}"
FIELDS = (("id", "k", "v"), ("k", "name"))


def block_of(text: str) -> WindowedBlock:
    tokens = StatementTokens(text, parameters=Parameters.of([0]))
    (block,) = blocks_with_patterns(read_statement(text), tokens)
    return WindowedBlock(tokens, block)


def rewritten(text: str, fields: Sequence[Sequence[str]] = FIELDS) -> str:
    """The text for Spark, with `TABLES` for the tables that come from the windows."""
    block = block_of(text)
    columns = block.columns(fields[: len(block.tables)])
    pieces = block.pieces(columns, "r", "{rows}")
    assert block.patterns(columns) or not block.calls
    for span, replacement in sorted(pieces, key=lambda piece: -piece[0].start):
        shown = "TABLES" if replacement.startswith("FROM") else replacement
        text = text[: span.start] + shown + text[span.end :]
    return text


def patterns_of(text: str, fields: Sequence[Sequence[str]] = FIELDS) -> list[WindowPattern]:
    block = block_of(text)
    return block.patterns(block.columns(fields[: len(block.tables)]))


REWRITTEN = {
    "a measure": (f"SELECT id, low OVER w FROM t WINDOW w AS ({W})", "SELECT id, r.`_ost_v0` AS `low` TABLES "),
    "a star": (f"SELECT *, low OVER w AS l FROM t WINDOW w AS ({W})", "SELECT `t`.*, r.`_ost_v0` AS l TABLES "),
    "stars of tables": (
        f"SELECT *, u.*, count(*) OVER (PARTITION BY t.k ORDER BY id {FRAME}) n FROM t JOIN u ON t.k = u.k",
        "SELECT `t`.*, `u`.*, u.*, r.`_ost_v0` n TABLES",
    ),
    "a star inside": (
        f"SELECT struct(*), count(*), low OVER w FROM t WINDOW w AS ({W})",
        "SELECT struct(`t`.*), count(*), r.`_ost_v0` AS `low` TABLES ",
    ),
    "an expression": (
        f"SELECT id * low  OVER w + 1 FROM t WINDOW w AS ({W})",
        "SELECT id * r.`_ost_v0` + 1 AS `id * low + 1` TABLES ",
    ),
    "names without quotes and spaces": (
        f"SELECT `low` OVER w, abs(low OVER w), low OVER w::string FROM t WINDOW w AS ({W})",
        "SELECT r.`_ost_v0` AS `low`, abs(r.`_ost_v1`) AS `abs(low)`, r.`_ost_v1`::string AS `low::string` TABLES ",
    ),
    "an expression that ends with a unit of time": (
        f"SELECT low OVER w + INTERVAL 1 DAY, low OVER w + INTERVAL 1 DAY x FROM t WINDOW w AS ({W})",
        "SELECT r.`_ost_v0` + INTERVAL 1 DAY AS `low + INTERVAL 1 DAY`, r.`_ost_v0` + INTERVAL 1 DAY x TABLES ",
    ),
    "an expression that ends with a word": (
        f"SELECT low OVER w IS NULL, CASE WHEN low OVER w > 1 THEN 2 END FROM t WINDOW w AS ({W})",
        "SELECT r.`_ost_v0` IS NULL AS `low IS NULL`, "
        "CASE WHEN r.`_ost_v0` > 1 THEN 2 END AS `CASE WHEN low > 1 THEN 2 END` TABLES ",
    ),
    "aliases": (
        f"SELECT low OVER w x, low OVER w AS y, (low OVER w) z FROM t WINDOW w AS ({W})",
        "SELECT r.`_ost_v0` x, r.`_ost_v0` AS y, (r.`_ost_v0`) z TABLES ",
    ),
    "ORDER BY, WHERE, other windows": (
        f"SELECT rank() OVER v FROM t a WHERE id > 1 WINDOW v AS (ORDER BY id), w AS ({W}) ORDER BY low OVER w DESC",
        "SELECT rank() OVER v TABLES WINDOW v AS (ORDER BY id) ORDER BY r.`_ost_v0` DESC",
    ),
    "comments and strings": (
        f"SELECT 'low OVER w', low OVER w /* low OVER w */ FROM t -- low OVER w\n WINDOW w AS ({W})",
        "SELECT 'low OVER w', r.`_ost_v0` AS `low` /* low OVER w */ TABLES -- low OVER w\n ",
    ),
    "a window that nothing calls": (f"SELECT * FROM t WINDOW w AS ({W})", "SELECT * FROM t "),
    "one branch of a UNION": (
        f"SELECT low OVER w FROM t WINDOW w AS ({W}) UNION ALL SELECT id FROM t ORDER BY 1",
        "SELECT r.`_ost_v0` AS `low` TABLES  UNION ALL SELECT id FROM t ORDER BY 1",
    ),
    "windows between others": (
        f"SELECT low OVER w FROM t WINDOW a AS ({W}), v AS (ORDER BY id), w AS ({W}), u AS (v), x AS w, y AS ({W})"
        " LIMIT 1",
        "SELECT r.`_ost_v0` AS `low` TABLES WINDOW v AS (ORDER BY id), u AS (v) LIMIT 1",
    ),
    "fields of structs": (
        f"SELECT struct(low OVER w, count(*) OVER w, low OVER w AS l, low OVER w + 1) s FROM t WINDOW w AS ({W})",
        "SELECT struct(r.`_ost_v0` AS `low`, r.`_ost_v1` AS `col2`, r.`_ost_v0` AS l, r.`_ost_v0` + 1) s TABLES ",
    ),
    "EXCEPT columns": (
        f"SELECT * EXCEPT (v), low OVER w FROM t WINDOW w AS ({W})",
        "SELECT `t`.* EXCEPT (v), r.`_ost_v0` AS `low` TABLES ",
    ),
    "another name of a window": (
        f"SELECT low OVER x FROM t WINDOW w AS ({W}), x AS w",
        "SELECT r.`_ost_v0` AS `low` TABLES ",
    ),
}


@pytest.mark.parametrize(("text", "expected"), REWRITTEN.values(), ids=REWRITTEN.keys())
def test_text_for_spark(text: str, expected: str) -> None:
    assert rewritten(text) == expected


def test_marks_have_their_values_wherever_a_window_stands() -> None:
    text = f"""SELECT ?, low OVER w, count(*) OVER (ORDER BY id {FRAME.replace("B+", "B?")} + ?) FROM t WHERE v > ?
        WINDOW w AS ({W.replace("LAST(v)", "LAST(v) + ?")} * ?) LIMIT ?"""
    tokens = StatementTokens(text, parameters=Parameters.of([10, 11, 12, 13, 14, 15]))
    tokens.marks = parameter_marks(tokens)
    (found,) = blocks_with_patterns(read_statement(text), tokens)
    block = WindowedBlock(tokens, found)
    low, count = (pattern.clause for pattern in block.patterns(block.columns(FIELDS[:1])))
    assert render_expression(low.measures[0].expression) == "(last(`v`) + 13)"
    assert render_expression(low.definitions[0].condition) == "(`v` < (prev(`v`) * 14))"
    assert render_expression(count.definitions[0].condition) == "(`v` < (prev(`v`) + 11))"


def test_the_query_of_the_input() -> None:
    over = f"OVER (PARTITION BY t.k, upper(name) ORDER BY t.id {FRAME})"
    block = block_of(f"SELECT sum(id * 2) {over}, sum(id * 2) {over} FROM t LEFT JOIN u ON t.k = u.k WHERE v > 1")
    assert block.input_query == (
        "SELECT struct(`t`.*) AS `_ost_t0`, struct(`u`.*) AS `_ost_t1`, upper(name) AS `_ost_x0`, "
        "id * 2 AS `_ost_x1` FROM t LEFT JOIN u ON t.k = u.k WHERE v > 1"
    )


def test_windows_read_columns_of_the_input() -> None:
    text = f"""SELECT low OVER w, sum(id * 2) OVER w, count(*) OVER w, nth_value(u.k, 3) OVER w, low OVER w
        FROM t JOIN u ON t.k = u.k
        WINDOW b AS (PARTITION BY t.k),
            w AS (b ORDER BY u.k DESC, upper(name) MEASURES LAST(B.v) + t.v AS low {FRAME})"""
    (pattern,) = patterns_of(text)
    assert [render_expression(measure.expression) for measure in pattern.clause.measures] == [
        "(last(B.`v`) + `v`)",
        "sum(`_ost_x1`)",
        "count(*)",
        "first(`_ost_c1_0`, 2)",
    ]
    assert pattern.frame_functions == {"_ost_v1", "_ost_v2", "_ost_v3"}
    assert [key.column.text for key in pattern.clause.partition_by] == ["_ost_c0_1"]
    assert [(key.column.text, key.descending) for key in pattern.clause.order_by] == [
        ("_ost_c1_0", True),
        ("_ost_x0", False),
    ]


def test_windows_of_their_own() -> None:
    text = f"SELECT count(*) OVER ({W}), low OVER ({W.replace('id', 'v')}) FROM t"
    assert len(patterns_of(text)) == 2


REFUSED = {
    "WHERE": (f"SELECT id FROM t WHERE low OVER w > 1 WINDOW w AS ({W})", "UNSUPPORTED_WITH_WINDOW", "low OVER w"),
    "QUALIFY": (f"SELECT id FROM t QUALIFY low OVER w > 1 WINDOW w AS ({W})", "UNSUPPORTED_WITH_WINDOW", "low OVER w"),
    "ON": (
        f"SELECT id FROM t JOIN u ON low OVER w = u.k WINDOW w AS ({W})",
        "UNSUPPORTED_WITH_WINDOW",
        "low OVER w",
    ),
    "the order of DISTINCT": (
        f"SELECT DISTINCT low OVER w AS l FROM t WINDOW w AS ({W}) ORDER BY count(*) OVER w",
        "UNSUPPORTED_WITH_WINDOW",
        "count(*) OVER w",
    ),
    "an aggregate": (f"SELECT max(low OVER w) FROM t WINDOW w AS ({W})", "UNSUPPORTED_WITH_WINDOW", "low OVER w"),
    "USING": (f"SELECT low OVER w FROM t JOIN u USING (k) WINDOW w AS ({W})", "UNSUPPORTED_WITH_WINDOW", "USING"),
    "NATURAL": (f"SELECT low OVER w FROM t NATURAL JOIN u WINDOW w AS ({W})", "UNSUPPORTED_WITH_WINDOW", "NATURAL"),
    "FROM first": (f"FROM t SELECT low OVER ({W})", "UNSUPPORTED_WITH_WINDOW", "SELECT"),
    "ORDER BY behind UNION": (
        f"SELECT low OVER w FROM t WINDOW w AS ({W}) UNION ALL SELECT id FROM t ORDER BY low OVER w",
        "UNSUPPORTED_WITH_WINDOW",
        "low OVER w",
    ),
    "SORT BY behind EXCEPT": (
        f"SELECT id FROM t EXCEPT (SELECT low OVER w FROM t WINDOW w AS ({W})) SORT BY 1, sum(v) OVER ({W})",
        "UNSUPPORTED_WITH_WINDOW",
        f"sum(v) OVER ({W})",
    ),
    "ORDER BY behind INTERSECT in a sub-query": (
        f"SELECT * FROM (SELECT low OVER w FROM t WINDOW w AS ({W}) INTERSECT SELECT id FROM t ORDER BY t.low OVER w)",
        "UNSUPPORTED_WITH_WINDOW",
        "t.low OVER w",
    ),
    "? in a key": (f"SELECT low OVER (PARTITION BY k % ? {W[15:]}) FROM t", "UNSUPPORTED_WITH_WINDOW", "?"),
    "? in an argument": (f"SELECT sum(v * ?) OVER ({W}) FROM t", "UNSUPPORTED_WITH_WINDOW", "?"),
    "? as an argument": (f"SELECT nth_value(v, ?) OVER ({W}) FROM t", "UNSUPPORTED_WITH_WINDOW", "?"),
    "no measure": (f"SELECT lo OVER w FROM t WINDOW w AS ({W})", "UNKNOWN_MEASURE", "lo"),
    "a measure of a table": (f"SELECT t.low OVER w FROM t WINDOW w AS ({W})", "UNKNOWN_MEASURE", "t.low"),
    "a rank": (f"SELECT rank() OVER w FROM t WINDOW w AS ({W})", "UNSUPPORTED_IN_WINDOW", "rank()"),
    "lag": (f"SELECT lag(v) OVER w FROM t WINDOW w AS ({W})", "UNSUPPORTED_IN_WINDOW", "lag(v)"),
    "another aggregate": (
        f"SELECT skewness(v) OVER w FROM t WINDOW w AS ({W})",
        "UNSUPPORTED_IN_WINDOW",
        "skewness(v)",
    ),
    "IGNORE NULLS": (
        f"SELECT first_value(v) IGNORE NULLS OVER w FROM t WINDOW w AS ({W})",
        "UNSUPPORTED_IN_WINDOW",
        "IGNORE",
    ),
    "FILTER": (
        f"SELECT sum(v) FILTER (WHERE v > 1) OVER w FROM t WINDOW w AS ({W})",
        "UNSUPPORTED_IN_WINDOW",
        "FILTER",
    ),
    "an unknown base": (f"SELECT low OVER w FROM t WINDOW w AS (x {W})", "INVALID_WINDOW", "x"),
    "a base with a frame": (
        f"SELECT low OVER w FROM t WINDOW x AS (ORDER BY id ROWS 1 PRECEDING), w AS (x MEASURES v AS low {FRAME})",
        "INVALID_WINDOW",
        "x",
    ),
    "a second PARTITION BY": (
        f"SELECT low OVER w FROM t WINDOW x AS (PARTITION BY k), w AS (x {W})",
        "INVALID_WINDOW",
        "x",
    ),
    "a window twice": (f"SELECT low OVER w FROM t WINDOW w AS ({W}), w AS ({W})", "INVALID_WINDOW", "w"),
    "an ambiguous column": (
        f"SELECT low OVER w FROM t JOIN u ON t.k = u.k WINDOW w AS ({W})",
        "AMBIGUOUS_COLUMN",
        "k",
    ),
    "an unknown column": (f"SELECT sum(x) OVER w FROM t WINDOW w AS ({W})", "UNKNOWN_COLUMN", "x"),
    "a call over a copy of a window": (f"SELECT sum(v) OVER (w) FROM t WINDOW w AS ({W})", "INVALID_WINDOW", "w"),
    "a window built on one with a pattern": (
        f"SELECT sum(v) OVER x FROM t WINDOW w AS ({W}), x AS (w)",
        "INVALID_WINDOW",
        "w",
    ),
    "a window in itself": (
        f"SELECT low OVER w FROM t WINDOW w AS (w {W[W.index('MEASURES') :]})",
        "INVALID_WINDOW",
        "w",
    ),
}


@pytest.mark.parametrize(("text", "code", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_a_caret(text: str, code: str, words: str) -> None:
    with pytest.raises(QueryError) as caught:
        rewritten(text)
    error = caught.value
    assert error.code == code, str(error)
    assert error.span is not None
    assert text[error.span.start : error.span.end] == words


def test_the_same_name_in_another_select() -> None:
    text = f"SELECT low OVER w FROM t WINDOW w AS ({W}) UNION SELECT rank() OVER w FROM t WINDOW w AS (ORDER BY id)"
    assert rewritten(text).endswith("UNION SELECT rank() OVER w FROM t WINDOW w AS (ORDER BY id)")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT rank() OVER w FROM t WINDOW w AS (PARTITION BY pattern(k) ORDER BY measures, define)",
        "SELECT over, t.over AS over FROM pattern, measures",
        "SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A B) DEFINE B AS v > 1)",
    ],
)
def test_statements_without_windows_with_patterns(text: str) -> None:
    assert blocks_with_patterns(read_statement(text), StatementTokens(text)) == []
