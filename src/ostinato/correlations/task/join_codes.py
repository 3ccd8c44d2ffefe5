"""Values that a join requires to be equal -> numbers, by which the join is indexed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.clause.matching.growths import ProbeMatches
from ostinato.clause.plan.match_plan import slot_name
from ostinato.correlations.strategies.sides import Ints
from ostinato.correlations.strategies.step_matches import Growths, LiveMatches
from ostinato.correlations.task.correlation_results import ResultWriter
from ostinato.correlations.task.correlation_state import CorrelationState
from ostinato.correlations.task.correlation_steps import Sides
from ostinato.correlations.task.correlation_task import CorrelationTask
from ostinato.expressions.values.value_order import group_numbers


def indexed_slots(task: CorrelationTask) -> tuple[tuple[int, int], ...]:
    """The equalities between values of the same type."""
    live, archive = task.live.typed.slot_types, task.archive.typed.slot_types
    return tuple(slots for slots in task.equalities if live[slots[0]] == archive[slots[1]])


@dataclass(frozen=True, slots=True)
class SlotCodes:
    """Numbers the values of some slots. Equal values of both sides get equal numbers."""

    slots: tuple[tuple[int, int], ...]
    sides: Sides
    before: CorrelationState
    writer: ResultWriter

    def __call__(
        self, live: LiveMatches, live_probe_matches: ProbeMatches, growths: Growths, archive_probe_matches: ProbeMatches
    ) -> tuple[Ints, Ints]:
        of_live = self.sides.live.values(live_probe_matches, live.match_index).arrays
        names = [slot_name(archive_slot) for _, archive_slot in self.slots]
        all_growths = np.arange(len(growths.key))
        of_archive = self.writer.growth_values(
            growths, archive_probe_matches, self.sides.archive, all_growths, self.before, names
        )
        count = len(live.key)
        columns = [
            pa.concat_arrays([of_live[slot_name(live_slot)], of_archive[slot_name(archive_slot)]])
            for live_slot, archive_slot in self.slots
        ]
        codes = group_numbers(count + len(all_growths), columns)
        for column in columns:
            if column.null_count:
                codes = np.where(np.asarray(column.is_null()), -1, codes)
        return codes[:count], codes[count:]
