"""A text -> a text that is a little wrong."""

from __future__ import annotations

import re
from random import Random

from tests.fuzz.fragments import MOMENTS, NUMBERS, TEXTS, Fragments

_TOKEN = re.compile(r"\s+|\w+|'[^']*'|`[^`]*`|.", re.DOTALL)
_ODD = ("²", "٣", "\ud800", "'", '"', "`", "(", ")", "{", "}", "[", "]", "--", "/*", "*/", "\x00", "\u2028", "\ufeff",
        ".", ",", "::", "->", "\\", "%", "#", ";", "e", "é", "ß", "{-", "-}", "^", "$", "|", "?")  # fmt: skip
_DEEP = (
    *(("(", "A", ")"), ("NOT ", "TRUE", ""), ("-", "1", ""), ("abs(", "x", ")"), ("", "x", " IS NOT NULL")),
    *(
        ("", "a", "[0]"),
        ("", "x", "::int"),
        ("", "x", " = x"),
        ("array(", "1", ")"),
        ("", "x", ".f"),
        ("SEQ(", "a", ")"),
    ),
    *(
        ("CASE WHEN ", "TRUE", " THEN 1 END"),
        ("CAST(x AS array<", "int", ">"),
        ("{- ", "A", " -}"),
        ("((", "a", ")*)*"),
    ),
)
"""Constructs that are written inside themselves: before, between and after."""


def tokens(text: str) -> list[str]:
    """The text in pieces that join to it again."""
    return _TOKEN.findall(text)


def mutated(text: str, rng: Random) -> str:
    """One to three changes."""
    for _ in range(rng.randint(1, 3)):
        text = _changed(tokens(text), rng)
    return text


def _changed(words: list[str], rng: Random) -> str:
    if not words:
        return rng.choice(_ODD)
    at = rng.randrange(len(words))
    end = min(len(words), at + rng.randint(1, 6))
    change = rng.randrange(8)
    if change == 0:
        del words[at:end]
    elif change == 1:
        words[at:at] = words[at:end] * rng.choice((1, 1, 2, 30))
    elif change == 2:
        other = rng.randrange(len(words))
        words[at], words[other] = words[other], words[at]
    elif change == 3:
        words[at] = rng.choice(_ODD)
    elif change == 4:
        words[at] = rng.choice((*NUMBERS, *TEXTS, *MOMENTS))
    elif change == 5:
        words[at] = Fragments(rng).nested(*rng.choice(_DEEP))
    elif change == 6:
        word = words[at]
        cut = rng.randrange(len(word) + 1)
        words[at] = word[:cut] + rng.choice(_ODD) + word[cut:]
    else:
        del words[at:]
    return "".join(words)
