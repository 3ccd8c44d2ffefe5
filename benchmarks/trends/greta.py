"""GRETA as published (2017): every event visits all earlier events of the window that it may follow, for each query.

Compiled, on doubles: exact below 2^53, beyond that right to about 15 digits. A count has a level: it is so many times
2^512 larger than its double, and what is more than one level lower than the rest of a sum has no digit in it. Events
are kept by state, so only those of types that may come before are visited; that is GRETA's own layout. Overlapping
windows are computed one after another, which takes the same additions as one graph with a number for each window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.trends.windows import Unsupported, Windows, symbols_of, windows_of
from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.language.event_query import Selection
from ostinato.event_queries.plan.event_program import Events, Extent, Program, QueryResults, Slot, SlotKind
from ostinato.kernels.kernel_cache import inline_kernel, kernel
from ostinato.kernels.numbers.python_numbers import Extended

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

# Everything that the kernels are made of stands in this file: a cached kernel doesn't see changes elsewhere.
LARGE, LARGE_BITS = 2.0**512, 512
LESS, AT_MOST, MORE, AT_LEAST, EQUAL, UNEQUAL = 0, 1, 2, 3, 4, 5
OPERATORS = {"<": LESS, "<=": AT_MOST, ">": MORE, ">=": AT_LEAST, "=": EQUAL, "<>": UNEQUAL}
SUM, MIN, MAX = 0, 1, 2
ONE = -1
"""Instead of a value's number: each event counts 1."""


class Graph(NamedTuple):
    """A program as arrays. An edge test is a row (before, after, operator, value before, value after)."""

    source: Ints
    label: Ints
    target: Ints
    condition: Ints
    accepting: NDArray[np.bool_]
    edges: Ints
    slot_kind: Ints
    slot_value: Ints
    slot_labels: NDArray[np.bool_]


class Vertices(NamedTuple):
    """The events of a window by state: their row, label, count and slots; the two at the event's level."""

    number: Ints
    row: Ints
    label: Ints
    counts: Floats
    level: Ints
    slots: Floats


def graph_of(program: Program) -> Graph:
    """Unsupported where the comparators don't reach: absences, other selections, tests of pairs."""
    automaton = program.automaton
    if automaton.absences or program.selection is not Selection.ANY:
        raise Unsupported("only skip-till-any-match without NOT")
    edges = []
    for edge in program.edges:
        if edge.op is None:
            raise Unsupported("tests of pairs")
        edges.append((edge.before, edge.after, OPERATORS[edge.op], edge.before_value, edge.after_value))
    labels = len(automaton.labels)
    return Graph(
        source=np.array([transition.source for transition in automaton.transitions]),
        label=np.array([transition.label for transition in automaton.transitions]),
        target=np.array([transition.target for transition in automaton.transitions]),
        condition=np.array(program.qualifies),
        accepting=np.isin(np.arange(automaton.states), sorted(automaton.accepting)),
        edges=np.array(edges, np.int64).reshape(-1, 5),
        slot_kind=np.array([_kind(slot) for slot in program.slots], np.int64),
        slot_value=np.array([slot.value if slot.value >= 0 else ONE for slot in program.slots], np.int64),
        slot_labels=np.array(
            [[label in slot.labels for label in range(labels)] for slot in program.slots], np.bool_
        ).reshape(-1, labels),
    )


def _kind(slot: Slot) -> int:
    return {SlotKind.COUNT: SUM, SlotKind.SUM: SUM, SlotKind.MIN: MIN, SlotKind.MAX: MAX}[slot.kind]


def greta(programs: Sequence[Program], events: Events) -> tuple[QueryResults, ...]:
    """Query by query."""
    symbols, values = symbols_of(events), values_of(events)
    windows: dict[Extent, Windows] = {}
    results = []
    for program in programs:
        if program.extent not in windows:
            windows[program.extent] = windows_of(events, program.extent)
        results.append(_one_query(program, windows[program.extent], events.time, symbols, values))
    return tuple(results)


def values_of(events: Events) -> Floats:
    if any(valid is not None for valid in events.valid):
        raise Unsupported("values that may be NULL")
    return np.array(events.values, np.float64).reshape(len(events.values), len(events.time))


def _one_query(program: Program, windows: Windows, time: Ints, symbols: Ints, values: Floats) -> QueryResults:
    states, slots = program.automaton.states, len(program.slots)
    room = windows.most_rows * len(program.qualifies)
    vertices = Vertices(
        number=np.zeros(states, np.int64),
        row=np.empty((states, room), np.int64),
        label=np.empty((states, room), np.int64),
        counts=np.empty((states, room)),
        level=np.empty((states, room), np.int64),
        slots=np.empty((slots, states, room)),
    )
    found = len(windows.start)
    count, exponent, slot = np.zeros(found), np.zeros(found, np.int64), np.zeros((slots, found))
    _windows(graph_of(program), vertices, windows.first, windows.last, time, symbols, values, count, exponent, slot)
    return results_of(program, windows, count, exponent, slot)


def results_of(program: Program, windows: Windows, count: Floats, exponent: Ints, slot: Floats) -> QueryResults:
    """The rows with trends."""
    kept = np.flatnonzero(count)
    linear = (SlotKind.COUNT, SlotKind.SUM)
    return QueryResults(
        sequence=windows.sequence[kept],
        window=windows.start[kept],
        count=Extended(count[kept], exponent[kept]),
        slots=tuple(
            Extended(slot[place, kept], exponent[kept]) if asked.kind in linear else slot[place, kept]
            for place, asked in enumerate(program.slots)
        ),
        present=tuple(np.ones(len(kept), np.bool_) for _ in program.slots),
    )


@inline_kernel
def _may_follow(graph, values, before, row_before, after, row):  # type: ignore[no-untyped-def]
    for at in range(len(graph.edges)):
        if graph.edges[at, 0] != before or graph.edges[at, 1] != after:
            continue
        left, right = values[graph.edges[at, 4], row], values[graph.edges[at, 3], row_before]
        operator = graph.edges[at, 2]
        if operator == LESS:
            held = left < right
        elif operator == AT_MOST:
            held = left <= right
        elif operator == MORE:
            held = left > right
        elif operator == AT_LEAST:
            held = left >= right
        elif operator == EQUAL:
            held = left == right
        else:
            held = left != right
        if not held:
            return False
    return True


@inline_kernel
def _nothing(kind):  # type: ignore[no-untyped-def]
    if kind == MIN:
        return np.inf
    if kind == MAX:
        return -np.inf
    return 0.0


@inline_kernel
def _joined(kind, one, other):  # type: ignore[no-untyped-def]
    if kind == MIN:
        return min(one, other)
    if kind == MAX:
        return max(one, other)
    return one + other


@kernel
def _windows(graph, vertices, first, last, time, symbols, values, count, exponent, slot):  # type: ignore[no-untyped-def]
    """Each window by itself; `count * 2 ** exponent` and the slots of window i are put at place i."""
    states, slots = len(graph.accepting), len(graph.slot_kind)
    new_slots, total_slots = np.zeros(slots), np.zeros(slots)
    for window in range(len(first)):
        vertices.number[:] = 0
        for row in range(first[window], last[window]):
            for at in range(len(graph.source)):
                label = graph.label[at]
                if symbols[row] >> graph.condition[label] & 1 == 0:
                    continue
                target = graph.target[at]
                new, level = _visited(graph, vertices, values, time, at, row, new_slots)
                if new == 0.0:
                    continue
                place = vertices.number[target]
                # Two ways by one label into a state are one vertex: their numbers add up.
                if place > 0 and vertices.row[target, place - 1] == row and vertices.label[target, place - 1] == label:
                    place -= 1
                    new, level = _both(
                        *(graph, new, level, new_slots, vertices.counts[target, place], vertices.level[target, place]),
                        vertices.slots[:, target, place],
                    )
                vertices.number[target] = place + 1
                vertices.row[target, place], vertices.label[target, place] = row, label
                vertices.counts[target, place], vertices.level[target, place] = new, level
                vertices.slots[:, target, place] = new_slots
        total, level = 0.0, 0
        for i in range(slots):
            total_slots[i] = _nothing(graph.slot_kind[i])
        for state in range(states):
            if graph.accepting[state]:
                for place in range(vertices.number[state]):
                    total, level = _both(
                        *(
                            graph,
                            total,
                            level,
                            total_slots,
                            vertices.counts[state, place],
                            vertices.level[state, place],
                        ),
                        vertices.slots[:, state, place],
                    )
        count[window], exponent[window] = total, level * LARGE_BITS
        slot[:, window] = total_slots


@inline_kernel
def _visited(graph, vertices, values, time, at, row, new_slots):  # type: ignore[no-untyped-def]
    """What transition `at` gives an event, and its level: the sum over all events before it."""
    source, label, slots, edges = graph.source[at], graph.label[at], len(graph.slot_kind), len(graph.edges)
    for i in range(slots):
        new_slots[i] = _nothing(graph.slot_kind[i])
    total, level = 0.0, 0
    if source == START:
        total = 1.0
    else:
        rows, counts, levels = vertices.row[source], vertices.counts[source], vertices.level[source]
        end, now = vertices.number[source], time[row]
        while end > 0 and time[rows[end - 1]] >= now:
            end -= 1
        begin = 0
        while slots == 0 and edges == 0 and begin < end:
            # Without conditions counts never fall in a state: all of one level stand together.
            stop = begin + np.searchsorted(levels[begin:end], levels[begin], "right")
            part = 0.0
            for place in range(begin, stop):
                part += counts[place]
            total, level = _both(graph, total, level, new_slots, part, levels[begin], vertices.slots[:, source, begin])
            begin = stop
        for place in range(begin, end):
            if edges > 0 and not _may_follow(graph, values, vertices.label[source, place], rows[place], label, row):
                continue
            if slots == 0 and levels[place] == level:
                total += counts[place]
            else:
                total, level = _both(
                    graph, total, level, new_slots, counts[place], levels[place], vertices.slots[:, source, place]
                )
    if total > 0.0:
        for i in range(slots):
            if graph.slot_labels[i, label]:
                own = 1.0 if graph.slot_value[i] == ONE else values[graph.slot_value[i], row]
                if graph.slot_kind[i] == SUM:
                    own *= total
                new_slots[i] = _joined(graph.slot_kind[i], new_slots[i], own)
    if total > LARGE:
        return _lower(graph, total, new_slots, 1), level + 1
    return total, level


@inline_kernel
def _both(graph, one, one_level, one_slots, other, other_level, other_slots):  # type: ignore[no-untyped-def]
    """The sum of two numbers and the higher level; the slots are added to the first. Far lower ones don't count."""
    smaller = 1.0
    if other_level > one_level:
        one = _lower(graph, one, one_slots, other_level - one_level)
        one_level = other_level
    elif other_level < one_level:
        smaller = 1.0 / LARGE if other_level == one_level - 1 else 0.0
    for i in range(len(graph.slot_kind)):
        kind = graph.slot_kind[i]
        one_slots[i] = _joined(kind, one_slots[i], other_slots[i] * smaller if kind == SUM else other_slots[i])
    return one + other * smaller, one_level


@inline_kernel
def _lower(graph, count, slots, levels):  # type: ignore[no-untyped-def]
    """The same number at a higher level, its sums too."""
    smaller = 1.0 / LARGE if levels == 1 else 0.0
    for i in range(len(graph.slot_kind)):
        if graph.slot_kind[i] == SUM:
            slots[i] *= smaller
    return count * smaller


def visits(programs: Sequence[Program], events: Events) -> int:
    """How many pairs of events the queries ask for, where no time occurs twice: what GRETA's time is made of."""
    symbols = symbols_of(events)
    total = 0
    for program in programs:
        windows = windows_of(events, program.extent)
        for first, last in zip(windows.first.tolist(), windows.last.tolist(), strict=True):
            total += sum(_pairs(program, symbols[first:last]))
    return total


def _pairs(program: Program, symbols: Any) -> list[int]:
    """For each transition the pairs of events, earlier and later, that it joins; every state taken as reached."""
    holds = [(symbols >> condition & 1).astype(np.int64) for condition in program.qualifies]
    entering: dict[int, set[int]] = {}
    for transition in program.automaton.transitions:
        entering.setdefault(transition.target, set()).add(transition.label)
    counts = []
    for transition in program.automaton.transitions:
        if transition.source != START:
            before = np.maximum.reduce([holds[label] for label in sorted(entering[transition.source])])
            counts.append(int(((np.cumsum(before) - before) * holds[transition.label]).sum()))
    return counts
