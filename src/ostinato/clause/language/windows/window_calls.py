"""The windows of a block, with inherited keys, and its calls over them -> expressions for MEASURES."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NoReturn

from ostinato.clause.language.vocabulary import OTHER_AGGREGATES, WINDOW_FUNCTIONS, aggregate_name
from ostinato.clause.language.windows.select_blocks import NamedWindow, SelectBlock, StatementTokens, WindowCall
from ostinato.clause.language.windows.window_parser import (
    WindowSpecification,
    parse_base_window,
    parse_window,
    refuse_marks,
)
from ostinato.errors import Span, did_you_mean
from ostinato.expressions.parsing import ExpressionParser
from ostinato.expressions.syntax import Call, Expr, Literal, Star

_AT_ONE_ROW = {"first_value": "first", "first": "first", "last_value": "last", "last": "last"}
_ALLOWED = "measures, first_value, last_value, nth_value and aggregates can be called over such a window"


@dataclass(frozen=True, slots=True)
class WindowValue:
    """The value of a call: a measure, or a function over the matched rows."""

    window: WindowSpecification
    expression: Expr
    """For MEASURES. The arguments of a function are as written, so their columns are those of the block."""
    arguments: tuple[tuple[Expr, Span], ...]
    """The arguments of a function that are computed for each row."""
    is_function: bool

    def with_arguments(self, argument: Callable[[Expr, Span], Expr]) -> Expr:
        """The expression with its arguments replaced."""
        if not self.is_function:
            return self.expression
        assert isinstance(self.expression, Call)
        fixed = self.expression.args[len(self.arguments) :]
        return replace(self.expression, args=(*(argument(*each) for each in self.arguments), *fixed))


class BlockWindows:
    """Reads the windows of one block. Each is parsed once, so that its calls share it."""

    def __init__(self, tokens: StatementTokens, block: SelectBlock) -> None:
        self.tokens = tokens
        self.block = block
        self.named: dict[str, NamedWindow] = {}
        for window in block.windows:
            if window.name.name.lower() in self.named:
                self._fail(window.name.span, f"the window '{window.name.name}' is defined twice")
            self.named[window.name.name.lower()] = window
        self._parsed: dict[int, WindowSpecification] = {}
        for window in block.windows:  # those that nothing calls, too
            if window.has_pattern:
                self._at(window.opening, ())

    def value_of(self, call: WindowCall) -> WindowValue:
        """The window and the expression of a call."""
        tokens, window = self.tokens, self._at(call.window_at, ())
        assert window.clause is not None
        value = tokens.span(call.first, call.over)
        if tokens.upper(call.over - 1) not in (")", "NULLS"):
            return self._measure(call, window, value)
        for at in range(call.first, call.over):
            words = (tokens.upper(at), tokens.upper(at + 1))
            if words in (("FILTER", "("), ("WITHIN", "GROUP"), ("IGNORE", "NULLS"), ("ORDER", "BY")):
                refused = " ".join(words).rstrip(" (")
                message = f"{refused} can't be used over a window with a row pattern"
                tokens.fail(tokens.tokens[at].span, message, "UNSUPPORTED_IN_WINDOW")
        refuse_marks(tokens.cursor(call.first), tokens.tokens[call.first : call.over])
        return self._function(call, window)

    def _measure(self, call: WindowCall, window: WindowSpecification, span: Span) -> WindowValue:
        assert window.clause is not None
        name = self.tokens.tokens[call.over - 1].name
        is_plain = call.over - call.first == 1
        found = [each for each in window.clause.measures if is_plain and each.name.lower() == name.lower()]
        if not found:
            names = [measure.name for measure in window.clause.measures]
            hint = did_you_mean(name, names) or f"its measures are {', '.join(names) or 'none'}"
            self.tokens.fail(span, f"the window has no measure '{name}'", "UNKNOWN_MEASURE", hint)
        if len(found) > 1:
            self._fail(span, f"the window has several measures '{name}'")
        return WindowValue(window, found[0].expression, (), is_function=False)

    def _function(self, call: WindowCall, window: WindowSpecification) -> WindowValue:
        tokens = self.tokens
        opening = next(at for at in range(call.first, call.over) if tokens.upper(at) == "(")
        end = tokens.closing[opening]
        function = ExpressionParser(tokens.cursor(call.first, end + 1)).expression()
        span = tokens.span(call.first, end + 1)
        if not isinstance(function, Call):
            tokens.fail(span, _ALLOWED, "UNSUPPORTED_IN_WINDOW")
        function = self._allowed(function, span)
        first = opening + 1 + (tokens.upper(opening + 1) in ("DISTINCT", "ALL"))
        spans = [tokens.span(*piece) for piece in tokens.pieces(first, end)] if end > first else []
        is_row = [not isinstance(arg, Star | Literal) for arg in function.args]
        arguments = tuple(zip(function.args, spans, strict=False))[: is_row.index(False) if False in is_row else None]
        if True in is_row[len(arguments) :]:
            tokens.fail(span, "a literal can't stand in front of an argument here", "UNSUPPORTED_IN_WINDOW")
        return WindowValue(window, function, arguments, is_function=True)

    def _allowed(self, call: Call, span: Span) -> Call:
        """The function under its name in MEASURES."""
        at_one_row = _AT_ONE_ROW.get(call.name)
        if call.name == "nth_value" and len(call.args) == 2 and not call.distinct:
            n = call.args[1]
            if not isinstance(n, Literal) or not n.text.isdigit() or int(n.text) < 1:
                message = "nth_value takes a whole number from 1 on"
                self.tokens.fail(n.span or span, message, "UNSUPPORTED_IN_WINDOW")
            return Call("first", (call.args[0], Literal("number", str(int(n.text) - 1))), span=call.span)
        if at_one_row is not None and len(call.args) == 1 and not call.distinct:
            return replace(call, name=at_one_row)
        if call.name in WINDOW_FUNCTIONS or at_one_row is not None:
            self.tokens.fail(
                span, f"{call.name} can't be called so over a row pattern", "UNSUPPORTED_IN_WINDOW", _ALLOWED
            )
        if aggregate_name(call.name) is None:
            kind = "the aggregate" if call.name in OTHER_AGGREGATES else "the function"
            message = f"{kind} {call.name} can't be called over a window with a row pattern"
            self.tokens.fail(span, message, "UNSUPPORTED_IN_WINDOW", _ALLOWED)
        if any(isinstance(arg, Star) and arg.qualifier is not None for arg in call.args):
            self.tokens.fail(span, "count takes * without a table's name", "UNSUPPORTED_IN_WINDOW")
        return call

    # --- windows ---

    def _at(self, at: int, heirs: tuple[int, ...]) -> WindowSpecification:
        """The window whose parentheses or name stand at a token, with the keys that it takes over."""
        if self.tokens.upper(at) != "(":
            token = self.tokens.tokens[at]
            return self._at(self._opening_of(token.name, token.span, heirs), (*heirs, at))
        if at not in self._parsed:
            self._parsed[at] = self._inherited(self._read(at), (*heirs, at))
        return self._parsed[at]

    def _opening_of(self, name: str, span: Span, heirs: tuple[int, ...]) -> int:
        window = self.named.get(name.lower())
        if window is None:
            hint = did_you_mean(name, [each.name.name for each in self.named.values()])
            self._fail(span, f"there is no window '{name}' in this block", hint)
        if window.opening in heirs:
            self._fail(span, f"the window '{name}' is built on itself")
        return window.opening

    def _read(self, opening: int) -> WindowSpecification:
        has_pattern = any(window.opening == opening and window.has_pattern for window in self.block.windows)
        is_inline = all(window.opening != opening for window in self.block.windows)
        read = parse_window if has_pattern or is_inline else parse_base_window
        return read(self.tokens.cursor(opening))

    def _inherited(self, window: WindowSpecification, heirs: tuple[int, ...]) -> WindowSpecification:
        if window.base is None:
            return window
        span = window.base_span or window.span
        base = self._at(self._opening_of(window.base.text, span, heirs), heirs)
        if base.has_frame:
            self._fail(span, f"the window '{window.base.text}' has a frame, so it can't be built upon")
        if window.partition_by:
            self._fail(span, f"PARTITION BY is that of the window '{window.base.text}'; leave it out")
        if window.order_by and base.order_by:
            self._fail(span, f"the window '{window.base.text}' already has an ORDER BY")
        return replace(window, partition_by=base.partition_by, order_by=window.order_by or base.order_by)

    def _fail(self, span: Span, message: str, hint: str | None = None) -> NoReturn:
        self.tokens.fail(span, message, "INVALID_WINDOW", hint)
