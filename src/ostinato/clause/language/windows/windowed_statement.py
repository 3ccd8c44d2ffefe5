"""Text of a SELECT with row patterns in windows -> its block, if it can run in this process."""

from __future__ import annotations

from typing import NoReturn

from ostinato.clause.language.statement_spans import read_statement
from ostinato.clause.language.windows.select_blocks import SelectBlock, StatementTokens, blocks_with_patterns
from ostinato.clause.language.windows.windowed_block import WindowedBlock
from ostinato.clause.language.windows.windowed_groups import has_groups
from ostinato.errors import QueryError, Span
from ostinato.expressions import types as t
from ostinato.expressions.lexer import first_token
from ostinato.expressions.parameters import NO_PARAMETERS, Parameters

_PARTS = ("SELECT", "FROM", "WINDOW")


def is_window_statement(text: str) -> bool:
    """Whether it is a SELECT with row patterns in windows."""
    if first_token(text).upper != "SELECT":
        return False
    return bool(blocks_with_patterns(read_statement(text), StatementTokens(text)))


def read_windowed_block(
    text: str, settings: t.Settings = t.Settings(), parameters: Parameters = NO_PARAMETERS
) -> WindowedBlock:
    """The one block of a statement that can run in this process. Raises UNSUPPORTED_IN_PROCESS for others."""
    statement = read_statement(text, settings)
    tokens = StatementTokens(text, settings, parameters)
    blocks = blocks_with_patterns(statement, tokens)
    if statement.clauses:
        _refuse(text, statement.clauses[0].span)
    if len(statement.selects) > 1:
        _refuse(text, statement.selects[1].span)
    (block,) = blocks
    _check_parts(tokens, block)
    if has_groups(tokens, block):
        _refuse(text, tokens.span(block.parts["SELECT"].first, block.parts["SELECT"].end))
    return WindowedBlock(tokens, block)


def _check_parts(tokens: StatementTokens, block: SelectBlock) -> None:
    for word, part in block.parts.items():
        if word not in _PARTS:
            _refuse(tokens.text, tokens.tokens[part.first].span)
    if tokens.upper(block.parts["SELECT"].first + 1) == "DISTINCT":
        _refuse(tokens.text, tokens.tokens[block.parts["SELECT"].first + 1].span)
    if "FROM" not in block.parts:
        _refuse(tokens.text, block.select.span)
    part = block.parts["FROM"]
    named = [token for token in tokens.tokens[part.first + 1 : part.end] if token.upper != "AS"]
    if len(named) > 2 or not all(token.is_name for token in named):
        _refuse(tokens.text, tokens.span(part.first, part.end))
    last = max(part.end for part in block.parts.values())
    behind = [token for token in tokens.tokens[last:-1] if token.upper != ";"]
    if behind:
        _refuse(tokens.text, behind[0].span)


def _refuse(text: str, span: Span) -> NoReturn:
    raise QueryError(
        "UNSUPPORTED_IN_PROCESS",
        "in this process only SELECT list FROM name [AS name] [WINDOW ...] can run with row patterns in windows",
        text=text,
        span=span,
        hint="run the statement on Spark with ost.sql",
    )
