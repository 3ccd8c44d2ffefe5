"""Titles and lines -> the text of an explanation, in sections with numbered, underlined or large headings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

Section = tuple[str, Iterable[str]]
"""A title and its lines."""

INDENT = "   "
WIDTH = 110


def numbered(sections: Iterable[Section], *, wrap: bool = False) -> str:
    """Numbered sections with indented lines. `wrap` breaks long lines, but not those of the query in section 1.

    >>> print(numbered([("The query", ["PATTERN (A)"]), ("Output", ["one row"])]))
    1. The query
       PATTERN (A)
    <BLANKLINE>
    2. Output
       one row
    """
    return "\n\n".join(
        _numbered(number, *section, wrap and number > 1) for number, section in enumerate(sections, start=1)
    )


def underlined(title: str, lines: Iterable[str]) -> str:
    """A section without a number."""
    return "\n".join([title, "-" * len(title), *lines])


def headed(title: str, text: str) -> str:
    """The explanation of one query among several."""
    return f"{title}\n{'=' * len(title)}\n{text}"


def _numbered(number: int, title: str, lines: Iterable[str], wrap: bool) -> str:
    if wrap:
        lines = (piece for line in lines for piece in _wrapped(line))
    return "\n".join([f"{number}. {title}", *(f"{INDENT}{line}".rstrip() for line in lines)])


def _wrapped(line: str) -> Iterator[str]:
    """The line in pieces of at most WIDTH. Later pieces are indented to the text after the label."""
    if len(line) <= WIDTH:
        yield line
        return
    indent = len(line) - len(line.lstrip())
    label_end = line.find("  ", indent)
    hanging = len(line) - len(line[label_end:].lstrip()) if 0 <= label_end < 40 else indent + 2
    yield from textwrap.wrap(
        line, WIDTH, subsequent_indent=" " * hanging, break_long_words=False, break_on_hyphens=False
    )
