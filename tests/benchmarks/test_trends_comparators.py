"""The comparators of `python -m benchmarks trends` give what the definition gives, each within what it covers."""

from __future__ import annotations

import doctest
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from benchmarks.experiment import WrongAnswer
from benchmarks.trends import flattened as flattened_module
from benchmarks.trends import techniques
from benchmarks.trends.greta import visits
from benchmarks.trends.static_sharing import VALUES
from benchmarks.trends.streams import MINUTE_US, RIDE_TYPES, START_US, Stream, in_seconds, ridesharing, stocks
from benchmarks.trends.techniques import FLATTENED, GRETA, GRETA_EXACT, PLAIN, TWO_STEP, Technique, check_same, sampled
from benchmarks.trends.windows import Unsupported, windows_of
from benchmarks.trends.workloads import ChainQuery, Step, alike, diverse

from ostinato.event_queries.automaton.trend_automaton import START
from ostinato.event_queries.plan.event_program import Events, Extent, Program, QueryResults, SlotKind

SECOND_US = 1_000_000
COMPARATORS = (PLAIN, GRETA, TWO_STEP, FLATTENED)

# The paper's stream, one letter an event: A and C start, B is under Kleene plus.
PAPER = "AACBBBBAACCCB"


def letters(text: str, times: Sequence[int] | None = None) -> Stream:
    """One event a second unless `times` says otherwise; the types in the order of the alphabet from B, A, C ..."""
    types = ("B", "A", "C", "D", "E")
    seconds = np.arange(len(text)) if times is None else np.array(times)
    return Stream(
        types=types,
        kind=np.array([types.index(letter) for letter in text]),
        time_us=START_US + seconds * SECOND_US,
        key=np.zeros(len(text), np.int64),
        values={"x": np.arange(len(text)) * 7 % 5, "y": np.arange(len(text)) * 3 % 11 - 4},
    )


def chain(*steps: Step) -> ChainQuery:
    return ChainQuery(steps, MINUTE_US, MINUTE_US)


def trends(program: Program, events: Events, rows: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
    """All trends of a window by definition, as (row, label)."""

    def longer(trend: list[tuple[int, int]], state: int) -> Iterator[list[tuple[int, int]]]:
        if state in program.automaton.accepting:
            yield trend
        for step in program.automaton.transitions:
            for row in rows:
                if step.source != state or not events.conditions[program.qualifies[step.label]][row]:
                    continue
                if trend and not may_follow(program, events, trend[-1], (row, step.label)):
                    continue
                yield from longer([*trend, (row, step.label)], step.target)

    yield from longer([], START)


def may_follow(program: Program, events: Events, before: tuple[int, int], after: tuple[int, int]) -> bool:
    if events.time[before[0]] >= events.time[after[0]]:
        return False
    compare = {"<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal}
    return all(
        compare[edge.op](events.values[edge.after_value][after[0]], events.values[edge.before_value][before[0]])
        for edge in program.edges
        if edge.op is not None and (edge.before, edge.after) == (before[1], after[1])
    )


def by_definition(programs: Sequence[Program], events: Events) -> tuple[QueryResults, ...]:
    results = []
    for program in programs:
        windows = windows_of(events, program.extent)
        columns: dict[str, list[Any]] = defaultdict(list)
        for number in range(len(windows.start)):
            found = list(trends(program, events, range(windows.first[number], windows.last[number])))
            if found:
                columns["sequence"].append(windows.sequence[number])
                columns["window"].append(windows.start[number])
                columns["count"].append(len(found))
                for place, slot in enumerate(program.slots):
                    bound = [row for trend in found for row, label in trend if label in slot.labels]
                    values = [1] * len(bound) if slot.value < 0 else events.values[slot.value][bound].tolist()
                    joined = {SlotKind.MIN: min, SlotKind.MAX: max}.get(slot.kind, sum)(values)
                    columns[f"slot {place}"].append(joined)
        slots = tuple(np.array(columns[f"slot {place}"], object) for place in range(len(program.slots)))
        present = tuple(np.ones(len(slot), np.bool_) for slot in slots)
        count = np.array(columns["count"], object)
        results.append(
            QueryResults(np.array(columns["sequence"], int), np.array(columns["window"], int), count, slots, present)
        )
    return tuple(results)


DEFINITION = Technique("definition", by_definition, exact=True)


# --- the paper's numbers ---


@pytest.mark.parametrize("technique", (PLAIN, GRETA, GRETA_EXACT, FLATTENED), ids=lambda technique: technique.name)
def test_the_paper_s_two_queries(technique: Technique) -> None:
    """Examples 4 to 6: SEQ(A, B+) has 64 trends there, SEQ(C, B+) 34."""
    programs = [chain(Step(kind), Step(0, kleene=True)).program() for kind in (1, 2)]
    events = letters(PAPER).events()
    found = check_same("paper", programs, events, [DEFINITION, technique])
    assert [int(results.count[0]) for results in found] == [64, 34]


# --- all against the definition ---


@pytest.mark.parametrize("times", (None, [0, 1, 1, 2, 2, 2, 3, 4, 4, 5, 6, 6, 7, 8]), ids=("distinct", "with ties"))
def test_all_comparators_on_the_shape_that_all_cover(times: list[int] | None) -> None:
    programs = [
        chain(Step(first), Step(0, kleene=True), Step(last)).program() for first, last in ((1, 2), (2, 3), (1, 3))
    ]
    found = check_same("shape", programs, letters("ABCBBADBBCBBDD", times).events(), [DEFINITION, *COMPARATORS])
    assert all(len(results.count) == 1 for results in found)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("cut", (False, True), ids=("distinct", "seconds"))
def test_workload_1_in_small(seed: int, cut: bool) -> None:
    stream = ridesharing(200, per_minute=200, drivers=6, burst=2, shared=0.3, seed=seed)
    events = (in_seconds(stream) if cut else stream).events()
    programs = [query.program() for query in alike(100, 20, 30 * SECOND_US, 15 * SECOND_US)]
    without_ties = () if cut else (GRETA_EXACT,)
    found = check_same("small", programs, events, [DEFINITION, *COMPARATORS, *without_ties])
    assert sum(len(results.count) for results in found) > 20


@pytest.mark.parametrize("seed", range(3))
def test_workload_2_in_small(seed: int) -> None:
    """Conditions between neighbours are GRETA's alone; the others say that they can't."""
    events = stocks(70, per_minute=60, burst=2, types=6, wild=0.5, seed=seed).events(VALUES)
    programs = [query.program() for query in diverse(24, 6, VALUES, minute_us=SECOND_US)]
    found = check_same("small", programs, events, [DEFINITION, GRETA])
    assert sum(len(results.count) for results in found) > 20
    without = [program for program in programs if not program.edges]
    assert 0 < len(without) < len(programs)
    check_same("small", without, events, [DEFINITION, PLAIN])
    for technique in (PLAIN, TWO_STEP, FLATTENED, GRETA_EXACT):
        with pytest.raises(Unsupported):
            technique.run(programs, events)


def test_numbers_beyond_a_double() -> None:
    """4,000 events under Kleene plus: 2^4,000 trends; what is on doubles agrees in nine digits."""
    stream = ridesharing(8_000, per_minute=10_000, shared=0.5)
    programs = [query.program() for query in alike(3, 20, MINUTE_US)]
    one_in_three = [sampled(GRETA, 3), sampled(GRETA_EXACT, 3)]
    found = check_same("large", programs, stream.events(), [PLAIN, *one_in_three, FLATTENED])
    assert all(3_800 < int(count).bit_length() < 4_200 for results in found for count in results.count)


def test_exact_visits_need_distinct_times() -> None:
    with pytest.raises(Unsupported, match="equal times"):
        GRETA_EXACT.run([chain(Step(1), Step(0, kleene=True)).program()], letters("ABB", [0, 1, 1]).events())


def test_a_difference_is_a_wrong_answer() -> None:
    def one_more(programs: Sequence[Program], events: Events) -> tuple[QueryResults, ...]:
        return tuple(
            QueryResults(right.sequence, right.window, right.count + 1, right.slots, right.present)
            for right in PLAIN.run(programs, events)
        )

    programs, events = [chain(Step(1), Step(0, kleene=True)).program()], letters(PAPER).events()
    for exact in (True, False):
        with pytest.raises(WrongAnswer, match="query 0: wrong and plain big integers differ in the counts"):
            check_same("paper", programs, events, [PLAIN, Technique("wrong", one_more, exact)])
    with pytest.raises(WrongAnswer, match="their windows: 0 and 1"):
        none = Technique("none", lambda programs, events: PLAIN.run(programs, letters("BA").events()), exact=True)
        check_same("paper", programs, events, [PLAIN, none])


# --- what they are made of ---


def test_windows_that_slide_and_leave_gaps() -> None:
    events = letters("ABC", [0, 5, 21]).events()
    extent = alike(1, 20, 10 * SECOND_US, 5 * SECOND_US)[0].program().extent
    windows = windows_of(events, extent)
    starts = ((windows.start - START_US) // SECOND_US).tolist()
    assert list(zip(starts, windows.first.tolist(), windows.last.tolist(), strict=True)) == [
        (-5, 0, 1),
        (0, 0, 2),
        (5, 1, 2),
        (15, 2, 3),
        (20, 2, 3),
    ]
    assert windows_of(events, Extent()).last.tolist() == [3]


def test_visits_are_pairs() -> None:
    """SEQ(A, B+) on A B B: A-B, A-B, B-B."""
    assert visits([chain(Step(1), Step(0, kleene=True)).program()], letters("ABB").events()) == 3


def test_flattened_runs_are_as_long_as_the_longest() -> None:
    program = chain(Step(1), Step(0, kleene=True)).program()
    assert flattened_module.longest_run([program], letters(PAPER).events()) == PAPER.count("B")
    assert doctest.testmod(flattened_module).failed == 0


def test_streams_have_the_paper_s_parameters() -> None:
    rides = ridesharing(20_000, per_minute=10_000, drivers=50, burst=10, shared=0.2)
    assert len(rides.types) == len(set(RIDE_TYPES)) == 20
    assert len(np.unique(rides.time_us)) == len(rides)
    assert rides.time_us[-1] - rides.time_us[0] < 2 * MINUTE_US
    assert 0.1 < (rides.kind == 0).mean() < 0.3
    assert len(np.unique(in_seconds(rides).time_us)) == 120
    ticks = stocks(100_000, per_minute=4_000)
    bursts = np.count_nonzero(np.diff(ticks.kind)) + 1
    assert 100 < len(ticks) / bursts < 150
    events = rides.events(("speed",))
    assert np.diff(events.starts).sum() == len(rides)
    assert all((np.diff(events.time[a:b]) > 0).all() for a, b in zip(events.starts, events.starts[1:], strict=False))


def test_queries_of_workload_1_are_all_different() -> None:
    queries = alike(100, 20, MINUTE_US)
    assert len({query.steps for query in queries}) == 100
    assert all(query.steps[1] == Step(0, kleene=True) for query in queries)
    assert queries[0].text(RIDE_TYPES) == (
        "TYPE kind TIME ts PATTERN SEQ(Request v0, Travel+ v1, Pool v2) GROUP BY key WITHIN 1 MINUTES SLIDE 1 MINUTES "
        "RETURN key, COUNT(*)"
    )


def test_queries_of_workload_2_differ_in_windows_aggregates_and_conditions() -> None:
    queries = diverse(100, 20, VALUES)
    assert {query.window_us // MINUTE_US for query in queries} == {5, 10, 15, 20}
    assert {sum(step.kleene for step in query.steps) for query in queries} == {1, 2, 3}
    assert {slot.kind for query in queries for slot in query.slots} == set(SlotKind)
    assert 0.3 < np.mean([bool(query.edges) for query in queries]) < 0.7
    assert all(len({step.kind for step in query.steps}) == len(query.steps) for query in queries)
    text = next(query for query in queries if query.edges and query.slots).text([f"S{i}" for i in range(20)])
    assert "WHERE NEXT(v1).price <= v1.most GROUP BY key" in text


def test_every_comparator_has_a_name_of_its_own() -> None:
    named = [value for value in vars(techniques).values() if isinstance(value, Technique)]
    assert len({technique.name for technique in named}) == len(named) >= 10


def test_a_small_number_beside_large_ones_is_not_lost() -> None:
    """SEQ(A, B+, C) with C only at the beginning: few trends, though SEQ(A, B+) goes on growing beyond a double."""
    text = "ABBC" + "B" * 3_000
    stream = letters(text)
    query = ChainQuery((Step(1), Step(0, kleene=True), Step(2)), 120 * MINUTE_US, 120 * MINUTE_US)
    (found,) = check_same("small", [query.program()], stream.events(), [PLAIN, GRETA, GRETA_EXACT, FLATTENED])
    assert [int(count) for count in np.asarray(found.count)] == [3]
