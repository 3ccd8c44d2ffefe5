"""One clause over a table in this process, no JVM. Expressions are the evaluator's subset of Spark's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.slicing import declined_by_threads, useless_for_threads
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.task.clause_worker import Worker
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import errors_quoting
from ostinato.expressions import types as t
from ostinato.rows.arrow_tables import as_table, columns_of
from ostinato.slices.slice_threads import Parallel, run_in_slices


def match_table(
    clause: MatchRecognize,
    table: Any,
    *,
    settings: t.Settings = t.Settings(),
    limits: Limits = Limits(),
    parallel: Parallel = Parallel(),
) -> pa.Table:
    """The output rows of the clause for a pyarrow Table, a pandas DataFrame or record batches."""
    arrow = as_table(table, settings)
    plan = make_plan(bind(clause, arrow.column_names, case_sensitive=settings.case_sensitive))
    evaluated = EvaluatedPlan(plan, arrow.schema, settings, limits)
    with errors_quoting(clause.text):
        return run_plan(evaluated, arrow, parallel)


def run_plan(plan: EvaluatedPlan, table: pa.Table, parallel: Parallel) -> pa.Table:
    """The output table of a plan, by one thread or by several."""
    worker = Worker(plan.typed)
    columns = columns_of(table)
    is_useless = parallel.slice_rows is None and useless_for_threads(plan.plan) is not None
    if parallel.workers == 1 or is_useless or declined_by_threads(plan.typed):
        return plan.measured(worker.run(plan.batch(columns, table.num_rows)))
    return plan.measured(run_in_slices(worker, plan.batch, columns, table.num_rows, parallel))
