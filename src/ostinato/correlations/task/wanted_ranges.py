"""Archive rows that a step needs and the recent buffer lacks, as ranges of time by key."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.correlations.strategies.sides import Ints
from ostinato.correlations.strategies.steps import StepInput, all_live, archive_rows_as_of
from ostinato.correlations.task.correlation_intake import StepIntake
from ostinato.correlations.task.correlation_task import CorrelationTask
from ostinato.correlations.task.wanted_schema import wanted_schema

_NEVER = np.iinfo(np.int64).max


def no_ranges(task: CorrelationTask) -> pa.Table:
    """An empty table of ranges."""
    return wanted_schema(task.archive.column_type(name) for _, name in task.keys).empty_table()


def wanted_ranges(task: CorrelationTask, step: StepInput, intake: StepIntake) -> pa.Table:
    """The rows that live matches of the step need and that aren't in memory, one range for each key."""
    live = all_live(step).matches
    times, missing = step.archive.times, intake.marks.missing
    at_hand_from, complete_from = _edges(step, task.archive.rows_before, intake.known_until)
    since, until = missing.since[live.key], np.minimum(missing.until, complete_from)[live.key]
    until = np.minimum(until, live.start)
    if task.region.kind == "rows":
        lack = step.base[live.key] - (archive_rows_as_of(step, live) - int(task.region.size)) + task.archive.rows_before
        needs = (since < until) & (lack > 0) & missing.is_some[live.key]
        rows = np.zeros(times.keys, np.int64)
        np.maximum.at(rows, live.key[needs], lack[needs])
        from_us = at_hand_from
    else:
        begin = np.maximum(live.end - int(task.region.size), since)
        needs = begin < until
        from_us = np.full(times.keys, _NEVER)
        np.minimum.at(from_us, live.key[needs], begin[needs])
        from_us = np.minimum(from_us, at_hand_from)
        rows = np.full(times.keys, task.archive.rows_before)
    keys = np.unique(live.key[needs])
    return _table(task, intake, keys, from_us[keys], at_hand_from[keys], rows[keys])


def _edges(step: StepInput, before: int, known_until: int) -> tuple[Ints, Ints]:
    """For each key, the time of the first archive row in memory, and the time from which starts lack no rows."""
    times = step.archive.times
    first, end = times.key_at[:-1], times.key_at[1:]
    at_hand, lacking = np.full(times.keys, known_until + 1), np.full(times.keys, known_until + 1)
    has_rows = first < end
    at_hand[has_rows] = times.start[first[has_rows]]
    if not before:
        return at_hand, at_hand
    has_rows = first + before <= end
    lacking[has_rows] = times.start[first[has_rows] + before - 1] + 1
    return at_hand, lacking


def _table(task: CorrelationTask, intake: StepIntake, keys: Ints, from_us: Ints, to_us: Ints, rows: Ints) -> pa.Table:
    schema = no_ranges(task).schema
    values = [] if intake.keys is None else [column.take(pa.array(keys)) for column in intake.keys.columns]
    columns = [*values, pa.array(from_us), pa.array(to_us), pa.array(rows)]
    fitting = [column.cast(field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(fitting, schema=schema)
