"""Checks of a correlation before its stream starts. Errors say how to fix it."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import NoReturn

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as s

from ostinato.calls.options import true_or_false, whole_number
from ostinato.errors import QueryError, Span
from ostinato.expressions.lexer import tokenize
from ostinato.spark.correlations.correlation_checkpoint import CorrelationCheckpoint
from ostinato.spark.correlations.correlation_dataframe import SparkCorrelation
from ostinato.spark.correlations.correlation_definition import CorrelationDefinition, the_correlation
from ostinato.spark.correlations.correlation_query import answer_of, check_archive_is_there
from ostinato.spark.correlations.stream_archive import Source, read_source
from ostinato.streams.stream_settings import MOST_BUCKETS


def refuse_option(message: str, hint: str) -> NoReturn:
    raise QueryError("INVALID_OPTION", message, hint=hint)


def check_options(archive: Source, *, write_archive: bool, buckets: int) -> None:
    """Raises for options that contradict one another."""
    if isinstance(archive, DataFrame) and archive.isStreaming:
        refuse_option("the archive can't be a stream", "a path, a batch DataFrame, or a function that gives one")
    if write_archive and not isinstance(archive, str):
        refuse_option("write_archive needs a path to write to", "archive='...'")
    true_or_false("write_archive", write_archive)
    whole_number("buckets", buckets, most=MOST_BUCKETS)


def check_output(definition: CorrelationDefinition, spark: SparkSession, *, writes_files: bool) -> None:
    """Raises if the text around the correlation can't run batch by batch, or its rows can't be written."""
    if not definition.writes_archive:
        check_archive_is_there(definition.query, definition.occurrence, definition.archive_columns)
    columns = check_answer(definition.query, definition.plan(spark))
    if writes_files:
        check_file_columns(definition.query, columns)


def check_answer(text: str, correlation: SparkCorrelation) -> list[str]:
    """The columns of the answer. Raises if the text can't run batch by batch."""
    _check_plain_select(text)
    spark = correlation.live.df.sparkSession
    empty = answer_of(text, correlation.measured(spark.createDataFrame([], correlation.pairs.schema)))
    if empty.take(1):  # only an aggregate gives a row for no rows
        _refuse(text, Span(0, len("SELECT")), "an aggregate over all results never ends on a stream")
    return empty.columns


def check_file_columns(text: str, columns: list[str]) -> None:
    """Raises if two columns have one name."""
    twice = [name for name, count in Counter(name.lower() for name in columns).items() if count > 1]
    if twice:
        occurrence = the_correlation(text)
        raise QueryError(
            "CORRELATION_NOT_SUPPORTED",
            f"files can't hold two columns of the name '{twice[0]}'",
            text=text,
            span=occurrence.stars[0] if occurrence.stars else None,
            hint=f"give the columns names of their own: {occurrence.live_alias}.{twice[0]}, ...",
        )


def _check_plain_select(text: str) -> None:
    """Raises unless the text is SELECT list FROM the two clauses [WHERE condition]."""
    occurrence = the_correlation(text)
    tokens = tokenize(text)
    outside = [token for token in tokens if not occurrence.pair.start <= token.span.start < occurrence.pair.end]
    before = [token for token in outside if token.span.start < occurrence.pair.start]
    if before[0].upper != "SELECT" or before[-1].upper != "FROM" or [t.upper for t in before].count("SELECT") > 1:
        _refuse(text, before[0].span, "the correlation stands inside of another query or beside another table")
    if text[occurrence.end.start : occurrence.end.end] not in ("", ";"):
        _refuse(text, occurrence.end, "this would be done for each batch by itself")
    for one, other in itertools.pairwise(outside):
        if (one.upper, other.upper) in (("SELECT", "DISTINCT"), ("OVER", "(")):
            _refuse(text, one.span.to(other.span), "this would be done for each batch by itself")


def _refuse(text: str, span: Span, message: str) -> NoReturn:
    raise QueryError(
        "CORRELATION_NOT_SUPPORTED",
        f"on a stream a correlation is SELECT list FROM live JOIN archive ON condition [WHERE condition]: {message}",
        text=text,
        span=span,
        hint="let the stream write its pairs, and run the rest of the query on these",
    )


def check_archive_is_free(definition: CorrelationDefinition, checkpoint: CorrelationCheckpoint) -> None:
    """Raises if another stream wrote this archive: a new stream would overwrite it, from batch 0 on."""
    if not definition.writes_archive or not checkpoint.is_new:
        return
    path = str(definition.archive_path)
    if read_source(checkpoint.spark, path, s.StructType()).take(1):
        refuse_option(
            f"the archive {path} holds rows already, and the checkpoint {checkpoint.path} is new",
            "name another folder, or the checkpoint of the stream that wrote this one",
        )
