"""Blocks with groups and row patterns in windows -> the query of the groups, and the text that Spark gets."""

from __future__ import annotations

import pytest

from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.language.windows.select_blocks import StatementTokens, blocks_with_patterns
from ostinato.clause.language.windows.windowed_groups import GroupColumns, GroupedBlock, has_groups
from ostinato.errors import QueryError
from ostinato.expressions.render import render_expression

FRAME = "ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING PATTERN (A B+) DEFINE B AS sum(x) > max(sum(v)) AND A.k = k"
W = f"PARTITION BY upper(k) ORDER BY sum(v) MEASURES LAST(sum(v)) AS low {FRAME}"


def block_of(text: str) -> GroupedBlock:
    tokens = StatementTokens(text)
    (block,) = blocks_with_patterns(read_statement(text), tokens)
    assert has_groups(tokens, block)
    return GroupedBlock(tokens, block)


def rewritten(text: str, names: tuple[str, ...]) -> str:
    for span, replacement in sorted(block_of(text).group_pieces(names, "r", "{rows}"), key=lambda each: -each[0].start):
        text = text[: span.start] + replacement + text[span.end :]
    return text


def test_the_query_of_the_groups_and_the_text_around_it() -> None:
    text = f"""SELECT DISTINCT t.k, sum(v) AS s, max(sum(v) * 2) OVER w + sum(v) / k x, rank() OVER v FROM t
        WHERE v > 0 GROUP BY k HAVING sum(v) > 1 WINDOW v AS (ORDER BY k), w AS ({W}) ORDER BY s, 2, -sum(v) DESC, k"""
    block = block_of(text)
    assert (
        block.input_query.split(" FROM ")[0]
        == (
            "SELECT t.k, sum(v) AS s, NULL, rank() OVER v, upper(k) AS `_ost_x0`, sum(v) AS `_ost_x1`, "
            "sum(v) * 2 AS `_ost_x2`, x AS `_ost_x3`, k AS `_ost_x4`, sum(v) / k AS `_ost_x5`, -sum(v) AS `_ost_x6`"
        )
        or block.input_query
    )
    assert block.input_query.endswith("GROUP BY k HAVING sum(v) > 1 WINDOW v AS (ORDER BY k)")
    parts = {column.name: text for text, column in block.computed.items()}
    after = " ".join(rewritten(text, ("k", "s", "", "r")).split())
    shown = after.replace("`", "")
    for column, written in parts.items():
        shown = shown.replace(f"r.{column}", f"<{written}>")
    assert shown == (
        "SELECT DISTINCT r._ost_i0 AS k, r._ost_i1 AS s, r._ost_v0 + <sum(v) / k> x, r._ost_i3 AS r "
        "FROM {rows} AS r ORDER BY s, 2, <-sum(v)> DESC, k"
    )


def test_fields_of_structs_have_the_names_that_spark_gives() -> None:
    shown = rewritten(f"SELECT struct(t.k, sum(v), low OVER w) FROM t GROUP BY k WINDOW w AS ({W})", ("",))
    assert shown.startswith("SELECT struct(r.`_ost_x4` AS `k`, r.`_ost_x1` AS `col2`, r.`_ost_v0` AS `low`)")


def test_aggregates_in_navigations_are_those_of_the_block() -> None:
    block = block_of(f"SELECT low OVER w FROM t GROUP BY k WINDOW w AS ({W})")
    (pattern,) = block.patterns(GroupColumns(block))
    parts = {column.name: text for text, column in block.computed.items()}
    shown = [
        render_expression(pattern.clause.measures[0].expression),
        render_expression(pattern.clause.definitions[0].condition),
    ]
    for column, written in parts.items():
        shown = [text.replace(f"`{column}`", f"<{written}>") for text in shown]
    assert shown == ["last(<sum(v)>)", "((sum(<x>) > max(<sum(v)>)) AND (A.<k> = <k>))"]


REFUSED = {
    "a star": (f"SELECT *, low OVER w FROM t GROUP BY k WINDOW w AS ({W})", "*"),
    "GROUP BY ALL": (f"SELECT k, low OVER w FROM t GROUP BY ALL WINDOW w AS ({W})", "GROUP BY ALL"),
    "groups by a value": (f"SELECT k, low OVER w FROM t GROUP BY 1, 2 WINDOW w AS ({W})", "2"),
    "a generator": (f"SELECT explode(array(1)), low OVER w FROM t GROUP BY k WINDOW w AS ({W})", "explode"),
    "? in a window of Spark": (
        f"SELECT low OVER w, rank() OVER v FROM t GROUP BY k WINDOW v AS (ORDER BY k + ?), w AS ({W})",
        "?",
    ),
    "an alias in ORDER BY": (
        f"SELECT sum(v) AS s, low OVER w FROM t GROUP BY k WINDOW w AS ({W}) ORDER BY -s",
        "s",
    ),
    "SORT BY": (f"SELECT low OVER w FROM t GROUP BY k WINDOW w AS ({W}) SORT BY 1", "SORT"),
    "a lambda": (
        f"SELECT transform(array(1), x -> low OVER w) FROM t GROUP BY k WINDOW w AS ({W})",
        "x -> low OVER w",
    ),
}


@pytest.mark.parametrize(("text", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_a_caret(text: str, words: str) -> None:
    with pytest.raises(QueryError, match="UNSUPPORTED_WITH_WINDOW") as caught:
        block_of(text)
    span = caught.value.span
    assert span is not None
    assert text[span.start : span.end] == words


def test_aggregates_without_group_by_make_groups() -> None:
    for item, expected in [("max(v)", True), ("max(v) OVER x", False), ("k LIKE ANY ('a')", False)]:
        text = f"SELECT {item}, low OVER ({W}) FROM t"
        (block,) = blocks_with_patterns(read_statement(text), StatementTokens(text))
        assert has_groups(StatementTokens(text), block) is expected, item
