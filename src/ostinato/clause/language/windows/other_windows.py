"""A WINDOW clause -> the windows that Spark knows, and the spans of those with a row pattern."""

from __future__ import annotations

import itertools

from ostinato.clause.language.windows.select_blocks import NamedWindow, SelectBlock, StatementTokens
from ostinato.errors import Span


def other_windows(tokens: StatementTokens, block: SelectBlock) -> list[NamedWindow]:
    """The windows without a row pattern."""
    patterns = {window.name.name.lower() for window in block.windows if window.has_pattern}
    return [
        window
        for window in block.windows
        if not window.has_pattern and tokens.tokens[window.opening].name.lower() not in patterns
    ]


def spans_of_patterns(tokens: StatementTokens, block: SelectBlock) -> list[Span]:
    """The windows with a row pattern, with a comma each, or the whole clause if it has no other window."""
    if "WINDOW" not in block.parts:
        return []
    part, windows, others = block.parts["WINDOW"], block.windows, other_windows(tokens, block)
    if not others:
        return [tokens.span(part.first, part.end)]
    last = windows.index(others[-1])
    pairs = itertools.pairwise(windows[: last + 1])
    spans = [Span(window.span.start, after.span.start) for window, after in pairs if window not in others]
    if windows[last + 1 :]:
        spans.append(Span(others[-1].span.end, windows[-1].span.end))
    return spans
