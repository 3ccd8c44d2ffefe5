"""Values that a join asks to be equal -> numbers: the result cache is indexed by them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.clause.matching.growths import ProbeMatches
from ostinato.clause.plan.match_plan import slot_name
from ostinato.correlations.strategies.sides import Ints
from ostinato.correlations.strategies.step_matches import Growths, LiveMatches
from ostinato.correlations.task.correlation_results import ResultWriter
from ostinato.correlations.task.correlation_state import Remembered
from ostinato.correlations.task.correlation_steps import Sides
from ostinato.correlations.task.correlation_task import CorrelationTask
from ostinato.expressions.values.value_order import group_numbers


def indexed_slots(task: CorrelationTask) -> tuple[tuple[int, int], ...]:
    """The equalities that can be numbered: of values of one type."""
    live, archive = task.live.typed.slot_types, task.archive.typed.slot_types
    return tuple((one, other) for one, other in task.equalities if live[one] == archive[other])


@dataclass(frozen=True, slots=True)
class SlotCodes:
    """Numbers the values of some slots of both sides' matches alike."""

    slots: tuple[tuple[int, int], ...]
    sides: Sides
    before: Remembered
    writer: ResultWriter

    def __call__(
        self, live: LiveMatches, live_found: ProbeMatches, growths: Growths, archive_found: ProbeMatches
    ) -> tuple[Ints, Ints]:
        of_live = self.sides.live.values(live_found, live.found).arrays
        names = [slot_name(other) for _, other in self.slots]
        every = np.arange(len(growths.key))
        of_archive = self.writer.growth_values(growths, archive_found, self.sides.archive, every, self.before, names)
        count = len(live.key)
        pairs = [(of_live[slot_name(one)], of_archive[slot_name(other)]) for one, other in self.slots]
        columns = [pa.concat_arrays(pair) for pair in pairs]
        codes = group_numbers(count + len(every), columns)
        for column in columns:
            if column.null_count:
                codes = np.where(np.asarray(column.is_null()), -1, codes)
        return codes[:count], codes[count:]
