"""Text of a regular expression over event types -> tree. Errors have a caret."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.errors import QueryError, Span, did_you_mean


@dataclass(frozen=True, slots=True)
class Letter:
    """One event of a type."""

    type: str


@dataclass(frozen=True, slots=True)
class TypeSequence:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class TypeChoice:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class TypeRepeat:
    """`*`, `+` or `?`."""

    body: Tree
    at_least_once: bool
    more_than_once: bool


Tree = Letter | TypeSequence | TypeChoice | TypeRepeat

MAX_DEPTH = 50
MAX_TYPES = 1_000
"""Largest number of types in an expression. Building its automaton takes quadratic time."""
_REPEATS = {"*": (False, True), "+": (True, True), "?": (False, False)}


def parse(text: str, declared: frozenset[str] = frozenset()) -> Tree:
    """Parses the expression. A run of letters is one type if it is declared or in backquotes, else one type per letter.

    >>> parse("A(B|C)*")
    TypeSequence(parts=(Letter(type='A'), TypeRepeat(body=TypeChoice(parts=(Letter(type='B'), Letter(type='C'))), ...)))
    >>> parse("order item+", frozenset({"order", "item"})).parts[0]
    Letter(type='order')
    """
    tokens = _tokens(text, declared)
    written = [token for token in tokens if token.is_type]
    if len(written) > MAX_TYPES:
        raise _error(text, written[MAX_TYPES], f"an expression has at most {MAX_TYPES:,} types")
    parser = _TypeParser(text, tokens)
    tree = parser.choice()
    if (left := parser.peek()) is not None:
        raise _error(
            text, left, "nothing is open that this could close" if left.text == ")" else "no expression has it"
        )
    return tree


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    span: Span
    is_type: bool


def _tokens(text: str, declared: frozenset[str]) -> list[_Token]:
    tokens: list[_Token] = []
    position = 0
    while position < len(text):
        start, char = position, text[position]
        position += 1
        if char.isspace():
            continue
        if char == "`":
            end = text.find("`", position)
            if end <= position:
                token = _Token(char, Span(start, len(text)), False)
                raise _error(text, token, "a name in backquotes has a letter or more, and a second backquote")
            tokens.append(_Token(text[position:end], Span(start, end + 1), True))
            position = end + 1
        elif char.isalnum() or char == "_":
            while position < len(text) and (text[position].isalnum() or text[position] == "_"):
                position += 1
            tokens += _types_of_run(text, Span(start, position), declared)
        else:
            tokens.append(_Token(char, Span(start, position), False))
    return tokens


def _types_of_run(text: str, span: Span, declared: frozenset[str]) -> list[_Token]:
    run = text[span.start : span.end]
    if run in declared:
        return [_Token(run, span, True)]
    letters = [_Token(char, Span(span.start + i, span.start + i + 1), True) for i, char in enumerate(run)]
    several = {name for name in declared if len(name) > 1}
    if len(run) > 1 and several and not declared.issuperset(run):
        hint = did_you_mean(run, declared) or "types are those declared, or those that have a probability"
        raise QueryError("SUMMARY_UNKNOWN_TYPE", f"'{run}' is no declared type", hint=hint, text=text, span=span)
    return letters


def _error(text: str, token: _Token | None, why: str) -> QueryError:
    if token is None:
        described, span = "the end", Span(len(text), len(text) + 1)
    else:
        described, span = f"'{token.text}'", token.span
    hint = "types, ( ), |, *, + and ? make an expression, such as a(b*c)*d(e|f)g*"
    return QueryError("SUMMARY_EXPRESSION", f"unexpected {described}: {why}", hint=hint, text=text, span=span)


@dataclass(slots=True)
class _TypeParser:
    text: str
    tokens: list[_Token]
    position: int = 0
    open_groups: int = 0

    def peek(self) -> _Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _is(self, text: str) -> bool:
        token = self.peek()
        return token is not None and not token.is_type and token.text == text

    def choice(self) -> Tree:
        parts = [self._sequence()]
        while self._is("|"):
            self.position += 1
            parts.append(self._sequence())
        return parts[0] if len(parts) == 1 else TypeChoice(tuple(parts))

    def _sequence(self) -> Tree:
        parts: list[Tree] = []
        while (token := self.peek()) is not None and (token.is_type or token.text == "("):
            parts.append(self._repeated())
        if not parts:
            raise _error(self.text, self.peek(), "a type or a group is needed here")
        return parts[0] if len(parts) == 1 else TypeSequence(tuple(parts))

    def _repeated(self) -> Tree:
        body = self._single()
        while (token := self.peek()) is not None and not token.is_type and token.text in _REPEATS:
            at_least_once, more_than_once = _REPEATS[token.text]
            if isinstance(body, TypeRepeat):  # (A?)+ is A*
                body = TypeRepeat(
                    body.body, body.at_least_once and at_least_once, body.more_than_once or more_than_once
                )
            else:
                body = TypeRepeat(body, at_least_once, more_than_once)
            self.position += 1
        return body

    def _single(self) -> Tree:
        token = self.tokens[self.position]
        self.position += 1
        if token.is_type:
            return Letter(token.text)
        self.open_groups += 1
        if self.open_groups > MAX_DEPTH:
            raise _error(self.text, token, f"groups stand in one another at most {MAX_DEPTH} deep")
        body = self.choice()
        if not self._is(")"):
            raise _error(self.text, self.peek(), "a group is still open")
        self.open_groups -= 1
        self.position += 1
        return body
