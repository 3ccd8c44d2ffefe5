"""SQL text in which DataFrames replace some pieces -> the DataFrame of its result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from ostinato.clause.language.foreign_syntax import explain_around
from ostinato.errors import QueryError, Span
from ostinato.expressions.lexer import tokenize
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.row_errors import refusal
from ostinato.spark.shipping.spark_input import raise_early

Args = dict[str, Any] | list[Any] | None
"""Values for `:name`, or for each `?` in turn."""


Piece = tuple[Span, str]
"""A span of a statement, and the text that Spark gets in its place."""


def ask_spark(
    spark: SparkSession, text: str, pieces: Sequence[Piece], frames: Mapping[str, DataFrame], args: Args
) -> DataFrame:
    """The result of the text with some pieces replaced. `frames` are the DataFrames that replacements name."""
    in_order = sorted(pieces, key=lambda piece: piece[0].start)
    written, end = [], 0
    for span, replacement in in_order:
        written += [_braces(text[end : span.start]), replacement]
        end = span.end
    written.append(_braces(text[end:]))
    with without_error_log():
        try:
            return raise_early(
                spark.sql("".join(written), args=args, **frames) if frames else spark.sql(text, args=args)
            )
        except ParseException as error:
            raise _not_sql(error, text, [span for span, _ in in_order]) from None
        except AnalysisException as error:
            raise refusal(error, None, text) from None


def _braces(text: str) -> str:
    """The text with braces doubled, which Spark's formatter turns back."""
    return text.replace("{", "{{").replace("}", "}}")


def _not_sql(error: ParseException, text: str, replaced: Sequence[Span]) -> QueryError:
    """Spark's parse error as ours. Spark's position is right for our text up to the first replaced piece."""
    position = re.search(r"\(line (\d+), pos (\d+)\)", str(error))
    span = None
    if position is not None:
        lines = text.split("\n")
        row, column = min(int(position[1]), len(lines)), int(position[2])
        start = sum(len(line) + 1 for line in lines[: row - 1]) + column
        span = Span(min(start, len(text)), min(start + 1, len(text)))
        if replaced and start > replaced[0].start:
            span = _only_occurrence(str(error), text, replaced)
    refused = refusal(error, None, None)
    ours = QueryError("SYNTAX_ERROR", refused.message, text=text, span=span, hint=refused.hint)
    explain_around(ours)
    return ours


def _only_occurrence(message: str, text: str, replaced: Sequence[Span]) -> Span | None:
    """The span of the word that Spark's error names, if it occurs once outside of the replaced pieces."""
    near = re.search(r"near '([^']+)'", message)
    occurrences = [
        token.span
        for token in tokenize(text)
        if near is not None
        and token.text == near[1]
        and not any(span.start <= token.span.start < span.end for span in replaced)
    ]
    return occurrences[0] if len(occurrences) == 1 else None
