"""Rows -> a text table that fits the terminal: columns aligned, long values cut, control characters escaped."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from ostinato.cli.terminal import visible

_GAP = "  "
_NARROWEST = 8
_LONG = 24
_CUT = "…"


def text_table(names: Sequence[str], rows: Sequence[Sequence[Any]], *, width: int, left_out: int = 0) -> str:
    """The rows under their names. Columns are cut, widest first, until a line has at most `width` characters.

    >>> print(text_table(["symbol", "price"], [["ARIA", 12.5], ["FUGA", None]], width=80, left_out=3))
    symbol  price
    ------  -----
    ARIA     12.5
    FUGA     NULL
    … 3 more rows
    """
    cells = [[cell_text(value) for value in row] for row in rows]
    heads = [visible(name) for name in names]
    natural = [
        max(map(display_width, [head, *column]))
        for head, column in zip(heads, _columns(cells, len(names)), strict=True)
    ]
    widths = fitted(natural, width)
    is_number = [
        all(isinstance(row[i], int | float | Decimal | None) and not isinstance(row[i], bool) for row in rows)
        and bool(rows)
        for i in range(len(names))
    ]
    lines = [_line(heads, widths, is_number), _GAP.join("-" * size for size in widths)]
    lines += [_line(row, widths, is_number) for row in cells]
    if left_out:
        lines.append(f"{_CUT} {left_out:,} more {'row' if left_out == 1 else 'rows'}")
    elif not rows:
        lines.append("no rows")
    return "\n".join(line.rstrip() for line in lines)


def cell_text(value: Any, written: Callable[[str], str] = visible) -> str:
    """The text of one value; `written` turns each string in it into the text to write.

    >>> cell_text(datetime(2025, 1, 6, 9, 30)), cell_text(0.1 + 0.2), cell_text([1, None]), cell_text("a\\nb")
    ('2025-01-06 09:30:00', '0.3', '[1, NULL]', 'a\\\\nb')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, bytes | bytearray):
        return "0x" + value.hex()
    if hasattr(value, "asDict"):  # a struct, as Spark gives it
        value = value.asDict()
    if isinstance(value, list | tuple):
        return "[" + ", ".join(cell_text(item, written) for item in value) + "]"
    if isinstance(value, dict):
        pairs = (f"{cell_text(key, written)}: {cell_text(item, written)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    return written(str(value))


def display_width(text: str) -> int:
    """The columns that the text takes on a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_char_width(char) for char in text)


def fitted(natural: Sequence[int], width: int) -> list[int]:
    """Column widths for lines of at most `width` characters, with readable columns.

    Long columns are cut first: a long text can lose a few characters, a timestamp can't.

    >>> fitted([10, 40, 30], 64), fitted([19, 19, 100], 60)
    ([10, 25, 25], [19, 19, 18])
    """
    available_width = width - len(_GAP) * (len(natural) - 1)
    widths = list(natural)
    for least_natural in (_LONG, 0):
        cap = max(widths, default=0)
        while sum(widths) > available_width and cap > _NARROWEST:
            cap -= 1
            widths = [
                min(size, cap) if full > least_natural else size for size, full in zip(widths, natural, strict=True)
            ]
    return widths


def _line(cells: Sequence[str], widths: Sequence[int], is_number: Sequence[bool]) -> str:
    return _GAP.join(_padded(cell, size, right) for cell, size, right in zip(cells, widths, is_number, strict=True))


def _padded(cell: str, size: int, right: bool) -> str:
    shown = cell
    if display_width(cell) > size:
        shown, used = "", 0
        for char in cell:
            if used + _char_width(char) > size - 1:
                break
            shown, used = shown + char, used + _char_width(char)
        shown += _CUT
    blank = " " * (size - display_width(shown))
    return blank + shown if right else shown + blank


def _columns(cells: Sequence[Sequence[str]], count: int) -> list[list[str]]:
    return [[row[i] for row in cells] for i in range(count)]


def _char_width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
