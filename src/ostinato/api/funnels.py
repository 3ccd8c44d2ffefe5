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
from typing import TYPE_CHECKING, Any

from ostinato.calls.bounds import Duration
from ostinato.calls.foreign_errors import only_our_errors
from ostinato.calls.interruptible import interruptible
from ostinato.calls.options import a_text
from ostinato.errors import QueryError
from ostinato.funnels.funnel import Funnel, StepTypes, read_columns, read_mode, read_steps, read_within
from ostinato.funnels.funnel_clause import funnel_clause, funnel_statement
from ostinato.funnels.funnel_report import FunnelReport
from ostinato.local.local_settings import local_settings, refuse_settings
from ostinato.rows.arrow_tables import is_spark_dataframe, spark_dataframe

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.api.explain import Explanation


@dataclass(frozen=True, slots=True, repr=False)
class FunnelQuery(Funnel):
    """A funnel. `run` gives its rows and its report, `df.transform(funnel)` its rows on Spark, batch or streaming."""

    @only_our_errors()
    def run(
        self, table: Any, *, ansi: bool = True, timezone: str = "UTC", deadline: Duration | None = None
    ) -> FunnelResult:
        """Runs the funnel over a table in this process, or over a batch DataFrame on Spark.

        `ansi`, `timezone` and `deadline` are for tables in this process, as in `ost.match`.
        """
        if is_spark_dataframe(table):
            refuse_settings(ansi, timezone)
            if deadline is not None:
                raise QueryError("INVALID_OPTION", "deadline= is for calls that run in this process")
            if table.isStreaming:
                message = "a report needs all events, and a stream has no last one"
                hint = "df.transform(funnel) gives the attempts of a stream"
                raise QueryError("STREAM_NOT_SUPPORTED", message, hint=hint)
            return FunnelResult(self, self(table))
        from ostinato.local.local_funnels import funnel_rows

        settings = local_settings(ansi, timezone)
        return FunnelResult(self, interruptible(lambda: funnel_rows(self, table, settings), deadline))

    @only_our_errors()
    def __call__(self, df: DataFrame) -> DataFrame:
        """Returns one row for each key of a batch, or one row for each attempt of a stream, as a lazy DataFrame."""
        from ostinato.spark.funnels.funnel_dataframe import funnel_dataframe

        spark_dataframe(df, hint="funnel.run(table) answers it in this process")
        return funnel_dataframe(self, df)

    @only_our_errors()
    def to_sql(self, table: str = "events") -> str:
        """Returns a SELECT with MATCH_RECOGNIZE that finds all attempts in a table of this name, for `ost.sql`."""
        return funnel_statement(self, a_text("table", table))

    @only_our_errors()
    def explain(self) -> Explanation:
        """Explains how Ostinato reads and runs the funnel's clause."""
        from ostinato.api.explain import explain

        return explain(funnel_clause(self))

    def __repr__(self) -> str:
        window = "" if self.within is None else f", within {self.within}"
        mode = "" if self.mode.value == "any" else f", {self.mode.value}"
        return f"<funnel {' -> '.join(step.name for step in self.steps)} by {', '.join(self.keys)}{window}{mode}>"


@dataclass(frozen=True, repr=False)
class FunnelResult:
    """The result of a funnel's `run`."""

    funnel: FunnelQuery
    table: Any
    """One row for each key that took the first step: a pyarrow Table, or a lazy DataFrame on Spark."""

    @cached_property
    @only_our_errors()
    def report(self) -> FunnelReport:
        """The numbers of each step. On Spark, the first use runs a job."""
        if is_spark_dataframe(self.table):
            from ostinato.spark.funnels.funnel_dataframe import spark_funnel_report

            return spark_funnel_report(self.funnel, self.table)
        from ostinato.local.local_funnels import funnel_report

        return funnel_report(self.funnel, self.table)

    def explain(self) -> Explanation:
        """Explains how Ostinato reads and runs the funnel's clause."""
        return self.funnel.explain()

    def svg(self) -> str:
        """The report as a bar chart, in one self-contained SVG."""
        return self.report.svg()

    def __repr__(self) -> str:
        return f"<result of {self.funnel}>"


@only_our_errors()
def funnel(
    steps: Sequence[StepTypes] | Mapping[str, str],
    *,
    keys: str | Sequence[str] | None = None,
    time: str | Sequence[str] | None = None,
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
    """
    key_columns = read_columns("keys", keys)
    times = read_columns("time", time, code="TIME_COLUMN_MISSING" if time is None else "INVALID_OPTION")
    return FunnelQuery(read_steps(steps, type, key_columns), key_columns, times, read_within(within), read_mode(mode))
