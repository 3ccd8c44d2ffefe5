"""The engine without sharing: each program runs by itself (GRETA's results at a lower cost per event).

A program runs by running sums for each state of its automaton if an event depends only on the states of earlier events
(`running_sums.py`). Otherwise its events are buffered until their window is over (`buffered.py`).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.event_queries.plan.event_program import NO_VALUE, EngineStep, Events, Program, TrendEngine
from ostinato.event_queries.trends.separate.buffered import Buffered
from ostinato.event_queries.trends.separate.program_method import needs_events
from ostinato.event_queries.trends.separate.running_sums import RunningSums
from ostinato.streams.stored_state import check, reading

MAGIC = b"OSTt"
VERSION = 1
PROGRAMS = "programs by themselves"
"""Name of this engine's number of programs in the statistics."""


class SeparateEngine(TrendEngine):
    """With `exact`, counts and sums of integers are Python ints, otherwise doubles with an extended exponent."""

    def __init__(self, programs: Sequence[Program], exact: bool = True) -> None:
        self.programs = tuple(programs)
        self.exact = exact
        self._runners = tuple(_runner(program, exact) for program in self.programs)

    def advance(self, events: Events, states: Sequence[bytes], until: NDArray[np.int64] | None) -> EngineStep:
        sequences = len(states)
        bounds: list[int | None] = [None] * sequences if until is None else [int(u) for u in until]
        sections = [unpack_sections(state, len(self.programs)) for state in states]
        results, states_by_program = [], []
        for i, runner in enumerate(self._runners):
            is_real = real_slots(runner.program, events)
            result, new_states = runner.advance(events, [section[i] for section in sections], bounds, is_real)
            results.append(result)
            states_by_program.append(new_states)
        packed = tuple(
            pack_sections([program_states[s] for program_states in states_by_program]) for s in range(sequences)
        )
        return EngineStep(tuple(results), packed, {"rows": len(events.time), PROGRAMS: len(self.programs)})


def _runner(program: Program, exact: bool) -> RunningSums | Buffered:
    return RunningSums(program, exact) if needs_events(program) is None else Buffered(program, exact)


def real_slots(program: Program, events: Events) -> list[bool]:
    """For each slot, whether its values are doubles."""
    return [s.value != NO_VALUE and events.values[s.value].dtype == np.float64 for s in program.slots]


# --- a sequence's state -----------------------------------------------------------------------------------------------


def pack_sections(sections: Sequence[bytes]) -> bytes:
    """One section for each program; empty if no program has a state."""
    if not any(sections):
        return b""
    sizes = struct.pack(f"<{len(sections)}Q", *map(len, sections))
    return MAGIC + struct.pack("<HH", VERSION, len(sections)) + sizes + b"".join(sections)


def unpack_sections(state: bytes, programs: int) -> list[bytes]:
    if not state:
        return [b""] * programs
    is_known = len(state) >= 8 and state[:4] == MAGIC
    version, count = struct.unpack_from("<HH", state, 4) if is_known else (0, 0)
    if version != VERSION or count != programs:
        raise MatchError(
            "STATE_FORMAT",
            f"the state was kept by another version of the engine or for other queries ({count}, not {programs})",
            hint="start the query with an empty checkpoint",
        )
    source = "the sums in the state of these event queries"
    with reading(source):
        sizes = struct.unpack_from(f"<{count}Q", state, 8)
    offset = 8 + 8 * count
    check(offset + sum(sizes) == len(state), source, "the stored length doesn't match the data")
    sections = []
    for size in sizes:
        sections.append(state[offset : offset + size])
        offset += size
    return sections
