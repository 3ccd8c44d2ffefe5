"""One window with a row pattern on a batch DataFrame -> a lazy DataFrame with its columns."""

from __future__ import annotations

from pyspark.sql import DataFrame

from ostinato.clause.plan.window_plan import plan_window
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.errors import QueryError
from ostinato.expressions.render import quote
from ostinato.expressions.types import Settings
from ostinato.spark.clause.batch import matched_by_key, warn_without_order
from ostinato.spark.clause.clause_options import DEFAULT_OPTIONS, ClauseOptions
from ostinato.spark.clause.spark_plan import SparkQuery
from ostinato.spark.session.session_settings import session_settings
from ostinato.spark.shipping.row_errors import RAISES


def with_window_columns(
    df: DataFrame, window: WindowPattern, options: ClauseOptions = DEFAULT_OPTIONS, settings: Settings | None = None
) -> DataFrame:
    """The rows of the DataFrame, with a column behind the others for each measure of the window. Nothing runs yet.

    One search serves all measures. A query with several windows calls this once for each, on the DataFrame before.
    Columns have different names, also in case, and none starts with `__ost_`. Raises WINDOW_ON_STREAM.
    """
    if df.isStreaming:
        raise QueryError(
            "WINDOW_ON_STREAM",
            "a window with a row pattern needs a batch: every later row may belong to the match of a row",
            hint="on a stream, MATCH_RECOGNIZE in FROM gives a row for each match",
        )
    settings = settings or session_settings(df)
    plan = plan_window(window, df.columns, case_sensitive=settings.case_sensitive)
    query = SparkQuery(plan, df, options.limits, settings)
    warn_without_order(query, "a window with a row pattern")
    valued = query.measured(matched_by_key(query, options.batch).where(RAISES))
    measures = (measure.name for measure in plan.bound.measures)
    return valued.selectExpr(*(quote(name) for name in (*df.columns, *measures)))
