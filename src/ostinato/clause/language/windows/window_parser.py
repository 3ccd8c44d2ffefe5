"""Text of one window specification with a row pattern -> WindowSpecification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ostinato.clause.language.clause_parser import ClauseParser
from ostinato.clause.language.foreign_syntax import foreign_forms
from ostinato.clause.language.listed_items import (
    definition_follows,
    listed,
    measure_follows,
    subset_follows,
)
from ostinato.clause.language.pattern_parser import row_pattern
from ostinato.clause.language.windows.window_checks import check_window
from ostinato.clause.query.clause import MatchRecognize, Skip
from ostinato.clause.query.pattern import MAX_BOUND
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import Span
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind, Token
from ostinato.expressions.syntax import Expr, Name

_PARTS = "MEASURES, ROWS BETWEEN, AFTER MATCH SKIP, INITIAL or SEEK, PATTERN, SUBSET, DEFINE"
_FRAME = "ROWS BETWEEN CURRENT ROW AND 10 FOLLOWING, or AND UNBOUNDED FOLLOWING"
_STARTS = frozenset("PARTITION ORDER MEASURES ROWS RANGE GROUPS AFTER INITIAL SEEK PATTERN".split())
_OF_THE_CLAUSE = (
    ("ONE", "ROW", "PER"),
    ("ALL", "ROWS", "PER"),
    ("ALL", "MATCHES"),
    ("INCREMENTAL", "MATCHES"),
    ("MAXIMAL", "MATCHES"),
    ("WITHIN",),
    ("MAXLENGTH",),
)
"""Words of MATCH_RECOGNIZE that a window doesn't have."""


@dataclass(frozen=True, slots=True)
class WindowKey:
    """An expression of PARTITION BY or ORDER BY, with the direction as in `SortKey`."""

    expression: Expr
    span: Span
    descending: bool = False
    nulls_first: bool | None = None


@dataclass(frozen=True, slots=True)
class WindowSpecification:
    """The parts of a window between its parentheses, as written."""

    span: Span
    """With the parentheses."""
    base: Name | None
    """The window whose keys this one takes over."""
    base_span: Span | None
    partition_by: tuple[WindowKey, ...]
    order_by: tuple[WindowKey, ...]
    clause: MatchRecognize | None
    """MEASURES, AFTER MATCH SKIP, PATTERN, SUBSET and DEFINE. None for a window without a row pattern."""
    frame_end: int | None = None
    seek: bool = False
    has_frame: bool = False


def parse_window(cursor: Cursor) -> WindowSpecification:
    """The window at whose opening parenthesis the cursor stands. Carets and spans count in the cursor's text."""
    with foreign_forms(cursor):
        return _WindowParser(cursor, None).window()


def parse_base_window(cursor: Cursor) -> WindowSpecification:
    """The same for a window without a row pattern, up to its frame, which isn't read."""
    return _WindowParser(cursor, None).base_window()


def refuse_marks(cursor: Cursor, tokens: Sequence[Token]) -> None:
    """Raises for a `?` in keys or arguments, which Spark evaluates in another place of the text."""
    mark = next((token for token in tokens if token.upper == "?"), None)
    if mark is not None:
        message = "? can't stand in the keys of a window with a row pattern, or in a call over it"
        cursor.fail(message, code="UNSUPPORTED_WITH_WINDOW", span=mark.span, hint="write :name, and pass a dict")


class _WindowParser(ClauseParser):
    def window(self) -> WindowSpecification:
        cursor = self.cursor
        keys = self._keys()
        measures = listed(cursor, self._measure, "measures", measure_follows) if cursor.accept("MEASURES") else ()
        self._refuse_clause_words()
        frame_end = self._frame()
        self._refuse_clause_words()
        skip = self._skip() if cursor.sees("AFTER") else Skip()
        self._refuse_clause_words()
        seek = cursor.accept("SEEK")
        if not seek:
            cursor.accept("INITIAL")
        word = cursor.expect("PATTERN", "(", hint=f"the order is: {_PARTS}")
        pattern = row_pattern(cursor, closing=")")
        self._refuse_clause_words()
        subsets = listed(cursor, self._subset, "union variables", subset_follows) if cursor.accept("SUBSET") else ()
        cursor.expect("DEFINE", hint=f"a window needs PATTERN and DEFINE; the order is: {_PARTS}")
        definitions = listed(cursor, self._definition, "conditions", definition_follows)
        self._refuse_clause_words()
        end = cursor.expect(")", hint=f"the order is: {_PARTS}")
        clause = MatchRecognize(
            pattern=pattern,
            measures=measures,
            skip=skip,
            subsets=subsets,
            definitions=definitions,
            text=cursor.text,
            spans=replace(self.spans, pattern=word.span),
        )
        check_window(WindowPattern(clause, frame_end, seek))
        return replace(keys, span=keys.span.to(end.span), clause=clause, frame_end=frame_end, seek=seek, has_frame=True)

    def base_window(self) -> WindowSpecification:
        keys = self._keys()
        return replace(keys, has_frame=not self.cursor.sees(")"))

    def _keys(self) -> WindowSpecification:
        cursor = self.cursor
        first, start = cursor.at, cursor.expect("(").span
        base = base_span = None
        if cursor.token.kind is Kind.BACK_QUOTED or (cursor.token.is_name and cursor.token.upper not in _STARTS):
            base, base_span = cursor.name("a window")
        partition_by = self._listed_keys() if cursor.accept("PARTITION", "BY") else ()
        order_by = self._listed_keys() if cursor.accept("ORDER", "BY") else ()
        refuse_marks(cursor, cursor.tokens[first : cursor.at])
        return WindowSpecification(start, base, base_span, partition_by, order_by, None)

    def _listed_keys(self) -> tuple[WindowKey, ...]:
        return listed(self.cursor, self._key, "keys", lambda cursor: False)

    def _key(self) -> WindowKey:
        start = self.cursor.at
        expression = self.expressions.expression()
        return WindowKey(expression, self._since(start), *self._direction())

    def _frame(self) -> int | None:
        """The number of rows behind the current one at which the frame ends; None for UNBOUNDED FOLLOWING."""
        cursor = self.cursor
        if not cursor.accept("ROWS", "BETWEEN", "CURRENT", "ROW", "AND"):
            self._fail_frame("the frame of a window with a pattern begins at the current row", cursor.token)
        if cursor.accept("UNBOUNDED", "FOLLOWING"):
            frame_end = None
        elif cursor.accept("CURRENT", "ROW"):
            frame_end = 0
        else:
            token = cursor.take()
            is_whole = token.kind is Kind.NUMBER and token.text.isdigit()
            if not is_whole or int(token.text) > MAX_BOUND or not cursor.accept("FOLLOWING"):
                self._fail_frame("the frame ends at CURRENT ROW, n FOLLOWING or UNBOUNDED FOLLOWING", token)
            frame_end = int(token.text)
        if cursor.sees("EXCLUDE") and not cursor.accept("EXCLUDE", "NO", "OTHERS"):
            self._fail_frame("a window with a pattern can't exclude rows of its frame", cursor.token)
        return frame_end

    def _fail_frame(self, message: str, token: Token) -> None:
        self.cursor.fail(message, code="INVALID_WINDOW", span=token.span, hint=_FRAME)

    def _refuse_clause_words(self) -> None:
        for words in _OF_THE_CLAUSE:
            if self.cursor.sees(*words):
                self.cursor.fail(
                    f"{' '.join(words)} belongs to MATCH_RECOGNIZE; a window has one value for each input row",
                    code="UNSUPPORTED_IN_WINDOW",
                    hint="leave it out, or write FROM table MATCH_RECOGNIZE ( ... )",
                )
