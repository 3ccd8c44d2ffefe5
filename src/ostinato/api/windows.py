"""`SELECT ... value OVER window ...`: statements with row patterns in windows, for `ost.match`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ostinato.api.query import LocalCall, Query
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.shown_objects import short_repr
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import QueryError
from ostinato.expressions.parameters import NO_PARAMETERS, Args, Parameters

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ostinato.rows.table_kinds import TableLike


@dataclass(frozen=True, slots=True, repr=False)
class WindowsQuery(Query):
    """One query block with row patterns in windows. Its rows are those of the table, with the values selected."""

    text: str
    limits: Limits = Limits()
    args: Args = None

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns the rows of the statement as a lazy DataFrame. The table that it names is the DataFrame."""
        from ostinato.clause.language.windows.windowed_statement import read_windowed_block
        from ostinato.spark.statements.statement import sql

        block = read_windowed_block(self.text, parameters=self._parameters())
        name = block.tokens.tokens[block.block.parts["FROM"].first + 1].name
        tables: dict[str, Any] = {name: df}
        return sql(self.text, args=self.args, max_partial_matches=self.limits.max_partial_matches, **tables)

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns the rows of the table, with the values selected."""
        from ostinato.local.local_window_statement import match_window_statement

        settings, parameters = call.settings_of_one_thread(), self._parameters()
        return match_window_statement(self.text, table, settings=settings, limits=self.limits, parameters=parameters)

    def _parameters(self) -> Parameters:
        parameters = Parameters.of(self.args)
        if parameters.positional:
            hint = "write :name in the text, and pass a dict"
            raise QueryError("INVALID_OPTION", "windows take parameters by name", hint=hint)
        return NO_PARAMETERS if self.args is None else parameters

    def __repr__(self) -> str:
        return short_repr(self, self.text)
