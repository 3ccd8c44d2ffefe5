"""Conditions over the run that the kernel doesn't know -> a check that evaluates them like measures of the run.

They may use everything that a measure may use: arrays of labels, aggregates over MATCH_NUMBER(), text functions across
rows. A call of the evaluator takes about 0.1 ms; the kernel takes some 100 ns. `block_conditions.py` saves calls where
a condition reads a few rows only. `explain` says when a query is evaluated this way (docs/run-conditions.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.matching.row_failures import RowFailures
from ostinato.clause.plan.match_plan import slot_name
from ostinato.clause.plan.typed_plan import GeneralConditions
from ostinato.clause.task.block_conditions import Trial, block_condition
from ostinato.clause.task.measure_slots import SlotReader
from ostinato.errors import MatchError
from ostinato.expressions.evaluate import prepare
from ostinato.expressions.syntax import Column, Expr
from ostinato.expressions.types import Settings
from ostinato.kernels.stopping import check_stopped
from ostinato.rows.column_leaves import by_column_name
from ostinato.rows.matches import Frames, Matches


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
        self.slot_by_name = {
            name: (slot, kind) for slot, (name, kind) in zip(general.slots, types.items(), strict=True)
        }
        self.condition_of_state = condition_of_state
        self.label_of_state = label_of_state
        self.slots = slots
        self.failures = failures
        self.conditions = [prepare(condition, by_column_name(types), settings) for condition in general.conditions]
        variables, slot_of = slots.variables, {name: slot for name, (slot, _) in self.slot_by_name.items()}
        self.blocks = [
            block_condition(condition, ready, slot_of, variables, slots.columns)
            for condition, ready in zip(general.conditions, self.conditions, strict=True)
        ]

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
        trial = Trial(row, labels, key_first, key_end)
        block = self.blocks[condition]
        try:
            return int(self._holds(condition, trial, number) if block is None else block.holds(trial))
        except MatchError as error:
            if self.failures is None:
                raise
            self.failures.note_attempt(row, row - depth, error)
            return 0

    def _holds(self, condition: int, trial: Trial, number: int) -> bool:
        """Whether a condition over any rows of the run is TRUE."""
        depth = len(trial.labels) - 1
        so_far = Matches(
            start=np.array([trial.row - depth]),
            length=np.array([depth + 1]),
            number=np.array([number]),
            path_at=np.zeros(1, np.int64),
            label=trial.labels,
            excluded=np.zeros(depth + 1, np.bool_),
            key_first=np.array([trial.key_first]),
            key_end=np.array([trial.key_end]),
        )
        here = Frames(np.zeros(1, np.int64), np.array([depth]), np.array([trial.row]))
        values: dict[str, pa.Array] = {}

        def leaf(node: Expr) -> pa.Array | None:
            if not isinstance(node, Column):
                return None
            if node.name not in values:
                slot, kind = self.slot_by_name[node.name]
                values[node.name] = self.slots.array(slot, kind, so_far, here)
            return values[node.name]

        return bool(self.conditions[condition].mask(leaf, 1)[0])
