"""Conditions over the run that the kernel doesn't know -> a check that evaluates them like measures of the run.

They may use everything that a measure may use: arrays of labels, aggregates over MATCH_NUMBER(), text functions across
rows. A call of the evaluator takes about 0.1 ms; the kernel takes some 100 ns. So one call answers many trials:
`block_conditions.py` where a condition reads a few rows only, `predicted_conditions.py` elsewhere. `explain` says when
a query is evaluated this way (docs/run-conditions.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.clause.matching.row_failures import RowFailures
from ostinato.clause.plan.match_plan import slot_name
from ostinato.clause.plan.typed_plan import GeneralConditions
from ostinato.clause.task.block_conditions import BlockCondition, block_condition
from ostinato.clause.task.measure_slots import SlotReader
from ostinato.clause.task.predicted_conditions import PredictedCondition
from ostinato.clause.task.trials import Trial
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import prepare
from ostinato.expressions.types import Settings
from ostinato.kernels.stopping import check_stopped
from ostinato.rows.column_leaves import by_column_name


class GeneralConditionCheck:
    """The search calls `check` before it consumes a row."""

    def __init__(
        self,
        general: GeneralConditions,
        condition_of_state: Sequence[int],
        label_of_state: NDArray[np.int32],
        slots: SlotReader,
        settings: Settings,
        failures: RowFailures | None = None,
    ) -> None:
        """With `failures`, a row at which a condition fails is noted there and counts as not TRUE."""
        types = {slot_name(i): kind for i, kind in enumerate(general.slot_types)}
        slot_by_name = {name: (slot, kind) for slot, (name, kind) in zip(general.slots, types.items(), strict=True)}
        self.condition_of_state = condition_of_state
        self.label_of_state = label_of_state
        self.failures = failures
        slot_of = {name: slot for name, (slot, _) in slot_by_name.items()}
        self.conditions: list[BlockCondition | PredictedCondition] = []
        for condition in general.conditions:
            ready = prepare(condition, by_column_name(types), settings)
            block = block_condition(condition, ready, slot_of, slots.variables, slots.columns)
            self.conditions.append(block or PredictedCondition(ready, slot_by_name, slots))

    def check(
        self,
        state: int,
        label: int,
        row: int,
        depth: int,
        key_first: int,
        key_end: int,
        number: int,
        buffers: Any,
        _: Any,
    ) -> int:
        """1 when the state's condition is TRUE for this row under this label, else 0."""
        condition = self.condition_of_state[state]
        if condition < 0:
            return 1
        check_stopped()
        labels = np.append(self.label_of_state[buffers.node[1 : depth + 1]], label).astype(np.int32)
        try:
            return int(self.conditions[condition].holds(Trial(row, labels, key_first, key_end, number)))
        except MatchError as error:
            if self.failures is None:
                raise
            self.failures.note_attempt(row, row - depth, error)
            return 0
