"""The input of a clause or of a block -> a query of its own, with the common tables that it needs."""

from __future__ import annotations

from collections.abc import Callable

from ostinato.clause.language.statement_spans import CommonTable
from ostinato.expressions.lexer import tokenize


def needed_tables(
    text: str, written: str, tables: tuple[CommonTable, ...], fold: Callable[[str], str]
) -> list[list[CommonTable]]:
    """The common tables that the input names, directly or through other tables, by level.

    A table of an inner level hides one of the same name in an outer level, but may read it.
    """
    needed: list[CommonTable] = []
    mentions = {fold(token.name) for token in tokenize(written)}
    for common in reversed(tables):
        if fold(common.name) in mentions:
            needed.append(common)
            mentions |= {fold(token.name) for token in tokenize(text[common.span.start : common.span.end])}
    levels: list[list[CommonTable]] = []
    for common in reversed(needed):
        if not levels or any(fold(common.name) == fold(other.name) for other in levels[-1]):
            levels.append([])
        levels[-1].append(common)
    return levels


def on_its_own(text: str, query: str, levels: list[list[CommonTable]]) -> str:
    """The query of an input, with the common tables that it needs."""
    if not levels:
        return query
    recursive = "RECURSIVE " if any(common.recursive for common in levels[0]) else ""
    tables = ", ".join(text[common.span.start : common.span.end] for common in levels[0])
    inner = on_its_own(text, query, levels[1:])
    return f"WITH {recursive}{tables} {inner if len(levels) == 1 else f'SELECT * FROM ({inner})'}"
