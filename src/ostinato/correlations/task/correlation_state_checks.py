"""Checks a correlation's restored state: STATE_FORMAT if its parts don't fit the query or one another."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.correlations.strategies.sides import Ints
from ostinato.correlations.task.correlation_results import KEY, START, ResultWriter
from ostinato.correlations.task.correlation_state import OFFSET, STATE, CorrelationState, Marks
from ostinato.correlations.task.correlation_task import CorrelationTask, SideTask
from ostinato.correlations.task.result_cache import POSITION, cache_schema
from ostinato.kernels.constants import NO_TIME
from ostinato.streams.stored_state import LARGEST, check, check_columns_are, check_ranges, whole_numbers


def check_state(
    state: CorrelationState,
    task: CorrelationTask,
    writer: ResultWriter,
    live: pa.Table | None,
    archive: pa.Table | None,
) -> None:
    """Raises STATE_FORMAT. `live` and `archive` are the arriving rows."""
    check_ranges(STATE, {"the time up to which rows are known": (state.known_until, NO_TIME, LARGEST)})
    _check_keys(state, task)
    _check_marks(state, task)
    _check_rows(state.live, state.waiting_live, live, task.live)
    if task.shared:
        check(state.archive is None and state.waiting_archive is None, STATE, "there are rows of another archive")
    else:
        _check_rows(state.archive, state.waiting_archive, archive, task.archive)
    _check_by_key(state, writer)
    _check_plain_numbers(asdict(state.totals))
    _check_plain_numbers(state.planner)


def _check_keys(state: CorrelationState, task: CorrelationTask) -> None:
    count = len(state.marks.base)
    if not task.keys:
        check(state.keys is None and count <= 1, STATE, "it has keys, and the query has none")
        return
    if state.keys is None:
        check(count == 0, STATE, "keys are missing")
        return
    kinds = {task.live.arriving(name): task.live.column_type(name) for name, _ in task.keys}
    check_columns_are(state.keys, kinds, STATE)
    check(state.keys.num_rows == count, STATE, "the numbers of keys and of marks differ")


def _check_marks(state: CorrelationState, task: CorrelationTask) -> None:
    marks: Marks = state.marks
    archive_rows = marks.live_rows if task.shared else LARGEST
    check_ranges(
        STATE,
        {
            "live rows": (marks.live_rows, 0, LARGEST),
            "the next start": (marks.live_start, 0, marks.live_rows),
            "the last reported live match": (marks.live_given, 0, marks.live_rows),
            "the number of matches": (marks.number, 0, LARGEST),
            "archive rows": (marks.archive_rows, 0, archive_rows),
            "the first position": (marks.base, -LARGEST, LARGEST),
            "the last searched start": (marks.search_from, 0, LARGEST),
        },
    )
    check(int(marks.live_rows.sum()) == _count(state.live), STATE, "the number of live rows doesn't match its marks")
    if not task.shared:
        check(
            int(marks.archive_rows.sum()) == _count(state.archive),
            STATE,
            "the number of archive rows doesn't match its marks",
        )


def _count(rows: pa.RecordBatch | None) -> int:
    return 0 if rows is None else int(rows.num_rows)


def _check_rows(
    in_memory: pa.RecordBatch | None, waiting: pa.RecordBatch | None, arriving: pa.Table | None, side: SideTask
) -> None:
    """Rows of the state have the columns of arriving rows. If no rows arrive, they have the columns that the clause
    reads."""
    wanted = set(side.no_rows().schema.names)
    for rows in (in_memory, waiting):
        if rows is None:
            continue
        check(wanted <= set(rows.schema.names), STATE, "rows lack a column")
        if arriving is not None:
            check_columns_are(rows, {field.name: field.type for field in arriving.schema}, STATE)
    if in_memory is not None and waiting is not None:
        check(in_memory.schema == waiting.schema, STATE, "rows have different columns")


def _check_by_key(state: CorrelationState, writer: ResultWriter) -> None:
    """Checks the parts that have key numbers and are ordered by key."""
    keys = len(state.marks.base)
    if state.open_starts is not None:
        check_columns_are(state.open_starts, {KEY: pa.int64(), OFFSET: pa.int64()}, STATE)
        key = _numbers(state.open_starts, KEY, keys)
        offset = whole_numbers(state.open_starts.column(OFFSET), STATE)
        check_ranges(STATE, {"an open start": (offset, 0, state.marks.archive_rows[key] - 1)})
    for batch, schema, then in (
        (state.cache, cache_schema(writer.task), POSITION),
        (state.held, writer.waiting_schema, START),
    ):
        if batch is not None:
            check_columns_are(batch, {field.name: field.type for field in schema}, STATE)
            key = _numbers(batch, KEY, keys)
            for name in [name for name in schema.names if name.startswith("__ost_")]:
                check_ranges(STATE, {name: (whole_numbers(batch.column(name), STATE), -LARGEST, LARGEST)})
            later = np.asarray(batch.column(then))
            in_order = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & (later[1:] >= later[:-1]))
            check(in_order.all(), STATE, "results are out of order")


def _numbers(batch: pa.RecordBatch, name: str, keys: int) -> Ints:
    numbers = whole_numbers(batch.column(name), STATE)
    check_ranges(STATE, {"the number of a key": (numbers, 0, keys - 1)})
    return numbers


def _check_plain_numbers(value: Any) -> None:
    """Checks that all numbers of the planner and the totals are finite and not negative."""
    if isinstance(value, dict):
        for item in value.values():
            _check_plain_numbers(item)
    elif isinstance(value, list):
        for item in value:
            _check_plain_numbers(item)
    elif isinstance(value, int | float):
        check(math.isfinite(value) and 0 <= value <= LARGEST, STATE, "a count or a time is out of range")
