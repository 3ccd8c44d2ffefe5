"""Literals, references, calls, CASE, CAST, lambdas: the expressions that operators connect.

Spark's grammar calls them primary expressions. `parsing.py` adds the operators around them.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.errors import Span
from ostinato.expressions.argument_parser import MAX_DEPTH, ArgumentParser
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.expressions.parameters import at_parameter
from ostinato.expressions.sub_query_parser import read_sub_query, refuse_exists
from ostinato.expressions.syntax import (
    Call,
    Case,
    Cast,
    ColumnRef,
    Expr,
    Extract,
    Field,
    Lambda,
    Literal,
    Name,
    OrderItem,
    Parameter,
    Subscript,
    string_literal,
)
from ostinato.expressions.type_texts import read_interval, read_type

_TYPED_LITERALS = {
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_NTZ": "timestamp_ntz",
    "TIMESTAMP_LTZ": "timestamp_ltz",
}
_NOT_A_NAME = frozenset("AND OR NOT SELECT WHERE".split())
_SELDOM_A_NAME = frozenset("THEN WHEN ELSE END AS FROM IN IS LIKE BETWEEN".split())
"""Words that are a column where the next token goes on behind one, as in `end > 3`."""
_BEHIND_A_COLUMN = frozenset(
    """= == <> != < <= > >= <=> + - * / % || | & ^ << >> >>> ) , ] [ :: DIV AND OR NOT IS IN LIKE ILIKE RLIKE REGEXP
    BETWEEN THEN WHEN ELSE END AS ASC DESC NULLS FROM FOR PLACING ORDER""".split()
)


class PrimaryParser(ArgumentParser):
    """Reads primary expressions. The subclass, which knows operators, reads the expressions inside them."""

    def __init__(self, cursor: Cursor, *, reads_aggregates: bool = False) -> None:
        super().__init__(cursor, reads_aggregates=reads_aggregates)
        self.parameters: list[tuple[str, ...]] = []

    def primary(self) -> Expr:
        cursor, token = self.cursor, self.cursor.token
        if token.kind is Kind.NUMBER:
            return Literal("number", cursor.take().text, token.span)
        if self._at_string():
            return self._string()
        if token.kind in (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED):
            return self._word()
        if at_parameter(cursor):
            return self._parameter()
        if token.upper == "*":
            cursor.fail("'*' may only stand inside COUNT(*)")
        if token.upper != "(":
            cursor.fail(f"expected an expression, found {cursor.describe()}")
        return self._parenthesised()

    def _parameter(self) -> Expr:
        if self.cursor.parameters is None:
            message, hint = "a query of this kind has no parameters", "write the value into the text"
            self.cursor.fail(message, code="UNSUPPORTED_IN_CLAUSE", hint=hint)
        return self.cursor.parameters.value(self.cursor)

    def _string(self) -> Expr:
        """A string. Strings in a row are one: `'a' 'b'` is 'ab'."""
        token = self.cursor.take()
        if token.text[0] in "xX":
            return Literal("binary", token.text, token.span)
        texts, span = [token.text], token.span
        while self._at_string() and self.cursor.token.text[0] not in "xX":
            following = self.cursor.take()
            texts.append(following.text)
            span = span.to(following.span)
        return Literal("string", " ".join(texts), span)

    def _at_string(self) -> bool:
        kind, is_qualifier = self.cursor.token.kind, self.cursor.ahead().upper == "."
        return kind is Kind.STRING or (kind is Kind.DOUBLE_QUOTED and not is_qualifier)

    def _word(self) -> Expr:
        cursor, token = self.cursor, self.cursor.token
        word, after = token.upper, cursor.ahead()
        if word in ("TRUE", "FALSE"):
            return Literal("boolean", cursor.take().upper, token.span)
        if word == "NULL":
            return Literal("null", cursor.take().upper, token.span)
        if word in _TYPED_LITERALS and after.kind in (Kind.STRING, Kind.DOUBLE_QUOTED):
            cursor.take()
            end = cursor.take()
            return Literal(_TYPED_LITERALS[word], f"{word} {end.text}", token.span.to(end.span))
        if word == "INTERVAL" and (after.kind in (Kind.STRING, Kind.NUMBER) or after.upper in ("-", "+")):
            return read_interval(cursor)
        if word in _NOT_A_NAME | _SELDOM_A_NAME and self._is_column(word):
            return self._reference()
        if word == "CASE":
            return self._case()
        if word in ("CAST", "TRY_CAST") and after.upper == "(":
            return self._cast()
        if word == "EXTRACT" and after.upper == "(":
            return self._extract()
        if after.upper == "->":
            return self._lambda((Name(cursor.take().name, token.kind is not Kind.WORD),), token.span)
        if word in ("RUNNING", "FINAL") and after.kind is Kind.WORD and cursor.ahead(2).upper == "(":
            cursor.take()
            return self._call(word.lower())
        if after.upper == "(" and token.kind is not Kind.DOUBLE_QUOTED:
            return self._call(None)
        if word in _NOT_A_NAME | _SELDOM_A_NAME:
            cursor.fail(f"expected an expression, found {cursor.describe()}")
        return self._reference()

    def _is_column(self, word: str) -> bool:
        """Whether a word of the grammar is a column here. PATTERN (START END) makes END.price one."""
        after = self.cursor.ahead()
        follows = after.kind is Kind.END or after.upper in _BEHIND_A_COLUMN
        return after.upper == "." or (word in _SELDOM_A_NAME and follows)

    def _reference(self) -> Expr:
        cursor = self.cursor
        name, span = cursor.name("a column")
        names = [name]
        while cursor.sees(".") and cursor.ahead().kind in (Kind.WORD, Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED):
            cursor.take()
            following, end = cursor.name("a column")
            names.append(following)
            span = span.to(end)
            if len(names) > MAX_DEPTH:
                cursor.fail(f"fields nest at most {MAX_DEPTH} levels deep", code="TOO_DEEP", span=span)
        if any(name.text.lower() in scope for scope in self.parameters):
            expr: Expr = Parameter(name, span)
            for field in names[1:]:
                expr = Field(expr, field, span)
            return expr
        return ColumnRef(tuple(names), span)

    def _call(self, semantics: str | None) -> Expr:
        cursor, token = self.cursor, self.cursor.token
        name = cursor.take().name.lower()
        cursor.expect("(")
        if name == "exists":
            refuse_exists(cursor)
        distinct = cursor.accept("DISTINCT")
        if not distinct and cursor.sees("ALL") and cursor.ahead().upper not in (")", ","):
            cursor.take()
        order_by: tuple[OrderItem, ...] = ()
        if name == "struct":
            name, args = "named_struct", [] if cursor.accept(")") else self._fields()
        else:
            name, args, order_by = self._call_list(name) if distinct else self._arguments(name)
        span = token.span.to(cursor.tokens[cursor.at - 1].span)
        return self._modified(Call(name, tuple(args), distinct, semantics, span), order_by)

    def _fields(self, first: Expr | None = None) -> list[Expr]:
        """The fields of a struct up to the closing parenthesis: each one's name, then its value.

        Spark takes a name from the text of a column or field. Our columns have other names in Spark, so the parser
        writes the name down. `first` is the first value, if it has been read.
        """
        cursor = self.cursor
        items: list[Expr] = []
        value = first
        while True:
            if value is None:
                value = self.expression()
            name = _field_name(value, len(items) // 2)
            if cursor.accept("AS"):
                name = string_literal(cursor.name("a field name")[0].text)
            items += [name, value]
            value = None
            if self._ends_list(len(items) // 2):
                return items

    def _parenthesised(self) -> Expr:
        cursor, start = self.cursor, self.cursor.token
        names = self._lambda_parameters()
        if names is not None:
            return self._lambda(names, start.span)
        cursor.expect("(")
        sub_query = read_sub_query(cursor)
        if sub_query is not None:
            return sub_query
        if cursor.sees(")"):
            cursor.fail("empty parentheses are no expression", span=start.span)
        inner = self.expression()
        if cursor.sees(")"):
            return replace(inner, span=start.span.to(cursor.take().span))
        fields = self._fields(inner)
        if len(fields) == 2:
            cursor.fail(
                "a name can't be given here", span=start.span, hint="a struct of one field is struct(x AS name)"
            )
        return Call("named_struct", tuple(fields), span=start.span.to(cursor.tokens[cursor.at - 1].span))

    def _lambda_parameters(self) -> tuple[Name, ...] | None:
        """The names of `(x, y) ->`, and steps over them; None for any other text."""
        cursor, steps, names = self.cursor, 1, []
        while cursor.ahead(steps).kind is Kind.WORD:
            names.append(Name(cursor.ahead(steps).text))
            steps += 1
            if cursor.ahead(steps).upper != ",":
                break
            steps += 1
        if names and cursor.ahead(steps).upper == ")" and cursor.ahead(steps + 1).upper == "->":
            cursor.at += steps + 1
            return tuple(names)
        return None

    def _lambda(self, names: tuple[Name, ...], start: Span) -> Expr:
        self.cursor.expect("->")
        self.parameters.append(tuple(name.text.lower() for name in names))
        body = self.expression()
        self.parameters.pop()
        return Lambda(names, body, start.to(body.span))

    def _case(self) -> Expr:
        cursor = self.cursor
        start = cursor.expect("CASE")
        operand = None if cursor.sees("WHEN") else self.expression()
        branches = []
        while cursor.accept("WHEN"):
            condition = self.expression()
            cursor.expect("THEN")
            branches.append((condition, self.expression()))
        if not branches:
            cursor.fail(f"expected WHEN, found {cursor.describe()}")
        default = self.expression() if cursor.accept("ELSE") else None
        end = cursor.expect("END")
        return Case(operand, tuple(branches), default, start.span.to(end.span))

    def _cast(self) -> Expr:
        cursor = self.cursor
        start = cursor.take()
        cursor.expect("(")
        value = self.expression()
        cursor.expect("AS")
        type_text, _ = read_type(cursor)
        end = cursor.expect(")")
        return Cast(value, type_text, start.upper == "TRY_CAST", start.span.to(end.span))

    def _extract(self) -> Expr:
        cursor = self.cursor
        start = cursor.take()
        cursor.expect("(")
        unit = cursor.take()
        cursor.expect("FROM")
        source = self.expression()
        end = cursor.expect(")")
        return Extract(unit.text.upper(), source, start.span.to(end.span))


def _field_name(value: Expr, position: int) -> Literal:
    """The name that Spark gives a struct's field without a written name, at this position from 0."""
    match value:
        case ColumnRef(parts=(*_, name)) | Field(name=name) | Parameter(name=name):
            return string_literal(name.text)
        case Subscript(index=Literal(kind="string") as name):
            return name
    return string_literal(f"col{position + 1}")
