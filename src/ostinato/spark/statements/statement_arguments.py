"""The arguments of `ost.sql`: DataFrames by name, and the values of the parameters in each part of the text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ostinato.calls.options import shown
from ostinato.clause.language.windows.parameter_marks import parameter_marks
from ostinato.clause.language.windows.select_blocks import StatementTokens, pattern_windows
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.expressions.lexer import tokenize
from ostinato.expressions.parameters import ParameterReader, Parameters
from ostinato.rows.arrow_tables import is_spark_dataframe
from ostinato.spark.shipping.sql_with_frames import Args


def check_tables(tables: Mapping[str, Any], options: Sequence[str]) -> None:
    """Every keyword that isn't an option is a table. Raises if it isn't a DataFrame, as for a misspelt option."""
    for name, table in tables.items():
        if is_spark_dataframe(table):
            continue
        if hasattr(table, "columns") or hasattr(table, "__arrow_c_stream__"):
            hint = "spark.createDataFrame(table) makes one of it; ost.match(query, table) needs no Spark"
            raise QueryError("NOT_A_TABLE", f"{name}= is a {type(table).__name__}, not a Spark DataFrame", hint=hint)
        hint = did_you_mean(name, options) or f"options are {', '.join(options)}; every other keyword is a DataFrame"
        raise QueryError("INVALID_OPTION", f"{name}={shown(table)} is neither an option nor a DataFrame", hint=hint)


def all_tables(tables: Any, more_tables: Mapping[str, Any]) -> dict[str, Any]:
    """The DataFrames of `tables=` and those given as keywords."""
    if tables is None:
        return dict(more_tables)
    if not isinstance(tables, Mapping):
        hint = 'tables={"sort": df} gives a DataFrame a name that is an option\'s'
        raise QueryError("INVALID_OPTION", f"tables is a dict of DataFrames by name, not {shown(tables)}", hint=hint)
    for name, table in tables.items():
        if not isinstance(name, str) or not is_spark_dataframe(table):
            message = f"tables has {shown(table)} for {shown(name)}, which isn't a DataFrame by its name"
            raise QueryError("NOT_A_TABLE", message)
        if name in more_tables:
            raise QueryError("INVALID_OPTION", f"the table '{name}' is given twice")
    return {**tables, **more_tables}


def parameter_values(args: Any) -> Args:
    """`args` as Spark takes them."""
    if args is None or isinstance(args, Mapping):
        return None if args is None else dict(args)
    if isinstance(args, Iterable) and not isinstance(args, str | bytes):
        return list(args)
    raise QueryError("INVALID_OPTION", f"args is a dict or a list of values, not {shown(args)}")


def clause_parameters(args: Args, text: str, body: Span) -> ParameterReader:
    """The values of the parameters inside a clause. Other values may be of kinds that only Spark knows."""
    if isinstance(args, dict):
        tokens = tokenize(text[body.start : body.end])
        names = {after.text for token, after in itertools.pairwise(tokens) if token.upper == ":"}
        return ParameterReader(Parameters.of({name: value for name, value in args.items() if name in names}))
    return ParameterReader(Parameters.of(args_inside(args, text, [body])))


def window_parameters(args: Args, text: str) -> Parameters:
    """The values of the parameters inside the windows of a statement. Others may be of kinds that only Spark knows."""
    if isinstance(args, list):
        tokens = StatementTokens(text)
        windows = [tokens.span(at, tokens.closing[at]) for at in pattern_windows(tokens)]
        marks = zip(parameter_marks(tokens), args, strict=False)
        inside = [any(span.start <= offset < span.end for span in windows) for offset, _ in marks]
        return Parameters.of([value if is_inside else None for is_inside, value in zip(inside, args, strict=False)])
    names = {after.text for token, after in itertools.pairwise(tokenize(text)) if token.upper == ":"}
    return Parameters.of({name: value for name, value in (args or {}).items() if name in names})


def args_inside(args: Args, text: str, spans: Sequence[Span]) -> Args:
    """The values of the parameters inside the spans, in the order of the spans. Values by name are for all."""
    if not isinstance(args, list):
        return args
    values = dict(zip(parameter_marks(StatementTokens(text)), args, strict=False))
    return [value for span in spans for offset, value in values.items() if span.start <= offset < span.end]


def args_outside(args: Args, text: str, spans: Sequence[Span]) -> Args:
    """The values of the parameters outside of the spans."""
    if not isinstance(args, list):
        return args
    values = dict(zip(parameter_marks(StatementTokens(text)), args, strict=False))
    rest = [value for offset, value in values.items() if not any(span.start <= offset < span.end for span in spans)]
    return [*rest, *args[len(values) :]]
