"""State of a bucket -> its open runs: the key, the time of the first row, and the variables that may come next."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.clause.automaton.nfa import Nfa
from ostinato.clause.matching.nfa_tables import BITS
from ostinato.clause.matching.symbols import RowSymbols
from ostinato.clause.stream.clause_stream import StreamWorker
from ostinato.rows.matches import ranges
from ostinato.rows.ordering import Ordered
from ostinato.streams.bucket_state import BucketState, OpenBucket, Rows
from ostinato.streams.stored_state import reading

Flags = NDArray[np.bool_]


def open_runs(worker: StreamWorker, state: BucketState) -> pa.Table:
    """One row for each key with an open run: the columns of the key, then `waiting_since` (the time of the run's first
    row), `rows` (the number of its rows) and `next` (the variables that the next row may have).

    Conditions over the run count as true, so `next` may name a variable too many, never one too few. Rows that wait for
    the watermark don't count.
    """
    opened = worker.opened(state)
    with reading("the open rows in the state of this stream"):
        return _open_runs(worker, opened)


class OpenKeys(NamedTuple):
    """The keys with an open run: their rows, and for each key the run's rows and the states that may follow."""

    rows: pa.RecordBatch
    begin: Rows
    end: Rows
    states: Flags
    """The states that may consume the next row, as `[key, state]`."""


def open_keys(worker: StreamWorker, opened: OpenBucket) -> OpenKeys | None:
    """The keys with an open run; None if there are none."""
    keys = opened.keys
    is_open = keys.start < keys.rows
    if opened.open_rows is None or not is_open.any():
        return None
    chosen = keys.select(is_open)
    rows = opened.open_rows.take(pa.array(ranges(keys.first[is_open], chosen.rows)))
    window = worker.worker.window(worker.batch(rows), Ordered(None, np.append(0, np.cumsum(chosen.rows))))
    window = worker.search.growing(window, np.ones(len(chosen.rows), np.bool_), chosen)
    begin = chosen.first + chosen.start
    end = np.maximum(chosen.first + chosen.rows - worker.search.needs.held_back, begin)
    states = states_reached(worker.typed.plan.nfa, worker.worker.symbols(window), begin, end, chosen.start == 0)
    return OpenKeys(rows, begin, end, states)


def _open_runs(worker: StreamWorker, opened: OpenBucket) -> pa.Table:
    names = worker.bound.partition_by
    all_names = [*names, "waiting_since", "rows", "next"]
    runs = open_keys(worker, opened)
    if runs is None:
        return pa.table([pa.nulls(0)] * len(all_names), all_names)
    starts = pa.array(runs.begin)
    columns = [runs.rows.column(name).take(starts) for name in names]
    since = runs.rows.column(worker.gate.time_column).take(starts)
    following = pa.array(_variables(worker, runs.states), pa.list_(pa.string()))
    return pa.table([*columns, since, pa.array(runs.end - runs.begin), following], all_names)


def states_reached(nfa: Nfa, symbols: RowSymbols, begin: Rows, end: Rows, at_first: Flags) -> Flags:
    """For each key the states that may consume the next row, as `[key, state]`. One pass for each row of a run."""
    leads = np.zeros((len(nfa.states), len(nfa.states)), np.bool_)
    for number, state in enumerate(nfa.states):
        leads[number] = _choices(nfa, state.choices)
    waiting = np.where(at_first[:, None], _choices(nfa, nfa.at_start), _choices(nfa, nfa.elsewhere))
    states = np.arange(len(nfa.states))
    allowed = (symbols.allowed[:, states // BITS] >> (states % BITS).astype(np.uint64)) & np.uint64(1) != 0
    for depth in range(int((end - begin).max(initial=0))):
        goes_on = np.flatnonzero(begin + depth < end)
        consumed = waiting[goes_on] & allowed[symbols.of_row[begin[goes_on] + depth]]
        waiting[goes_on] = consumed @ leads
    return waiting


def _choices(nfa: Nfa, choices: tuple[int, ...]) -> Flags:
    flags = np.zeros(len(nfa.states), np.bool_)
    flags[[choice for choice in choices if choice >= 0]] = True
    return flags


def _variables(worker: StreamWorker, states: Flags) -> list[list[str]]:
    """The names of the states, each once, in the order of the pattern."""
    labels = [state.variable for state in worker.typed.plan.nfa.states]
    return [list(dict.fromkeys(label for label, is_next in zip(labels, row, strict=True) if is_next)) for row in states]
