"""The result of `query.run(...)` for kinds of queries that have more to tell than rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

from ostinato.api.query import Query
from ostinato.calls.shown_objects import shortened, text_block
from ostinato.expressions.types import Settings
from ostinato.pictures.html_blocks import table_block
from ostinato.rows.arrow_tables import as_table, is_spark_dataframe
from ostinato.rows.table_kinds import like

if TYPE_CHECKING:
    from ostinato.api.explain import Explanation
    from ostinato.api.plot_object import Plot

T = TypeVar("T")
_WORDS = 60
"""Letters of a list of columns, or of a report, in a `repr`."""


class RunReport(Generic[T]):
    """The report of a run. `str(report)` is for people, `table` for programs. On Spark the table is lazy."""

    def __init__(self, text: str, table: T) -> None:
        self._text, self._table = text, table

    @property
    def table(self) -> T:
        """The numbers of the run."""
        return self._table

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {shortened(str(self), _WORDS)}>"

    def _repr_html_(self) -> str:
        return text_block(str(self))


@dataclass(frozen=True, slots=True, repr=False)
class Result(ABC, Generic[T]):
    """The rows of a query, and a report of the run. `T` is the kind of the input: a table, or a Spark DataFrame."""

    query: Query
    table: T
    """The rows. On Spark a lazy DataFrame."""
    report: RunReport[T]
    input: T
    """The table or DataFrame that the query ran over."""

    @abstractmethod
    def plot(self) -> Plot:
        """Draws the result."""

    def explain(self) -> Explanation:
        """Explains how Ostinato read and ran the query, as `ost.explain(result)` does."""
        from ostinato.api.explain import explain

        return explain(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {table_words(self.table)}>"

    def _repr_html_(self) -> str:
        if is_spark_dataframe(self.table):  # showing a result starts no job
            return text_block(repr(self))
        rows = as_table(self.table, Settings())
        return table_block(rows, type(self).__name__) + text_block(str(self.report))


def table_words(table: Any) -> str:
    """A table in a few words: its rows, unless Spark would have to run, and its columns."""
    if isinstance(table, pa.Table):
        return f"{table.num_rows:,} rows of {shortened(', '.join(table.column_names), _WORDS)}"
    shape, columns = getattr(table, "shape", None), getattr(table, "columns", ())
    rows = f"{shape[0]:,} rows of" if isinstance(shape, tuple) else "rows of"
    return f"{rows} {shortened(', '.join(map(str, columns)), _WORDS)}"


def small_table_like(given: T, rows: pa.Table) -> T:
    """A few rows in the kind of the input: `given` may also be a Spark DataFrame."""
    if is_spark_dataframe(given):
        session = given.sparkSession  # type: ignore[attr-defined]
        if rows.num_rows:
            return session.createDataFrame(rows)  # type: ignore[no-any-return]
        nulls = [pa.nulls(1, field.type) for field in rows.schema]  # Connect refuses a table without rows
        return session.createDataFrame(pa.Table.from_arrays(nulls, schema=rows.schema)).limit(0)  # type: ignore[no-any-return]
    return like(given, rows)
