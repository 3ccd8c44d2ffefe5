"""One clause over a table in this process, no JVM. Expressions are the evaluator's subset of Spark's."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.key_columns import key_columns
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.slicing import declined_by_threads, useless_for_threads
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import MatchRecognize
from ostinato.clause.task.clause_worker import Worker
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.clause.task.skipping_plan import SkippingPlan
from ostinato.errors import errors_quoting
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.rows.arrow_tables import as_table, columns_of
from ostinato.rows.column_leaves import by_column_name
from ostinato.slices.slice_threads import Parallel, run_in_slices
from ostinato.streams.stream_settings import OnError


def match_table(
    clause: MatchRecognize,
    table: Any,
    *,
    settings: t.Settings = t.Settings(),
    limits: Limits = Limits(),
    parallel: Parallel = Parallel(),
    on_error: OnError = "fail",
) -> pa.Table:
    """The output rows of the clause for a pyarrow Table, a pandas DataFrame or record batches.

    With `on_error="skip"`, one thread matches, and rows that can't be evaluated are output rows with an error.
    """
    arrow = with_key_columns(clause, as_table(table, settings), settings)
    plan = make_plan(bind(clause, arrow.column_names, case_sensitive=settings.case_sensitive))
    evaluated = EvaluatedPlan(plan, arrow.schema, settings, limits)
    with errors_quoting(clause.text):
        if on_error == "skip":
            skipping = SkippingPlan(evaluated)
            return skipping.table(skipping.measured(skipping.run(columns_of(arrow), arrow.num_rows)))
        return run_plan(evaluated, arrow, parallel)


def with_key_columns(clause: MatchRecognize, table: pa.Table, settings: t.Settings) -> pa.Table:
    """The table with the columns of the keys that are expressions."""
    columns = columns_of(table)
    for key in key_columns(clause, table.column_names, case_sensitive=settings.case_sensitive):
        with errors_quoting(clause.text):
            values = evaluate(key.expression, by_column_name(columns), table.num_rows, settings)
        table = table.append_column(key.name, values)
    return table


def run_plan(plan: EvaluatedPlan, table: pa.Table, parallel: Parallel) -> pa.Table:
    """The output table of a plan, by one thread or by several."""
    worker = Worker(plan.typed)
    columns = columns_of(table)
    is_useless = parallel.slice_rows is None and useless_for_threads(plan.plan) is not None
    if parallel.workers == 1 or is_useless or declined_by_threads(plan.typed):
        return plan.measured(worker.run(plan.batch_or_located_error(columns, table.num_rows)))
    return plan.measured(run_in_slices(worker, plan.batch_or_located_error, columns, table.num_rows, parallel))
