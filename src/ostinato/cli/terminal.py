"""Text -> bold, faint or coloured text on a terminal; plain text elsewhere."""

from __future__ import annotations

import os
import sys

ERASE_LINE = "\r\x1b[2K"


def bold(words: str) -> str:
    return _styled(words, "1")


def quiet(words: str) -> str:
    return _styled(words, "2")


def accent(words: str) -> str:
    return _styled(words, "36")


def _styled(words: str, code: str) -> str:
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return f"\x1b[{code}m{words}\x1b[0m" if wanted else words
