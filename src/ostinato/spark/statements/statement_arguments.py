"""Checks of the arguments of `ost.sql`: DataFrames by name, and values of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ostinato.calls.options import shown
from ostinato.errors import QueryError, did_you_mean
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


def parameter_values(args: Any) -> Args:
    """`args` as Spark takes them."""
    if args is None or isinstance(args, Mapping):
        return None if args is None else dict(args)
    if isinstance(args, Iterable) and not isinstance(args, str | bytes):
        return list(args)
    raise QueryError("INVALID_OPTION", f"args is a dict or a list of values, not {shown(args)}")
