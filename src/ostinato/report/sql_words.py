"""SQL text -> HTML with keywords, functions, literals and comments highlighted."""

from __future__ import annotations

import re

from ostinato.calls.shown_objects import escape

_KEYWORDS = frozenset(
    "SELECT FROM MATCH_RECOGNIZE PARTITION BY ORDER MEASURES AS ONE ALL ROW ROWS PER MATCH AFTER SKIP PAST TO NEXT "
    "FIRST LAST PATTERN MAXLENGTH WITHIN INTERVAL MINUTE DEFINE AND OR NOT SUBSET WHERE "
    "GROUP TYPE TIME RETURN MATCHES STRICT ON WITHOUT SLIDE TUMBLE".split()
)
_PIECE = re.compile(
    r"(?P<comment>--[^\n]*)|(?P<text>'(?:[^']|'')*')|(?P<number>\b\d+(?:\.\d+)?\b)|(?P<word>[A-Za-z_]\w*)"
)


def marked_sql(sql: str) -> str:
    """HTML for a `<code>` element.

    >>> marked_sql("SELECT a < 5")
    '<b>SELECT</b> a &lt; <i class="number">5</i>'
    """
    pieces, at = [], 0
    for piece in _PIECE.finditer(sql):
        pieces.append(escape(sql[at : piece.start()]))
        pieces.append(_marked(piece.lastgroup or "", piece[0], sql[piece.end() : piece.end() + 1]))
        at = piece.end()
    return "".join([*pieces, escape(sql[at:])])


def _marked(kind: str, piece: str, following: str) -> str:
    words = escape(piece)
    if kind != "word":
        return f'<i class="{kind}">{words}</i>'
    if following == "(":
        return f'<i class="call">{words}</i>'
    return f"<b>{words}</b>" if piece in _KEYWORDS else words
