"""Replacements in a statement -> the same, with the names of fields for those that are arguments of `struct`."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.clause.language.windows.select_blocks import StatementTokens
from ostinato.errors import Span
from ostinato.expressions.render import quote

Piece = tuple[Span, str]
"""A span of the statement, and the text that Spark gets in its place."""


def with_field_names(tokens: StatementTokens, pieces: Sequence[Piece]) -> list[Piece]:
    """Spark would name the field of `struct(low OVER w)` after our column. Its name is `low`.

    As in Spark, fields without a name are `col1`, `col2`.
    """
    numbers = {token.span.start: at for at, token in enumerate(tokens.tokens)}
    return [
        (span, text if (name := _field_name(tokens, numbers.get(span.start), span)) is None else f"{text} AS {name}")
        for span, text in pieces
    ]


def _field_name(tokens: StatementTokens, first: int | None, span: Span) -> str | None:
    """The name of the field, if a whole argument of `struct` stands there."""
    if first is None or tokens.upper(first - 1) not in ("(", ","):
        return None
    opening = max((at for at, closing in tokens.closing.items() if at < first < closing), default=0)
    if tokens.upper(opening - 1) != "STRUCT":
        return None
    arguments = tokens.pieces(opening + 1, tokens.closing[opening])
    number = next(i for i, (_, end) in enumerate(arguments, start=1) if first < end)
    end = arguments[number - 1][1]
    if tokens.tokens[end - 1].span.end != span.end:
        return None
    value_end = next((at for at in tokens.top_level(first, end) if tokens.upper(at) == "OVER"), end)
    is_name = all(token.is_name or token.upper == "." for token in tokens.tokens[first:value_end])
    return quote(tokens.tokens[value_end - 1].name if is_name else f"col{number}")
