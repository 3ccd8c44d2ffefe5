"""Program + Events -> the arrays that the kernels of event queries read.

Rows are numbered as in `Events`. Times are never compared directly: of two rows of a sequence the later one has the
larger `group_end`, and rows of equal time have the same `group_end`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.errors import MatchError
from ostinato.event_queries.automaton.trend_automaton import START, TrendAutomaton
from ostinato.event_queries.plan.event_program import EdgeTest, Events

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

NEVER = np.iinfo(np.int32).max
"""No row: greater than all row numbers."""
OPS = ("<", "<=", ">", ">=", "=", "<>")
PAIR_TEST = len(OPS)
"""The operator code of a test whose answers for all pairs are stored as bits."""
_PAIRS_AT_ONCE = 1 << 20
LARGEST_PAIRS = 1 << 33
"""The most pairs of events that may be tested: 1 GiB of bits."""
LARGEST_INPUT = (1 << 31) - 2


class Steps(NamedTuple):
    """The automaton. The steps `leave_at[q]:leave_at[q + 1]` lead from state q, in order of their labels."""

    leave_at: Longs
    label: Ints
    """The label of each step."""
    before: Ints
    """The label of the event before each step; -1 where a match starts."""
    target: Ints
    entry: Ints
    """The label that leads into each state; -1 for START."""
    accepting: Bools
    plain: Bools
    """Whether every later event may take the step: it has no test and no absence."""
    absent_at: Longs
    absent: Ints
    """The absences before step t: `absent[absent_at[t]:absent_at[t + 1]]`."""
    end_absent_at: Longs
    end_absent: Ints
    """The absences after a match that ends in state q."""
    state_at: Longs
    states: Ints
    """The states into which label k leads: `states[state_at[k]:state_at[k + 1]]`."""


class LabelMembers(NamedTuple):
    """The rows that qualify for each label: those of label k in [first, end) are `rows[rank[k, first]:rank[k, end]]`.

    Arrays with an entry for each pair of a row and a state, such as the marks, have that of state q at `offset[q]` plus
    the row's rank.
    """

    rank: NDArray[np.int32]
    """[label, row]: index into `rows` of the label's first member at this row or later."""
    rows: Ints
    offset: Longs
    size: int
    """The number of pairs of a row and a state."""
    group_end: Ints
    """For each row, the first row of its sequence with a later time, or the sequence's end."""


class Tests(NamedTuple):
    """The tests of adjacent events bound to labels i and k: tests `at[i * labels + k]` up to the next."""

    at: Longs
    op: Ints
    column: Ints
    """The positions of the keys of a comparison."""
    before: Longs
    after: Longs
    """Keys that compare like the values."""
    before_valid: Bools
    after_valid: Bools
    bits_at: Longs
    """For pair tests: the start of the bits of each member of the earlier label."""
    bits_from: Longs
    """For each test, the index of its first member in `bits_at`, minus that member's rank."""
    bits: NDArray[np.uint8]
    reach: Longs
    """For each row, the first row that can't be in a match with it: pairs further apart have no bits."""


def group_ends(events: Events) -> Ints:
    """For each row, the first row of its sequence with a later time, or the sequence's end."""
    rows = len(events.time)
    if rows > LARGEST_INPUT:
        raise MatchError("RESULT_TOO_LARGE", f"more than {LARGEST_INPUT:,} events in one task")
    changes = np.ones(rows + 1, np.bool_)
    if rows:
        changes[1:-1] = events.time[1:] != events.time[:-1]
        changes[events.starts] = True
    firsts = np.flatnonzero(changes)
    return np.repeat(firsts[1:], np.diff(firsts)).astype(np.int32)


def make_steps(automaton: TrendAutomaton, edges: Sequence[EdgeTest]) -> Steps:
    """The arrays of an automaton; each of its states is entered under one label only."""
    steps = sorted(automaton.transitions, key=lambda step: (step.source, step.label))
    entry = np.full(automaton.states, -1, np.int32)
    for step in steps:
        if entry[step.target] not in (-1, step.label) or step.target == START:
            raise ValueError("a state is entered under one label, START under none")
        entry[step.target] = step.label
    tested = {(edge.before, edge.after) for edge in edges}
    plain = [not step.absences and (int(entry[step.source]), step.label) not in tested for step in steps]
    ends: list[list[int]] = [[] for _ in range(automaton.states)]
    for state, absence in automaton.end_absences:
        ends[state].append(absence)
    absent_at, absent = _lists([step.absences for step in steps])
    end_absent_at, end_absent = _lists(ends)
    state_at, states = _lists(
        [[q for q in range(automaton.states) if entry[q] == k] for k in range(len(automaton.labels))]
    )
    return Steps(
        leave_at=np.searchsorted([step.source for step in steps], np.arange(automaton.states + 1)).astype(np.int64),
        label=np.array([step.label for step in steps], np.int32),
        before=np.array([entry[step.source] for step in steps], np.int32),
        target=np.array([step.target for step in steps], np.int32),
        entry=entry,
        accepting=np.array([q in automaton.accepting and q != START for q in range(automaton.states)], np.bool_),
        plain=np.array(plain, np.bool_),
        absent_at=absent_at,
        absent=absent,
        end_absent_at=end_absent_at,
        end_absent=end_absent,
        state_at=state_at,
        states=states,
    )


def _lists(lists: Sequence[Sequence[int]]) -> tuple[Longs, Ints]:
    """The start of each list (and the end of the last one), and all lists one after another."""
    at = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(items) for items in lists], out=at[1:])
    return at, np.array([item for items in lists for item in items], np.int32)


def make_members(steps: Steps, qualifies: Sequence[int], events: Events, ends: Ints) -> LabelMembers:
    """The rows of each label; `qualifies` has the number of its condition."""
    rows = len(events.time)
    rank = np.zeros((len(qualifies), rows + 1), np.int32)
    rows_of_label = [np.flatnonzero(events.conditions[number]) for number in qualifies]
    before = 0
    for label, number in enumerate(qualifies):
        np.cumsum(events.conditions[number], out=rank[label, 1:])
        rank[label] += before
        before += len(rows_of_label[label])
    offset = np.zeros(len(steps.entry), np.int64)
    size = 0
    for state, label in enumerate(steps.entry):
        if label >= 0:
            offset[state] = size - rank[label, 0]
            size += len(rows_of_label[label])
    members = np.concatenate(rows_of_label).astype(np.int32) if rows_of_label else np.empty(0, np.int32)
    return LabelMembers(rank, members, offset, size, ends)


def make_tests(edges: Sequence[EdgeTest], labels: int, members: LabelMembers, events: Events, reach: Longs) -> Tests:
    """The tests with their values; `reach` as in `Tests`."""
    ordered = sorted(edges, key=lambda edge: (edge.before, edge.after))
    rows = len(events.time)
    compared = [edge for edge in ordered if edge.op is not None]
    keys = [_keys(edge, events) for edge in compared]
    bits_at, bits_from, bits = _pair_bits(ordered, members, events, reach)
    return Tests(
        at=np.searchsorted([edge.before * labels + edge.after for edge in ordered], np.arange(labels**2 + 1)),
        op=np.array([PAIR_TEST if edge.op is None else OPS.index(edge.op) for edge in ordered], np.int32),
        column=np.array([compared.index(edge) if edge.op is not None else -1 for edge in ordered], np.int32),
        before=np.array([key[0] for key in keys], np.int64).reshape(len(keys), rows),
        after=np.array([key[1] for key in keys], np.int64).reshape(len(keys), rows),
        before_valid=_valid([edge.before_value for edge in compared], events),
        after_valid=_valid([edge.after_value for edge in compared], events),
        bits_at=bits_at,
        bits_from=bits_from,
        bits=bits,
        reach=reach,
    )


def _keys(edge: EdgeTest, events: Events) -> tuple[Longs, Longs]:
    """Both sides as whole numbers that compare like the values; NaN is the greatest, -0.0 equals 0.0."""
    before, after = events.values[edge.before_value], events.values[edge.after_value]
    if before.dtype.kind != "f" and after.dtype.kind != "f":
        return before.astype(np.int64), after.astype(np.int64)
    return _ordered_bits(before), _ordered_bits(after)


def _ordered_bits(values: NDArray[np.int64] | NDArray[np.float64]) -> Longs:
    real = values.astype(np.float64) + 0.0
    bits = real.view(np.int64)
    keys: Longs = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    keys[np.isnan(real)] = np.iinfo(np.int64).max
    return keys


def _valid(numbers: Sequence[int], events: Events) -> Bools:
    rows = len(events.time)
    masks = [np.ones(rows, np.bool_) if (mask := events.valid[number]) is None else mask for number in numbers]
    return np.array(masks, np.bool_).reshape(len(masks), rows)


def _pair_bits(
    edges: Sequence[EdgeTest], members: LabelMembers, events: Events, reach: Longs
) -> tuple[Longs, Longs, NDArray[np.uint8]]:
    """The answers to all pair tests: for each earlier member, one bit for each later member within reach."""
    starts, bits_from, bits = [np.empty(0, np.int64)], np.zeros(len(edges), np.int64), [np.empty(0, np.uint8)]
    member_count, pair_count = 0, 0
    for number, edge in enumerate(edges):
        if edge.pair_test is None:
            continue
        first, end = members.rank[edge.before, 0], members.rank[edge.before, -1]
        earlier = members.rows[first:end].astype(np.int64)
        begin = members.rank[edge.after, members.group_end[earlier]].astype(np.int64)
        count = np.maximum(members.rank[edge.after, reach[earlier]] - begin, 0)
        at = np.cumsum(count) - count
        pairs = int(count.sum())
        pair_count += pairs
        if pair_count > LARGEST_PAIRS:
            raise MatchError(
                "TOO_MANY_PARTIAL_MATCHES",
                f"a condition between adjacent events would be evaluated for more than {LARGEST_PAIRS:,} pairs",
                hint="bound the matches with WITHIN, or compare one value with another only",
            )
        bits_from[number] = member_count - first
        starts.append(at + 8 * sum(len(chunk) for chunk in bits))
        member_count += len(earlier)
        bits.append(_answers(edge.pair_test, earlier, begin, count, members, events))
    return np.concatenate(starts), bits_from, np.concatenate(bits)


def _answers(
    test: int, earlier: Longs, begin: Longs, count: Longs, members: LabelMembers, events: Events
) -> NDArray[np.uint8]:
    ends = np.cumsum(count)
    pairs = int(ends[-1]) if len(ends) else 0
    packed = []
    for low in range(0, pairs, _PAIRS_AT_ONCE):
        number = np.arange(low, min(low + _PAIRS_AT_ONCE, pairs))
        member = np.searchsorted(ends, number, side="right")
        later = members.rows[begin[member] + number - (ends[member] - count[member])].astype(np.int64)
        packed.append(np.packbits(events.pair_tests[test](earlier[member], later), bitorder="little"))
    return np.concatenate(packed) if packed else np.empty(0, np.uint8)
