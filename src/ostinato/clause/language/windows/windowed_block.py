"""A query block with row patterns in windows -> the query of its input, its windows, and the text around the values.

The input is what FROM and WHERE give. `input_query` asks for it, `patterns` has the windows over its columns, and
`pieces` puts the result back in place of FROM and WHERE. Everything else of the block stays as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn

from ostinato.clause.language.vocabulary import OTHER_AGGREGATES, aggregate_name
from ostinato.clause.language.windows.block_tables import BlockTable, tables_of
from ostinato.clause.language.windows.other_windows import spans_of_patterns
from ostinato.clause.language.windows.select_blocks import (
    PLACES_OF_CALLS,
    Part,
    SelectBlock,
    StatementTokens,
    WindowCall,
)
from ostinato.clause.language.windows.struct_fields import Piece, with_field_names
from ostinato.clause.language.windows.window_calls import BlockWindows, WindowValue
from ostinato.clause.language.windows.window_parser import WindowKey, WindowSpecification
from ostinato.clause.language.windows.windowed_columns import InputColumns, WindowColumns
from ostinato.clause.query.clause import Measure, PartitionKey, SortKey
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import tokenize
from ostinato.expressions.render import quote
from ostinato.expressions.syntax import ColumnRef, Expr, Name


@dataclass(frozen=True, slots=True)
class BlockCall:
    """A call with its value, and the name of the column that has it. Equal calls share a column."""

    call: WindowCall
    value: WindowValue
    column: str


@dataclass(frozen=True, slots=True)
class ComputedColumn:
    """An expression that windows read for each row."""

    name: str
    expression: Expr


class WindowedBlock:
    """One block, whose input hasn't been read yet."""

    def __init__(self, tokens: StatementTokens, block: SelectBlock) -> None:
        self.tokens = tokens
        self.block = block
        self._check_parts()
        windows = BlockWindows(tokens, block)
        self.calls = self._read_calls(windows)
        self.computed: dict[str, ComputedColumn] = {}
        """By the text of the expression. Its column has its values."""
        for each in self.calls:
            for key in (*each.value.window.partition_by, *each.value.window.order_by):
                self._compute(key.expression, key.span)
            for argument in each.value.arguments:
                self._compute(*argument)

    @cached_property
    def tables(self) -> tuple[BlockTable, ...]:
        """Of FROM."""
        return tables_of(self.tokens, self.block.parts["FROM"])

    def _check_parts(self) -> None:
        tokens, block = self.tokens, self.block
        for call in block.calls:
            span = tokens.span(call.first, call.end)
            if call.place not in PLACES_OF_CALLS:
                message = f"a value over a row pattern can't stand in {_PLACES.get(call.place, call.place)}"
                self._refuse(span, message, "it can stand in SELECT and ORDER BY; filter it in an outer query")
            if call.place == "ORDER" and tokens.upper(block.parts["SELECT"].first + 1) == "DISTINCT":
                self._refuse(
                    span, "rows of SELECT DISTINCT have no values but those selected", "order by a name of SELECT"
                )
            if (function := self._aggregate_around(call)) is not None:
                self._refuse(span, f"{function} can't be over values of a window", "aggregate in an outer query")
        if block.calls and "FROM" not in block.parts:
            self._refuse(block.select.span, "a block with row patterns in windows needs FROM behind SELECT")

    def _aggregate_around(self, call: WindowCall) -> str | None:
        """The aggregate of the block, if there is one, in whose arguments the call stands."""
        tokens, part = self.tokens, self.block.parts[call.place]
        for at in range(part.first, call.first):
            closing = tokens.closing.get(at, at)
            name = tokens.tokens[at - 1].name.lower()
            is_aggregate = aggregate_name(name) is not None or name in OTHER_AGGREGATES
            if closing >= call.end and is_aggregate and tokens.upper(closing + 1) != "OVER":
                return name
        return None

    def _read_calls(self, windows: BlockWindows) -> list[BlockCall]:
        columns: dict[tuple[int, str], str] = {}
        calls = []
        for call in self.block.calls:
            value = windows.value_of(call)
            key = (value.window.span.start, self.tokens.written(call.first, call.over))
            column = columns.setdefault(key, f"_ost_v{len(columns)}")
            calls.append(BlockCall(call, value, column))
        return calls

    def _compute(self, expression: Expr, span: Span) -> None:
        if not self._is_column(expression):
            text = self.tokens.text[span.start : span.end]
            self.computed.setdefault(text, ComputedColumn(f"_ost_x{len(self.computed)}", expression))

    def _is_column(self, expression: Expr) -> bool:
        """Whether it is a column of a table, perhaps behind the table's name. Others may be fields of structs."""
        if not isinstance(expression, ColumnRef):
            return False
        fold, parts = self.tokens.settings.fold, expression.parts
        names = [fold(table.name) for table in self.tables if table.name is not None]
        return len(parts) == 1 or (len(parts) == 2 and fold(parts[0].text) in names)

    def _refuse(self, span: Span, message: str, hint: str | None = None) -> NoReturn:
        self.tokens.fail(span, message, "UNSUPPORTED_WITH_WINDOW", hint)

    # --- the input ---

    @property
    def source(self) -> Span:
        """FROM and WHERE."""
        first = self.block.parts["FROM"]
        last = self.block.parts.get("WHERE", first)
        return self.tokens.span(first.first, last.end)

    @property
    def input_query(self) -> str:
        """The query of the input: a struct for each table, and the computed columns."""
        stars = ["*"] if len(self.tables) == 1 else [f"{alias}.*" for alias in self._aliases()]
        structs = [f"struct({star}) AS `_ost_t{i}`" for i, star in enumerate(stars)]
        computed = [f"{text} AS `{column.name}`" for text, column in self.computed.items()]
        source = self.tokens.text[self.source.start : self.source.end]
        return f"SELECT {', '.join([*structs, *computed])} {source}"

    def columns(self, fields: Sequence[Sequence[str]]) -> InputColumns:
        """The columns of the input, by the fields of the structs."""
        return InputColumns(self.tokens, self.tables, fields, tuple(column.name for column in self.computed.values()))

    # --- the windows ---

    def patterns(self, columns: WindowColumns) -> list[WindowPattern]:
        """One for each window that is called, with all values that are called over it."""
        windows = {each.value.window.span.start: each.value.window for each in self.calls}
        return [self._pattern(window, columns) for window in windows.values()]

    def _pattern(self, window: WindowSpecification, columns: WindowColumns) -> WindowPattern:
        assert window.clause is not None
        clause = columns.in_clause(window.clause)
        measures, functions = {}, set()
        for each in self.calls:
            if each.value.window.span == window.span:
                expression = each.value.with_arguments(lambda arg, span: self._argument(arg, span, columns))
                if each.value.is_function:
                    functions.add(each.column)
                else:
                    expression = columns.in_match(expression, window.clause)
                measures[each.column] = Measure(
                    each.column, expression, self.tokens.span(each.call.first, each.call.over)
                )
        partition_by = [PartitionKey(self._key(key, columns), span=key.span) for key in window.partition_by]
        order_by = [
            SortKey(self._key(key, columns), key.descending, key.nulls_first, span=key.span) for key in window.order_by
        ]
        clause = replace(
            clause, partition_by=tuple(partition_by), order_by=tuple(order_by), measures=tuple(measures.values())
        )
        return WindowPattern(clause, window.frame_end, window.seek, frozenset(functions))

    def _argument(self, expression: Expr, span: Span, columns: WindowColumns) -> Expr:
        return ColumnRef((self._key(WindowKey(expression, span), columns),), span)

    def _key(self, key: WindowKey, columns: WindowColumns) -> Name:
        """The column that has the values of a key or an argument."""
        if self._is_column(key.expression):
            assert isinstance(key.expression, ColumnRef)
            return columns.of(key.expression)
        return Name(self.computed[self.tokens.text[key.span.start : key.span.end]].name, quoted=True)

    # --- the text around ---

    def pieces(self, columns: InputColumns, rows: str, frame: str) -> list[Piece]:
        """The replacements in the block: `frame` stands for the input with the values, and `rows` is its name."""
        pieces = self.window_pieces()
        if not self.calls:
            return pieces
        tables = [
            f"LATERAL (SELECT {', '.join(f'{rows}.`{inner}` AS {quote(name)}' for inner, name in each)}) AS {alias}"
            for each, alias in zip(columns.by_table, self._aliases(), strict=True)
        ]
        pieces.append((self.source, f"FROM {frame} AS {rows}, {', '.join(tables)}"))
        calls = with_field_names(self.tokens, self.call_pieces(f"{rows}."))
        return [*pieces, *calls, *self._star_pieces(), *self.alias_pieces()]

    def call_pieces(self, qualifier: str) -> list[Piece]:
        """The columns of the values, in the places of the calls."""
        spans = [self.tokens.span(each.call.first, each.call.end) for each in self.calls]
        return [(span, f"{qualifier}`{each.column}`") for span, each in zip(spans, self.calls, strict=True)]

    def cursor_with(self, pieces: Sequence[Piece], at: int) -> Cursor:
        """A cursor at a token of the text with these replacements, whose carets stand in the text as written."""
        cursor = self.tokens.cursor(at)
        for span, replacement in pieces:
            put_in = [replace(token, span=span) for token in tokenize(replacement)[:-1]]
            before = [token for token in cursor.tokens if token.span.end <= span.start]
            behind = [token for token in cursor.tokens if token.span.start >= span.end]
            cursor.tokens = [*before, *put_in, *behind]
        start = self.tokens.tokens[at].span.start
        cursor.at = next(i for i, token in enumerate(cursor.tokens) if token.span.start >= start)
        return cursor

    def _aliases(self) -> list[str]:
        return [quote(table.name or "_ost_t") for table in self.tables]

    def window_pieces(self) -> list[Piece]:
        """Takes the windows that Spark doesn't know out of the WINDOW clause."""
        return [(span, "") for span in spans_of_patterns(self.tokens, self.block)]

    def _star_pieces(self) -> list[Piece]:
        """`*` means the columns of the tables, not those that hold values."""
        tokens, pieces = self.tokens, []
        called = {at for each in self.calls for at in range(each.call.first, each.call.end)}
        stars = ", ".join(f"{alias}.*" for alias in self._aliases())
        for word in ("SELECT", "QUALIFY", "ORDER"):
            part = self.block.parts.get(word, Part(0, 0))
            for at in tokens.outside_of_queries(part.first, part.end):
                before, after = tokens.upper(at - 1), tokens.upper(at + 1)
                is_star = tokens.upper(at) == "*" and before in ("SELECT", "DISTINCT", "ALL", ",", "(")
                is_count = before == "(" and tokens.upper(at - 2) == "COUNT"
                if not is_star or is_count or at in called:
                    continue
                if after == "EXCEPT" and len(self.tables) > 1:
                    span = tokens.span(at, at + 2)
                    self._refuse(span, "* EXCEPT over several tables isn't supported here", "write t.* EXCEPT ( ... )")
                pieces.append((tokens.tokens[at].span, stars))
        return pieces

    def alias_pieces(self) -> list[Piece]:
        """Names for items without an alias: as written, without OVER and the window."""
        tokens, part = self.tokens, self.block.parts["SELECT"]
        first = part.first + 1 + (tokens.upper(part.first + 1) in ("DISTINCT", "ALL"))
        pieces = []
        for start, end in tokens.pieces(first, part.end):
            calls = [each.call for each in self.calls if start <= each.call.first < end]
            if calls and not self._has_alias(start, end, calls[-1]):
                position = tokens.tokens[end - 1].span.end
                pieces.append((Span(position, position), f" AS {quote(self._written_name(start, end, calls))}"))
        return pieces

    def _has_alias(self, start: int, end: int, last_call: WindowCall) -> bool:
        tokens = self.tokens
        if end == last_call.end or not tokens.tokens[end - 1].is_name or tokens.upper(end - 3) == "INTERVAL":
            return tokens.upper(end - 2) == "AS"
        before = tokens.tokens[end - 2]
        ends_value = before.upper not in _OPERATOR_WORDS and (before.upper in (")", "]") or before.upper.isidentifier())
        return (
            before.upper == "AS"
            or end - 1 == last_call.end
            or (tokens.upper(end - 1) not in ("END", "NULL", "TRUE", "FALSE") and (ends_value or not before.upper))
        )

    def _written_name(self, start: int, end: int, calls: Sequence[WindowCall]) -> str:
        tokens = self.tokens.tokens
        if (calls[0].over, calls[0].end) == (start + 1, end):
            return tokens[start].name  # a measure alone: without quotes
        starts = [tokens[start].span.start, *(tokens[call.end - 1].span.end for call in calls)]
        ends = [*(tokens[call.over - 1].span.end for call in calls), tokens[end - 1].span.end]
        texts = [self.tokens.text[first:last] for first, last in zip(starts, ends, strict=True)]
        return " ".join("".join(texts).split())


_PLACES = {"GROUP": "GROUP BY", "CLUSTER": "CLUSTER BY", "SORT": "SORT BY", "DISTRIBUTE": "DISTRIBUTE BY"}
_OPERATOR_WORDS = frozenset(
    "AND OR NOT IS IN LIKE ILIKE RLIKE REGEXP BETWEEN ESCAPE DIV FROM DISTINCT CASE WHEN THEN ELSE".split()
)
