"""The boundary to the terminal: text of users without control characters, and styles of our own."""

from __future__ import annotations

import os
import sys
from typing import TextIO

ERASE_LINE = "\r\x1b[2K"


def visible(text: str) -> str:
    """The text with line ends, control characters and marks that reorder text escaped.

    Names, values and file names of users pass through here: they must not move the cursor, recolour the terminal or
    show text in another order than it has.

    >>> print(visible("\\x1b[31mred\\n"), visible("\\u202eabc"), visible("naïve 日本"))
    \\x1b[31mred\\n \\u202eabc naïve 日本
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def visible_lines(text: str) -> str:
    """The same for a text of several lines: its line ends stay."""
    return "\n".join(map(visible, text.split("\n")))


def say(text: str, file: TextIO | None = None) -> None:
    """Prints a message or a text that may quote the user's."""
    print(visible_lines(text), file=file)


class Data:
    """A stream for rows on stdout: exact for a file or a pipe, without control characters on a terminal."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible_lines(text) if sys.stdout.isatty() else text)


def bold(words: str) -> str:
    return _styled(words, "1")


def quiet(words: str) -> str:
    return _styled(words, "2")


def accent(words: str) -> str:
    return _styled(words, "36")


def _styled(words: str, code: str) -> str:
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return f"\x1b[{code}m{words}\x1b[0m" if wanted else words
