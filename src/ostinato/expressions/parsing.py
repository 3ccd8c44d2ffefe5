"""Text of a Spark SQL expression -> syntax tree. Precedence as in Spark's grammar; names aren't resolved here."""

from __future__ import annotations

from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.primary_parser import PrimaryParser
from ostinato.expressions.sub_query_parser import read_sub_query
from ostinato.expressions.syntax import Cast, Expr, Field, Operator, Subscript, height_exceeds
from ostinato.expressions.type_texts import read_type

MAX_CHAIN = 140
"""Largest number of operators in a row: `a + b + c` nests to the left."""

MAX_LEVELS = 150
"""Largest height of an expression's tree, with parentheses and chains together."""

_BINARY: tuple[dict[str, str], ...] = (  # loosest first, below the comparisons
    {"|": "|"},
    {"^": "^"},
    {"&": "&"},
    {"<<": "<<", ">>": ">>", ">>>": ">>>"},
    {"+": "+", "-": "-", "||": "||"},
    {"*": "*", "/": "/", "%": "%", "DIV": "div"},
)
_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_QUANTIFIERS = {"ANY": "any", "SOME": "any", "ALL": "all"}


def parse_expression(text: str, *, double_quoted_identifiers: bool = False, reads_aggregates: bool = False) -> Expr:
    """The tree of the text, which is one expression. `reads_aggregates`: as in the parser.

    >>> parse_expression("A.price > 1.1 * PREV(price)").op
    '>'
    """
    cursor = Cursor(text, double_quoted_identifiers=double_quoted_identifiers)
    expr = ExpressionParser(cursor, reads_aggregates=reads_aggregates).expression()
    cursor.expect_end("the expression")
    return expr


class ExpressionParser(PrimaryParser):
    """Reads operators by recursive descent, loosest first. It shares its cursor with the parser of the clause."""

    def expression(self) -> Expr:
        with self._deeper():
            expr = self._logical("OR")
        if self.depth == 0:
            self._check_height(expr)
        return expr

    def _check_height(self, expr: Expr) -> None:
        """Refuses trees that would overflow Python's stack later. `x IS NULL IS NULL ...` nests, too."""
        if height_exceeds(expr, MAX_LEVELS):
            hint = "compute a sub-expression before matching, as a column"
            message = f"an expression has at most {MAX_LEVELS} levels"
            self.cursor.fail(message, code="TOO_DEEP", span=expr.span, hint=hint)

    def _logical(self, word: str) -> Expr:
        """A chain of OR or AND is one node, so that a long chain doesn't become a deep tree."""
        operands = [self._logical("AND") if word == "OR" else self._negation()]
        while self.cursor.accept(word):
            operands.append(self._logical("AND") if word == "OR" else self._negation())
        if len(operands) == 1:
            return operands[0]
        return Operator(word.lower(), tuple(operands), span_over(operands[0], operands[-1]))

    def _negation(self) -> Expr:
        first = self.cursor.token
        if self.cursor.accept("NOT") or self.cursor.accept("!"):
            with self._deeper():
                operand = self._negation()
            return Operator("not", (operand,), first.span.to(operand.span))
        return self._comparison()

    def _comparison(self) -> Expr:
        left = self.operand()
        while True:
            op = _COMPARISONS.get(self.cursor.token.upper)
            if op is not None:
                self.cursor.take()
                right = self.operand()
                left = Operator(op, (left, right), span_over(left, right))
            elif self.cursor.sees("IS"):
                left = self._is(left)
            elif self._at_predicate():
                left = self._predicate(left)
            else:
                return left

    def _at_predicate(self) -> bool:
        words = ("IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP")
        steps = 1 if self.cursor.sees("NOT") else 0
        return self.cursor.ahead(steps).upper in words

    def _is(self, left: Expr) -> Expr:
        cursor = self.cursor
        cursor.expect("IS")
        negated = cursor.accept("NOT")
        start = cursor.token
        if cursor.accept("DISTINCT", "FROM"):
            result: Expr = Operator("is distinct from", (left, right := self.operand()), span_over(left, right))
        else:
            for word in ("NULL", "TRUE", "FALSE", "UNKNOWN"):
                if cursor.accept(word):
                    result = Operator(f"is {word.lower()}", (left,), start.span.to(left.span))
                    break
            else:
                cursor.fail(f"expected NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM after IS, found {cursor.describe()}")
        return Operator("not", (result,), result.span) if negated else result

    def _predicate(self, left: Expr) -> Expr:
        cursor = self.cursor
        negated = cursor.accept("NOT")
        if cursor.accept("IN"):
            cursor.expect("(")
            sub_query = read_sub_query(cursor, is_list=True)
            options = self._list() if sub_query is None else [sub_query]
            if not options:
                cursor.fail("IN needs at least one value")
            result: Expr = Operator("in", (left, *options), span_over(left, options[-1]))
        elif cursor.accept("BETWEEN"):
            low = self.operand()
            cursor.expect("AND")
            high = self.operand()
            result = Operator("between", (left, low, high), span_over(left, high))
        else:
            word = cursor.take().upper
            op = {"REGEXP": "rlike"}.get(word, word.lower())
            if op in ("like", "ilike") and cursor.token.upper in _QUANTIFIERS and cursor.ahead().upper == "(":
                return self._any_or_all(left, op, negated)
            args = [left, self.operand()]
            if cursor.accept("ESCAPE"):
                args.append(self.operand())
            result = Operator(op, tuple(args), span_over(left, args[-1]))
        return Operator("not", (result,), result.span) if negated else result

    def _any_or_all(self, left: Expr, op: str, negated: bool) -> Expr:
        """`x LIKE ANY (patterns)`. NOT LIKE ANY: the text doesn't match all of them. NOT LIKE ALL: it matches none."""
        cursor = self.cursor
        matches_any = (_QUANTIFIERS[cursor.take().upper] == "any") is not negated
        cursor.expect("(")
        patterns = self._list()
        if not patterns:
            cursor.fail(f"{op.upper()} ANY and ALL need at least one pattern")
        span = span_over(left, patterns[-1])
        result = Operator(f"{op} {'any' if matches_any else 'all'}", (left, *patterns), span)
        return Operator("not", (result,), span) if negated else result

    def _binary(self, level: int) -> Expr:
        """Precedence climbing: one Python frame for all levels, so that deep text doesn't overflow Python's stack."""
        left, operators = self._unary(), 0
        while True:
            token = self.cursor.token.upper
            operator_level = next((i for i in range(level, len(_BINARY)) if token in _BINARY[i]), None)
            if operator_level is None:
                return left
            operators += 1
            if operators > MAX_CHAIN:
                self.cursor.fail(f"more than {MAX_CHAIN} operators in a row", code="TOO_DEEP")
            self.cursor.take()
            right = self._binary(operator_level + 1)
            left = Operator(_BINARY[operator_level][token], (left, right), span_over(left, right))

    def operand(self) -> Expr:
        return self._binary(0)

    def _unary(self) -> Expr:
        first = self.cursor.token
        op = {"-": "neg", "+": "pos", "~": "~"}.get(first.upper)
        if op is None:
            return self._postfix()
        self.cursor.take()
        with self._deeper():
            operand = self._unary()
        return Operator(op, (operand,), first.span.to(operand.span))

    def _postfix(self) -> Expr:
        cursor, expr = self.cursor, self.primary()
        while True:
            if cursor.sees("["):
                cursor.take()
                index = self.expression()
                end = cursor.expect("]")
                expr = Subscript(expr, index, end.span.to(expr.span))
            elif cursor.sees("."):
                cursor.take()
                name, span = cursor.name("a field name")
                expr = Field(expr, name, span.to(expr.span))
            elif cursor.sees("::"):
                cursor.take()
                type_text, span = read_type(cursor)
                expr = Cast(expr, type_text, span=span.to(expr.span))
            else:
                return expr


def span_over(first: Expr, last: Expr) -> Span | None:
    span = first.span
    return None if span is None else span.to(last.span)


_NO_PARENTHESES = frozenset(
    "current_date current_timestamp current_time current_user current_timezone localtimestamp user session_user".split()
)


def is_niladic(name: str) -> bool:
    """Whether Spark lets this function be written without parentheses."""
    return name.lower() in _NO_PARENTHESES
