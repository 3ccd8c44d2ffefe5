"""The cost of a batch beside open runs that grow: CPU time and bytes written, the hundredth batch over the second.

Every key has one run of `A B* C` whose C never comes, of a clause and of rules. Each batch brings one B for each key.
The core runs without Spark. Its open rows lie in a store, as in Spark, so rows that a step doesn't need aren't read.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from benchmarks.experiment import Scale, expect
from benchmarks.match.events import START_US
from benchmarks.records import Baseline, Goal, Record, Sense

if TYPE_CHECKING:
    from ostinato.streams.bucket_state import BucketState
    from ostinato.streams.step import Step

KEYS = {Scale.SMALL: 200, Scale.FULL: 1_000}
BATCHES = 100
AROUND = 5
"""Batches at each end whose median is compared."""
CLAUSE = """
    PARTITION BY key ORDER BY ts MEASURES FIRST(price) AS first_price, LAST(price) AS last_price
    PATTERN (A B* C) DEFINE A AS price = 1, B AS price = 2, C AS price = 3
"""
FLAT = Goal(Sense.AT_MOST, 1.2, of_ratio=True)


RULES = tuple(f"{CLAUSE} /* {number} */" for number in range(10))
OF_RUN = "B AS price = 2 AND B.price >= FIRST(A.price)"
Advance = Callable[["BucketState", pa.Table, int], "Step[Any]"]
"""State, rows and a watermark -> a step."""


def measure_growth(scale: Scale) -> list[Record]:
    keys = KEYS[scale]
    cases = {
        "a clause": (_clause(), 1),
        "a rule": (_rules(CLAUSE), 1),
        "ten rules": (_rules(*RULES), len(RULES)),
        "a rule with a condition over the run": (_rules(CLAUSE.replace("B AS price = 2", OF_RUN)), 1),
    }
    return [record for name, case in cases.items() for record in _measured(name, *case, keys)]


def _measured(name: str, advance: Advance, queries: int, keys: int) -> list[Record]:
    seconds, written = _batches(advance, queries, keys)
    record = partial(Record, "streaming", "growth", f"{name}, {keys:,} keys with open runs, {BATCHES} batches")
    first, last = slice(1, 1 + AROUND), slice(BATCHES - AROUND, BATCHES)
    return [
        record(metric, statistics.median(values[last]), unit, Baseline("second batch", baseline), FLAT)
        for metric, values, unit in (("CPU time of a batch", seconds, "s"), ("bytes written by a batch", written, "B"))
        for baseline in (statistics.median(values[first]),)
    ]


def _clause() -> Advance:
    from ostinato.testing import StreamTester

    tester = StreamTester(CLAUSE, {"key": "bigint", "ts": "timestamp", "price": "double"}, eager=True)
    return lambda state, rows, watermark: tester.worker.advance(state, tester._shipped(rows), 0)


def _rules(*texts: str) -> Advance:
    from ostinato.rule_sets.declaration import Declaration
    from ostinato.rule_sets.rule_changes import RuleChange, RuleOptions
    from ostinato.rule_sets.rules_core import RulesCore

    core = RulesCore(Declaration(("key",), ("ts",), _rows(0, 1).schema), "rules")
    changes = [RuleChange(f"r{n}", 1, text, True, RuleOptions.read({})).to_json() for n, text in enumerate(texts)]
    stored: list[bytes] = []

    def advance(state: BucketState, rows: pa.Table, watermark: int) -> Step[Any]:
        step = core.advance(state, rows, watermark, changes=[] if stored else changes, read_rules=lambda: stored[-1])
        if step.rules is not None:
            stored.append(step.rules)
        return step

    return advance


def _batches(advance: Advance, queries: int, keys: int) -> tuple[list[float], list[int]]:
    """The CPU seconds of each batch and the bytes that it writes."""
    from ostinato.streams.bucket_state import BucketState
    from ostinato.streams.stored_segments import StoredSegments, size_of

    state = BucketState()
    segments: tuple[bytes, ...] = ()
    seconds: list[float] = []
    written: list[int] = []
    for number in range(BATCHES):
        stored = segments
        rows = _rows(number, keys)
        before = StoredSegments(len(stored), size_of(stored), lambda stored=stored: stored)
        state = BucketState(state.header, before if stored else (), ())
        began = time.process_time()
        step = advance(state, rows, START_US + 1_000_000 * number + keys)
        seconds.append(time.process_time() - began)
        state, after = step.state, step.state.open_rows
        if isinstance(after, StoredSegments) and after.extends(before):
            added = after.added
            segments = (*stored, *added)
        else:
            segments = added = tuple(after)
        written.append(len(state.header) + size_of(added))
    found = (step.counts.open_runs, step.counts.buffered_rows)
    expect("open runs, rows in the state", found, (queries * keys, keys * BATCHES))
    return seconds, written


def _rows(batch: int, keys: int) -> pa.Table:
    times = START_US + 1_000_000 * batch + np.arange(keys)
    return pa.table(
        {
            "key": np.arange(keys),
            "ts": pa.array(times, pa.timestamp("us", tz="UTC")),
            "price": np.full(keys, 2.0 if batch else 1.0),
        }
    )
