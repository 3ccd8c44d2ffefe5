"""TypedPlan of a window + all rows of some keys -> the same rows, each with the values of its match."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.clause.matching.spans import whole_keys
from ostinato.clause.plan.match_plan import slot_name
from ostinato.clause.plan.typed_plan import TypedPlan
from ostinato.clause.task.clause_worker import Window, Worker
from ostinato.clause.task.measure_slots import SlotReader
from ostinato.clause.task.window_matches import RowMatches, matches_of_rows
from ostinato.errors import MatchError
from ostinato.kernels.stopping import check_stopped
from ostinato.rows.batches import Batch, OutputRows
from ostinato.rows.column_names import MATCHED
from ostinato.rows.ordering import Ordered


class WindowWorker:
    """Runs the plan of one window over any number of batches. Keeps no state between them."""

    def __init__(self, typed: TypedPlan) -> None:
        assert typed.plan.window is not None
        self.typed = typed
        self.window = typed.plan.window
        self.worker = Worker(typed)

    def run(self, batch: Batch) -> OutputRows:
        """The rows of the batch in their order, with slots and MATCHED."""
        ordered = self.worker.order(batch)
        rows = self.worker.window(batch, ordered)
        found = self.worker.search(rows, whole_keys(ordered.key_at))
        try:
            matched = matches_of_rows(found, self.worker.task, ordered.key_at, self.window)
        except MatchError as error:
            raise self.worker.with_key(error, rows) from None
        values = self._values(matched, rows)
        if ordered.rows is not None:
            back = _places(ordered)
            values = {name: array.take(back) for name, array in values.items()}
        shown = {name: batch.arrays[name] for name in self.typed.plan.shown}
        return OutputRows(batch.count, shown | values)

    def _values(self, matched: RowMatches, rows: Window) -> dict[str, pa.Array]:
        """The slots and MATCHED, for the rows in the order of matching."""
        values = {}
        slots = SlotReader(self.typed, rows.columns)
        for i, (slot, kind) in enumerate(zip(self.typed.plan.slots, self.typed.slot_types, strict=True)):
            check_stopped()
            values[slot_name(i)] = slots.array(slot, kind, matched.matches, matched.frames)
        return values | {MATCHED: pa.array(matched.has_match)}


def _places(ordered: Ordered) -> pa.Array:
    """For each row of the input its place in the order of matching."""
    assert ordered.rows is not None
    places = np.empty(len(ordered.rows), np.int64)
    places[ordered.rows] = np.arange(len(ordered.rows))
    return pa.array(places)
