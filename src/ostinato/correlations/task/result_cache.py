"""The result cache: archive matches of earlier steps with their values. Later steps don't search them again.

`growths_to_keep` is the cache policy. The cache is a part of the state (`correlation_state.py`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies.result_order import Future
from ostinato.correlations.strategies.sides import Ints
from ostinato.correlations.strategies.step_matches import NOT_FOUND_HERE, Growths, StepOutcome
from ostinato.correlations.task.correlation_results import (
    ARCHIVE,
    END,
    KEY,
    START,
    ResultWriter,
    side_fields,
    typed_batch,
)
from ostinato.correlations.task.correlation_state import CorrelationState
from ostinato.correlations.task.correlation_task import CorrelationTask

POSITION = "__ost_place"


def cache_schema(task: CorrelationTask) -> pa.Schema:
    """Key, position, start and end of an archive match, then its output columns."""
    numbers = [pa.field(name, pa.int64()) for name in (KEY, POSITION, START, END)]
    return pa.schema([*numbers, *side_fields(task.archive, ARCHIVE)])


def cached_growths(cache: pa.RecordBatch | None) -> Growths:
    """The archive matches in the cache."""
    if cache is None:
        return Growths.none()
    key, position, start, end = (np.asarray(column) for column in cache.columns[:4])
    return Growths(key, position, start, end, np.full(len(key), NOT_FOUND_HERE), np.arange(len(key)))


def growths_to_keep(outcome: StepOutcome, future: Future, region: Region) -> Ints:
    """The archive matches of a step that stay in the cache: those that a later live match can still join."""
    growths = outcome.growths
    chosen = np.arange(len(growths.key)) if outcome.remembered is None else outcome.remembered
    is_reached = future.is_reached(growths.key[chosen], growths.start[chosen], growths.position[chosen], region)
    joinable: Ints = chosen[is_reached]
    return joinable


def new_cache(
    writer: ResultWriter, outcome: StepOutcome, future: Future, before: CorrelationState
) -> pa.RecordBatch | None:
    """The cache after a step; None if it is empty."""
    chosen = growths_to_keep(outcome, future, writer.task.region)
    if not len(chosen):
        return None
    growths = outcome.growths.take(chosen)
    numbers = [pa.array(column) for column in (growths.key, growths.position, growths.start, growths.end)]
    values = writer.archive_values(outcome, chosen, before, writer.task.archive.output_names)
    return typed_batch([*numbers, *values.values()], cache_schema(writer.task))


def cached_starts(cache: pa.RecordBatch) -> int:
    """Number of archive starts in the cache. Growths of a start are adjacent."""
    key, position = np.asarray(cache.column(KEY)), np.asarray(cache.column(POSITION))
    return 1 + int(((key[1:] != key[:-1]) | (position[1:] != position[:-1])).sum())
