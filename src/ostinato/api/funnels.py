"""`ost.funnel`: how far each key gets through steps in order, and where keys are lost.

>>> import ostinato as ost
>>> import pyarrow as pa
>>> from datetime import datetime
>>> at = [datetime(2024, 1, 1, 12, minute) for minute in (0, 5, 9, 1, 2)]
>>> events = pa.table({"user": [1, 1, 1, 2, 2], "at": at, "event": ["view", "cart", "pay", "view", "cart"]})
>>> checkout = ost.funnel(["view", "cart", "pay"], within="1 hour", keys="user", type="event", time="at")
>>> print(checkout.run(events).report)
step  name  keys  of first  of previous  dropped   median     90 %
   1  view     2   100.0 %            -        0        -        -
   2  cart     2   100.0 %      100.0 %        0  3.0 min  4.6 min
   3  pay      1    50.0 %       50.0 %        1  4.0 min  4.0 min
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from ostinato.api.plot_object import Plot
from ostinato.api.query import ColumnNames, LocalCall, Query
from ostinato.api.results import Result, RunReport, small_table_like
from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.calls.options import a_text, column_names
from ostinato.calls.shown_objects import shortened
from ostinato.errors import QueryError
from ostinato.funnels.funnel import COMPLETED, LEVEL, Funnel, StepTypes, read_mode, read_steps, read_within
from ostinato.funnels.funnel_clause import funnel_statement
from ostinato.funnels.funnel_report import FunnelNumbers
from ostinato.local.local_settings import local_settings, refuse_settings
from ostinato.rows.arrow_tables import is_spark_dataframe, spark_dataframe
from ostinato.rows.table_kinds import like

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from ostinato.rows.table_kinds import TableLike

T = TypeVar("T")


class FunnelReport(RunReport[T]):
    """The numbers of each step: keys that reached it, conversion, drop-off and times.

    On Spark, the first use runs a job. `str(report)` and `table` have a row for each step, `numbers` has the
    same as values.
    """

    def __init__(self, funnel: FunnelQuery, given: T, rows: Any) -> None:
        self._funnel, self._given, self._rows = funnel, given, rows

    @cached_property
    @only_our_errors()
    def numbers(self) -> FunnelNumbers:
        """The numbers of each step, as values."""
        if is_spark_dataframe(self._rows):
            from ostinato.spark.funnels.funnel_dataframe import spark_funnel_report

            return spark_funnel_report(self._funnel, self._rows)
        from ostinato.local.local_funnels import funnel_report

        return funnel_report(self._funnel, self._rows)

    @property
    def table(self) -> T:
        """A row for each step."""
        return small_table_like(self._given, self.numbers.table)

    def __str__(self) -> str:
        return str(self.numbers)

    def __repr__(self) -> str:
        return f"<FunnelReport of {self._funnel}>"


@dataclass(frozen=True, slots=True, repr=False)
class FunnelResult(Result[T]):
    """The result of a funnel. `table` has one row for each key that took the first step."""

    report: FunnelReport[T]

    @only_our_errors()
    def plot(self) -> Plot:
        """Draws the steps as bars, with conversion and times."""
        numbers = self.report.numbers
        return Plot(f"{' -> '.join(numbers.names)}: {numbers.keys[0]:,} keys", numbers.svg())


@dataclass(frozen=True, slots=True, repr=False)
class FunnelQuery(Funnel, Query):
    """A funnel. `run` gives its rows and its report, `df.transform(funnel)` its rows on Spark, batch or streaming."""

    @only_our_errors()
    def run(
        self, table: T, *, ansi: bool = True, timezone: str = "UTC", deadline: Duration | None = None
    ) -> FunnelResult[T]:
        """Runs the funnel over a table of any kind that `ost.match` takes, or over a batch DataFrame on Spark.

        `ansi`, `timezone` and `deadline` are for tables in this process, as in `ost.match`.
        """
        if is_spark_dataframe(table):
            refuse_settings(ansi, timezone)
            refuse_deadline(deadline)
            if table.isStreaming:  # type: ignore[attr-defined]
                message = "a report needs all events, and a stream has no last one"
                hint = "df.transform(funnel) gives the attempts of a stream"
                raise QueryError("STREAM_NOT_SUPPORTED", message, hint=hint)
            rows: Any = self(table)  # type: ignore[arg-type]
            return FunnelResult(self, rows, FunnelReport(self, table, rows), table)
        from ostinato.local.local_funnels import funnel_rows

        settings = local_settings(ansi, timezone)
        rows = interruptible(lambda: funnel_rows(self, table, settings), deadline)
        return FunnelResult(self, like(table, rows), FunnelReport(self, table, rows), table)

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns one row for each key of a batch, or one row for each attempt of a stream, as a lazy DataFrame."""
        from ostinato.spark.funnels.funnel_dataframe import funnel_dataframe

        spark_dataframe(df, hint="ost.match(funnel, table) answers it in this process")
        return funnel_dataframe(self, df)

    def in_process(self, table: TableLike, call: LocalCall) -> pa.Table:
        """Returns one row for each key of a table."""
        from ostinato.local.local_funnels import funnel_rows

        return funnel_rows(self, table, call.settings_of_one_thread())

    @only_our_errors()
    def to_sql(self, table: str = "events") -> str:
        """Returns a SELECT with MATCH_RECOGNIZE that finds all attempts in a table of this name, for `ost.sql`."""
        return funnel_statement(self, a_text("table", table))

    def _shown(self) -> str:
        return f"{self!r}\n\n{self.to_sql()}"

    def __repr__(self) -> str:
        window = "" if self.within is None else f", within {self.within}"
        mode = "" if self.mode.value == "any" else f", {self.mode.value}"
        steps = shortened(" -> ".join(step.name for step in self.steps), 120)
        return f"<funnel {steps} by {shortened(', '.join(self.keys), 60)}{window}{mode}>"


@only_our_errors()
def funnel(
    steps: Sequence[StepTypes] | Mapping[str, str],
    *,
    keys: ColumnNames = None,
    time: ColumnNames = None,
    type: str | None = None,
    within: str | timedelta | None = None,
    mode: str = "any",
) -> FunnelQuery:
    """Creates a funnel.

    - `steps`: types of events in order, each a value of the column `type` or a tuple of values. Or a dict from a step's
      name to its SQL condition.
    - `keys`: the column, or columns, whose values have a funnel each.
    - `time`: the column with the time. Further columns in a list order events of the same time.
    - `within`: the longest time from the first to the last step ("1 hour", a timedelta).
    - `mode`: "any" lets other events lie between steps. "strict_order" lets only repeats of reached steps lie there.
      "strict_increase" needs a later time for each step. "strict_once" is "any" under ClickHouse's name.

    docs/funnels.md defines attempts, ties and repeats.

    >>> funnel(["view", "cart", "pay"], keys="user", type="event", time="at", within="1 hour")
    <funnel view -> cart -> pay by user, within 1:00:00>
    """
    key_names, times = column_names("keys", keys), column_names("time", time)
    if not key_names:
        raise QueryError("INVALID_OPTION", "a funnel needs keys: each key has its own way", hint='keys="user"')
    steps_read = read_steps(steps, type, key_names)
    own = {LEVEL, COMPLETED, *(step.time_column for step in steps_read)}
    if taken := [name for name in key_names if name.lower() in own]:
        message = f"a funnel has a column '{taken[0]}' of its own, which can't be a key"
        raise QueryError("RESERVED_NAME", message, hint="rename the key column")
    if not times:
        raise QueryError("TIME_COLUMN_MISSING", "no argument names the column with the times", hint='time="ts"')
    return FunnelQuery(steps_read, key_names, times, read_within(within), read_mode(mode))
