"""Tables and drawings -> escaped HTML: blocks for notebooks and pages, and a whole page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import pyarrow as pa

from ostinato.calls.shown_objects import shortened
from ostinato.pictures.plot_axis import is_number
from ostinato.pictures.svg import escape

_MOST_ROWS = 20
_LONGEST_CELL = 60


def svg_block(svg: str) -> str:
    """A drawing that scrolls where it is too wide."""
    return f'<div style="overflow-x:auto">{svg}</div>'


def facts_block(facts: Sequence[tuple[str, Any]], caption: str) -> str:
    """A table of names and values."""
    rows = "".join(f'<tr><th scope="row">{escape(name)}</th><td>{_words(value)}</td></tr>' for name, value in facts)
    return f"<table><caption>{escape(caption)}</caption><tbody>{rows}</tbody></table>"


def table_block(table: pa.Table, caption: str, *, most: int = _MOST_ROWS) -> str:
    """The first rows of a table, and the number of the others."""
    is_right = [is_number(kind) for kind in table.schema.types]
    head = "".join(
        f'<th scope="col"{_right(right)}>{escape(shortened(name, _LONGEST_CELL))}</th>'
        for name, right in zip(table.column_names, is_right, strict=True)
    )
    shown = table.slice(0, most)
    cells = [
        [f"<td{_right(right)}>{_words(value)}</td>" for value in column.to_pylist()]
        for column, right in zip(shown.columns, is_right, strict=True)
    ]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
    left_out = table.num_rows - shown.num_rows
    more = f"<p>and {left_out:,} more {'row' if left_out == 1 else 'rows'}</p>" if left_out > 0 else ""
    return (
        f'<div style="overflow-x:auto"><table><caption>{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{more}"
    )


def html_page(title: str, style: str, body: str) -> str:
    """A whole page. The style and the body are HTML already; the page loads nothing."""
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def _words(value: Any) -> str:
    if value is None:
        words = "NULL"
    elif isinstance(value, datetime):
        words = value.isoformat(sep=" ")
    elif isinstance(value, float):
        words = f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.2f}"
    else:
        words = str(value)
    if len(words) <= _LONGEST_CELL:
        return escape(words)
    return f'<span title="{escape(words[:1000])}">{escape(shortened(words, _LONGEST_CELL))}</span>'


def _right(right: bool) -> str:
    return ' style="text-align:right"' if right else ""
