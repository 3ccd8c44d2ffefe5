"""RETURN MATCHES: SEQ(A, B, C, D) over A^i B^i C^i D^i has i^4 matches; the goal is CORE's rate on such a machine.

What is timed is the search in process from events in arrays to matches in arrays, on one core.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.experiment import Scale, best_seconds, expect
from benchmarks.records import Goal, Record, Sense
from benchmarks.trends.streams import SECOND_US, START_US, Stream
from ostinato.event_queries.automaton.trend_automaton import Transition, TrendAutomaton
from ostinato.event_queries.plan.event_program import Program

LETTERS = "ABCD"
SIZES = (8, 16, 32, 64)
GOAL_SIZES = (32, 64)
"""Below, a search is over in less than the time it takes to call it."""
GOAL = Goal(Sense.AT_LEAST, 15e6)
ROUNDS = 5


def letters_in_order() -> Program:
    """SEQ(A, B, C, D)."""
    places = range(len(LETTERS))
    automaton = TrendAutomaton(
        labels=tuple(LETTERS),
        states=len(LETTERS) + 1,
        transitions=tuple(Transition(place, place, place + 1) for place in places),
        accepting=frozenset({len(LETTERS)}),
    )
    return Program(automaton, tuple(places))


def blocks(size: int) -> Stream:
    """A^i B^i C^i D^i, one event a second."""
    kind = np.repeat(np.arange(len(LETTERS)), size)
    times = START_US + np.arange(len(kind)) * SECOND_US
    return Stream(tuple(LETTERS), kind, times, np.zeros(len(kind), np.int64), {})


def measure_matches(scale: Scale) -> list[Record]:
    from ostinato.event_queries.enumeration.event_matches import find_event_matches
    from ostinato.event_queries.enumeration.match_limits import MatchLimits

    records = []
    for size in SIZES:
        right = size ** len(LETTERS)
        find = partial(find_event_matches, letters_in_order(), blocks(size).events(), MatchLimits(most_matches=right))
        found = find()
        expect(f"matches, i = {size}", found.count, right)
        # All different and in order: as numbers of four digits to the base i they count from 0.
        digits = found.rows.reshape(-1, len(LETTERS)) % size
        numbers = digits.astype(np.int64) @ size ** np.arange(len(LETTERS))[::-1]
        expect(f"matches, i = {size}, all different", len(np.unique(numbers)), right)
        speed = right / best_seconds(find, ROUNDS)
        goal = GOAL if size in GOAL_SIZES else None
        records.append(
            Record("trends", "matches", f"SEQ(A, B, C, D), i = {size}", "speed", speed, "matches/s", goal=goal)
        )
    return records
