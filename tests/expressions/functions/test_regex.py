"""Java's patterns and LIKE: both searches give the same, in a number of steps that grows with the text alone."""

from __future__ import annotations

import random
import re
import time
from contextvars import copy_context

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import OstinatoError
from ostinato.expressions.functions import regex
from ostinato.expressions.functions.functions_patterns import is_like, like_pieces
from ostinato.expressions.functions.regex import JavaRegex, java_regex
from ostinato.expressions.functions.regex_syntax import RegexError
from ostinato.kernels.stopping import Stopped, follow, new_stop_flag

PATTERNS = (
    "a|b", "(a|ab)(c|bcd)(d*)", "(a*)(b|ab)*", "a{2,3}?b", "(?:a|b){2}c", "^a+", "b+$", r"\bab", "(a+)+b", "(a|b)*?c",
    "[^a]b", "(a?b)*b?", r"\B", "(?m)^b?", "a.*b|a", "x*", "(?i)A(b)?", "a(?:b|c)?d", ".+b.", "(ab?)+c|b",
)  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_our_search_finds_the_same_as_pythons(pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(pattern)
    texts = ["".join(drawn.choice("abcd\n") for _ in range(drawn.randrange(9))) for _ in range(60)]
    quick, own = JavaRegex(pattern), JavaRegex(pattern)
    expected = [list(quick.matches(text)) for text in texts]
    monkeypatch.setattr(regex, "FEW_STEPS", -1)
    assert [list(own.matches(text)) for text in texts] == expected


@pytest.mark.parametrize(
    "pattern", ["(a+)+b", "(a|aa)+$b", "(?:a?){1}a{0,30}a{30}b", "a*a*a*a*a*b", "(.+)*x", "((a+)*a)*b"]
)
def test_a_search_takes_steps_in_proportion_to_the_text(pattern: str) -> None:
    begin = time.thread_time()
    assert java_regex(pattern).find("a" * 3_000) is None
    assert time.thread_time() - begin < 10  # 2 to the power of 3,000 steps otherwise; about 0.3 s


@pytest.mark.parametrize(
    ("pattern", "message"),
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
        ("(a*)*", "can match nothing"),
        (r"(a|\b)+", "can match nothing"),
        (r"(|\w){2,}", "can match nothing"),
        ("(?:(a?)(?:b{0}))*", "can match nothing"),
        ("^*", "can match nothing"),
        ("a{3,2}", "upper bound"),
        ("a\\", "too early"),
    ],
)
def test_the_error_names_the_refused_construct(pattern: str, message: str) -> None:
    with pytest.raises(RegexError, match=message):
        java_regex(pattern)


def drawn_pattern(drawn: random.Random, depth: int) -> str:
    """A pattern that means the same in Java and Python, apart from repetitions that are refused."""
    if depth == 0 or drawn.random() < 0.3:
        return drawn.choice(["a", "b", "[ab]", "[^a]", r"\d", r"\b", "(?i:A)", r"\A"])
    pieces = [drawn_pattern(drawn, depth - 1) for _ in range(drawn.randrange(1, 4))]
    opening = drawn.choice(["(", "(?:"])
    quantifier = drawn.choice(["", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?", "??", "{2,}"])
    return f"{opening}{drawn.choice(['', '|']).join(pieces)}){quantifier}"


def test_both_searches_find_the_same_as_pythons_re(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = random.Random(16)
    compared = 0
    while compared < 1_000:
        pattern = drawn_pattern(drawn, 3)
        text = "".join(drawn.choice("aabbA1 ") for _ in range(drawn.randrange(10)))
        try:
            ours = JavaRegex(pattern)
        except RegexError:
            continue
        compared += 1
        python = re.compile(pattern, re.ASCII).search(text)
        expected = None if python is None else [python.span(group) for group in range(ours.groups + 1)]
        for few_steps in (10_000_000, -1):
            monkeypatch.setattr(regex, "FEW_STEPS", few_steps)
            assert ours.find(text) == expected, (pattern, text, few_steps)


@pytest.mark.parametrize("few_steps", [10_000_000, -1])
@pytest.mark.parametrize(
    ("pattern", "text", "begins"),
    [
        ("(?m)^", "", []),
        ("(?m)^", "a\n", [0]),
        ("^", "", [0]),
        (r"\B", "", [0]),
        (r"\b", "", []),
        (r"\B", "ab c", [1]),
        ("(a*)?", "ab", [0, 1, 2]),
        ("(a+)*b", "aab", [0]),
        ("(ab?)*", "aba", [0, 3]),
    ],
)
def test_matches_begin_where_java_17_begins_them(
    pattern: str, text: str, begins: list[int], few_steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regex, "FEW_STEPS", few_steps)
    assert [spans[0][0] for spans in JavaRegex(pattern).matches(text)] == begins


def test_word_edges_need_an_ascii_text() -> None:
    for pattern in (r"\bx", r"x\B"):
        with pytest.raises(RegexError, match="ASCII"):
            java_regex(pattern).find("é x")
    assert java_regex(r"\\b").find(r"é\b") == [(1, 3)]


@pytest.mark.parametrize(
    ("pattern", "uncertain_groups"),
    [("((a)b)+", {2}), ("(?:(a))+", {1}), ("(a)*(b)?((c))?", set()), ("((a)(b)){1}(c)", {2, 3}), ("(?:(a)|b)*", {1})],
)
def test_groups_inside_a_repetition_are_uncertain(pattern: str, uncertain_groups: set[int]) -> None:
    assert java_regex(pattern).uncertain_groups == uncertain_groups


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("regexp_extract(s, '((a)b)+', 2) = 'a'", "group 2"),
        ("regexp_replace(s, '((a)b)+', '$2') = 'a'", "group 2"),
        ("s RLIKE '(a*)*'", "can match nothing"),
        ("s RLIKE '\\\\bab'", "ASCII"),
        ("repeat('a', 300000) RLIKE 'a{4900}b'", "too large for the text"),
    ],
)
def test_a_refused_pattern_or_text_is_an_error_of_the_query(condition: str, message: str) -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY x ALL ROWS PER MATCH PATTERN (A) DEFINE A AS {condition})"
    with pytest.raises(OstinatoError, match=message) as error:
        ost.match(text, pa.table({"x": [1], "s": ["abé"]}))
    assert error.value.code == "INVALID_REGEX"


def test_all_matches_of_a_text_share_failed_attempts() -> None:
    begin = time.thread_time()
    assert len(list(java_regex("a.*b|a").matches("a" * 20_000))) == 20_000
    assert time.thread_time() - begin < 10  # 600 million steps otherwise; about 0.1 s


def test_a_search_of_our_own_stops_with_its_call() -> None:
    def search() -> None:
        flag = new_stop_flag()
        flag[0] = 1
        follow(flag)
        java_regex("(a+)+b").find("a" * 10_000)

    with pytest.raises(Stopped):
        copy_context().run(search)


def test_counted_repetitions_count_as_steps() -> None:
    assert java_regex("a{4900}b").cost.steps(300_000) > regex.FEW_STEPS
    assert java_regex(r"\d{4}-\d{2}-\d{2}").cost.steps(10_000) < regex.FEW_STEPS


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
