"""A query block with groups and row patterns in windows -> the query of the groups, and the text around the values.

The windows read the rows of the groups, so the first query computes everything that needs groups: the items of the
select list without calls, and the largest parts without calls of the others. The block then only puts them together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ostinato.clause.language.vocabulary import (
    GENERATORS,
    LOGICAL_NAVIGATION,
    OTHER_AGGREGATES,
    PHYSICAL_NAVIGATION,
    aggregate_name,
)
from ostinato.clause.language.windows.other_windows import other_windows
from ostinato.clause.language.windows.select_blocks import SelectBlock, StatementTokens
from ostinato.clause.language.windows.struct_fields import Piece, with_field_names
from ostinato.clause.language.windows.windowed_block import ComputedColumn, WindowedBlock
from ostinato.clause.language.windows.windowed_columns import WindowColumns
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.query.pattern import variables
from ostinato.errors import QueryError, Span
from ostinato.expressions.lexer import Kind
from ostinato.expressions.parsing import ExpressionParser, parse_expression
from ostinato.expressions.render import quote, render_expression
from ostinato.expressions.syntax import Call, ColumnRef, Expr, Lambda, Literal, Name, children, rebuild, walk

_INPUT_PARTS = ("FROM", "WHERE", "GROUP", "HAVING")
_DIRECTIONS = frozenset("ASC DESC NULLS FIRST LAST".split())


def has_groups(tokens: StatementTokens, block: SelectBlock) -> bool:
    """Whether the block has GROUP BY or HAVING, or an aggregate in its select list."""
    if "GROUP" in block.parts or "HAVING" in block.parts:
        return True
    called = {at for call in block.calls for at in range(call.first, call.end)}
    for word in ("SELECT", "ORDER"):
        part = block.parts.get(word)
        for at in tokens.outside_of_queries(part.first, part.end) if part is not None else ():
            is_call = tokens.upper(at + 1) == "(" and at not in called and tokens.upper(at - 1) not in ("LIKE", "ILIKE")
            if is_call and _is_aggregate(tokens.tokens[at].name.lower()):
                behind = tokens.closing[at + 1] + 1
                if tokens.upper(behind) == "FILTER":
                    behind = tokens.closing[behind + 1] + 1
                if tokens.upper(behind) != "OVER":
                    return True
    return False


def _is_aggregate(name: str) -> bool:
    return aggregate_name(name) is not None or name in OTHER_AGGREGATES


class GroupedBlock(WindowedBlock):
    """A block whose windows read groups. `_ost_i` are the items without calls, `_ost_x` the other expressions."""

    def __init__(self, tokens: StatementTokens, block: SelectBlock) -> None:
        super().__init__(tokens, block)
        part = block.parts["SELECT"]
        first = part.first + 1 + (tokens.upper(part.first + 1) in ("DISTINCT", "ALL"))
        self.items = tokens.pieces(first, part.end)
        self._check_groups()
        columns = GroupColumns(self)
        for each in self.calls:
            assert each.value.window.clause is not None
            columns.in_clause(each.value.window.clause)
            if not each.value.is_function:
                columns.in_match(each.value.expression, each.value.window.clause)
        self.parts = [*self._parts_of_items(), *self._parts_of_order()]

    def _is_column(self, expression: Expr) -> bool:
        return False

    def _check_groups(self) -> None:
        tokens, block = self.tokens, self.block
        for word in ("QUALIFY", "SORT", "CLUSTER", "DISTRIBUTE"):
            if word in block.parts:
                span = tokens.tokens[block.parts[word].first].span
                self._refuse(span, f"{word} can't stand beside groups here", "put the groups into a sub-query")
        group = block.parts.get("GROUP")
        if group is not None and tokens.upper(group.first + 2) == "ALL":
            span = tokens.span(group.first, group.first + 3)
            self._refuse(span, "GROUP BY ALL can't stand here", "write the columns")
        called = [number for number, (first, end) in enumerate(self.items, start=1) if self._calls_in(first, end)]
        for at in range(group.first, group.end) if group is not None else ():
            token = tokens.tokens[at]
            is_ordinal = token.kind is Kind.NUMBER and tokens.upper(at - 1) in ("BY", ",", "(")
            if is_ordinal and token.text in map(str, called):
                self._refuse(token.span, "groups can't depend on a value of a window")
        for first, end in self.items:
            if tokens.upper(first) == "*" or (tokens.upper(end - 1) == "*" and tokens.upper(end - 2) == "."):
                self._refuse(tokens.span(first, end), "* can't stand beside groups", "write the columns")
        for word in ("SELECT", "ORDER"):
            for at in range(block.parts[word].first, block.parts[word].end) if word in block.parts else ():
                if tokens.tokens[at].name.lower() in GENERATORS and tokens.upper(at + 1) == "(":
                    self._refuse(tokens.tokens[at].span, f"{tokens.tokens[at].text} can't stand beside groups here")
                if tokens.upper(at) == "?" and not self._is_called(at):
                    self._refuse(tokens.tokens[at].span, "? can't stand beside groups here", "write :name")
        spans = [window.span for window in other_windows(tokens, block)]  # these move into the query of the groups
        for token in tokens.tokens:
            if token.upper == "?" and any(span.start <= token.span.start < span.end for span in spans):
                self._refuse(token.span, "? can't stand beside groups here", "write :name")

    def _calls_in(self, first: int, end: int) -> list[Span]:
        return [self.tokens.span(c.call.first, c.call.end) for c in self.calls if first <= c.call.first < end]

    def _is_called(self, at: int) -> bool:
        return any(each.call.first <= at < each.call.end for each in self.calls)

    def computed_column(self, text: str) -> str:
        """The column that has the values of an expression over a group."""
        column = ComputedColumn(f"_ost_x{len(self.computed)}", ColumnRef((Name(text),)))
        return self.computed.setdefault(text, column).name

    # --- the input ---

    @property
    def source(self) -> Span:
        """FROM, WHERE, GROUP BY and HAVING."""
        parts = [self.block.parts[word] for word in _INPUT_PARTS if word in self.block.parts]
        return self.tokens.span(parts[0].first, max(part.end for part in parts))

    @property
    def input_query(self) -> str:
        """The query of the groups: the items without calls in their places, and the computed columns."""
        items = ["NULL" if self._calls_in(*item) else self.tokens.written(*item) for item in self.items]
        computed = [f"{text} AS `{column.name}`" for text, column in self.computed.items()]
        source = self.tokens.text[self.source.start : self.source.end]
        others = [
            self.tokens.text[window.span.start : window.span.end] for window in other_windows(self.tokens, self.block)
        ]
        windows = f"WINDOW {', '.join(others)}" if others else ""
        return f"SELECT {', '.join([*items, *computed])} {source} {windows}".rstrip()

    @property
    def input_names(self) -> list[str]:
        """Names for the columns of that query. Those of items with calls are empty."""
        items = ["" if self._calls_in(*item) else f"_ost_i{i}" for i, item in enumerate(self.items)]
        return [*items, *(column.name for column in self.computed.values())]

    # --- the text around ---

    def group_pieces(self, names: Sequence[str], rows: str, frame: str) -> list[Piece]:
        """The replacements in the block. `names` are those of the input query's columns, as Spark gave them."""
        part = self.block.parts.get("WINDOW")
        pieces = [(self.tokens.span(part.first, part.end), "")] if part is not None else []
        pieces.append((self.source, f"FROM {frame} AS {rows}"))
        for i, item in enumerate(self.items):
            if not self._calls_in(*item):
                pieces.append((self.tokens.span(*item), f"{rows}.`_ost_i{i}` AS {quote(names[i])}"))
        values = [*((span, f"{rows}.`{column}`") for span, column in self.parts), *self.call_pieces(f"{rows}.")]
        return [*pieces, *with_field_names(self.tokens, values), *self.alias_pieces()]

    def _parts_of_items(self) -> Iterator[tuple[Span, str]]:
        for item in self.items:
            if self._calls_in(*item):
                yield from self._parts_without_calls(*item)

    def _parts_of_order(self) -> Iterator[tuple[Span, str]]:
        part = self.block.parts.get("ORDER")
        if part is None:
            return
        tokens, fold = self.tokens, self.tokens.settings.fold
        named = [(first, end) for first, end in self.items if self._is_named(first, end)]
        names = {fold(tokens.tokens[end - 1].name) for _, end in named}
        is_alias = [end - first > 1 and tokens.upper(end - 2) != "." for first, end in named]
        aliases = {fold(tokens.tokens[end - 1].name) for (_, end), alias in zip(named, is_alias, strict=True) if alias}
        for first, piece_end in tokens.pieces(part.first + 2, part.end):
            end = piece_end
            while end - 1 > first and tokens.upper(end - 1) in _DIRECTIONS:
                end -= 1
            token = tokens.tokens[first]
            if end - first == 1 and (token.kind is Kind.NUMBER or fold(token.name) in names):
                continue  # an ordinal or a name of the select list
            for at in range(first, end):
                is_name = tokens.tokens[at].is_name and tokens.upper(at - 1) != "." and not self._is_called(at)
                if is_name and fold(tokens.tokens[at].name) in aliases and tokens.upper(at + 1) not in ("(", "."):
                    message = f"'{tokens.tokens[at].text}' of the select list can't stand in an expression of ORDER BY"
                    self._refuse(tokens.tokens[at].span, f"{message} beside groups", "select the expression, too")
            if self._calls_in(first, end):
                yield from self._parts_without_calls(first, end)
            else:
                yield tokens.span(first, end), self.computed_column(tokens.written(first, end))

    def _is_named(self, first: int, end: int) -> bool:
        """Whether the last word of an item is its name: an alias, or a column's own name."""
        before = self.tokens.tokens[end - 2]
        is_behind = before.upper != "OVER" and (before.kind is not Kind.SYMBOL or before.upper in (")", "]", "."))
        return self.tokens.tokens[end - 1].is_name and (end - first == 1 or is_behind)

    def _parts_without_calls(self, first: int, end: int) -> Iterator[tuple[Span, str]]:
        """The largest sub-expressions without calls, with their columns."""
        cursor = self.cursor_with(self.call_pieces(""), first)
        expression = ExpressionParser(cursor).expression()
        last = self.tokens.tokens[end - 1].span
        if cursor.tokens[cursor.at].span.start < last.start and not cursor.sees("AS") and not cursor.token.is_name:
            cursor.fail(f"expected the end of the expression, found {cursor.describe()}")
        yield from self._without_calls(expression)

    def _without_calls(self, expr: Expr) -> Iterator[tuple[Span, str]]:
        values = {each.column for each in self.calls}
        has_values = any(isinstance(node, ColumnRef) and node.parts[0].text in values for node in walk(expr))
        if not has_values and not isinstance(expr, Literal):
            yield self._verbatim(expr), self.computed_column(self._text(expr))
        elif isinstance(expr, Lambda):
            self._refuse(self._verbatim(expr), "a value over a row pattern can't stand in a lambda beside groups")
        elif has_values:
            for child in children(expr):
                yield from self._without_calls(child)

    def _verbatim(self, expr: Expr) -> Span:
        assert expr.span is not None
        return expr.span

    def _text(self, expr: Expr) -> str:
        """The expression as written. Raises if its span isn't that of the whole expression."""
        span = self._verbatim(expr)
        text = self.tokens.text[span.start : span.end]
        try:
            is_whole = parse_expression(text) == expr
        except QueryError:
            is_whole = False
        if not is_whole:
            hint = "put the groups into a sub-query"
            self._refuse(span, "this can't stand in an expression with a value of a window, beside groups", hint)
        return text


class GroupColumns(WindowColumns):
    """The columns of MEASURES and DEFINE, which are grouping expressions and aggregates of the block."""

    def __init__(self, block: GroupedBlock) -> None:
        self.block = block

    def of(self, column: ColumnRef) -> Name:
        """The column that has the values of a grouping column."""
        return Name(self.block.computed_column(render_expression(column)), quoted=True)

    def in_match(self, expr: Expr, clause: MatchRecognize, *, inside: bool = False) -> Expr:
        """An expression of MEASURES or DEFINE. `inside`: in the argument of a navigation or an aggregate.

        An aggregate there is one of the block, as in `LAST(sum(x))`. Elsewhere it is over the rows of the match.
        """
        if isinstance(expr, Call) and expr.name == "classifier":
            return expr
        if isinstance(expr, ColumnRef):
            names = {*variables(clause.pattern), *(subset.name for subset in clause.subsets)}
            first, *rest = expr.parts
            if rest and first.folded in names:
                return ColumnRef((first, self.of(ColumnRef(tuple(rest)))), expr.span)
            return ColumnRef((self.of(expr),), expr.span)
        reads_rows = False
        if isinstance(expr, Call):
            is_aggregate = _is_aggregate(expr.name)
            if inside and is_aggregate:
                return ColumnRef((Name(self.block.computed_column(render_expression(expr)), quoted=True),), expr.span)
            reads_rows = is_aggregate or expr.name in LOGICAL_NAVIGATION | PHYSICAL_NAVIGATION
        return rebuild(expr, lambda child: self.in_match(child, clause, inside=inside or reads_rows))
