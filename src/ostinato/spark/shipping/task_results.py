"""For workers: arriving batches -> the results of a task, with an error as a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa

from ostinato.calls.foreign_errors import ours_or_raise
from ostinato.rows.batches import failure

Batches = Iterator[pa.RecordBatch]


def results_of(
    batches: Batches, run: Callable[[pa.Table], Batches], output: pa.Schema, names: Sequence[str] | None = None
) -> Batches:
    """The output of `run` for all arriving rows, if there are any. `names` are the workers' names of their columns."""
    return or_failure(_results(batches, run, names), output)


def _results(batches: Batches, run: Callable[[pa.Table], Batches], names: Sequence[str] | None) -> Batches:
    waiting = [batch for batch in batches if batch.num_rows]
    if waiting:
        rows = pa.Table.from_batches(waiting)
        yield from run(rows if names is None else rows.rename_columns(list(names)))


def or_failure(results: Batches, output: pa.Schema) -> Batches:
    """The results. If they fail, a last row carries the error; its columns are those of `output`."""
    try:
        yield from results
    except Exception as error:
        yield failure(ours_or_raise(error), output)
