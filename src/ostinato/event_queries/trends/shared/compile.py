"""Programs -> CompiledPrograms: the cells of each query, the effects of its events, the log columns of its loops."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from ostinato.event_queries.automaton.trend_automaton import START, Transition
from ostinato.event_queries.plan.event_program import BoundKind, Extent, Program, Slot, SlotKind
from ostinato.event_queries.trends.loops import Loop, absent_conditions, chosen_loops, windows_open
from ostinato.event_queries.trends.shared.layout import (
    NONE,
    Actions,
    CompiledPrograms,
    Ints,
    LogColumns,
    Loops,
    Queries,
    SharedLayout,
    SlotIndexes,
    Targets,
    ValueStream,
    ValueStreams,
    Windows,
)


class _Ranges:
    """Lists one after another, with the position where each begins."""

    def __init__(self) -> None:
        self.begins = [0]
        self.items: list[list[int]] = []

    def add(self, rows: Iterable[Sequence[int]]) -> None:
        self.items.extend(list(row) for row in rows)
        self.begins.append(len(self.items))

    def begin(self) -> Ints:
        return np.array(self.begins, np.int64)

    def column(self, number: int = 0) -> Ints:
        return np.array([row[number] for row in self.items], np.int64)


def compiled(programs: Sequence[Program], exact: bool, floats: frozenset[int], share: bool) -> CompiledPrograms:
    """`floats`: the values that are doubles. Without `share` no loops: lanes process every event themselves."""
    chosen = chosen_loops(programs) if share else [[] for _ in programs]
    builder = _Builder(exact, floats)
    for number, (program, loops_of_query) in enumerate(zip(programs, chosen, strict=True)):
        _Query(builder, number, program, loops_of_query).write()
    return builder.finished()


class _Builder:
    """Collects the arrays of all queries."""

    def __init__(self, exact: bool, floats: frozenset[int]) -> None:
        self.exact, self.floats = exact, floats
        self.streams = ValueStreams()
        self.extents: dict[Extent, int] = {}
        self.logs: dict[int, int] = {}
        self.log_queries: dict[int, set[int]] = {}
        self.log_columns: dict[str, list[dict[int, int]]] = {"int": [], "real": [], "extreme": []}
        self.query_rows: list[list[int]] = []
        self.loop_rows: list[list[int]] = []
        self.action_rows: list[list[int]] = []
        self.move_rows: list[list[int]] = []
        self.slot_indexes: list[tuple[SlotIndexes, ...]] = []
        self.ranges: defaultdict[str, _Ranges] = defaultdict(_Ranges)

    def log(self, condition: int, query: int) -> int:
        if condition not in self.logs:
            self.logs[condition] = len(self.logs)
            for columns in self.log_columns.values():
                columns.append({})
        self.log_queries.setdefault(condition, set()).add(query)
        return self.logs[condition]

    def log_column(self, kind: str, log: int, stream: int) -> int:
        return self.log_columns[kind][log].setdefault(stream, len(self.log_columns[kind][log]))

    def extent(self, extent: Extent) -> int:
        return self.extents.setdefault(extent, len(self.extents))

    def finished(self) -> CompiledPrograms:
        r = self.ranges
        query, loop = _columns(self.query_rows, 8), _columns(self.loop_rows, 4)
        windows = _windows(list(self.extents))
        lanes = windows.lanes[query[0]]
        query[1] = np.cumsum(lanes) - lanes
        action, move = _columns(self.action_rows, 3), _columns(self.move_rows, 3)
        return CompiledPrograms(
            SharedLayout(
                Queries(
                    extent=query[0],
                    first_lane=query[1],
                    cells=query[2],
                    slots=query[3],
                    full_cells=query[4],
                    reals=query[5],
                    extremes=query[6],
                    loop_from=r["loop"].begin(),
                    target_from=r["target"].begin(),
                    result_from=r["result"].begin(),
                    result_sign=r["result"].column(0),
                    result_cell=r["result"].column(1),
                    result_constant=query[-1],
                    full_result_from=r["full_result"].begin(),
                    full_result_cell=r["full_result"].column(),
                    one_from=r["one"].begin(),
                    one_cell=r["one"].column(),
                    full_one_from=r["full_one"].begin(),
                    full_one_cell=r["full_one"].column(),
                ),
                Loops(
                    log=loop[0],
                    ahead=loop[1],
                    full_ahead=loop[2],
                    keeps_from=r["keeps"].begin(),
                    keeps_cell=r["keeps"].column(),
                    full_keeps_from=r["full_keeps"].begin(),
                    full_keeps_cell=r["full_keeps"].column(),
                    full_other_from=r["full_other"].begin(),
                    full_other_cell=r["full_other"].column(),
                    other_from=r["other"].begin(),
                    other_cell=r["other"].column(),
                    starts=loop[-1],
                    slot_from=r["loop_slot"].begin(),
                    slot_log=r["loop_slot"].column(),
                    real_from=r["loop_real"].begin(),
                    real_log=r["loop_real"].column(),
                    extreme_from=r["loop_extreme"].begin(),
                    extreme_log=r["loop_extreme"].column(),
                ),
                Targets(r["add"].begin(), r["add"].column(), r["full_add"].begin(), r["full_add"].column()),
                Actions(
                    query=action[0],
                    condition=action[1],
                    simple=action[2],
                    move_from=r["move"].begin(),
                    reset_from=r["reset"].begin(),
                    reset_cell=r["reset"].column(0),
                    reset_full_cell=r["reset"].column(1),
                    reset_feed_from=r["feed"].begin(),
                    reset_feed=r["feed"].column(),
                    target=move[0],
                    term_from=r["term"].begin(),
                    term_sign=r["term"].column(0),
                    term_cell=r["term"].column(1),
                    constant=move[1],
                    full_source_from=r["full_source"].begin(),
                    full_source_cell=r["full_source"].column(),
                    starts=move[2],
                    slot_from=r["slot"].begin(),
                    slot_stream=r["slot"].column(),
                    real_from=r["real"].begin(),
                    real_stream=r["real"].column(),
                    extreme_from=r["extreme"].begin(),
                    extreme_stream=r["extreme"].column(),
                ),
                self._log_columns(),
                windows,
            ),
            self.streams,
            tuple(self.slot_indexes),
        )

    def _log_columns(self) -> LogColumns:
        arrays: list[Ints] = []
        for kind in ("int", "real", "extreme"):
            ranges = _Ranges()
            for columns in self.log_columns[kind]:
                ranges.add([stream] for stream in columns)
            arrays += [ranges.begin(), ranges.column()]
        # A loop names a column within its log; the kernel numbers the columns of all logs.
        queries = np.array([len(self.log_queries[condition]) for condition in self.logs], np.int64)
        return LogColumns(np.array(list(self.logs), np.int64), queries, *arrays)


def _columns(rows: list[list[int]], width: int) -> list[Ints]:
    return list(np.array(rows, np.int64).reshape(len(rows), width).T.copy())


def _windows(extents: list[Extent]) -> Windows:
    kinds = [0 if extent.kind is BoundKind.NONE else 2 if extent.by_place else 1 for extent in extents]
    lanes = [windows_open(extent) for extent in extents]
    lengths, slides = [e.length for e in extents], [max(e.slide, 1) for e in extents]
    return Windows(*(np.array(column, np.int64) for column in (kinds, lengths, slides, lanes)))


@dataclass(frozen=True, slots=True)
class _Guard:
    """The trends that have reached `source` since the last event of one of the conditions (those under NOT)."""

    source: int
    conditions: frozenset[int]


@dataclass(slots=True)
class _Value:
    """A number as a sum of cells, to be read by a move."""

    constant: int = 0
    terms: list[tuple[int, int]] = field(default_factory=list)
    full_cells: list[int] = field(default_factory=list)
    starts: bool = False

    def add(self, other: _Value) -> None:
        self.constant += other.constant
        self.terms += other.terms
        self.full_cells += other.full_cells
        self.starts |= other.starts


class _Query:
    """Writes one program into the arrays of the builder."""

    def __init__(self, builder: _Builder, number: int, program: Program, loops: list[Loop]) -> None:
        self.builder, self.number, self.program, self.loops = builder, number, program, loops
        self.loop_of = {loop.state: index for index, loop in enumerate(loops)}
        automaton = program.automaton
        steps = automaton.transitions
        guards = {self._guard(step) for step in steps if step.absences}
        self.end_guards = {
            state: _Guard(state, absent_conditions(program, automaton.absences_at_end(state)))
            for state, _absence in automaton.end_absences
        }
        self.guards = sorted(guards | set(self.end_guards.values()), key=lambda g: (g.source, sorted(g.conditions)))
        self.states = [state for state in range(automaton.states) if state != START]
        stored = [state for state in self.states if not (builder.exact and state in self.loop_of)]
        self.cell = {state: index for index, state in enumerate(stored)}
        self.full_cell = {state: index for index, state in enumerate(self.states)}
        self.guard_cell = {guard: len(stored) + index for index, guard in enumerate(self.guards)}
        self.full_guard_cell = {guard: len(self.states) + index for index, guard in enumerate(self.guards)}
        first, full_first = len(stored) + len(self.guards), len(self.states) + len(self.guards)
        self.ahead = [first + index for index in range(len(loops))]
        self.full_ahead = [full_first + index for index in range(len(loops))]
        self.cells, self.full_cells = first + len(loops), full_first + len(loops)
        self.slots: list[tuple[Slot, ValueStream]] = []
        self.reals: list[tuple[Slot, ValueStream]] = []
        self.extremes: list[tuple[Slot, ValueStream]] = []
        builder.slot_indexes.append(tuple(self._slot_indexes(slot) for slot in program.slots))

    def _guard(self, step: Transition) -> _Guard:
        return _Guard(step.source, absent_conditions(self.program, step.absences))

    def _slot_indexes(self, slot: Slot) -> SlotIndexes:
        def put(slots: list[tuple[Slot, ValueStream]], stream: ValueStream) -> int:
            slots.append((slot, stream))
            return len(slots) - 1

        match slot.kind:
            case SlotKind.COUNT:
                stream = ValueStream("one") if slot.value == NONE else ValueStream("valid", slot.value)
                return SlotIndexes(slot, put(self.slots, stream), None, None, None)
            case SlotKind.SUM if slot.value in self.builder.floats:
                real = put(self.reals, ValueStream("real", slot.value))
                present = put(self.extremes, ValueStream("valid", slot.value))
                first, *_ = [put(self.extremes, ValueStream(kind, slot.value)) for kind in ("nan", "above", "below")]
                return SlotIndexes(slot, None, real, present, first)
            case SlotKind.SUM:
                number = put(self.slots, ValueStream("value", slot.value))
                return SlotIndexes(slot, number, None, put(self.extremes, ValueStream("valid", slot.value)), None)
            case SlotKind.MIN | SlotKind.MAX:
                extreme = put(self.extremes, ValueStream(slot.kind.value, slot.value))
                return SlotIndexes(slot, None, None, extreme, None)

    # --- sums of cells ---

    def _source(self, step: Transition) -> _Value:
        if not step.absences:
            return self._state(step.source)
        guard = self._guard(step)
        return _Value(0, [(1, self.guard_cell[guard])], [self.full_guard_cell[guard]])

    def _state(self, state: int) -> _Value:
        if state == START:
            return _Value(constant=1, starts=True)
        if state in self.cell:
            return _Value(0, [(1, self.cell[state])], [self.full_cell[state]])
        index = self.loop_of[state]
        others = self._others(index)
        terms = [(1, self.ahead[index])] + [(-sign, cell) for sign, cell in others.terms]
        return _Value(-others.constant, terms, [self.full_cell[state]])

    def _others(self, index: int) -> _Value:
        value = _Value()
        for step in self.loops[index].others:
            value.add(self._source(step))
        return value

    def _added(self, state: int) -> tuple[list[int], list[int]]:
        """The cells, in both numberings, that gain as much as the state does."""
        cells = [self.cell[state]] if state in self.cell else []
        full_cells = [self.full_cell[state]]
        for guard in self.guards:
            if guard.source == state:
                cells.append(self.guard_cell[guard])
                full_cells.append(self.full_guard_cell[guard])
        for index, loop in enumerate(self.loops):
            times = (loop.state == state) + sum(step.source == state for step in loop.others)
            cells += [self.ahead[index]] * times
            full_cells += [self.full_ahead[index]] * times
        return cells, full_cells

    # --- into the arrays ---

    def write(self) -> None:
        b, r = self.builder, self.builder.ranges
        result = self._result()
        extent = b.extent(self.program.extent)
        b.query_rows.append(
            [
                extent,
                0,
                self.cells,
                len(self.slots),
                self.full_cells,
                len(self.reals),
                len(self.extremes),
                result.constant,
            ]
        )
        r["result"].add(result.terms)
        r["full_result"].add([full_cell] for full_cell in result.full_cells)
        self._write_ones()
        for index in range(len(self.loops)):
            self._write_loop(index)
        r["loop"].begins.append(len(b.loop_rows))
        looping = {loop.label for loop in self.loops}
        steps = [step for step in self.program.automaton.transitions if step.label not in looping]
        targets = sorted({step.target for step in steps})
        first = r["target"].begins[-1]
        r["target"].begins.append(first + len(targets))
        number_of = {state: first + index for index, state in enumerate(targets)}
        for state in targets:
            cells, full_cells = self._added(state)
            r["add"].add([cell] for cell in cells)
            r["full_add"].add([full_cell] for full_cell in full_cells)
        self._write_actions(steps, number_of)

    def _result(self) -> _Value:
        value = _Value()
        for state in sorted(self.program.automaton.accepting):
            guard = self.end_guards.get(state)
            if guard is None:
                value.add(self._state(state))
            else:
                value.add(_Value(0, [(1, self.guard_cell[guard])], [self.full_guard_cell[guard]]))
        return value

    def _write_ones(self) -> None:
        ones = [self.guard_cell[guard] for guard in self.guards if guard.source == START]
        full_ones = [self.full_guard_cell[guard] for guard in self.guards if guard.source == START]
        for index, loop in enumerate(self.loops):
            if any(step.source == START for step in loop.others):
                ones.append(self.ahead[index])
                full_ones.append(self.full_ahead[index])
        self.builder.ranges["one"].add([cell] for cell in ones)
        self.builder.ranges["full_one"].add([cell] for cell in full_ones)

    def _write_loop(self, index: int) -> None:
        b, r, loop = self.builder, self.builder.ranges, self.loops[index]
        log = b.log(loop.condition, self.number)
        others = self._others(index)
        b.loop_rows.append([log, self.ahead[index], self.full_ahead[index], others.starts])
        guards = [guard for guard in self.guards if guard.source == loop.state]
        stored = [self.cell[loop.state]] if loop.state in self.cell else []
        r["keeps"].add([cell] for cell in stored + [self.guard_cell[guard] for guard in guards])
        r["full_keeps"].add(
            [cell] for cell in [self.full_cell[loop.state]] + [self.full_guard_cell[guard] for guard in guards]
        )
        r["full_other"].add([cell] for cell in others.full_cells)
        r["other"].add([cell] for _, cell in others.terms)
        for name, kind, slots, numbers in (
            ("loop_slot", "int", self.slots, b.streams.ints),
            ("loop_real", "real", self.reals, b.streams.reals),
            ("loop_extreme", "extreme", self.extremes, b.streams.extremes),
        ):
            streams = _streams(slots, loop.label, numbers)
            r[name].add([NONE if stream == NONE else b.log_column(kind, log, stream)] for stream in streams)

    def _write_actions(self, steps: list[Transition], number_of: dict[int, int]) -> None:
        b, r, program = self.builder, self.builder.ranges, self.program
        conditions = {program.qualifies[step.label] for step in steps}
        conditions |= {condition for guard in self.guards for condition in guard.conditions}
        for condition in sorted(conditions):
            labels = sorted({step.label for step in steps if program.qualifies[step.label] == condition})
            resets = [guard for guard in self.guards if condition in guard.conditions]
            reads: set[int] = set()
            writes: set[int] = set()
            derived = False
            for label in labels:
                for target in sorted({step.target for step in steps if step.label == label}):
                    value = _Value()
                    for step in steps:
                        if step.label == label and step.target == target:
                            value.add(self._source(step))
                    self._write_move(label, number_of[target], value)
                    reads |= {cell for _, cell in value.terms}
                    writes |= set(self._added(target)[0])
                    derived |= value.constant < 0 or any(sign < 0 for sign, _ in value.terms)
            # Nothing is subtracted from sums of doubles: a count that is a difference is computed before it is scaled.
            simple = not resets and not reads & writes and not (derived and self.reals)
            b.action_rows.append([self.number, condition, simple])
            r["move"].begins.append(len(b.move_rows))
            r["reset"].add([self.guard_cell[guard], self.full_guard_cell[guard]] for guard in resets)
            for guard in resets:
                r["feed"].add([r["loop"].begins[-2] + index] for index in self._fed(guard))

    def _fed(self, guard: _Guard) -> list[int]:
        return [
            index
            for index, loop in enumerate(self.loops)
            if any(step.absences and self._guard(step) == guard for step in loop.others)
        ]

    def _write_move(self, label: int, target: int, value: _Value) -> None:
        b, r = self.builder, self.builder.ranges
        b.move_rows.append([target, value.constant, value.starts])
        r["term"].add(value.terms)
        r["full_source"].add([full_cell] for full_cell in value.full_cells)
        for name, slots, numbers in (
            ("slot", self.slots, b.streams.ints),
            ("real", self.reals, b.streams.reals),
            ("extreme", self.extremes, b.streams.extremes),
        ):
            r[name].add([stream] for stream in _streams(slots, label, numbers))


def _streams(slots: list[tuple[Slot, ValueStream]], label: int, numbers: dict[ValueStream, int]) -> list[int]:
    """For each slot the number of its stream; NONE if the slot doesn't cover the label."""
    return [numbers.setdefault(stream, len(numbers)) if label in slot.labels else NONE for slot, stream in slots]
