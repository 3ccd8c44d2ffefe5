"""Sub-queries in MEASURES and DEFINE -> their values. Spark evaluates each once, before matching."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NoReturn

from pyspark.sql import DataFrame
from pyspark.sql import types as s

from ostinato.clause.query.clause import MatchRecognize
from ostinato.errors import QueryError, Span
from ostinato.expressions.argument_parser import MAX_LIST
from ostinato.expressions.python_literals import python_literal
from ostinato.expressions.render import quote
from ostinato.expressions.syntax import Cast, Expr, Literal, Operator, SubQuery, rebuild

_SUFFIXES: dict[type[s.DataType], str] = {
    s.ByteType: "Y",
    s.ShortType: "S",
    s.IntegerType: "",
    s.LongType: "L",
    s.FloatType: "F",
}
_AS_THEY_ARE = (s.BooleanType, s.DoubleType, s.DecimalType, s.DateType, s.BinaryType, s.DayTimeIntervalType)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_ROWS = 2
"""One more than a scalar sub-query may have."""


def with_values(clause: MatchRecognize, answer: Callable[[Span], DataFrame]) -> MatchRecognize:
    """The clause with literals in the place of sub-queries. `answer` gives the rows of the one with this span."""
    reader = _SubQueryReader(clause.text, answer)
    measures = tuple(replace(each, expression=reader.filled(each.expression)) for each in clause.measures)
    definitions = tuple(replace(each, condition=reader.filled(each.condition)) for each in clause.definitions)
    return replace(clause, measures=measures, definitions=definitions)


@dataclass(frozen=True, slots=True)
class _SubQueryReader:
    text: str | None
    answer: Callable[[Span], DataFrame]

    def filled(self, expr: Expr) -> Expr:
        """The expression with values. `x IN` an empty list is FALSE, also for NULL."""
        match expr:
            case SubQuery():
                return self._scalar(expr)
            case Operator("in", (value, SubQuery(is_list=True) as listed)):
                values = self._list(listed)
                if not values:
                    return Literal("boolean", "FALSE", expr.span)
                return Operator("in", (self.filled(value), *values), expr.span)
        return rebuild(expr, self.filled)

    def _scalar(self, query: SubQuery) -> Expr:
        values, kind = self._values(query, self._column(query).limit(_MOST_ROWS))
        if len(values) == _MOST_ROWS:
            message = "a sub-query in place of a value has more than one row"
            self._fail("SUBQUERY_ROWS", message, query, "write IN (SELECT ...), or aggregate: (SELECT max(x) FROM t)")
        value = values[0] if values else None
        if value is None or isinstance(kind, s.DecimalType):
            return Cast(_literal(value, kind), kind.simpleString(), span=query.span)
        return replace(_literal(value, kind), span=query.span)

    def _list(self, query: SubQuery) -> list[Expr]:
        values, kind = self._values(query, self._column(query).distinct().limit(MAX_LIST + 1))
        if len(values) > MAX_LIST:
            message = f"the list of a sub-query has at most {MAX_LIST:,} different values"
            hint = "join the table to the input before matching, and compare with its column"
            self._fail("TOO_MANY_VALUES", message, query, hint)
        return [_literal(value, kind) for value in values]

    def _column(self, query: SubQuery) -> DataFrame:
        """The rows of the sub-query, which have one column."""
        assert query.span is not None
        rows = self.answer(query.span)
        if len(rows.columns) != 1:
            message = f"a sub-query has one column here, and this one has {len(rows.columns)}"
            self._fail("SUBQUERY_COLUMNS", message, query)
        if rows.isStreaming:
            message = "a sub-query reads tables that don't stream: it is evaluated once, before matching"
            self._fail("STREAM_NOT_SUPPORTED", message, query)
        return rows.toDF("value")

    def _values(self, query: SubQuery, rows: DataFrame) -> tuple[list[Any], s.DataType]:
        kind = rows.schema[0].dataType
        if isinstance(kind, s.TimestampType):  # Python's datetimes would be in the time zone of this machine
            moments = rows.selectExpr(f"unix_micros({quote('value')})").collect()
            return [row[0] for row in moments], kind
        is_known = isinstance(kind, (*_SUFFIXES, *_AS_THEY_ARE, s.TimestampNTZType, s.NullType)) or (
            kind.simpleString() == "string"
        )
        if not is_known:
            hint = "numbers, text, booleans, dates, timestamps, intervals of days, and binary"
            self._fail("UNSUPPORTED_TYPE", f"a sub-query can't have values of type {kind.simpleString()}", query, hint)
        return [row[0] for row in rows.collect()], kind

    def _fail(self, code: str, message: str, query: SubQuery, hint: str | None = None) -> NoReturn:
        raise QueryError(code, message, text=self.text, span=query.span, hint=hint)


def _literal(value: Any, kind: s.DataType) -> Expr:
    """The value as a literal of Spark's type. Timestamps with a zone come as microseconds."""
    if value is None:
        return Literal("null", "NULL")
    if isinstance(kind, s.TimestampType):
        return python_literal(_EPOCH + timedelta(microseconds=value))
    if isinstance(kind, s.TimestampNTZType):
        return Literal("timestamp_ntz", f"TIMESTAMP_NTZ '{value.isoformat(sep=' ', timespec='microseconds')}'")
    suffix = _SUFFIXES.get(type(kind))
    return python_literal(value) if suffix is None else _number(value, suffix)


def _number(value: float, suffix: str) -> Expr:
    if not math.isfinite(value):
        return Cast(Literal("string", f"'{value}'"), "FLOAT")
    literal = Literal("number", f"{abs(value)!r}{suffix}")
    return Operator("neg", (literal,)) if math.copysign(1, value) < 0 else literal
