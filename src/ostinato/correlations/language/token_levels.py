"""Text of a statement -> its tokens by level of parentheses. In its level, a group in parentheses is one token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ostinato.errors import Span
from ostinato.expressions.lexer import Token, tokenize

OUTERMOST = -1
"""The level that no parentheses enclose."""


class Levels:
    """The tokens of a text whose parentheses are known to match."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.around: list[int] = []
        """For each token, the index of the ( that encloses it."""
        self.closing: dict[int, int] = {}
        opened = [OUTERMOST]
        for at, token in enumerate(self.tokens):
            if token.upper == ")":
                self.closing[opened.pop()] = at
            self.around.append(opened[-1])
            if token.upper == "(":
                opened.append(at)

    def level(self, opening: int) -> list[int]:
        """The indexes of one level's tokens, left to right. Of an inner group only the opening parenthesis counts."""
        end = len(self.tokens) - 1 if opening == OUTERMOST else self.closing[opening]
        return list(self._between(opening + 1, end))

    def _between(self, at: int, end: int) -> Iterator[int]:
        while at < end:
            yield at
            at = self.closing.get(at, at) + 1

    def word(self, at: int) -> str:
        """The keyword or symbol at an index; empty for a field, as in `live.end`."""
        return "" if at and self.tokens[at - 1].upper == "." else self.tokens[at].upper

    def token(self, at: int) -> Token:
        return self.tokens[at]

    def span(self, positions: Sequence[int]) -> Span:
        """The characters from the first token to the last, with all of its group if it opens one."""
        last = positions[-1]
        return self.tokens[positions[0]].span.to(self.tokens[self.closing.get(last, last)].span)

    def conjuncts(self, positions: Sequence[int]) -> list[Sequence[int]]:
        """The operands of AND in a condition, also those inside parentheses.

        >>> levels = Levels("a AND (b BETWEEN 1 AND 2 AND (c OR d)) AND NOT (e AND f)")
        >>> spans = [levels.span(tokens) for tokens in levels.conjuncts(levels.level(OUTERMOST))]
        >>> [levels.text[span.start : span.end] for span in spans]
        ['a', 'b BETWEEN 1 AND 2', 'c OR d', 'NOT (e AND f)']
        """
        operands = self._split_at_and(positions)
        if len(operands) > 1:
            return [conjunct for operand in operands for conjunct in self.conjuncts(operand)]
        if len(positions) == 1 and positions[0] in self.closing:
            inside = self.level(positions[0])
            if inside and self.word(inside[0]) not in ("SELECT", "WITH", "FROM"):
                return self.conjuncts(inside)
        return [positions] if positions else []

    def _split_at_and(self, positions: Sequence[int]) -> list[Sequence[int]]:
        operands: list[list[int]] = [[]]
        cases = ranges = 0
        for at in positions:
            word = self.word(at)
            cases += (word == "CASE") - (word == "END" and cases > 0)
            if cases == 0 and word == "OR":
                return [positions]
            if cases == 0 and word == "AND" and ranges == 0:
                operands.append([])
                continue
            if cases == 0:
                ranges += (word == "BETWEEN") - (word == "AND")
            operands[-1].append(at)
        return [operand for operand in operands if operand]
