"""State of a bucket -> the number of its keys: by the reason why they are kept, and by the state of their open run."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.clause.stream.clause_stream import StreamWorker
from ostinato.clause.stream.key_layout import key_numbers
from ostinato.clause.stream.open_runs import open_keys
from ostinato.streams.bucket_state import BucketState, OpenBucket
from ostinato.streams.stored_state import reading

OPEN, WAITING = "open partial match", "waits for the watermark"
"""Reasons to keep a key. The others are `KeptFor`."""


def keys_by_reason(worker: StreamWorker, state: BucketState) -> pa.Table:
    """For each reason the number of `keys` and of their `rows`. A key counts once: for its open run, for its past, or
    because all of its rows wait for the watermark. Waiting rows always count as such."""
    opened = worker.opened(state)
    with reading("the rows in the state of this stream"):
        keys = opened.keys
        is_open = keys.start < keys.rows
        waiting = 0 if opened.waiting is None else opened.waiting.num_rows
        counts = {
            OPEN: (int(is_open.sum()), int(keys.rows[is_open].sum())),
            worker.search.needs.kept_for.value: (int((~is_open).sum()), int(keys.rows[~is_open].sum())),
            WAITING: (_only_waiting(worker, opened), waiting),
        }
    reasons = {reason: count for reason, count in counts.items() if any(count)}
    numbers = np.array(list(reasons.values()), np.int64).reshape(-1, 2)
    return pa.table({"reason": pa.array(list(reasons), pa.string()), "keys": numbers[:, 0], "rows": numbers[:, 1]})


def _only_waiting(worker: StreamWorker, opened: OpenBucket) -> int:
    """The number of keys all of whose rows wait for the watermark."""
    remembered = worker.remembered_keys(opened)
    numbers = np.unique(key_numbers(remembered, opened.waiting, worker.bound.partition_by))
    return int((numbers >= len(opened.keys.rows)).sum())


def keys_by_state(worker: StreamWorker, state: BucketState) -> pa.Table:
    """For each state of the automaton its number, its `variable`, and the number of `keys` with an open run whose next
    row may be consumed there. A key counts for every state that may follow."""
    opened = worker.opened(state)
    nfa = worker.typed.plan.nfa
    with reading("the open rows in the state of this stream"):
        runs = open_keys(worker, opened)
        keys = np.zeros(len(nfa.states), np.int64) if runs is None else runs.states.sum(axis=0)
    variables = pa.array([each.variable for each in nfa.states], pa.string())
    return pa.table({"state": pa.array(np.arange(len(nfa.states))), "variable": variables, "keys": pa.array(keys)})
