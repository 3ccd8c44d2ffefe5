"""`SELECT ... value OVER window ... FROM name` with row patterns in windows, over a table in this process."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from ostinato.clause.language.select_list import Item, read_items
from ostinato.clause.language.windows.windowed_block import WindowedBlock
from ostinato.clause.language.windows.windowed_columns import InputColumns
from ostinato.clause.language.windows.windowed_statement import read_windowed_block
from ostinato.clause.plan.typed_plan import Limits
from ostinato.errors import QueryError, errors_quoting
from ostinato.expressions import types as t
from ostinato.expressions.evaluate import evaluate
from ostinato.expressions.parameters import NO_PARAMETERS, Parameters
from ostinato.expressions.syntax import ColumnRef, Expr, Name
from ostinato.local.local_windows import window_columns
from ostinato.rows.arrow_tables import as_table


def match_window_statement(
    text: str,
    table: Any,
    *,
    settings: t.Settings = t.Settings(),
    limits: Limits = Limits(),
    parameters: Parameters = NO_PARAMETERS,
) -> pa.Table:
    """The selected columns and values, one row for each row of the table, in its order."""
    block = read_windowed_block(text, settings, parameters)
    rows = as_table(table, settings)
    with errors_quoting(text):
        columns = _columns(block, rows)
        names = rows.column_names
        rows = rows.rename_columns([inner for _, _, inner in columns.in_windows])
        for computed in block.computed.values():
            rows = rows.append_column(computed.name, _values(columns.in_row(computed.expression), rows, settings))
        for pattern in block.patterns(columns):
            rows = window_columns(pattern, rows, settings=settings, limits=limits)
        selected = _selected(block, columns, names)
        arrays = [_values(expr, rows, settings) for _, expr in selected]
    return pa.table(arrays, names=[name for name, _ in selected])


def _columns(block: WindowedBlock, rows: pa.Table) -> InputColumns:
    for name, count in Counter(rows.column_names).items():
        if count > 1:
            raise QueryError("AMBIGUOUS_COLUMN", f"the table has {count} columns '{name}'", hint="rename them")
    return block.columns([rows.column_names] * len(block.tables))


def _values(expr: Expr, rows: pa.Table, settings: t.Settings) -> pa.Array | pa.ChunkedArray:
    def leaf(node: Expr) -> pa.ChunkedArray | None:
        return rows.column(node.parts[0].text) if isinstance(node, ColumnRef) else None

    column = leaf(expr)
    return evaluate(expr, leaf, rows.num_rows, settings) if column is None else column


def _selected(block: WindowedBlock, columns: InputColumns, names: list[str]) -> list[tuple[str, Expr]]:
    """The SELECT list by name, over the columns that windows read and their values."""
    values = {each.column for each in block.calls}
    selected: list[tuple[str, Expr]] = []
    for item in _items(block):
        if item.expr is None:
            columns.check_table(item.name, item.span)
            selected += [
                (name, ColumnRef((Name(inner, True),)))
                for name, (_, _, inner) in zip(names, columns.in_windows, strict=True)
            ]
        else:
            selected.append((item.name, columns.in_row(item.expr, values)))
    return selected


def _items(block: WindowedBlock) -> tuple[Item, ...]:
    """The SELECT list, with the column of its values in place of each call."""
    first = block.block.parts["SELECT"].first + 1
    cursor = block.cursor_with([*block.call_pieces(""), *block.alias_pieces()], first)
    items = read_items(cursor)
    cursor.expect("FROM")
    return items
