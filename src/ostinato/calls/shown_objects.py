"""How public objects show themselves: a short `repr` for terminals, and monospaced text for notebooks."""

from __future__ import annotations

import html
import re

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST_REPR = 280
_PRE = "font-family:monospace;white-space:pre;line-height:1.35;overflow-x:auto"
"""The text has columns. Some notebooks give <pre> a proportional font and wrap its lines."""


def escape(text: str) -> str:
    """The text for elements and attributes. A browser refuses a picture with control characters, so they become `�`.

    >>> escape("a < \\x1b")
    'a &lt; �'
    """
    return html.escape(_NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def shortened(words: str, letters: int) -> str:
    """At most this many letters, in one line.

    >>> shortened("a long   name", 8)
    'a long …'
    """
    words = " ".join(words[: 4 * letters].split()) if len(words) > letters or "\n" in words else words
    return words if len(words) <= letters else words[: letters - 1] + "…"


def short_repr(shown: object, words: str) -> str:
    """`Kind(words)` in one line that fits three lines of a terminal.

    >>> short_repr(object(), "PATTERN (A   B)")
    'object(PATTERN (A B))'
    """
    return f"{type(shown).__name__}({shortened(words, _LONGEST_REPR)})"


def text_block(words: str) -> str:
    """HTML of monospaced text.

    >>> text_block("a < b")
    '<pre style="font-family:monospace;white-space:pre;line-height:1.35;overflow-x:auto">a &lt; b</pre>'
    """
    return f'<pre style="{_PRE}">{escape(words)}</pre>'
