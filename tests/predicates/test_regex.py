"""Java's patterns and LIKE: both searches give the same, in a number of steps that grows with the text alone."""

from __future__ import annotations

import random
import re
import time

import pytest

from ostinato.predicates import regex
from ostinato.predicates.functions_patterns import is_like, like_pieces
from ostinato.predicates.regex import JavaRegex, java_regex
from ostinato.predicates.regex_syntax import RegexError

PATTERNS = (
    "a|b", "(a|ab)(c|bcd)(d*)", "(a*)(b|ab)*", "a{2,3}?b", "(?:a|b){2}c", "^a+", "b+$", r"\bab", "(a+)+b", "(a|b)*?c",
    "[^a]b", "(a?)*b?", "x*", "(?i)A(b)?", "a(?:b|c)?d", ".+b.", "(ab?)+c|b",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_our_search_finds_what_pythons_finds(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(pattern)
    texts = ["".join(drawn.choice("abcd\n") for _ in range(drawn.randrange(9))) for _ in range(60)]
    quick, own = JavaRegex(pattern), JavaRegex(pattern)
    found = [list(quick.matches(text)) for text in texts]
    monkeypatch.setattr(regex, "FEW_STEPS", -1)
    assert [list(own.matches(text)) for text in texts] == found


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|aa)+$b", "(a?){30}a{30}b", "a*a*a*a*a*b", "(.*)*x", "((a*)*)*b"])
def test_a_search_takes_steps_in_proportion_to_the_text(pattern: str) -> None:
    begin = time.thread_time()
    assert java_regex(pattern).find("a" * 3_000) is None
    assert time.thread_time() - begin < 10  # 2 to the power of 3,000 steps otherwise; about 0.3 s


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(?=a)", "lookahead"),
        ("(?<!a)b", "lookbehind"),
        ("(?>a)", "atomic"),
        (r"(a)\1", "back-reference"),
        ("a++", "possessive"),
        (r"\p{L}", "Unicode"),
        ("[a[b]]", "class inside a class"),
        ("(?x)a", "flag x"),
        ("(" * 200 + ")" * 200, "nest"),
        ("(a{1000}){1000}", "too large"),
        ("(a", "never closed"),
        ("a)", "closes nothing"),
        ("a{3,2}", "upper bound"),
        ("a\\", "too early"),
    ],
)
def test_what_is_refused_is_named(pattern: str, said: str) -> None:
    with pytest.raises(RegexError, match=said):
        java_regex(pattern)


def test_like_equals_the_regular_expression_it_stands_for() -> None:
    drawn = random.Random(4)
    for _ in range(3_000):
        pattern = "".join(drawn.choice("ab%_") for _ in range(drawn.randrange(7)))
        text = "".join(drawn.choice("ab\n") for _ in range(drawn.randrange(8)))
        meant = re.compile(pattern.replace("%", ".*").replace("_", "."), re.DOTALL)
        assert is_like(text, like_pieces(pattern, "\\")) == (meant.fullmatch(text) is not None), (text, pattern)


def test_like_with_many_wildcards_is_quick() -> None:
    begin = time.thread_time()
    assert not is_like("a" * 20_000, like_pieces("%a" * 500 + "%b%_c", "\\"))
    assert time.thread_time() - begin < 5
