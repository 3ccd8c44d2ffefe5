"""The base class of all queries: they run on a table in this process, and on a Spark DataFrame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.calls.options import column_names
from ostinato.calls.shown_objects import text_block
from ostinato.clause.language.clause_parser import DefaultColumns
from ostinato.errors import QueryError
from ostinato.expressions.types import Settings
from ostinato.streams.stream_settings import OnError, check_on_error

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ostinato.rows.table_kinds import TableLike
    from ostinato.slices.slice_threads import Parallel


@dataclass(frozen=True, slots=True)
class LocalCall:
    """The options of one call in this process."""

    settings: Settings
    parallel: Parallel
    on_error: OnError | None = None
    """None: the option of the query itself."""

    def __post_init__(self) -> None:
        if self.on_error is not None:
            check_on_error(self.on_error)

    def settings_of_one_thread(self) -> Settings:
        """The settings, for queries that aren't cut into slices. Raises INVALID_OPTION if the call wants slices."""
        if self.parallel.workers != 1 or self.parallel.slice_rows is not None:
            hint = "leave them out: only a MATCH_RECOGNIZE clause is cut into slices"
            raise QueryError("INVALID_OPTION", "workers= and slice_rows= are for clauses", hint=hint)
        if self.on_error is not None:
            hint = "leave it out: only a MATCH_RECOGNIZE clause goes on without rows that it can't evaluate"
            raise QueryError("INVALID_OPTION", "on_error= is for clauses", hint=hint)
        return self.settings


class Query(ABC):
    """A query of any kind: `ost.match(query, table)`, `df.transform(query)` and `ost.explain(query)` take it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return text_block(self._shown())

    def _shown(self) -> str:
        """The text of the query, for notebooks."""
        return repr(self)

    @abstractmethod
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the rows of the query as a lazy DataFrame, for `df.transform(query)`."""

    @abstractmethod
    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the rows of the query over a table, for `ost.match(query, table)`."""


ColumnNames = str | tuple[str, ...] | list[str] | None
"""One column, several, or none."""


def default_columns(keys: ColumnNames, time: ColumnNames) -> DefaultColumns:
    """`keys=` and `time=` of a clause."""
    return DefaultColumns(column_names("keys", keys), column_names("time", time))
