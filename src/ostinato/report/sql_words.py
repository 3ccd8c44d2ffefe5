"""SQL text -> the same text as HTML with its keywords, functions, literals and comments marked."""

from __future__ import annotations

import re
from html import escape

_KEYWORDS = frozenset(
    "SELECT FROM MATCH_RECOGNIZE PARTITION BY ORDER MEASURES AS ONE ALL ROW ROWS PER MATCH AFTER SKIP PAST TO NEXT "
    "FIRST LAST PATTERN MAXLENGTH WITHIN INTERVAL MINUTE DEFINE AND OR NOT SUBSET WHERE".split()
)
_PIECE = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<text>'(?:[^']|'')*')|(?P<number>\b\d+(?:\.\d+)?\b)|(?P<word>[A-Za-z_]\w*)"
)


def marked_sql(sql: str) -> str:
    """HTML for a `<code>` element.

    >>> marked_sql("SELECT a < 5")
    '<b>SELECT</b> a &lt; <i class="number">5</i>'
    """
    parts, at = [], 0
    for found in _PIECE.finditer(sql):
        parts.append(escape(sql[at : found.start()]))
        parts.append(_marked(found.lastgroup or "", found[0], sql[found.end() : found.end() + 1]))
        at = found.end()
    return "".join([*parts, escape(sql[at:])])


def _marked(kind: str, piece: str, following: str) -> str:
    words = escape(piece)
    if kind != "word":
        return f'<i class="{kind}">{words}</i>'
    if following == "(":
        return f'<i class="call">{words}</i>'
    return f"<b>{words}</b>" if piece in _KEYWORDS else words
