"""A compiled rule over a table in this process -> the rows that it finds: keys, times and measures. No JVM."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.clause.matching.spans import whole_keys
from ostinato.clause.task.clause_worker import Worker
from ostinato.errors import MatchError, QueryError, errors_quoting
from ostinato.expressions.values.value_order import OrderKey
from ostinato.funnels.funnel import COMPLETED
from ostinato.rows.arrow_tables import columns_of
from ostinato.rows.batches import OutputRows
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.column_names import MATCHED
from ostinato.rows.ordering import order_rows
from ostinato.rows.workload_layout import Role
from ostinato.rule_files.ready_rule import CompiledEvents
from ostinato.rule_sets import compiled_rule
from ostinato.rule_sets.compiled_rule import MATCH_ID, CompiledRule
from ostinato.rule_sets.rule_columns import BEGAN, ENDED


def found_rows(rule: CompiledRule | CompiledEvents, table: pa.Table) -> pa.Table:
    """The matches of a rule in a table of the schema that it was compiled for, as at the end of the input.

    A clause or a funnel has its keys, `began`, `ended`, and the measures; unmatched rows are left out. An event query
    has the columns that RETURN gives.
    """
    if isinstance(rule, CompiledEvents):
        rows = _event_rows(rule, table)
        return rows.drop_columns([MATCH_ID]) if rule.returns_matches else rows
    with errors_quoting(rule.query.clause.text):
        return _shown(rule, rule.plan.measured(_matched(_matches(rule, table))))


def completed(rule: CompiledRule | CompiledEvents, rows: pa.Table) -> pa.Table:
    """The rows without attempts of a funnel that end before its last step: a funnel matches if an attempt takes all."""
    return rows.filter(rows[COMPLETED]) if isinstance(rule, CompiledRule) and rule.is_funnel else rows


def found_matches(rule: CompiledRule | CompiledEvents, table: pa.Table) -> pa.Table:
    """A row for each match in the order of a batch: `match_id`, the keys, `began` and `ended`. The matches of a funnel
    are its attempts with all steps.

    Raises UNSUPPORTED_IN_BACKTEST for an event query with aggregates, which lists no matches.
    """
    if isinstance(rule, CompiledEvents):
        if not rule.returns_matches:
            message = "an event query with aggregates lists no matches that can be counted"
            raise QueryError("UNSUPPORTED_IN_BACKTEST", message, hint="RETURN MATCHES")
        rows, keys = _event_rows(rule, table), rule.local.typed.plan.queries[0].bound.group_by
        own = (MATCH_ID, Role.MATCH_START.value, Role.MATCH_END.value)
    else:
        with errors_quoting(rule.query.clause.text):
            rows = completed(rule, rule.plan.measured(_matched(_matches(rule, table))))
        keys = rule.plan.plan.bound.partition_by
        own = (MATCH_ID, compiled_rule.BEGAN, compiled_rule.ENDED)
    ids = rows[own[0]].to_pylist()
    first = pa.array(sorted({id: row for row, id in reversed([*enumerate(ids)])}.values()), pa.int64())
    columns = {
        "match_id": rows[own[0]],
        **{name: rows[name] for name in keys},
        BEGAN: rows[own[1]],
        ENDED: rows[own[2]],
    }
    return pa.table(columns).take(first)


def _event_rows(rule: CompiledEvents, table: pa.Table) -> pa.Table:
    return rule.local.tables(rule.local.run(table).columns)[0]


def _matches(rule: CompiledRule, table: pa.Table) -> OutputRows:
    """As on a stream of rules, all declared columns order the rows of one time."""
    columns = columns_of(table)
    if rule.order is not None:
        (order_column,) = {name for name in rule.plan.types if name not in columns}
        columns[order_column] = rule.order.evaluate(by_column_name(columns), table.num_rows)
    bound = rule.plan.plan.bound
    keys = [columns[name] for name in bound.partition_by]
    order = [OrderKey(columns[key.column]) for key in bound.order_by]
    ordered = order_rows(table.num_rows, keys, order, lambda: list(columns.values()))
    worker = Worker(rule.plan.typed)
    window = worker.window(rule.plan.batch_or_located_error(columns, table.num_rows), ordered)
    return worker.output(worker.search(window, whole_keys(ordered.key_at)).matches, window)


def _matched(rows: OutputRows) -> OutputRows:
    """The rows without those that belong to no match."""
    if MATCHED not in rows.arrays:
        return rows
    matched = rows.arrays[MATCHED]
    return OutputRows(
        pc.sum(matched).as_py() or 0, {name: array.filter(matched) for name, array in rows.arrays.items()}
    )


def _shown(rule: CompiledRule, output: pa.Table) -> pa.Table:
    """The columns that the query selects, after the keys and the times of a match."""
    own = (compiled_rule.BEGAN, compiled_rule.ENDED, MATCH_ID)
    selected = rule.query.select(output.drop_columns(list(own)), rule.plan.settings)
    taken = {name.lower() for name in selected.column_names}
    keys = rule.plan.plan.bound.partition_by
    before = {name: output[name] for name in keys}
    before |= {BEGAN: output[compiled_rule.BEGAN], ENDED: output[compiled_rule.ENDED]}
    added = {name: column for name, column in before.items() if name.lower() not in taken}
    places = [name for name in selected.column_names if name in keys]
    rest = [name for name in selected.column_names if name not in keys]
    columns = {**added, **{name: selected[name] for name in rest}}
    return pa.table({**{name: selected[name] for name in places}, **columns})


def check_times(table: pa.Table, time: str) -> None:
    """Raises INVALID_TEST for an event without a time. On a stream it would be late, so no rule would see it."""
    if table[time].null_count:
        row = pc.index(table[time].is_null(), True).as_py()
        raise MatchError("INVALID_TEST", f"event {row + 1} has no value in the time column '{time}'")
