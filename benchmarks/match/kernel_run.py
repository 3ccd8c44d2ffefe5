"""A query and rows in order -> the kernel's part of the work, to be called again and again.

That is: row conditions, conditions over neighbours, matching. Parsing, planning, ordering and output are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from benchmarks.queries import Mode, PatternQuery
from ostinato.clause.language.clause_binding import bind
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.matching.spans import whole_keys
from ostinato.clause.plan.match_plan import make_plan
from ostinato.clause.plan.typed_plan import Limits
from ostinato.clause.task.clause_worker import Worker
from ostinato.clause.task.evaluated_plan import EvaluatedPlan
from ostinato.expressions.types import Settings
from ostinato.rows.batches import Batch, one_array
from ostinato.rows.column_leaves import by_column_name

Mask = NDArray[np.bool_]


class KernelRun:
    """One query over one table of a single key whose rows are in order."""

    def __init__(self, query: PatternQuery, mode: Mode, price: NDArray[np.float64]) -> None:
        table = price_table(price)
        clause = parse_clause(query.clause(mode))
        plan = make_plan(bind(clause, table.column_names, case_sensitive=False))
        # The in-process runtime has no public half-way house: matching without output is only of use here.
        self._prepared = EvaluatedPlan(plan, table.schema, Settings(), Limits())
        self._worker = Worker(self._prepared.typed)
        self._count = table.num_rows
        self._arrays = {name: one_array(table.column(name)) for name in table.column_names}
        self._leaf = by_column_name(self._arrays)
        self._inputs = {name: ready.evaluate(self._leaf, self._count) for name, ready in self._prepared.inputs.items()}
        self._ordered = self._worker.order(self._batch(self.row_conditions()))
        self.given_masks = self.row_conditions()

    def _batch(self, masks: Sequence[Mask]) -> Batch:
        return Batch(self._count, {**self._arrays, **self._inputs}, masks)

    def row_conditions(self) -> list[Mask]:
        """What Spark does before it ships rows."""
        return [condition.mask(self._leaf, self._count) for condition in self._prepared.row_conditions]

    def match(self, masks: Sequence[Mask]) -> int:
        """Neighbours and matching, nothing kept from the last time; how many matches."""
        batch = self._batch(masks)
        window = self._worker.window(batch, self._ordered)
        return len(self._worker.search(window, whole_keys(self._ordered.key_at)).matches.start)

    def whole(self) -> int:
        """All of it; how many matches."""
        return self.match(self.row_conditions())


def price_table(price: NDArray[np.float64]) -> pa.Table:
    """(ts, price), rows in order."""
    return pa.table({"ts": np.arange(len(price)), "price": price})
