"""Resolves the references of a correlation's condition and SELECT list to columns of the two sides.

A resolved reference is `ColumnRef((side, column))` with LIVE or ARCHIVE as the side, or `ColumnRef((column,))` for the
two columns of the correlation itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from ostinato.clause.language.select_list import Item
from ostinato.correlations.language.correlation import CORRELATION_END, CORRELATION_START, Correlation
from ostinato.errors import QueryError, Span
from ostinato.expressions.syntax import ColumnRef, Expr, Field, Name, rebuild
from ostinato.rows.column_lookup import columns_hint

LIVE = "live"
ARCHIVE = "archive"


@dataclass(frozen=True, slots=True)
class PairNames:
    """The columns of a pair of matches."""

    correlation: Correlation
    live: tuple[str, ...]
    archive: tuple[str, ...]
    case_sensitive: bool = False

    def resolved(self, expr: Expr) -> Expr:
        """The expression over resolved references."""
        if not isinstance(expr, ColumnRef):
            return rebuild(expr, self.resolved)
        side = self._qualifier(expr.parts)
        first, *rest = expr.parts[1:] if side is not None else expr.parts
        result: Expr = self._column(side, first, expr.span)
        for field_name in rest:
            result = Field(result, field_name, expr.span)
        return result

    def selected(self, items: Iterable[Item]) -> list[tuple[str, Expr]]:
        """The SELECT list as (name, expression). `*` means the correlation's, the live and the archive columns."""
        columns: list[tuple[str, Expr]] = []
        for item in items:
            if item.expr is not None:
                columns.append((item.name, self.resolved(item.expr)))
            elif item.name:
                columns += self._all_of(self._side(item.name, item.span))
            else:
                columns += [(name, _own(name)) for name in (CORRELATION_START, CORRELATION_END)]
                columns += [*self._all_of(LIVE), *self._all_of(ARCHIVE)]
        return columns

    # --- sides ---

    def _qualifier(self, parts: Sequence[Name]) -> str | None:
        return self._side_named(parts[0].text) if len(parts) > 1 else None

    def _side_named(self, alias: str) -> str | None:
        sides = {self.correlation.live_alias.lower(): LIVE, self.correlation.archive_alias.lower(): ARCHIVE}
        return sides.get(alias.lower())

    def _side(self, alias: str, span: Span | None) -> str:
        side = self._side_named(alias)
        if side is None:
            hint = f"the clauses are named {self.correlation.live_alias} and {self.correlation.archive_alias}"
            self._fail("UNKNOWN_COLUMN", f"nothing here is named '{alias}'", span, hint)
        return side

    def _all_of(self, side: str) -> list[tuple[str, Expr]]:
        return [(name, _of(side, name)) for name in self._columns(side)]

    def _columns(self, side: str) -> tuple[str, ...]:
        return self.live if side == LIVE else self.archive

    # --- columns ---

    def _column(self, side: str | None, name: Name, span: Span | None) -> ColumnRef:
        fold: Callable[[str], str] = str if self.case_sensitive else str.lower
        wanted = fold(name.text)
        sides = (LIVE, ARCHIVE) if side is None else (side,)
        columns = [
            _of(each, column, span) for each in sides for column in self._columns(each) if fold(column) == wanted
        ]
        if side is None:
            columns += [_own(own, span) for own in (CORRELATION_START, CORRELATION_END) if own == wanted]
        if len(columns) > 1:
            message = f"'{name.text}' could be a column of either side"
            self._fail("AMBIGUOUS_COLUMN", message, span, f"write {self.correlation.live_alias}.{name.text}")
        if not columns:
            names = [column for each in sides for column in self._columns(each)]
            message = f"the clause gives no column '{name.text}'"
            self._fail("UNKNOWN_COLUMN", message, span, columns_hint(name.text, names))
        return columns[0]

    def _fail(self, code: str, message: str, span: Span | None, hint: str) -> NoReturn:
        raise QueryError(code, message, text=self.correlation.text, span=span, hint=hint)


def _of(side: str, column: str, span: Span | None = None) -> ColumnRef:
    return ColumnRef((Name(side), Name(column, True)), span)


def _own(column: str, span: Span | None = None) -> ColumnRef:
    return ColumnRef((Name(column, True),), span)
