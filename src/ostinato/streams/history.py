"""An archive in order of time -> the steps in which a core takes it in before a stream goes live. No Spark here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.rows.batches import one_array
from ostinato.rows.times import microseconds_of
from ostinato.streams.bucket_state import EMPTY
from ostinato.streams.step import Step, StreamCore

ROWS_PER_STEP = 1 << 17
"""Rows are collected up to this number before a step. A bucket's archive needn't fit into memory."""


def history_steps(
    core: StreamCore[Any],
    tables: Iterable[pa.Table],
    time: str,
    latest_us: int,
    rows_per_step: int = ROWS_PER_STEP,
) -> Iterator[Step[Any]]:
    """The steps of one bucket. The state of the last one is that of a stream that knows all rows up to `latest_us`.

    `tables` have the shipped columns and rows in order of time, none of them NULL. The steps' results together are the
    rows that no row after `latest_us` can change.
    """
    state = EMPTY
    for table, until_us in _whole_times(tables, time, rows_per_step):
        step = core.advance(state, table, until_us)
        state = step.state
        yield step
    yield core.advance(state, None, latest_us)


def _whole_times(tables: Iterable[pa.Table], time: str, rows_per_step: int) -> Iterator[tuple[pa.Table, int]]:
    """The rows in larger tables with their latest times. Rows of one time are in one table."""
    waiting: list[pa.Table] = []
    for table in tables:
        waiting.append(table)
        if sum(piece.num_rows for piece in waiting) < rows_per_step:
            continue
        rows = pa.concat_tables(waiting)
        times = microseconds_of(one_array(rows.column(time)))
        whole = int(np.searchsorted(times, times[-1]))  # rows of the last time may follow in the next table
        if whole:
            yield rows.slice(0, whole), int(times[whole - 1])
            waiting = [rows.slice(whole)]
    rows = pa.concat_tables(waiting) if waiting else None
    if rows is not None and rows.num_rows:
        yield rows, int(microseconds_of(one_array(rows.column(time)))[-1])
