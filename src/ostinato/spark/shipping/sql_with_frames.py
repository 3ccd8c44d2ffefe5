"""SQL text with DataFrames in place of pieces of it -> Spark's answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from ostinato.errors import QueryError, Span
from ostinato.expressions.lexer import tokenize
from ostinato.spark.session.quiet import without_error_log
from ostinato.spark.shipping.row_errors import refusal

Args = dict[str, Any] | list[Any] | None
"""Values for `:name`, or for each `?` in turn."""


Piece = tuple[Span, str]
"""Characters of a statement, and what Spark gets instead. The text between pieces stays as it is."""


def ask_spark(
    spark: SparkSession, text: str, pieces: Sequence[Piece], frames: Mapping[str, DataFrame], args: Args
) -> DataFrame:
    """Spark's answer to the text with DataFrames in place of some pieces of it."""
    in_order = sorted(pieces, key=lambda piece: piece[0].start)
    written, at = [], 0
    for span, replacement in in_order:
        written += [_braces(text[at : span.start]), replacement]
        at = span.end
    written.append(_braces(text[at:]))
    with without_error_log():
        try:
            result = spark.sql("".join(written), args=args, **frames) if frames else spark.sql(text, args=args)
            _ = result.schema  # Connect analyses late: let errors show here
            return result
        except ParseException as error:
            raise _not_sql(error, text, [span for span, _ in in_order]) from None
        except AnalysisException as error:
            raise refusal(error, None, text) from None


def _braces(text: str) -> str:
    """Text that Spark's formatter gives back as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def _not_sql(error: ParseException, text: str, replaced: Sequence[Span]) -> QueryError:
    """Spark counts places in the text that it got: up to the first replaced piece they are those of ours."""
    found = re.search(r"\(line (\d+), pos (\d+)\)", str(error))
    span = None
    if found is not None:
        lines = text.split("\n")
        line, column = min(int(found[1]), len(lines)), int(found[2])
        start = sum(len(each) + 1 for each in lines[: line - 1]) + column
        span = Span(min(start, len(text)), min(start + 1, len(text)))
        if replaced and start > replaced[0].start:
            span = _only_place(str(error), text, replaced)
    return QueryError("SYNTAX_ERROR", refusal(error, None, None).message, text=text, span=span)


def _only_place(message: str, text: str, replaced: Sequence[Span]) -> Span | None:
    """Where the word that Spark stumbled over stands, if it stands in one place only."""
    near = re.search(r"near '([^']+)'", message)
    places = [
        token.span
        for token in tokenize(text)
        if near is not None
        and token.text == near[1]
        and not any(span.start <= token.span.start < span.end for span in replaced)
    ]
    return places[0] if len(places) == 1 else None
