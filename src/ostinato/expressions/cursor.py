"""Text -> Cursor: a position among its tokens, with the steps that all our parsers share."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from ostinato.errors import QueryError, Span
from ostinato.expressions.lexer import Kind, Token, tokenize
from ostinato.expressions.syntax import Name

if TYPE_CHECKING:
    from ostinato.expressions.parameters import ParameterReader


class Cursor:
    """Reads tokens from left to right. Its errors show the text with a caret."""

    def __init__(
        self,
        text: str,
        *,
        double_quoted_identifiers: bool = False,
        parameters: ParameterReader | None = None,
        has_sub_queries: bool = False,
    ) -> None:
        self.text = text
        self.tokens = tokenize(text, double_quoted_identifiers=double_quoted_identifiers)
        self.at = 0
        self.parameters = parameters
        self.has_sub_queries = has_sub_queries

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def ahead(self, steps: int = 1) -> Token:
        return self.tokens[min(self.at + steps, len(self.tokens) - 1)]

    def sees(self, *words: str) -> bool:
        """Whether the next tokens are these keywords or symbols, in this order."""
        if self.token.upper != words[0]:
            return False
        return all(self.ahead(i).upper == words[i] for i in range(1, len(words)))

    def take(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.at += 1
        return token

    def accept(self, *words: str) -> bool:
        """Steps over these words if they come next, and says whether they did."""
        if self.sees(*words):
            self.at += len(words)
            return True
        return False

    def expect(self, *words: str, hint: str | None = None) -> Token:
        """Steps over these words and returns the first; an error if something else comes next."""
        first = self.token
        for word in words:
            if self.token.upper != word:
                self.fail(f"expected {word}, found {self.describe()}", hint=hint)
            self.take()
        return first

    def expect_end(self, construct: str, *, hint: str | None = None) -> None:
        """Fails if tokens follow the construct that was read."""
        if self.token.kind is not Kind.END:
            self.fail(f"expected the end of {construct}, found {self.describe()}", hint=hint)

    def name(self, role: str, *, double_quotes: bool = True) -> tuple[Name, Span]:
        """An identifier, quoted or not. `role` describes it in the error, such as "a column"."""
        token = self.token
        if token.kind is Kind.WORD:
            return Name(self.take().text), token.span
        if token.kind is not Kind.BACK_QUOTED and not (token.kind is Kind.DOUBLE_QUOTED and double_quotes):
            self.fail(f"expected {role}, found {self.describe()}")
        return Name(self.take().name, quoted=True), token.span

    def describe(self) -> str:
        return "the end of the text" if self.token.kind is Kind.END else f"'{self.token.text}'"

    def fail(
        self, message: str, *, code: str = "SYNTAX_ERROR", span: Span | None = None, hint: str | None = None
    ) -> NoReturn:
        raise QueryError(code, message, text=self.text, span=span or self.token.span, hint=hint)
