"""Text of a path query -> PathQuery, and back.

    path   = order { "|" order }
    order  = step { "/" step }
    step   = [ "^" ] atom [ "[" type { "|" type } "]" ] [ "*" | "+" | "?" | "{n}" | "{n,}" | "{,m}" | "{n,m}" ]
    atom   = name | "." | "(" path ")"

A name may have dots (`film.written_by`); anything else is a name in backquotes. `.` alone is an edge of any relation.
"""

from __future__ import annotations

from ostinato.calls.foreign_errors import only_our_errors
from ostinato.errors import QueryError, Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind
from ostinato.path_queries.language.path_query import (
    EdgesInOrder,
    EitherPath,
    OneEdge,
    PathExpression,
    PathQuery,
    RepeatedPath,
    edges,
)

MAX_NESTING = 50
MAX_TIMES = 1_000
"""The largest number in braces."""
_SYMBOLS: dict[tuple[int, int | None], str] = {(0, None): "*", (1, None): "+", (0, 1): "?"}


@only_our_errors()
def path_query(text: str, name: str = "", weight: float = 1.0) -> PathQuery:
    """Parses a path query.

    >>> path_query("written_by / ^written_by").expression
    EdgesInOrder(parts=(OneEdge(relation='written_by', inverse=False, node_types=frozenset()), \
OneEdge(relation='written_by', inverse=True, node_types=frozenset())))
    """
    if not isinstance(text, str):
        raise QueryError("NOT_A_QUERY", f"expected the text of a path query, got {text.__class__.__name__}")
    parser = _PathParser(Cursor(text))
    expression = parser.path()
    if parser.cursor.token.kind is not Kind.END:
        parser.cursor.fail(f"expected '/', '|' or the end of the path, found {parser.cursor.describe()}")
    return PathQuery(expression, name or text.strip(), text, weight, tuple(parser.spans))


class _PathParser:
    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.spans: list[tuple[str, Span]] = []
        self.depth = 0

    def path(self) -> PathExpression:
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.cursor.fail(f"paths nest at most {MAX_NESTING} levels deep", code="TOO_DEEP")
        options = [self._in_order()]
        while self._accept("|"):
            options.append(self._in_order())
        self.depth -= 1
        return options[0] if len(options) == 1 else EitherPath(tuple(options))

    def _in_order(self) -> PathExpression:
        parts = [self._step()]
        while self._accept("/"):
            parts.append(self._step())
        return parts[0] if len(parts) == 1 else EdgesInOrder(tuple(parts))

    def _step(self) -> PathExpression:
        start = self.cursor.token.span
        inverse = self._accept("^")
        body = self._atom()
        if inverse:
            if any(edge.node_types for edge in edges(body)):
                self.cursor.fail(
                    "a path with node types can't be walked backwards as a whole",
                    span=start,
                    hint="write ^ before each edge, and the types behind the nodes that they lead to",
                )
            body = _inverted(body)
        if self.cursor.token.upper == "[":
            body = self._with_types(body)
        return self._repeated(body)

    def _atom(self) -> PathExpression:
        token = self.cursor.token
        if self._accept("("):
            body = self.path()
            self.cursor.expect(")")
            return body
        if self._accept("."):
            return OneEdge(None)
        if token.kind not in (Kind.WORD, Kind.BACK_QUOTED):
            self.cursor.fail(f"expected a relation, found {self.cursor.describe()}", hint="written_by / ^written_by")
        name, span = self.cursor.name("a relation", double_quotes=False)
        text = name.text
        while token.kind is Kind.WORD and self.cursor.token.upper == ".":
            self.cursor.take()
            more, end = self.cursor.name("the rest of the relation's name", double_quotes=False)
            text, span = f"{text}.{more.text}", span.to(end)
        self.spans.append((text, span))
        return OneEdge(text)

    def _with_types(self, body: PathExpression) -> PathExpression:
        start = self.cursor.expect("[").span
        if not isinstance(body, OneEdge):
            self.cursor.fail("node types stand behind one edge", span=start)
        types = []
        while True:
            name, span = self.cursor.name("a node type", double_quotes=False)
            self.spans.append((name.text, span))
            types.append(name.text)
            if not self._accept("|"):
                break
        self.cursor.expect("]")
        return OneEdge(body.relation, body.inverse, frozenset(types))

    def _repeated(self, body: PathExpression) -> PathExpression:
        for times, symbol in _SYMBOLS.items():
            if self._accept(symbol):
                return RepeatedPath(body, *times)
        start = self.cursor.token.span
        if not self._accept("{"):
            return body
        low = self._times() if self.cursor.token.kind is Kind.NUMBER else None
        high = low
        if self._accept(","):
            high = self._times() if self.cursor.token.kind is Kind.NUMBER else None
        elif low is None:
            self.cursor.fail("expected a number", hint="{2}, {2,}, {,3} or {2,3}")
        span = start.to(self.cursor.expect("}").span)
        at_least = low or 0
        if high is not None and (high < at_least or high == 0):
            self.cursor.fail(f"from {at_least} to {high} times is never an edge", span=span)
        return RepeatedPath(body, at_least, high)

    def _times(self) -> int:
        token = self.cursor.take()
        if token.kind is not Kind.NUMBER or not token.text.isdigit() or int(token.text) > MAX_TIMES:
            message = f"'{token.text}' is no number of times up to {MAX_TIMES:,}"
            self.cursor.fail(message, span=token.span, hint="leave the upper number out for any number of times: {2,}")
        return int(token.text)

    def _accept(self, symbol: str) -> bool:
        return self.cursor.accept(symbol)


def _inverted(path: PathExpression) -> PathExpression:
    """The same path from its end to its start."""
    match path:
        case OneEdge(relation, inverse, node_types):
            return OneEdge(relation, not inverse, node_types)
        case EdgesInOrder(parts):
            return EdgesInOrder(tuple(_inverted(part) for part in reversed(parts)))
        case EitherPath(options):
            return EitherPath(tuple(_inverted(option) for option in options))
        case RepeatedPath(body, low, high):
            return RepeatedPath(_inverted(body), low, high)


# --- back to text -----------------------------------------------------------------------------------------------------


def render_path(path: PathExpression) -> str:
    """The text that parses to the same expression.

    >>> render_path(path_query("( a|^b [P] ) {2,3} / .+").expression)
    '(a | ^b[P]){2,3} / .+'
    """
    match path:
        case OneEdge(relation, inverse, node_types):
            name = "." if relation is None else _quoted(relation, dots=True)
            types = f"[{' | '.join(_quoted(one) for one in sorted(node_types))}]" if node_types else ""
            return f"{'^' if inverse else ''}{name}{types}"
        case EdgesInOrder(parts):
            return " / ".join(_inside(part, EdgesInOrder | EitherPath) for part in parts)
        case EitherPath(options):
            return " | ".join(_inside(option, EitherPath) for option in options)
        case RepeatedPath(body, low, high):
            return _inside(body, EdgesInOrder | EitherPath | RepeatedPath) + _times_text(low, high)


def _inside(path: PathExpression, looser: object) -> str:
    text = render_path(path)
    return f"({text})" if isinstance(path, looser) else text  # type: ignore[arg-type]


def _times_text(low: int, high: int | None) -> str:
    if (low, high) in _SYMBOLS:
        return _SYMBOLS[low, high]
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def _quoted(name: str, *, dots: bool = False) -> str:
    parts = name.split(".") if dots else [name]
    plain = all(part and part.isidentifier() for part in parts)
    return name if plain else "`" + name.replace("`", "``") + "`"
