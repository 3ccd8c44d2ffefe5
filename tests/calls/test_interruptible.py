"""A call in a thread of its own: results, errors, deadlines by a clock that is set by hand, calls inside calls."""

from __future__ import annotations

import itertools
import threading
from contextvars import ContextVar
from datetime import timedelta

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.calls.interruptible import interruptible, refuse_deadline
from ostinato.kernels.stopping import (
    Stopped,
    call_threads,
    check_stopped,
    follow,
    new_stop_flag,
    stop_flag,
    until_stopped,
)

SETTING: ContextVar[int] = ContextVar("setting", default=0)


def passing(ns: int) -> itertools.count[int]:
    """A clock on which so much time passes between two looks."""
    return itertools.count(0, ns)


class Work:
    """Counts rounds until it is stopped."""

    def __init__(self) -> None:
        self.rounds_when_stopped = 0
        self.ended = threading.Event()

    def __call__(self) -> None:
        try:
            while True:
                check_stopped()
                stop_flag()[0] or self.ended.wait(0.001)
                self.rounds_when_stopped += int(stop_flag()[0])
        finally:
            self.ended.set()


def test_a_result_and_an_error_pass_through() -> None:
    SETTING.set(7)
    assert interruptible(SETTING.get) == 7
    assert interruptible(lambda: threading.current_thread() is threading.main_thread()) is False
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: 1 // 0, "1 hour")


def test_other_threads_do_their_work_themselves_unless_there_is_a_deadline() -> None:
    def is_in_own_thread(deadline: str | None) -> bool:
        own = threading.get_ident()
        return interruptible(threading.get_ident, deadline) == own

    with call_threads(1) as pool:
        assert pool.submit(is_in_own_thread, None).result()
        assert not pool.submit(is_in_own_thread, "1 hour").result()


@pytest.mark.parametrize("deadline", ["10 s", timedelta(seconds=10)])
def test_a_deadline_by_a_clock(deadline: str | timedelta) -> None:
    work, clock = Work(), passing(3_000_000_000)
    with pytest.raises(ost.MatchError, match="DEADLINE_PASSED"):
        interruptible(work, deadline, now_ns=clock.__next__)
    assert work.ended.wait(60)
    assert work.rounds_when_stopped <= 1


def test_work_within_its_deadline() -> None:
    assert interruptible(lambda: "done", "10 s", now_ns=passing(0).__next__) == "done"


@pytest.mark.parametrize("deadline", [5, 0.5, "soon", "0 s", "-1 s", timedelta(0), True])
def test_what_is_no_deadline(deadline: object) -> None:
    with pytest.raises(ost.QueryError, match="INVALID_BOUND: deadline is"):
        interruptible(lambda: None, deadline)  # type: ignore[arg-type]


def test_a_call_that_is_stopped_stops_those_inside_and_no_others() -> None:
    inner, other = Work(), new_stop_flag()
    with pytest.raises(ost.MatchError, match="DEADLINE_PASSED"):
        interruptible(lambda: interruptible(inner, "1 hour"), "1 s", now_ns=passing(500_000_000).__next__)
    assert inner.ended.wait(60)
    assert not other[0]
    assert not stop_flag()[0]


def test_threads_of_a_call_stop_with_it() -> None:
    works = [Work(), Work()]

    def in_threads() -> None:
        with call_threads(2) as pool:
            list(pool.map(lambda work: work(), works))

    with pytest.raises(ost.MatchError, match="DEADLINE_PASSED"):
        interruptible(in_threads, "1 s", now_ns=passing(500_000_000).__next__)
    assert all(work.ended.wait(60) for work in works)


def test_rounds_after_the_flag_was_set() -> None:
    flag = new_stop_flag()

    def take() -> int:
        follow(flag)
        taken = 0
        try:
            for item in until_stopped(range(10_000)):
                taken += 1
                if item == 1000:
                    flag[0] = 1
        except Stopped:
            return taken
        return -1

    with call_threads(1) as pool:
        assert 1001 <= pool.submit(take).result() <= 1001 + 256


def test_spark_takes_no_deadline() -> None:
    refuse_deadline(None)
    with pytest.raises(ost.QueryError, match="deadline= is for calls that run in this process"):
        refuse_deadline("10 s")


def test_every_call_in_process_takes_a_deadline() -> None:
    events = pa.table({"at": [1, 2], "kind": ["A", "B"]})
    films = pa.table({"head": ["Alila"], "relation": ["written_by"], "tail": ["Amos Gitai"]})
    clause = "ORDER BY at MEASURES LAST(kind) AS k PATTERN (A B)"
    pair = f"""SELECT correlation_start FROM events MATCH_RECOGNIZE ({clause}) AS live
        JOIN events MATCH_RECOGNIZE ({clause}) AS archive ON RECENT(archive, live, 5)"""
    trend = ost.events("PATTERN SEQ(A, B) RETURN COUNT(*)", type="kind", time="at")
    summary = ost.summary("A B", type="kind", time="at", within=10, size=4)
    graph = ost.graph(films)
    questions = ost.GraphQuestions(graph, ost.LearntProposer([("who wrote Kadosh", "Kadosh", "written_by")]))
    questions_table = pa.table({"question": ["who wrote Alila"], "topic": ["Alila"]})
    calls = {
        "match": lambda deadline: ost.match(clause, events, deadline=deadline),
        "events": lambda deadline: ost.match(trend, events, deadline=deadline),
        "workload": lambda deadline: ost.Workload([trend, clause]).run(events, deadline=deadline),
        "correlate": lambda deadline: ost.correlate(pair).run(events, deadline=deadline),
        "graph": lambda deadline: ost.graph(films, deadline=deadline),
        "paths": lambda deadline: ost.paths("written_by", start="Alila").run(graph, deadline=deadline),
        "question": lambda deadline: questions.ask("who wrote Alila", "Alila", deadline=deadline),
        "questions": lambda deadline: questions.run(questions_table, deadline=deadline),
        "feed": lambda deadline: summary.feed(events, deadline=deadline),
        "exact": lambda deadline: summary.exact(events, deadline=deadline),
        "ask": lambda deadline: summary.ask(deadline=deadline),
        "ask_all": lambda deadline: summary.ask_all(deadline=deadline),
    }
    for call in calls.values():
        with pytest.raises(ost.QueryError, match="INVALID_BOUND: deadline is"):
            call("never")
