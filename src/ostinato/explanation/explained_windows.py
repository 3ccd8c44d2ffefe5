"""The windows with row patterns in SQL text, with the names that the text uses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.language.windows.select_blocks import StatementTokens, blocks_with_patterns
from ostinato.clause.language.windows.windowed_block import WindowedBlock
from ostinato.clause.language.windows.windowed_columns import WindowColumns
from ostinato.clause.language.windows.windowed_groups import GroupColumns, GroupedBlock, has_groups
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.query.pattern import variables
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Name, rebuild


def windows_of(text: str) -> Iterator[tuple[WindowPattern, str]]:
    """The windows that are called, with the text of FROM in their block."""
    tokens = StatementTokens(text, has_sub_queries=True)
    for found in blocks_with_patterns(read_statement(text), tokens):
        if not found.calls:
            continue
        block = GroupedBlock(tokens, found) if has_groups(tokens, found) else WindowedBlock(tokens, found)
        block.computed = {written: replace(each, name=written) for written, each in block.computed.items()}
        names = {each.column: tokens.written(each.call.first, each.call.end) for each in block.calls}
        source = " ".join(text[block.source.start : block.source.end].split())
        columns = GroupColumns(block) if isinstance(block, GroupedBlock) else WrittenColumns(block)
        for pattern in block.patterns(columns):
            measures = tuple(replace(each, name=_short(names[each.name])) for each in pattern.clause.measures)
            functions = frozenset(_short(names[name]) for name in pattern.frame_functions)
            yield replace(pattern, clause=replace(pattern.clause, measures=measures), frame_functions=functions), source


def _short(call: str) -> str:
    """A call with its window's name. Parentheses of a window are left out."""
    return " ".join(call.split("(PARTITION", maxsplit=1)[0].split("(ORDER", maxsplit=1)[0].split())


class WrittenColumns(WindowColumns):
    """Columns keep their names, without the name of their table."""

    def __init__(self, block: WindowedBlock) -> None:
        self.block = block

    def of(self, column: ColumnRef) -> Name:
        """The name of the column."""
        return Name(column.parts[-1].text, quoted=True)

    def in_match(self, expr: Expr, clause: MatchRecognize) -> Expr:
        """An expression of MEASURES or DEFINE without names of tables."""
        if isinstance(expr, Call) and expr.name == "classifier":
            return expr
        if not isinstance(expr, ColumnRef):
            return rebuild(expr, lambda child: self.in_match(child, clause))
        first, *rest = expr.parts
        fold = self.block.tokens.settings.fold
        tables = [fold(table.name) for table in self.block.tables if table.name is not None]
        if rest and first.folded not in variables(clause.pattern) and fold(first.text) in tables:
            return ColumnRef(tuple(rest), expr.span)
        return expr
