"""SQL text -> tokens with their spans in the text. The lexer drops comments and blanks and interprets nothing."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace

from ostinato.errors import QueryError, Span


class Kind(enum.Enum):
    WORD = "word"
    BACK_QUOTED = "back-quoted name"
    DOUBLE_QUOTED = "double-quoted text"
    STRING = "string"
    NUMBER = "number"
    SYMBOL = "symbol"
    END = "end of text"


@dataclass(frozen=True, slots=True)
class Token:
    kind: Kind
    text: str
    span: Span

    @property
    def upper(self) -> str:
        """The text in upper case, to compare with keywords and symbols; empty for quoted tokens and numbers."""
        return self.text.upper() if self.kind in (Kind.WORD, Kind.SYMBOL) else ""

    @property
    def is_name(self) -> bool:
        """A word or a quoted identifier."""
        return self.kind in (Kind.WORD, Kind.BACK_QUOTED)

    @property
    def name(self) -> str:
        """The identifier without its quotes."""
        if self.kind in (Kind.BACK_QUOTED, Kind.DOUBLE_QUOTED):
            quote = self.text[0]
            return self.text[1:-1].replace(quote * 2, quote)
        return self.text


SYMBOLS = ("<=>", ">>>", "<>", "!=", ">=", "<=", "==", "||", "->", "=>", "::", "<<", ">>")
"""Symbols of more than one character, longest first. Not `{-` and `*?`: patterns read those characters one by one."""

MAX_NUMBER_CHARACTERS = 1000
"""Enough for any double written out."""

_QUOTES = {"'": Kind.STRING, '"': Kind.DOUBLE_QUOTED, "`": Kind.BACK_QUOTED}


def tokenize(text: str, *, double_quoted_identifiers: bool = False) -> list[Token]:
    """All tokens and a closing END. With `double_quoted_identifiers`, double quotes are the same as back quotes.

    >>> [token.text for token in tokenize("A.price >= 1.5 -- a comment")]
    ['A', '.', 'price', '>=', '1.5', '']
    """
    tokens = [*_tokens(text), Token(Kind.END, "", Span(len(text), len(text)))]
    if not double_quoted_identifiers:
        return tokens
    return [replace(token, kind=Kind.BACK_QUOTED) if token.kind is Kind.DOUBLE_QUOTED else token for token in tokens]


def first_token(text: str) -> Token:
    """The first token, without reading the rest; END if there is none."""
    return next(_tokens(text), None) or Token(Kind.END, "", Span(len(text), len(text)))


def _tokens(text: str) -> Iterator[Token]:
    _check_text(text)
    at, size = 0, len(text)
    while at < size:
        char = text[at]
        if char.isspace():
            at += 1
        elif text.startswith("--", at):
            newline = text.find("\n", at)
            at = size if newline < 0 else newline
        elif text.startswith("/*", at):
            at = _end_of_comment(text, at)
        else:
            kind, end = _token_at(text, at)
            yield Token(kind, text[at:end], Span(at, end))
            at = end


def _check_text(text: str) -> None:
    """Refuses text that can't be written as UTF-8, which Arrow and Spark use."""
    if not isinstance(text, str):
        raise QueryError("NOT_A_QUERY", f"expected text, got {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        message = f"the text contains a lone surrogate, {text[error.start]!r}, which UTF-8 can't write"
        span, hint = Span(error.start, error.end), "surrogates come in pairs; was a file read as UTF-16?"
        raise QueryError("TEXT_NOT_UNICODE", message, text=text, span=span, hint=hint) from None


def _token_at(text: str, at: int) -> tuple[Kind, int]:
    char = text[at]
    if char in _QUOTES:
        return _QUOTES[char], _end_of_quoted(text, at, at)
    if char in "rRxX" and at + 1 < len(text) and text[at + 1] in "'\"":
        return Kind.STRING, _end_of_quoted(text, at + 1, at, raw=char in "rR")
    if _is_digit(text, at) or (char == "." and _is_digit(text, at + 1)):
        return Kind.NUMBER, _end_of_number(text, at)
    if char.isalpha() or char == "_":
        end = at + 1
        while end < len(text) and (text[end].isalnum() or text[end] == "_"):
            end += 1
        return Kind.WORD, end
    for symbol in SYMBOLS:
        if text.startswith(symbol, at):
            return Kind.SYMBOL, at + len(symbol)
    return Kind.SYMBOL, at + 1


def _end_of_comment(text: str, at: int) -> int:
    depth, here = 0, at
    while here < len(text):
        if text.startswith("/*", here):
            depth, here = depth + 1, here + 2
        elif text.startswith("*/", here):
            depth, here = depth - 1, here + 2
            if depth == 0:
                return here
        else:
            here += 1
    raise QueryError(
        "SYNTAX_ERROR", "this comment has no end", text=text, span=Span(at, at + 2), hint="close it with */"
    )


def _end_of_quoted(text: str, at: int, start: int, *, raw: bool = False) -> int:
    quote, here = text[at], at + 1
    escapes = quote != "`" and not raw
    while here < len(text):
        if escapes and text[here] == "\\":
            here += 2
        elif text[here] != quote:
            here += 1
        elif not raw and text.startswith(quote * 2, here):
            here += 2
        else:
            return here + 1
    raise QueryError("SYNTAX_ERROR", f"the closing {quote} is missing", text=text, span=Span(start, start + 1))


def _end_of_number(text: str, at: int) -> int:
    end = _end_of_digits(text, at)
    if text.startswith(".", end) and not text.startswith("..", end):
        end = _end_of_digits(text, end + 1)
    if end < len(text) and text[end] in "eE":
        digits = end + 2 if text[end + 1 : end + 2] in ("+", "-") else end + 1
        if _is_digit(text, digits):
            end = _end_of_digits(text, digits)
    if end - at > MAX_NUMBER_CHARACTERS:
        raise QueryError(
            "INVALID_LITERAL",
            f"a number has {end - at} characters, more than {MAX_NUMBER_CHARACTERS}",
            text=text,
            span=Span(at, at + 1),
            hint="write it with an exponent",
        )
    for suffix in ("bd", "l", "s", "y", "d", "f"):
        after = end + len(suffix)
        if text[end:after].lower() == suffix and not (
            text[after : after + 1].isalnum() or text[after : after + 1] == "_"
        ):
            return after
    return end


def _is_digit(text: str, at: int) -> bool:
    """Whether an ASCII digit stands there. Spark takes no other digits."""
    return "0" <= text[at : at + 1] <= "9"


def _end_of_digits(text: str, at: int) -> int:
    while _is_digit(text, at):
        at += 1
    return at
