"""A name in a query -> the column of the input that it names, by Spark's rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ostinato.errors import QueryError, Span, did_you_mean


class ColumnLookup:
    """The columns of an input. Unless names are case-sensitive, upper and lower case are the same."""

    def __init__(self, columns: Sequence[str], case_sensitive: bool) -> None:
        self.columns = columns
        self.fold: Callable[[str], str] = str if case_sensitive else str.lower
        self._by_name: dict[str, list[str]] = {}
        for column in columns:
            self._by_name.setdefault(self.fold(column), []).append(column)

    def __contains__(self, name: str) -> bool:
        return self.fold(name) in self._by_name

    def column(self, name: str, *, text: str | None = None, span: Span | None = None, hint: str | None = None) -> str:
        """Raises UNKNOWN_COLUMN, with the hint or a similar name, and AMBIGUOUS_COLUMN."""
        columns = self._by_name.get(self.fold(name), [])
        if not columns:
            hint = hint or columns_hint(name, self.columns)
            raise QueryError("UNKNOWN_COLUMN", f"the input has no column '{name}'", text=text, span=span, hint=hint)
        if len(columns) > 1:
            message = f"'{name}' could be any of {', '.join(columns)}"
            raise QueryError("AMBIGUOUS_COLUMN", message, text=text, span=span)
        return columns[0]


def columns_hint(name: str, columns: Sequence[str]) -> str:
    """A similar name, or the first names."""
    return did_you_mean(name, columns) or f"the columns are {', '.join(columns[:20])}"
