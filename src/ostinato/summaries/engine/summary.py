"""Events + the state of a summary -> the next state, with at most `size` kept events.

`Summary` is a compiled query. Doubles choose the kept events. Answers (`answers.py`) count matches exactly.
"""

from __future__ import annotations

import enum
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError, did_you_mean
from ostinato.kernels.stopping import check_stopped, stop_flag
from ostinato.summaries.engine.counter_moves import benefit_program
from ostinato.summaries.engine.keeping_strategies import advance_blindly, advance_by_benefit
from ostinato.summaries.engine.kernel_tables import (
    BY_BENEFIT,
    NOW,
    SEEN,
    STARTED,
    Incoming,
    Scratch,
    choice_of,
    empty_columns,
    horizon_of,
    new_scratch,
    rules_of,
)
from ostinato.summaries.engine.summary_state import SummaryState, state_from_bytes
from ostinato.summaries.language.query_automaton import query_automaton
from ostinato.summaries.language.summary_query import LARGEST_TIME_US, SummaryAggregate, SummaryQuery, UnknownTypes
from ostinato.summaries.language.type_automaton import TypeAutomaton

_CHUNK = 4096
"""Events between two copies of the state. After an overflow, wide numbers start from the last copy."""


@dataclass(frozen=True, slots=True)
class SummaryEvents:
    """Events ordered by time, and by arrival for equal times. `codes` come from `Summary.codes`."""

    time: NDArray[np.int64]
    codes: NDArray[np.int64]
    values: NDArray[np.int64] | NDArray[np.float64] | None = None
    valid: NDArray[np.bool_] | None = None
    """Whether each value isn't NULL; None: no NULLs."""

    def __len__(self) -> int:
        return len(self.time)

    def taken(self, rows: NDArray[np.int64] | slice) -> SummaryEvents:
        """Some of the events, in the order of `rows`."""
        values = None if self.values is None else self.values[rows]
        return SummaryEvents(
            self.time[rows], self.codes[rows], values, None if self.valid is None else self.valid[rows]
        )


class Summary:
    """One compiled query. It holds no events: states do."""

    def __init__(
        self, query: SummaryQuery, *, float_values: bool = False, automaton: TypeAutomaton | None = None
    ) -> None:
        """`automaton` replaces that of the query's expression, over the same types."""
        self.query = query
        self.automaton = automaton or query_automaton(query)
        self.float_values = float_values
        self.program = benefit_program(self.automaton, query.aggregate, query.selection)
        self.rules = rules_of(self.program)
        self.choice = choice_of(query, self.program)
        self._scratch: dict[bool, Scratch] = {}
        self._known = {name: code for code, name in enumerate(self.automaton.types)}
        self._spelt = frozenset(re.findall(r"\w{2,}", query.expression)) - frozenset(self._known)
        """Words of the expression that were read as single letters, because no such type was declared."""
        identity = [asdict(query), float_values, asdict(self.automaton)]
        text = json.dumps(identity, default=_plain, sort_keys=True)
        self.fingerprint = hashlib.sha256(text.encode()).digest()[:16]
        """States of summaries with another fingerprint are refused."""

    # --- events -------------------------------------------------------------------------------------------------------

    def codes(self, types: Sequence[str | None]) -> NDArray[np.int64]:
        """Names of types as numbers. Types that the expression doesn't use share one number."""
        other = len(self.automaton.types)
        codes = np.fromiter((self._known.get(name, other) for name in types), np.int64, len(types))  # type: ignore[arg-type]
        for name in self._spelt.intersection(types):
            raise MatchError(
                "SUMMARY_UNKNOWN_TYPE",
                f"the expression says {name!r}, which was read letter by letter, and there are events of this type",
                hint=f"name the types with types=({name!r}, ...), or put `{name}` into backquotes",
            )
        if self.query.unknown_types is UnknownTypes.REFUSE:
            declared = self.query.declared() | set(self.automaton.types)
            for index in np.flatnonzero(codes == other).tolist():
                name = types[index]
                if name not in declared:
                    hint = did_you_mean(str(name), declared)
                    raise MatchError("SUMMARY_UNKNOWN_TYPE", f"an event of the unknown type {name!r}", hint=hint)
        return codes

    def incoming(self, events: SummaryEvents, number: NDArray[np.int64]) -> Incoming:
        """The events as kernel arguments. `number`: the index of each event in the stream."""
        rows = len(events)
        time, codes = (np.ascontiguousarray(column, np.int64) for column in (events.time, events.codes))
        valid = np.ones(rows, np.bool_) if events.valid is None else np.ascontiguousarray(events.valid, np.bool_)
        dtype = np.float64 if self.float_values else np.int64
        if events.values is None:
            values, valid = np.zeros(rows, dtype), np.zeros(rows, np.bool_)
        else:
            # Values of events that the expression doesn't use are never added.
            valid = valid & (codes < len(self.automaton.types))
            values = np.where(valid, events.values, 0).astype(dtype)
        weight = np.abs(values.astype(np.float64))
        if self.query.aggregate is not SummaryAggregate.COUNT and not np.isfinite(weight).all():
            raise MatchError(
                "SUMMARY_VALUE", "a value is infinite or not a number", hint="make it NULL: it counts as 0"
            )
        return Incoming(time, codes, weight, values.view(np.int64), valid, number)

    @property
    def adds_floats(self) -> bool:
        """Whether answers add doubles, which have to be finite."""
        return self.float_values and self.query.aggregate is not SummaryAggregate.COUNT

    # --- state --------------------------------------------------------------------------------------------------------

    def new_state(self) -> SummaryState:
        """An empty summary."""
        types = self.automaton.types
        columns = empty_columns(self.query.size, self.program.states, len(types))
        probabilities = dict(self.query.probabilities or ())
        columns.probabilities[:] = [probabilities.get(name, 1.0 / len(types)) for name in types]
        columns.tick[0] = self.query.tick_us or 0.0
        return SummaryState(columns, self.fingerprint)

    def state_from_bytes(self, data: bytes) -> SummaryState:
        return state_from_bytes(data, self.new_state(), adds_floats=self.adds_floats)

    def scratch(self, wide: bool = False) -> Scratch:
        """Scratch memory for one thread."""
        if wide not in self._scratch:
            program, query = self.program, self.query
            self._scratch[wide] = new_scratch(query.size, program.states, program.plain_states, horizon_of(query), wide)
        return self._scratch[wide]

    def advance(self, events: SummaryEvents, state: SummaryState) -> SummaryState:
        """The summary after more events. The given state doesn't change."""
        marks = state.columns.marks
        check_order(events.time, int(marks[NOW]) if marks[STARTED] else None)
        numbers = marks[SEEN] + np.arange(len(events), dtype=np.int64)
        return self.advance_numbered(events, numbers, state)

    def advance_numbered(self, events: SummaryEvents, numbers: NDArray[np.int64], state: SummaryState) -> SummaryState:
        """`advance` for events that are known to be ordered and have numbers."""
        incoming = self.incoming(events, numbers)
        state = state.copied()
        start = 0
        while start < len(events):
            stop = min(start + _CHUNK, len(events))
            before = state if state.is_wide else state.copied()
            if self.choice.rule == BY_BENEFIT:
                scratch = self.scratch(state.is_wide)
                arrays = (self.rules, state.columns, scratch, self.choice, incoming)
                done = advance_by_benefit(*arrays, start, stop, stop_flag())
            else:
                done = advance_blindly(state.columns, self.choice, incoming, start, stop)
            check_stopped()
            if done == stop:
                start = stop
            elif state.is_wide:
                raise MatchError("SUMMARY_VALUE", "values are too large to choose by")
            else:
                state = before.widened()
        return state


def check_order(time: NDArray[np.int64], last: int | None) -> None:
    """Raises if times aren't ascending, or start before the last time of an earlier batch."""
    if not len(time):
        return
    before = np.concatenate((time[:1] if last is None else [last], time[:-1]))
    if (time < before).any():
        row = int(np.argmax(time < before))
        message = f"the event at {time[row]} came after one at {before[row]}"
        raise MatchError("SUMMARY_TIME_ORDER", message, hint="sort by time; equal times are fine")
    if max(abs(int(time[0])), abs(int(time[-1]))) >= LARGEST_TIME_US:
        raise MatchError("SUMMARY_TIME_ORDER", "a time that is out of range")


def _plain(value: Any) -> Any:
    """A value of a query as JSON: enums by their values, sets in order."""
    return value.value if isinstance(value, enum.Enum) else sorted(value)
