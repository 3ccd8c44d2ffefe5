"""Every engine stops when its call is stopped: work of hours ends as soon as a deadline has passed, or at Ctrl-C.

Nothing here measures time. Each call would take minutes at the very least; that its thread ends at all shows that the
loops inside look at the flag.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.calls.interruptible import THREAD_NAME
from ostinato.clause.matching.search import STEPS_PER_LOOK
from ostinato.clause.task.general_conditions import GeneralConditionCheck
from ostinato.kernels.stopping import Stopped, stop_flag
from ostinato.summaries.engine.pool import SummaryPool

_PATIENCE_SECONDS = 60.0
"""Longer than any busy machine needs, shorter than the work."""

Call = Callable[[int, str | None], Any]
"""Runs a query over so many rows, with a deadline."""


def ones(rows: int) -> pa.Table:
    return pa.table({"t": np.arange(rows), "x": np.ones(rows, np.int64)})


def events(rows: int, kinds: str = "AB") -> pa.Table:
    """Events of the kinds in turn, one a second."""
    letters = np.array(list(kinds))[np.arange(rows) % len(kinds)]
    return pa.table({"ts": np.arange(rows) * 1_000_000, "kind": letters, "x": np.arange(rows) % 7}).cast(
        pa.schema([("ts", pa.timestamp("us")), ("kind", pa.string()), ("x", pa.int64())])
    )


def clause(text: str, **options: Any) -> Call:
    return lambda rows, deadline: ost.match(
        f"ORDER BY t MEASURES count(*) AS n {text}",
        ones(rows),
        max_partial_matches=10**15,
        deadline=deadline,
        **options,
    )


def workload(*queries: str, kinds: str = "AB", **options: Any) -> Call:
    asked = ost.Workload(queries, type="kind", time="ts", max_partial_matches=10**9, **options)
    return lambda rows, deadline: asked.run(events(rows, kinds), deadline=deadline)


def event_query(text: str, kinds: str = "AB", **options: Any) -> Call:
    query = ost.events(text, type="kind", time="ts", **options)
    return lambda rows, deadline: ost.match(query, events(rows, kinds), deadline=deadline)


def correlation(rows: int, deadline: str | None) -> Any:
    live = "ORDER BY t MEASURES LAST(x) AS x INCREMENTAL MATCHES PATTERN (A B) DEFINE B AS x > 0"
    archive = "ORDER BY t MEASURES LAST(x) AS x MAXIMAL MATCHES PATTERN (A+ B) DEFINE B AS sum(A.x) < 0"
    text = f"""SELECT correlation_start FROM rows MATCH_RECOGNIZE ({live}) AS live
        JOIN rows MATCH_RECOGNIZE ({archive}) AS archive ON RECENT(archive, live, {rows})"""
    return ost.correlate(text, max_partial_matches=10**15).run(ones(rows), deadline=deadline)


def summary(rows: int, deadline: str | None) -> Any:
    asked = ost.summary("A B* A", type="kind", time="ts", within="100000 hours", size=min(rows, 3000))
    return asked.feed(events(rows), deadline=deadline)


def exact_summary(rows: int, deadline: str | None) -> Any:
    asked = ost.summary("A B* A", type="kind", time="ts", within="100000 hours", size=10)
    return asked.exact(events(rows), deadline=deadline)


def clique(rows: int, deadline: str | None) -> Any:
    nodes = [str(node) for node in range(min(rows, 400))]
    heads, tails = np.repeat(nodes, len(nodes)), np.tile(nodes, len(nodes))
    triples = pa.table({"head": heads, "relation": ["to"] * len(heads), "tail": tails})
    graph = ost.graph(triples)
    return ost.paths("to{1,6}", start="0", simple=True, max_partial_paths=10**9).run(graph, deadline=deadline)


CALLS: dict[str, tuple[int, Call]] = {
    "search with conditions over the run": (200_000, clause("PATTERN (A+ B) DEFINE B AS sum(A.x) < 0")),
    "search in slices": (200_000, clause("PATTERN (A+ B) DEFINE B AS sum(A.x) < 0", workers=2)),
    "search of every start": (
        400_000,
        clause("AFTER MATCH SKIP TO NEXT ROW PATTERN (A* B*) DEFINE A AS x > 0, B AS x > 0"),
    ),
    "conditions that only the evaluator knows": (
        5_000,
        clause("PATTERN (A+ B) DEFINE B AS size(array_agg(A.x)) < 0"),
    ),
    "functions row by row": (1_000_000, clause("PATTERN (A) DEFINE A AS repeat(concat('a', x), 99) LIKE '%b%b%'")),
    "event matches": (
        50_000,
        event_query(
            "PATTERN SEQ(A a, B b, A c, B d) WHERE a.x + b.x + c.x + d.x < 0 RETURN MATCHES", max_partial_matches=10**15
        ),
    ),
    "running sums": (200_000, event_query("PATTERN A+ WITHIN 9999 SECONDS SLIDE 1 SECOND RETURN COUNT(*)")),
    "sums over ordered values": (
        1_500_000,
        event_query("PATTERN A+ a WHERE NEXT(a).x <> a.x RETURN COUNT(*)", numbers="log10"),
    ),
    "pairs of events": (
        5_000,
        event_query("PATTERN SEQ(A+ a, B b) WHERE abs(NEXT(a).x - a.x) < 9 WITHIN 5000 SECONDS RETURN COUNT(*)"),
    ),
    "shared trends": (
        200_000,
        workload(
            "PATTERN SEQ(A, B+) WITHIN 9999 SECONDS SLIDE 1 SECOND RETURN COUNT(*)",
            "PATTERN SEQ(C, B+) WITHIN 9999 SECONDS SLIDE 1 SECOND RETURN COUNT(*)",
            kinds="ABC",
        ),
    ),
    "graphlets": (
        30_000,
        workload(
            "PATTERN SEQ(A, B+ b) WHERE abs(NEXT(b).x - b.x) < 5 RETURN COUNT(*)",
            "PATTERN SEQ(C, B+ b) WHERE abs(NEXT(b).x - b.x) < 5 RETURN COUNT(*)",
            kinds="ABBBBC",
        ),
    ),
    "shared matcher": (
        20_000,
        workload(
            "PATTERN SEQ(A a, B b, A c, B d) WHERE a.x + b.x + c.x + d.x < 0 RETURN MATCHES",
            "PATTERN SEQ(A a, B b, A c, A d) WHERE a.x + b.x + c.x + d.x < 0 RETURN MATCHES",
            latency_bound="1 hour",
        ),
    ),
    "summary": (2_000_000, summary),
    "exact answer of a summary": (200_000, exact_summary),
    "paths": (400, clique),
    "correlation": (100_000, correlation),
}


@pytest.mark.parametrize("name", CALLS)
def test_work_ends_when_the_deadline_has_passed(name: str) -> None:
    rows, call = CALLS[name]
    call(6, None)  # kernels are compiled, so that the deadline finds them running
    with pytest.raises(ost.MatchError) as raised:
        call(rows, "0.1 s")
    assert raised.value.code == "DEADLINE_PASSED"
    _wait_for_work()
    call(6, None)  # nothing is broken


def _wait_for_work() -> None:
    for thread in threading.enumerate():
        if thread.name.startswith(THREAD_NAME):
            thread.join(_PATIENCE_SECONDS)
            assert not thread.is_alive()


INTERRUPTED = """
import os, signal, sys, threading, time
import ostinato as ost, pyarrow as pa
from ostinato.clause.matching import search_driver

query = "ORDER BY t MEASURES count(*) AS n PATTERN (A+ B) DEFINE B AS sum(A.x) < 0"
options = {"max_partial_matches": 10**15, "workers": int(sys.argv[1])}
ost.match(query, pa.table({"t": range(6), "x": [1] * 6}), **options)
signal.signal(signal.SIGINT, signal.default_int_handler)  # shells start background jobs with SIGINT ignored
flag_of_call, began, sent = search_driver.stop_flag, threading.Event(), []

def noted():
    began.set()
    return flag_of_call()

def interrupt():
    began.wait()
    print("the kernel runs", flush=True)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

search_driver.stop_flag = noted
threading.Thread(target=interrupt).start()
try:
    ost.match(query, pa.table({"t": range(200_000), "x": [1] * 200_000}), **options)
except KeyboardInterrupt:
    print(time.monotonic() - sent[0])
"""


@pytest.mark.parametrize("workers", ["1", "2"])
def test_ctrl_c_while_a_kernel_runs(workers: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, workers], capture_output=True, text=True, timeout=240, check=True
    )
    line, seconds = ended.stdout.splitlines()
    assert line == "the kernel runs"
    assert float(seconds) < 10  # on an idle machine below 0.01


def test_a_summary_that_was_stopped_half_way_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = ost.summary("A B* A", type="kind", time="ts", within="1 hour", size=1000)
    saved = asked.feed(events(10)).to_bytes()
    advance = SummaryPool.advance

    def advance_and_stop(*args: Any) -> None:
        stop_flag()[0] = 1
        advance(*args)

    with monkeypatch.context() as patched, pytest.raises(Stopped):
        patched.setattr(SummaryPool, "advance", advance_and_stop)
        asked.feed(events(20).slice(10))
    for use in (asked.ask, asked.to_bytes, lambda: asked.feed(events(10))):
        with pytest.raises(ost.MatchError, match="SUMMARY_INTERRUPTED"):
            use()
    assert asked.restore(saved).ask().seen == 10


def test_steps_of_the_search_after_the_flag_was_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """With conditions for the evaluator the search runs in Python, so its steps can be counted."""
    steps = []

    def check(*_: Any) -> int:
        steps.append(1)
        if len(steps) == 5_000:
            stop_flag()[0] = 1
        return 1

    monkeypatch.setattr(GeneralConditionCheck, "check", check)
    with pytest.raises(Stopped):
        clause("PATTERN (A+ B) DEFINE B AS size(array_agg(A.x)) < 0")(50_000, None)
    assert 5_000 <= len(steps) <= 5_000 + 2 * STEPS_PER_LOOK
