"""Letters -> programs and events, and all trends by brute force. The tests compare the shared engines with them.

`program("A B+")` is SEQ(A, B+). `program("A !N B+")` is SEQ(A, NOT N, B+). With `again=True` the pattern is
`(SEQ(...))+`. Each letter is a condition; its number is its index in `LETTERS`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ostinato.event_queries.automaton.trend_automaton import START, Transition, TrendAutomaton
from ostinato.event_queries.plan.event_program import (
    NO_WINDOW,
    BoundKind,
    EdgeTest,
    Events,
    Extent,
    Program,
    QueryResults,
    Slot,
    SlotKind,
    TrendEngine,
)
from ostinato.kernels.numbers.python_numbers import Extended

LETTERS = "ABCDEFTXYN"
ONE_EVENT = TrendAutomaton(("n",), 2, (Transition(START, 0, 1),), frozenset({1}))


def windows(length: int, slide: int, by_place: bool = False) -> Extent:
    return Extent(BoundKind.WINDOWS, by_place, length, slide)


def program(
    pattern: str,
    slots: Sequence[Slot] = (),
    extent: Extent | None = None,
    again: bool = False,
    edges: Sequence[EdgeTest] = (),
) -> Program:
    items = pattern.split()
    absent = [item[1] for item in items if item.startswith("!")]
    labels = [item[0] for item in items if not item.startswith("!")]
    steps, ends = [], []
    before: tuple[int, ...] = ()
    state, number = START, 0
    for item in items:
        if item.startswith("!"):
            before = (number,)
            number += 1
            continue
        steps.append(Transition(state, state, state + 1, before))
        if item.endswith("+"):
            steps.append(Transition(state + 1, state, state + 1))
        state, before = state + 1, ()
    if before:
        ends.append((state, before[0]))
    if again:
        known_steps = {(step.source, step.label) for step in steps}
        first = [step for step in steps if step.source == START and (state, step.label) not in known_steps]
        steps += [Transition(state, step.label, step.target, step.absences) for step in first]
    automaton = TrendAutomaton(
        tuple(labels), state + 1, tuple(steps), frozenset({state}), (ONE_EVENT,) * len(absent), tuple(ends)
    )
    return Program(
        automaton,
        tuple(LETTERS.index(label) for label in labels),
        tuple((LETTERS.index(letter),) for letter in absent),
        tuple(edges),
        tuple(slots),
        extent or Extent(),
    )


def events(
    text: str,
    times: Sequence[int] | None = None,
    values: Sequence[Any] = (),
    valid: Sequence[Any] = (),
    starts: Sequence[int] | None = None,
    **more: Any,
) -> Events:
    """Events with a letter each; `+` is both an A and a B. The default is one sequence with times 0, 1, 2..."""
    rows = np.array(list(text), "U1")
    conditions = [rows == letter for letter in LETTERS]
    conditions[0] = conditions[0] | (rows == "+")
    conditions[1] = conditions[1] | (rows == "+")
    begins = np.array(starts if starts is not None else [0, len(text)], np.int64)
    time = np.arange(len(text)) if times is None else np.array(times)
    place = np.concatenate([np.arange(n) for n in np.diff(begins)]) if len(text) else np.zeros(0)
    columns = tuple(np.asarray(column) for column in values)
    return Events(
        begins,
        time.astype(np.int64),
        place.astype(np.int64),
        tuple(conditions),
        columns,
        tuple(valid) or (None,) * len(columns),
        **more,
    )


# --- brute force ------------------------------------------------------------------------------------------------------


def trends(query: Program, stream: Events, rows: Sequence[int]) -> Iterator[tuple[tuple[int, int], ...]]:
    """All trends over these rows, as (row, label) pairs."""
    automaton = query.automaton

    def is_absent(absence: int, after: int | None, before: int | None) -> bool:
        return not any(
            stream.conditions[query.absent_qualifies[absence][0]][row]
            and (after is None or stream.time[row] > after)
            and (before is None or stream.time[row] < before)
            for row in rows
        )

    def passes(before: tuple[int, int], after: tuple[int, int]) -> bool:
        for test in query.edges:
            if (test.before, test.after) == (before[1], after[1]):
                assert test.pair_test is not None
                if not stream.pair_tests[test.pair_test](np.array([before[0]]), np.array([after[0]]))[0]:
                    return False
        return True

    def trends_from(state: int, trend: tuple[tuple[int, int], ...]) -> Iterator[tuple[tuple[int, int], ...]]:
        last = int(stream.time[trend[-1][0]]) if trend else None
        if state in automaton.accepting and trend:
            if all(
                is_absent(absence, last, None) for accepting, absence in automaton.end_absences if accepting == state
            ):
                yield trend
        for row in rows:
            if last is not None and stream.time[row] <= last:
                continue
            for step in automaton.transitions:
                if step.source == state and stream.conditions[query.qualifies[step.label]][row]:
                    if trend and not passes(trend[-1], (row, step.label)):
                        continue
                    if all(is_absent(absence, last, int(stream.time[row])) for absence in step.absences):
                        yield from trends_from(step.target, (*trend, (row, step.label)))

    yield from trends_from(START, ())


def expected(query: Program, stream: Events) -> list[tuple[Any, ...]]:
    """(sequence, window, count, slots) in order; a slot without a value is None."""
    results = []
    for sequence in range(len(stream.starts) - 1):
        rows = range(stream.starts[sequence], stream.starts[sequence + 1])
        for window, inside in _windows(query.extent, stream, rows):
            all_trends = list(trends(query, stream, inside))
            if all_trends:
                results.append(
                    (sequence, window, len(all_trends), *(_slot(slot, stream, all_trends) for slot in query.slots))
                )
    return results


def recurrence(query: Program, stream: Events) -> list[tuple[Any, ...]]:
    """COUNT(*) of one sequence without ties and NOT, for streams that are too long for brute force."""
    results = []
    for window, inside in _windows(query.extent, stream, range(len(stream.time))):
        sums = [1] + [0] * (query.automaton.states - 1)
        for row in inside:
            gains = [
                (step.target, sums[step.source])
                for step in query.automaton.transitions
                if stream.conditions[query.qualifies[step.label]][row]
            ]
            for state, gain in gains:
                sums[state] += gain
        total = sum(sums[state] for state in query.automaton.accepting)
        if total:
            results.append((0, window, total))
    return results


def _windows(extent: Extent, stream: Events, rows: Sequence[int]) -> list[tuple[int, list[int]]]:
    if extent.kind is BoundKind.NONE:
        return [(int(NO_WINDOW), list(rows))]
    positions = stream.place if extent.by_place else stream.time
    rows_by_window: dict[int, list[int]] = {}
    for row in rows:
        number = int(positions[row]) // extent.slide
        while number * extent.slide + extent.length > positions[row]:
            if not (extent.by_place and number < 0):
                rows_by_window.setdefault(number * extent.slide, []).append(row)
            number -= 1
    return sorted(rows_by_window.items())


def _slot(slot: Slot, stream: Events, all_trends: list[tuple[tuple[int, int], ...]]) -> Any:
    rows = [row for trend in all_trends for row, label in trend if label in slot.labels]
    if slot.kind is SlotKind.COUNT and slot.value < 0:
        return len(rows)
    valid = stream.valid[slot.value]
    values = [stream.values[slot.value][row].item() for row in rows if valid is None or valid[row]]
    match slot.kind:
        case SlotKind.COUNT:
            return len(values)
        case _ if not values:
            return None
        case SlotKind.SUM:
            return sum(values)
        case SlotKind.MIN:
            return min(values)
        case SlotKind.MAX:
            return max(values)


# --- results of an engine ---------------------------------------------------------------------------------------------


def answers(results: QueryResults) -> list[tuple[Any, ...]]:
    columns = [
        [value if has_value else None for value, has_value in zip(_plain(slot), present, strict=True)]
        for slot, present in zip(results.slots, results.present, strict=True)
    ]
    return list(zip(results.sequence.tolist(), results.window.tolist(), _plain(results.count), *columns, strict=True))


def _plain(numbers: Any) -> list[Any]:
    if isinstance(numbers, Extended):
        return [float(m) * 2.0 ** int(e) for m, e in zip(numbers.mantissa, numbers.exponent, strict=True)]
    return list(numbers.tolist())


def run(engine: TrendEngine, stream: Events) -> list[list[tuple[Any, ...]]]:
    """The answers of each program, with all events in one call."""
    step = engine.advance(stream, [b""] * (len(stream.starts) - 1), None)
    return [answers(results) for results in step.results]
