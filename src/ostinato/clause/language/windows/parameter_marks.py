"""Tokens of a statement -> the offsets of the `?` that are parameters."""

from __future__ import annotations

from ostinato.clause.language.windows.select_blocks import StatementTokens, pattern_windows


def parameter_marks(tokens: StatementTokens) -> list[int]:
    """The offsets of all `?` that are parameters. Inside PATTERN ( ... ), a `?` is a quantifier."""
    windows = [tokens.span(at, tokens.closing[at]) for at in pattern_windows(tokens)]
    marks: list[int] = []
    clauses: list[int] = []  # the depths of the open clauses
    depth, pattern = 0, None
    word = ""  # the one before
    for token in tokens.tokens:
        in_window = any(span.start <= token.span.start < span.end for span in windows)
        if token.upper == "(":
            depth += 1
            if word == "MATCH_RECOGNIZE":
                clauses.append(depth)
            elif word == "PATTERN" and (clauses or in_window) and pattern is None:
                pattern = depth
        elif token.upper == ")":
            if clauses and clauses[-1] == depth:
                clauses.pop()
            pattern = None if pattern == depth else pattern
            depth -= 1
        elif token.upper == "?" and pattern is None:
            marks.append(token.span.start)
        word = token.upper
    return marks
