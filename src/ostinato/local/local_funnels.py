"""A funnel over a table in this process -> one row for each key, and the report."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.clause.language.clause_binding import bind
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.query.clause import Measure
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.errors import errors_quoting, warn
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.syntax import Call
from ostinato.funnels.funnel import LEVEL, Funnel
from ostinato.funnels.funnel_clause import ORDER_COLUMN, funnel_clause, funnel_order
from ostinato.funnels.funnel_input import input_time, not_a_time, over_columns
from ostinato.funnels.funnel_report import QUANTILES, FunnelNumbers, StepTimes
from ostinato.local.local_clause import run_plan
from ostinato.rows.arrow_tables import as_table, columns_of
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_lookup import ColumnLookup
from ostinato.rows.column_names import PREFIX
from ostinato.slices.slice_threads import Parallel

_NUMBER = f"{PREFIX}attempt"


def funnel_rows(funnel: Funnel, table: Any, settings: t.Settings = t.Settings()) -> pa.Table:
    """One row for each key: its best attempt, the earliest of those with the highest level."""
    attempts = _numbered_attempts(funnel, as_table(table, settings), settings)
    # The attempts of a key follow each other, numbered from 1. Keys may be NULL or NaN, so they aren't compared.
    numbers = attempts.column(_NUMBER).to_numpy()
    levels = attempts.column(LEVEL).to_numpy()
    keys = np.cumsum(numbers == 1)
    order = np.lexsort((numbers, -levels, keys))
    is_first = np.diff(keys[order], prepend=0) > 0
    return attempts.take(pa.array(order[is_first])).drop_columns([_NUMBER])


def _numbered_attempts(funnel: Funnel, table: pa.Table, settings: t.Settings) -> pa.Table:
    check_time(funnel, table, settings)
    clause = funnel_clause(funnel)
    numbered = replace(clause, measures=(*clause.measures, Measure(_NUMBER, Call("match_number"))))
    schema = table.schema.append(pa.field(ORDER_COLUMN, pa.int32()))
    plan = make_plan(bind(numbered, schema.names, case_sensitive=settings.case_sensitive))
    local = EvaluatedPlan(plan, schema, settings, Limits())
    events = with_order_column(funnel, table, settings)
    _warn_of_missing_steps(funnel, table, settings)
    with errors_quoting(clause.text):
        return run_plan(local, events, Parallel())


def check_time(funnel: Funnel, table: pa.Table, settings: t.Settings) -> None:
    """Raises UNKNOWN_COLUMN, RESERVED_NAME and INVALID_TIME."""
    time = input_time(funnel, table.column_names, settings.case_sensitive)
    kind = table.schema.field(time).type
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        raise not_a_time(time, t.spark_name(kind))


def with_order_column(funnel: Funnel, table: pa.Table, settings: t.Settings) -> pa.Table:
    """The table with the column that orders events of one time."""
    order = over_columns(funnel_order(funnel), ColumnLookup(table.column_names, settings.case_sensitive))
    ranks = evaluate(order, by_column_name(columns_of(table)), table.num_rows, settings)
    return table.append_column(ORDER_COLUMN, ranks)


def _warn_of_missing_steps(funnel: Funnel, table: pa.Table, settings: t.Settings) -> None:
    """A step that no event is may be misspelled. An empty table gives no warning."""
    lookup, columns = ColumnLookup(table.column_names, settings.case_sensitive), columns_of(table)
    for step in funnel.steps if table.num_rows else ():
        found = evaluate(over_columns(step.condition, lookup), by_column_name(columns), table.num_rows, settings)
        if not pc.any(found).as_py():
            warn(f"no event has type '{step.name}' or meets its condition: the step of the funnel is never reached")


def funnel_report(funnel: Funnel, rows: pa.Table) -> FunnelNumbers:
    """The numbers of the rows that `funnel_rows` returned."""
    levels = rows.column(LEVEL).to_numpy()
    times = [_microseconds(rows.column(step.time_column)) for step in funnel.steps]
    taken = [levels >= step for step in range(1, len(funnel.steps) + 1)]
    lengths = [
        _percentiles(after[reached] - before[reached])
        for (before, after), reached in zip(pairwise(times), taken[1:], strict=True)
    ]
    return FunnelNumbers(
        tuple(step.name for step in funnel.steps),
        tuple(int(reached.sum()) for reached in taken),
        (StepTimes(), *lengths),
    )


def _microseconds(times: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """The times as numbers; those of steps that weren't reached have no meaning."""
    instants = times.cast(pa.timestamp("us")) if pa.types.is_date(times.type) else times
    return np.asarray(pc.fill_null(instants.cast(pa.int64()), 0))


def _percentiles(lengths: npt.NDArray[np.int64]) -> StepTimes:
    if not len(lengths):
        return StepTimes()
    return StepTimes(*(float(value) for value in np.quantile(lengths / 1e6, QUANTILES)))
