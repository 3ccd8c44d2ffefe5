"""The FROM list of a query block -> the names of its tables, by which columns are qualified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

from ostinato.clause.language.statement_spans import NO_ALIAS
from ostinato.clause.language.windows.select_blocks import Part, StatementTokens

_JOIN_WORDS = frozenset("INNER CROSS LEFT RIGHT FULL OUTER SEMI ANTI".split())
_SUB_QUERY = "put it into a sub-query: FROM (SELECT ... FROM ...) AS t"


@dataclass(frozen=True, slots=True)
class BlockTable:
    """A table of a block. Without a name, its columns can't be qualified."""

    name: str | None


def tables_of(tokens: StatementTokens, part: Part) -> tuple[BlockTable, ...]:
    """The tables whose columns the block can use, in the order of `SELECT *`."""
    tables = _Reader(tokens).tables(part.first + 1, part.end)
    names = [tokens.settings.fold(table.name) for table in tables if table.name is not None]
    span = tokens.span(part.first, part.end)
    if len(tables) > 1 and len(names) < len(tables):
        _refuse(
            tokens, part.first, part.end, "tables without a name can't be joined", "name each one: (SELECT ...) AS t"
        )
    if len(set(names)) < len(names):
        message = f"two tables have the name '{next(name for name in names if names.count(name) > 1)}'"
        tokens.fail(span, message, "UNSUPPORTED_WITH_WINDOW", "give them different names: FROM t AS a JOIN t AS b")
    return tuple(tables)


def _refuse(tokens: StatementTokens, first: int, end: int, message: str, hint: str = _SUB_QUERY) -> NoReturn:
    where = "in a block with row patterns in windows"
    tokens.fail(tokens.span(first, end), f"{message} {where}", "UNSUPPORTED_WITH_WINDOW", hint)


class _Reader:
    def __init__(self, tokens: StatementTokens) -> None:
        self.tokens = tokens
        self.at = 0

    def tables(self, first: int, end: int) -> list[BlockTable]:
        """The tables between two tokens."""
        self.at = first
        tables = self._table(end)
        while self.at < end:
            is_hidden = False
            start = self.at
            while self._word() in _JOIN_WORDS or self._word() == "NATURAL":
                is_hidden |= self._word() in ("SEMI", "ANTI")
                if self._word() == "NATURAL":
                    _refuse(self.tokens, self.at, self.at + 1, "NATURAL isn't supported")
                self.at += 1
            if self._word() not in (",", "JOIN"):
                _refuse(self.tokens, start, start + 1, f"{self.tokens.tokens[start].text} isn't supported")
            self.at += 1
            joined = self._table(end)
            tables += [] if is_hidden else joined
            self._condition(end)
        return tables

    def _word(self, ahead: int = 0) -> str:
        return self.tokens.upper(self.at + ahead)

    def _condition(self, end: int) -> None:
        if self.at < end and self._word() == "USING":
            _refuse(self.tokens, self.at, self.at + 1, "USING isn't supported", "write ON a.x = b.x")
        if self.at >= end or self._word() != "ON":
            return
        for at in self.tokens.top_level(self.at, end):
            word, after = self.tokens.upper(at), self.tokens.upper(at + 1)
            is_function = word in ("LEFT", "RIGHT") and after == "("
            self.at = at
            if word in (",", "JOIN", "NATURAL", "LATERAL") or (word in _JOIN_WORDS and not is_function):
                return
        self.at = end

    def _table(self, end: int) -> list[BlockTable]:
        tokens, nested = self.tokens, None
        while self._word() in ("LATERAL", "ONLY"):
            if self._word(1) == "VIEW":
                _refuse(tokens, self.at, self.at + 2, "LATERAL VIEW isn't supported")
            self.at += 1
        name = None
        if self._word() == "(":
            opening = self.at
            if not tokens.opens_query(opening):
                nested = _Reader(tokens).tables(opening + 1, tokens.closing[opening])
            self.at = tokens.closing[opening] + 1
        elif self._word() == "VALUES":
            self._skip_rows(end)
        else:
            name = self._dotted_name()
        written = self._names_behind(name, end)
        if nested is not None and written is None:
            return nested
        return [BlockTable(written)]

    def _dotted_name(self) -> str | None:
        tokens = self.tokens
        name: str | None = tokens.tokens[self.at].name
        self.at += 1
        while self._word() == ".":
            name = tokens.tokens[self.at + 1].name
            self.at += 2
        if self._word() == "(":  # a table function
            self.at = tokens.closing[self.at] + 1
            return None
        return name

    def _skip_rows(self, end: int) -> None:
        """Steps over `VALUES (1, 2), (3, 4)`."""
        self.at += 1
        while self.at < end:
            self.at = self.tokens.closing.get(self.at, self.at) + 1
            if self._word() != ",":
                return
            self.at += 1

    def _names_behind(self, name: str | None, end: int) -> str | None:
        """Steps over the alias and the other words behind a table. Returns its name."""
        tokens = self.tokens
        while self.at < end:
            token = tokens.tokens[self.at]
            if self._word() == "TABLESAMPLE" and self._word(1) == "(":
                self.at = tokens.closing[self.at + 1] + 1
            elif self._word() == "MATCH_RECOGNIZE" and self._word(1) == "(":
                name, self.at = None, tokens.closing[self.at + 1] + 1
            elif self._word() == "AS" or (token.is_name and token.upper not in NO_ALIAS):
                self.at += self._word() == "AS"
                name = tokens.tokens[self.at].name
                self.at += 1
                if self.at < end and self._word() == "(":
                    self.at = tokens.closing[self.at] + 1
            else:
                break
        return name
