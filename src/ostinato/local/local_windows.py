"""One window with a row pattern over a table in this process, no JVM. Expressions are the evaluator's subset."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.plan.window_plan import plan_window
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.clause.task.window_worker import WindowWorker
from ostinato.errors import errors_quoting
from ostinato.expressions import types as t
from ostinato.rows.arrow_tables import as_table, columns_of


def window_columns(
    window: WindowPattern, table: Any, *, settings: t.Settings = t.Settings(), limits: Limits = Limits()
) -> pa.Table:
    """The rows of the table in their order, with a column behind the others for each measure of the window.

    One search serves all measures. A query with several windows calls this once for each, on the table before. Names
    of measures differ from those of columns, also in case.
    """
    arrow = as_table(table, settings)
    plan = plan_window(window, arrow.column_names, case_sensitive=settings.case_sensitive)
    evaluated = EvaluatedPlan(plan, arrow.schema, settings, limits)
    with errors_quoting(window.clause.text):
        batch = evaluated.batch_or_located_error(columns_of(arrow), arrow.num_rows)
        valued = evaluated.measured(WindowWorker(evaluated.typed).run(batch))
    for measure in plan.bound.measures:
        arrow = arrow.append_column(measure.name, valued.column(measure.name))
    return arrow
