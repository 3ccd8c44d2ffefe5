"""Letters -> the shared kernel's arrays, and what is in them after a walk. Nothing here calls the engine's driver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.event_queries.trends.enumerated import events, program

from ostinato.event_queries.plan.event_program import Events, Program, Slot, SlotKind
from ostinato.event_queries.trends.shared import blocks, shared_kernel
from ostinato.event_queries.trends.shared import sections as s
from ostinato.event_queries.trends.shared.compile import compiled
from ostinato.event_queries.trends.shared.event_symbols import prepared
from ostinato.event_queries.trends.shared.layout import CompiledPrograms
from ostinato.event_queries.trends.shared.lookups import OutputArrays
from ostinato.event_queries.trends.shared.sections import section
from ostinato.event_queries.trends.shared.shared_engine import KernelArrays
from ostinato.kernels.numbers.number_table import grown, to_extended, to_ints

NEVER = -(1 << 40)
"""No window ends before this time."""
OTHER = program("C T+", slots=[Slot(kind, frozenset({1}), 0) for kind in (SlotKind.SUM, SlotKind.MIN)])
"""A query before the one under test. It has a loop, a log and columns of its own, so that no index is 0 by chance."""
GO_ON, STOP = np.zeros(1, np.int64), np.ones(1, np.int64)


def valued(
    text: str, values: Sequence[Any] | None = None, times: Sequence[int] | None = None, valid: Any = None
) -> Events:
    """Letters with a value each, whose number is 1. Value 0 is 0; `OTHER` reads it."""
    column = np.zeros(len(text), np.int64) if values is None else np.array(values)
    return events(text, times, [np.zeros_like(column), column], [None, valid])


def plan_of(
    programs: Sequence[Program], stream: Events | None = None, exact: bool = True, share: bool = True
) -> CompiledPrograms:
    values = () if stream is None else stream.values
    floats = frozenset(number for number, column in enumerate(values) if column.dtype == np.float64)
    return compiled(programs, exact, floats, share)


def arrays_of(
    programs: Sequence[Program], stream: Events | str, exact: bool = True, share: bool = True
) -> KernelArrays:
    """The arrays before the first event. Text stands for events of one sequence, one a second."""
    stream = events(stream) if isinstance(stream, str) else stream
    plan = plan_of(programs, stream, exact, share)
    arrays = KernelArrays(plan, exact, prepared(stream, plan))
    arrays.progress[[s.SEQUENCE, s.ROW, s.LAST_SEQUENCE]] = 0, 0, len(stream.starts) - 1
    return arrays


def output_of(arrays: KernelArrays) -> OutputArrays:
    return OutputArrays(arrays.results, arrays.progress)


def walk(arrays: KernelArrays, until: int = NEVER, stopped: Any = GO_ON) -> int:
    """One call of the kernel, in the state that the calls before left; returns its status."""
    ends = np.full(len(arrays.rows.events.starts) - 1, until, np.int64)
    status = shared_kernel.walk(arrays.lane_arrays(), arrays.rows.events, output_of(arrays), ends, stopped)
    return int(status)


def bring_up(arrays: KernelArrays) -> int:
    return int(shared_kernel.bring_up(arrays.lane_arrays()))


def walked(
    programs: Sequence[Program], stream: Events | str, exact: bool = True, share: bool = True, until: int = NEVER
) -> KernelArrays:
    """The arrays after all events. Windows stay open, and lanes aren't brought up to date, unless `until` is later."""
    arrays = arrays_of(programs, stream, exact, share)
    while (status := walk(arrays, until)) == s.NUMBERS_FULL:
        arrays.table = grown(arrays.table)
    assert status == s.DONE
    return arrays


def brought_up(
    programs: Sequence[Program], stream: Events | str, exact: bool = True, share: bool = True
) -> KernelArrays:
    """The arrays after all events, with every open lane up to date."""
    arrays = walked(programs, stream, exact, share)
    while bring_up(arrays) == s.NUMBERS_FULL:
        arrays.table = grown(arrays.table)
    return arrays


def small_matrix(arrays: KernelArrays) -> Any:
    """Room for the changes that `walk_blocks` collects."""
    rows = int(arrays.lane_section(s.LANE_ROW)[-1])
    return np.zeros((rows, 1 + int(arrays.layout.queries.cells.max())), np.int64)


def walk_blocks(arrays: KernelArrays, small: Any, stopped: Any = GO_ON) -> int:
    ops = blocks.ops_of(arrays.layout)
    assert ops is not None
    status = blocks.walk_blocks(arrays.lane_arrays(), arrays.rows.events, output_of(arrays), ops, small, stopped)
    return int(status)


# --- what is in the arrays --------------------------------------------------------------------------------------------


def cells(arrays: KernelArrays, lane: int = 0) -> list[Any]:
    """The numbers of a lane: for each cell its count, then its sums."""
    row = arrays.lane_section(s.LANE_ROW)
    return plain(arrays, range(row[lane], row[lane + 1]))


def plain(arrays: KernelArrays, rows: Sequence[int]) -> list[Any]:
    if arrays.table.exact:
        return list(to_ints(arrays.table, rows))
    return doubles(to_extended(arrays.table, rows))


def real_cells(arrays: KernelArrays, lane: int = 0) -> list[float]:
    """The sums of doubles of a lane."""
    row = arrays.lane_section(s.LANE_REAL_ROW)
    return doubles(to_extended(arrays.real, range(row[lane], row[lane + 1])))


def doubles(numbers: Any) -> list[float]:
    return [float(m) * 2.0 ** int(e) for m, e in zip(numbers.mantissa, numbers.exponent, strict=True)]


def extreme_cells(arrays: KernelArrays, lane: int = 0) -> list[int | None]:
    """For each full cell its flag "there is a trend" as 0, then its extremes; None where there is none."""
    at = arrays.lane_section(s.LANE_EXTREME)
    keys, has = arrays.lane_section(s.LANE_KEY), arrays.lane_section(s.LANE_HAS)
    return [int(keys[i]) if has[i] else None for i in range(at[lane], at[lane + 1])]


def open_windows(arrays: KernelArrays, extent: int = 0) -> list[int]:
    """The numbers of the open windows."""
    first, following = arrays.lane_section(s.OPEN_FIRST)[extent], arrays.lane_section(s.OPEN_NEXT)[extent]
    return list(range(first, following))


def results(arrays: KernelArrays) -> list[tuple[Any, ...]]:
    """(query, sequence, window, count) in the order in which windows were closed; counts of 0 are left out."""
    count = int(arrays.progress[s.RESULTS])
    query, sequence, window, row = (
        section(arrays.results, number, count).tolist()
        for number in (s.RESULT_QUERY, s.RESULT_SEQUENCE, s.RESULT_WINDOW, s.RESULT_ROW)
    )
    rows = zip(query, sequence, window, plain(arrays, row), strict=True)
    return [result for result in rows if result[-1]]
