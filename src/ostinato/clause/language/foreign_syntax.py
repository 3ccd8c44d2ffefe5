"""Forms of other engines that a clause or Spark refuses -> what to write instead. Read after an error only."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from ostinato.errors import QueryError
from ostinato.expressions.cursor import Cursor
from ostinato.expressions.lexer import Kind, Token, tokenize

_TEXT = "<text>"
"""Stands for a text in single quotes."""
_DOUBLE_QUOTED = "<double-quoted>"
"""Stands for a text in double quotes."""
_NAME = "<name>"
"""Stands for a name."""
_ANY = "<any>"
"""Stands for any token."""
_OPERAND = "<operand>"
"""Stands for a name, a number or a text."""

Word = str | frozenset[str]


@dataclass(frozen=True, slots=True)
class _Form:
    """Tokens that other engines read and this clause doesn't, and what to write."""

    words: tuple[Word, ...]
    message: str
    hint: str


_TYPED = frozenset("TINYINT SMALLINT INT INTEGER BIGINT REAL FLOAT DOUBLE DECIMAL NUMERIC VARCHAR CHAR JSON".split())
_UNITS = frozenset("YEAR QUARTER MONTH WEEK DAY HOUR MINUTE SECOND".split())
_SEMANTICS = frozenset({"RUNNING", "FINAL"})
_NO_ROW_PER_MATCH = "every match has one row, an empty match too; unmatched rows need ALL ROWS PER MATCH"

_FORMS = (
    _Form(("AT", "TIME", "ZONE"), "Spark's times have no zone of their own", "write from_utc_timestamp(t, 'zone')"),
    _Form(("SIMILAR", "TO"), "Spark SQL has no SIMILAR TO", "write x RLIKE 'regular expression'"),
    _Form(("BETWEEN", "SYMMETRIC", _ANY), "Spark SQL has no SYMMETRIC", "write BETWEEN least(a, b) AND greatest(a, b)"),
    _Form(("BETWEEN", "ASYMMETRIC", _ANY), "Spark SQL has no ASYMMETRIC", "leave it out: it is the default"),
    _Form(("*", "*"), "Spark SQL has no operator **", "write power(x, y)"),
    _Form(("^", "="), "Spark SQL has no operator ^=", "write <>"),
    _Form((_OPERAND, "MOD", _OPERAND), "MOD isn't an operator of Spark SQL", "write a % b, or mod(a, b)"),
    _Form(("TO", _UNITS, ")"), "Spark SQL rounds times with a function", "write date_trunc('HOUR', t)"),
    _Form((_TYPED, _TEXT), "a literal of this type is written as a cast", "write CAST('text' AS type)"),
    _Form(("Q", _TEXT), "Spark SQL has no q'...'", "double the quote: 'it''s'"),
    _Form(("N", _TEXT), "Spark SQL has no N'...'", "leave the N out: every text is Unicode"),
    _Form((_NAME, ":", _NAME), "fields of JSON can't be read with a colon", "write get_json_object(x, '$.field')"),
    _Form((_SEMANTICS, _NAME, "AS"), "RUNNING and FINAL stand before a function", "write FINAL LAST(x)"),
    _Form((_SEMANTICS, _NAME, ".", _NAME), "RUNNING and FINAL stand before a function", "write FINAL LAST(A.x)"),
    _Form(("SHOW", "UNMATCHED"), "rows outside of matches have other words", "write WITH UNMATCHED ROWS"),
    _Form(("WITH", "TIMEOUT", "ROWS"), "matches that timed out have other words", "write SHOW TIMEOUT MATCHES"),
    _Form(("MATCH", "SHOW", "EMPTY"), "SHOW EMPTY MATCHES goes with ALL ROWS PER MATCH", _NO_ROW_PER_MATCH),
    _Form(("MATCH", "OMIT", "EMPTY"), "OMIT EMPTY MATCHES goes with ALL ROWS PER MATCH", _NO_ROW_PER_MATCH),
    _Form(("MATCH", "WITH", "UNMATCHED"), "WITH UNMATCHED ROWS goes with ALL ROWS PER MATCH", _NO_ROW_PER_MATCH),
    _Form(("TO", "CURRENT", "ROW"), "a match can't be followed by one from the same row", "write ALL MATCHES"),
    _Form(("SKIP", "PAST"), "the search goes on behind a row", "write SKIP PAST LAST ROW"),
)

_AROUND = (
    _Form(("FETCH", frozenset({"FIRST", "NEXT"})), "Spark SQL has no FETCH", "write LIMIT 10"),
    _Form(("SELECT", "TOP", _OPERAND), "Spark SQL has no TOP", "write LIMIT 10 at the end"),
    _Form(("OFFSET", _OPERAND, frozenset({"ROW", "ROWS"})), "OFFSET takes a number alone", "write OFFSET 10"),
    _Form(("*", "EXCLUDE", "("), "Spark SQL has no EXCLUDE", "write SELECT * EXCEPT (name)"),
    _Form(("(", "+", ")"), "Spark SQL has no (+)", "write a LEFT JOIN b ON condition"),
    _Form((_DOUBLE_QUOTED,), "a name isn't written in double quotes here", "write `name`"),
    *_FORMS,
)
"""Forms in the text around a clause, which Spark refuses."""

_IN_PATTERN = {
    ",": "a blank means 'followed by': A B",
    "->": "a blank means 'followed by': A B",
    ".": "a variable that isn't in DEFINE takes any row: PATTERN (A ANY_ROW B)",
    "[": "one of several variables is written (A | B)",
    "&": "rows in any order are written PERMUTE(A, B)",
    "&&": "rows in any order are written PERMUTE(A, B)",
    "!": "give the rows in between a variable whose condition excludes them: PATTERN (A OTHER* B)",
    "||": "one of several variables is written (A | B)",
}


def pattern_hint(symbol: str, within: bool) -> str | None:
    """The hint for a symbol that PATTERN doesn't have. `within`: the parser read the word WITHIN as a variable."""
    if within:
        return "WITHIN stands behind the pattern: PATTERN (A B) WITHIN INTERVAL '1' HOUR"
    return _IN_PATTERN.get(symbol)


@contextmanager
def foreign_forms(cursor: Cursor) -> Iterator[None]:
    """A syntax error inside that another engine's form causes says what to write instead."""
    try:
        yield
    except QueryError as error:
        if error.code == "SYNTAX_ERROR":
            _explain(error, cursor.tokens, _FORMS)
        raise


def explain_around(error: QueryError) -> None:
    """Completes Spark's syntax error for the text around a clause."""
    if error.text is not None and error.span is not None:
        _explain(error, tokenize(error.text), _AROUND)


def _explain(error: QueryError, tokens: list[Token], forms: tuple[_Form, ...]) -> None:
    start = error.span.start if error.span is not None else 0
    at = next((i for i, token in enumerate(tokens) if token.span.end > start), len(tokens) - 1)
    if _pattern_around(tokens, at):
        return
    opened = _bracket_around(tokens, at)
    if opened is not None:
        word = tokens[opened - 1]
        error.message, error.hint = f"{word.text} isn't followed by brackets", f"write {word.text.lower()}(1, 2)"
        error.span = word.span.to(tokens[opened].span)
        return
    for form in forms:
        for first in range(max(at - len(form.words) + 1, 0), at + 1):
            written = tokens[first : first + len(form.words)]
            if len(written) == len(form.words) and all(map(_is, form.words, written)):
                error.message, error.hint = form.message, form.hint
                error.span = written[0].span.to(written[-1].span)
                return


def _is(word: Word, token: Token) -> bool:
    if word == _ANY:
        return True
    if word in (_TEXT, _DOUBLE_QUOTED):
        return token.kind is (Kind.STRING if word == _TEXT else Kind.DOUBLE_QUOTED)
    if word == _NAME:
        return token.is_name
    if word == _OPERAND:
        return token.is_name or token.kind in (Kind.NUMBER, Kind.STRING)
    return token.upper in word if isinstance(word, frozenset) else token.upper == word


def _opening(tokens: list[Token], at: int, opening: str, closing: str) -> int | None:
    """The innermost opening symbol before this token that isn't closed before it."""
    depth = 0
    for back in range(at - 1, -1, -1):
        depth += (tokens[back].upper == closing) - (tokens[back].upper == opening)
        if depth < 0:
            return back
    return None


def _pattern_around(tokens: list[Token], at: int) -> bool:
    """Whether the token stands inside the parentheses of PATTERN."""
    opened = _opening(tokens, at, "(", ")")
    while opened is not None and tokens[opened - 1].upper != "PATTERN":
        opened = _opening(tokens, opened, "(", ")")
    return bool(opened)


def _bracket_around(tokens: list[Token], at: int) -> int | None:
    """The bracket of `ARRAY[ ... ]` or `MAP[ ... ]` around the token."""
    opened = _opening(tokens, at, "[", "]")
    return opened if opened and tokens[opened - 1].upper in ("ARRAY", "MAP") else None
