"""Full SQL text -> the spans of its MATCH_RECOGNIZE clauses and table names. Nothing is rewritten here.

The reader knows parentheses, WITH lists, and the positions of tables (after FROM, JOIN and commas of a FROM list).
Everything else belongs to Spark.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from ostinato.errors import QueryError, Span
from ostinato.expressions.lexer import Kind, tokenize
from ostinato.expressions.render import quote
from ostinato.expressions.types import Settings

END_OF_FROM = frozenset("WHERE GROUP HAVING ORDER LIMIT OFFSET WINDOW CLUSTER DISTRIBUTE SORT QUALIFY".split())
SET_OPERATIONS = frozenset("UNION INTERSECT EXCEPT MINUS".split())
_END_OF_RELATION = frozenset("ON USING PIVOT UNPIVOT".split())
_OF_SAMPLE = frozenset({"TABLESAMPLE", "REPEATABLE"})
_STARTS_OF_QUERY = frozenset("SELECT WITH FROM TABLE MAP REDUCE".split())
MAX_NESTING = 100
"""How deep WITH may stand inside parentheses."""
NO_ALIAS = (
    END_OF_FROM
    | SET_OPERATIONS
    | _END_OF_RELATION
    | _OF_SAMPLE
    | frozenset(
        "JOIN INNER LEFT RIGHT FULL CROSS NATURAL OUTER ANTI SEMI LATERAL SELECT MATCH_RECOGNIZE FOR VERSION".split()
    )
)


@dataclass(frozen=True, slots=True)
class CommonTable:
    """`name [(columns)] AS ( query )` of a WITH list."""

    name: str
    span: Span
    recursive: bool


@dataclass(frozen=True, slots=True)
class Clause:
    """`input MATCH_RECOGNIZE ( body )`. `tables` are the common tables that the input may name, outer ones first."""

    span: Span
    input: Span
    body: Span
    input_name: str | None
    tables: tuple[CommonTable, ...]
    in_subquery: bool
    """Whether there is an outer query, whose columns the input must not use."""


@dataclass(frozen=True, slots=True)
class TableName:
    """A plain name of a table, unless it names a common table. The span is that of the name, or of IDENTIFIER('name').

    `aliased`: an alias follows. `sampled`: TABLESAMPLE follows, which comes before an alias.
    """

    name: str
    span: Span
    aliased: bool
    sampled: bool = False

    def with_frame(self, frame: str) -> str:
        """The text that stands for the table: a placeholder for a DataFrame, under the table's name."""
        named = frame if self.aliased else f"{frame} AS {quote(self.name)}"
        return f"({named})" if self.sampled else named


@dataclass(frozen=True, slots=True)
class Select:
    """A query block: the word SELECT, and what `Clause` says of its surroundings."""

    span: Span
    tables: tuple[CommonTable, ...]
    in_subquery: bool


@dataclass(frozen=True, slots=True)
class Statement:
    text: str
    clauses: tuple[Clause, ...]
    tables: tuple[TableName, ...]
    settings: Settings = Settings()
    """The session's rules for quotes and names."""
    selects: tuple[Select, ...] = ()
    """The blocks outside of the clauses."""

    @property
    def is_clause_alone(self) -> bool:
        """Whether it is `SELECT * FROM input MATCH_RECOGNIZE ( ... )` and nothing else but an alias."""
        if len(self.clauses) != 1:
            return False
        span = self.clauses[0].span
        quotes = self.settings.double_quoted_identifiers
        before = [token.upper for token in tokenize(self.text[: span.start])]
        behind = tokenize(self.text[span.end :], double_quoted_identifiers=quotes)
        names = [token for token in behind[:-1] if token.upper != "AS"]
        is_alias = len(names) == 1 and names[0].is_name and names[0].upper not in NO_ALIAS
        return before == ["SELECT", "*", "FROM", ""] and len(behind) <= 3 and (len(behind) == 1 or is_alias)


Item = TypeVar("Item", TableName, Select)


@dataclass(slots=True)
class _Scope:
    """One level of parentheses."""

    is_query: bool
    in_from: bool = False
    relation: int | None = None
    """The token at which the current table starts."""
    values_list: bool = False
    common: list[CommonTable] = field(default_factory=list)


def read_statement(text: str, settings: Settings = Settings()) -> Statement:
    """Finds the outermost clauses and the plain table names outside of them.

    >>> statement = read_statement("SELECT * FROM trades MATCH_RECOGNIZE (PATTERN (A)) AS m JOIN x ON true")
    >>> text = statement.text
    >>> [(text[c.input.start : c.input.end], text[c.body.start : c.body.end]) for c in statement.clauses]
    [('trades', 'PATTERN (A)')]
    >>> [table.name for table in statement.tables]
    ['x']
    """
    return _StatementReader(text, settings).read()


class _StatementReader:
    def __init__(self, text: str, settings: Settings) -> None:
        self.text = text
        self.settings = settings
        self.tokens = tokenize(text, double_quoted_identifiers=settings.double_quoted_identifiers)
        self.closing = self._matching_parentheses()
        self.clauses: list[Clause] = []
        self.tables: list[TableName] = []
        self.selects: list[Select] = []

    def _matching_parentheses(self) -> dict[int, int]:
        opened: list[int] = []
        closing: dict[int, int] = {}
        for at, token in enumerate(self.tokens):
            if token.upper == "(":
                opened.append(at)
            elif token.upper == ")":
                if not opened:
                    raise QueryError("SYNTAX_ERROR", "this ) closes nothing", text=self.text, span=token.span)
                closing[opened.pop()] = at
        if opened:
            token = self.tokens[opened[-1]]
            raise QueryError("SYNTAX_ERROR", "this ( is never closed", text=self.text, span=token.span)
        return closing

    def read(self) -> Statement:
        self._read(0, len(self.tokens) - 1, [_Scope(is_query=False)])
        clauses = tuple(self.clauses)
        return Statement(self.text, clauses, self._outside(self.tables), self.settings, self._outside(self.selects))

    def _read(self, at: int, end: int, scopes: list[_Scope]) -> None:
        """Reads the tokens `at:end`, which lie in the last of the scopes."""
        while at < end:
            word = self.tokens[at].upper
            if word == "(":
                self._open(at, scopes)
            elif word == ")":
                scopes.pop()
            elif word == "WITH" and not scopes[-1].is_query:
                at = self._with_list(at, scopes)
                continue
            elif word == "MATCH_RECOGNIZE" and self.tokens[at + 1].upper == "(":
                at = self._clause(at, scopes)
                continue
            else:
                self._word(at, word, scopes)
            at += 1

    def _open(self, at: int, scopes: list[_Scope]) -> None:
        """In a FROM list, parentheses enclose a query, or tables again: `FROM (a JOIN b ON ...)`."""
        holds_tables = scopes[-1].relation == at and self.tokens[at + 1].upper not in _STARTS_OF_QUERY
        scopes.append(_Scope(is_query=False, in_from=holds_tables))
        if holds_tables:
            self._relation(at + 1, scopes)

    def _word(self, at: int, word: str, scopes: list[_Scope]) -> None:
        scope = scopes[-1]
        if at == scope.relation:  # a name there is that of a table, such as `sort`
            return
        if word == "SELECT" or word in SET_OPERATIONS:
            scope.is_query, scope.in_from, scope.relation = True, False, None
            if word == "SELECT":
                tables = tuple(common for each in scopes for common in each.common)
                in_subquery = sum(each.is_query for each in scopes) > 1
                self.selects.append(Select(self.tokens[at].span, tables, in_subquery))
        elif word == "FROM" and self._begins_tables(at, scope):
            scope.is_query, scope.in_from = True, True
            self._relation(at + 1, scopes)
        elif scope.in_from and (word == "JOIN" or (word == "," and not scope.values_list)):
            self._relation(at + 1, scopes)
        elif word in END_OF_FROM or (word == "LATERAL" and self.tokens[at + 1].upper == "VIEW"):
            # Commas behind LATERAL VIEW separate column names, not tables.
            scope.in_from, scope.relation = False, None
        elif word in _END_OF_RELATION:
            scope.relation = None
        elif word == "AS":
            scope.values_list = False

    def _begins_tables(self, at: int, scope: _Scope) -> bool:
        """Whether this FROM begins a FROM list; IS DISTINCT FROM and EXTRACT(... FROM ...) don't."""
        before = self.tokens[at - 1].upper if at else "("
        return before == "(" or (scope.is_query and before != "DISTINCT")

    def _relation(self, at: int, scopes: list[_Scope]) -> None:
        """A table starts here; notes it if it is a plain name."""
        scope = scopes[-1]
        while self.tokens[at].upper in ("LATERAL", "ONLY"):
            at += 1
        scope.relation = at
        scope.values_list = self.tokens[at].upper == "VALUES"
        token, name = self.tokens[at], self._identifier(at)
        last = at if name is None else at + 3
        after = self.tokens[min(last + 1, len(self.tokens) - 1)]
        if name is None and (not token.is_name or after.upper in (".", "(") or scope.values_list):
            return
        name = name or token.name
        if any(self.settings.same_name(common.name, name) for each in scopes for common in each.common):
            return
        aliased = after.upper == "AS" or (after.is_name and after.upper not in NO_ALIAS)
        span = token.span.to(self.tokens[last].span)
        self.tables.append(TableName(name, span, aliased, sampled=after.upper == "TABLESAMPLE"))

    def _identifier(self, at: int) -> str | None:
        """The name of `IDENTIFIER('name')`; None for other tables, also those that a parameter names."""
        word, opening, name, closing = (self.tokens[at : at + 4] + [self.tokens[-1]] * 4)[:4]
        is_one = (word.upper, opening.upper, closing.upper) == ("IDENTIFIER", "(", ")") and name.kind is Kind.STRING
        return name.text[1:-1] if is_one else None

    def _with_list(self, at: int, scopes: list[_Scope]) -> int:
        """Reads WITH a AS ( ... ), b AS ( ... ), and the queries inside like any other text."""
        scope = scopes[-1]
        if len(scopes) > MAX_NESTING:
            raise QueryError(
                "TOO_DEEP",
                f"queries nest at most {MAX_NESTING} levels deep",
                text=self.text,
                span=self.tokens[at].span,
                hint="make a view of the inner ones",
            )
        at += 1
        recursive = self.tokens[at].upper == "RECURSIVE"
        at += recursive
        while self.tokens[at].is_name:
            name, start = self.tokens[at].name, self.tokens[at].span
            at += 1
            if self.tokens[at].upper == "(":
                at = self.closing[at] + 1
            while self.tokens[at].upper != "(" and self.tokens[at].kind is not Kind.END:
                at += 1  # AS, and MAX RECURSION LEVEL n
            if self.tokens[at].kind is Kind.END:
                return at
            end = self.closing[at]
            common = CommonTable(name, start.to(self.tokens[end].span), recursive)
            self._read(at + 1, end, [*scopes, _Scope(is_query=False, common=[common] if recursive else [])])
            scope.common.append(common)
            at = end + 1
            if self.tokens[at].upper != ",":
                break
            at += 1
        scope.is_query = self.tokens[at].upper == "FROM"  # Spark also takes queries that begin with FROM
        return at

    def _clause(self, at: int, scopes: list[_Scope]) -> int:
        scope, token = scopes[-1], self.tokens[at]
        if scope.relation is None or scope.relation >= at:
            raise QueryError(
                "SYNTAX_ERROR",
                "MATCH_RECOGNIZE stands behind a table: FROM table MATCH_RECOGNIZE ( ... )",
                text=self.text,
                span=token.span,
            )
        first, last = self.tokens[scope.relation], self.tokens[at - 1]
        if self.tokens[scope.relation - 1].upper == "LATERAL":
            raise QueryError(
                "CORRELATED_INPUT", "the input of MATCH_RECOGNIZE can't be LATERAL", text=self.text, span=first.span
            )
        end = self.closing[at + 1]
        body = Span(self.tokens[at + 1].span.end, self.tokens[end].span.start)
        clause = Clause(
            span=Span(first.span.start, self.tokens[end].span.end),
            input=Span(first.span.start, last.span.end),
            body=body,
            input_name=self._input_name(scope.relation, at),
            tables=tuple(common for each in scopes for common in each.common),
            in_subquery=sum(each.is_query for each in scopes) > 1,
        )
        # A clause behind a clause has the first as its input. Clauses inside the input are read again with it.
        self.clauses = [other for other in self.clauses if other.span.start < clause.span.start]
        self.clauses.append(clause)
        return end + 1

    def _input_name(self, first: int, end: int) -> str | None:
        """The name by which the clause may qualify columns: the alias, else the table's own name."""
        last = end - 1
        if self._identifier(first) is not None and last == first + 3:
            return self._identifier(first)
        if self.tokens[last].upper == ")":
            opening = next(start for start, closing in self.closing.items() if closing == last)
            if self.tokens[opening - 1].upper in _OF_SAMPLE:
                return self._input_name(first, opening - 1)
            named = opening - 1 > first and self.tokens[opening - 1].is_name
            behind = self.tokens[opening - 2]
            is_alias = named and (behind.upper in ("AS", ")") or behind.is_name)
            is_alias = is_alias and self.tokens[opening - 1].upper not in NO_ALIAS  # t MATCH_RECOGNIZE ( ... )
            return self.tokens[opening - 1].name if is_alias else None
        return self.tokens[last].name if self.tokens[last].is_name else None

    def _outside(self, items: list[Item]) -> tuple[Item, ...]:
        """Those that stand outside of all clauses."""
        clauses = [clause.span for clause in self.clauses]
        return tuple(item for item in items if not any(span.start <= item.span.start < span.end for span in clauses))
