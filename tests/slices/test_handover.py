"""The rows at which a slice may take over. Letters for rows: a variable X takes rows of kind X, ANY takes every row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

from ostinato.clause.automaton.nfa import build_nfa
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.clause.matching.match_engine import Task
from ostinato.clause.matching.nfa_tables import automaton_tables
from ostinato.clause.matching.symbols import ALWAYS, symbols_of
from ostinato.clause.query.clause import MatchMode, Skip
from ostinato.clause.query.pattern import variables
from ostinato.kernels.kernel_cache import interpreted
from ostinato.slices import handover
from ostinato.slices.handover import NOWHERE, within_reach
from ostinato.slices.handover_kind import Handover, kind_of

Kernel = Callable[..., Any]


@pytest.fixture(params=["compiled", "interpreted"])
def kernel_of(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Kernel]:
    """A kernel by its name, compiled or as the Python function it was."""
    if request.param == "compiled":
        return lambda name: getattr(handover, name)
    monkeypatch.setattr(handover, "_step", interpreted(handover._step))
    return lambda name: interpreted(getattr(handover, name))


def tables_of(pattern: str, text: str) -> tuple[Any, ...]:
    """The kernels' arguments for a pattern and rows."""
    parsed = parse_row_pattern(pattern)
    nfa = build_nfa(parsed)
    kinds = np.array(list(text))
    names = [name for name in variables(parsed) if name != "ANY"]
    masks = [kinds == name for name in names]
    of_state = [names.index(state.variable) if state.variable != "ANY" else ALWAYS for state in nfa.states]
    symbols = symbols_of(masks, of_state, len(text))
    automaton = automaton_tables(nfa, tuple(variables(parsed)))
    return automaton.choice_at, automaton.choices, symbols.allowed, symbols.of_row


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("pattern", "text", "dead"),
    [
        ("A B C", "XXXX", 0),
        ("A B C", "BCXX", 2),  # after an earlier A, the run takes B and C, and ends
        ("A B C", "ABCABC", 0),  # nothing comes before A, so a run from before has no A to take
        ("A B+", "BBBBX", 4),
        ("A B+", "BBBBB", 5),  # the run may continue after the last row
        ("A B+ C", "BBCBX", 3),
        ("(A B)+", "BABABX", 5),
        ("A ANY*", "XXXX", 4),  # a loop that takes every row never dies
        ("A ANY ANY", "XXXX", 2),
        ("A", "AAAA", 0),
    ],
)
def test_the_row_at_which_all_earlier_runs_are_dead(
    kernel_of: Callable[[str], Kernel], pattern: str, text: str, dead: int
) -> None:
    assert kernel_of("end_of_runs")(*tables_of(pattern, text), 0, len(text)) == dead


@pytest.mark.kernel
def test_only_the_given_rows_are_read(kernel_of: Callable[[str], Kernel]) -> None:
    tables = tables_of("A B+", "XBBXBB")
    assert kernel_of("end_of_runs")(*tables, 1, 6) == 3
    assert kernel_of("end_of_runs")(*tables, 1, 3) == 3  # not seen to die: the end
    assert kernel_of("end_of_runs")(*tables, 3, 3) == 3


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("pattern", "text", "first_and_last"),
    [
        ("A B", "XXX", (0, 2)),
        ("A B", "ABAB", (0, 2)),  # a B may end a match of the row before; an A never goes on with one
        ("A B+", "BBABB", (2, 2)),
        ("A B+", "BBBB", (NOWHERE, NOWHERE)),
        ("A B+", "BBXX", (2, 3)),
        ("A+", "AAAA", (NOWHERE, NOWHERE)),  # runs begin at every row and go on over the next
        ("ANY ANY", "XXX", (NOWHERE, NOWHERE)),
        ("^ A B", "BABX", (1, 3)),
    ],
)
def test_rows_that_no_run_spans(
    kernel_of: Callable[[str], Kernel], pattern: str, text: str, first_and_last: tuple[int, int]
) -> None:
    assert kernel_of("quiet_rows")(*tables_of(pattern, text), 0, len(text)) == first_and_last


@pytest.mark.kernel
def test_more_than_64_states(kernel_of: Callable[[str], Kernel]) -> None:
    tables = tables_of("A B{70} C", "B" * 69 + "CXX")
    assert kernel_of("end_of_runs")(*tables, 0, 72) == 70
    assert kernel_of("quiet_rows")(*tables, 0, 72) == (70, 71)


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("ahead", "entries", "row"),
    [
        ([1, 1, 1, 1], 1, 0),  # one way in: no other chain to meet
        ([1, 1, 1, 1], 3, 2),  # every start is tried, so all are together at the last way in
        ([2, 2, 2, 2, 2, 2], 2, NOWHERE),  # even and odd starts never meet
        ([2, 1, 2, 1, 1, 1], 2, 2),  # 0 -> 2, 1 -> 2
        ([3, 2, 1, 1], 3, 3),  # all lead to 3
        ([3, 3, 1, 1, 1, 1], 2, 4),  # 0 -> 3 -> 4, 1 -> 4
        ([5, 1, 1], 2, NOWHERE),  # one chain leads out of the rows seen
        ([], 1, NOWHERE),
        ([1, 1], 5, NOWHERE),  # not all ways in are seen
    ],
)
def test_the_row_at_which_chains_meet(
    kernel_of: Callable[[str], Kernel], ahead: list[int], entries: int, row: int
) -> None:
    assert kernel_of("meeting_row")(np.array(ahead, np.int64), entries) == row


@pytest.mark.kernel
def test_chains_are_equal_after_the_row_at_which_they_meet(kernel_of: Callable[[str], Kernel]) -> None:
    rng = np.random.default_rng(7)
    meeting = kernel_of("meeting_row")
    met = 0
    for _ in range(200):
        ahead = rng.integers(1, 5, 30)
        entries = int(rng.integers(1, 6))
        tried = [starts_tried(ahead, entry) for entry in range(entries)]
        common = set.intersection(*tried)
        everybody = [row for row in sorted(common) if row >= entries - 1]
        row = int(meeting(ahead, entries))
        assert row == (everybody[0] if everybody else NOWHERE)
        met += row != NOWHERE
    assert met > 100


def starts_tried(ahead: np.ndarray[Any, Any], row: int) -> set[int]:
    tried = set()
    while row < len(ahead):
        tried.add(row)
        row += int(ahead[row])
    return tried


# --- kinds of handover and bounds of matches ---


def task(
    max_length: int | None = None,
    within: timedelta | None = None,
) -> Task:
    return Task(
        nfa=build_nfa(parse_row_pattern("A B*")),
        variables=("A", "B"),
        mode=MatchMode.PREFERRED,
        skip=Skip(),
        skip_rows=frozenset(),
        max_length=max_length,
        within_us=None if within is None else within // timedelta(microseconds=1),
        show_timeouts=False,
        max_partial_matches=100,
        needs_path=False,
    )


@pytest.mark.parametrize(
    ("words", "kind", "with_unmatched"),
    [
        ("AFTER MATCH SKIP PAST LAST ROW", Handover.MEETING, Handover.MEETING),
        ("AFTER MATCH SKIP TO FIRST B", Handover.MEETING, Handover.QUIET),
        ("AFTER MATCH SKIP TO LAST B", Handover.MEETING, Handover.QUIET),
        ("AFTER MATCH SKIP TO NEXT ROW", Handover.ANY, Handover.QUIET),
        ("ALL MATCHES", Handover.ANY, None),
        ("MAXIMAL MATCHES", Handover.ANY, None),
        ("INCREMENTAL MATCHES", Handover.QUIET, None),
    ],
)
def test_kind_of_handover(words: str, kind: Handover, with_unmatched: Handover | None) -> None:
    assert kind_of(parse_clause(f"ORDER BY t MEASURES 1 AS x {words} PATTERN (A B)")) is kind
    if with_unmatched is not None:  # match modes don't show unmatched rows
        shown = f"ORDER BY t ALL ROWS PER MATCH WITH UNMATCHED ROWS {words} PATTERN (A B)"
        assert kind_of(parse_clause(shown)) is with_unmatched


@pytest.mark.parametrize(
    ("search_task", "end"),
    [
        (task(), 9),
        (task(max_length=1), 4),  # a match of one row, which starts at row 3 at the latest
        (task(max_length=4), 7),
        (task(max_length=40), 9),
        (task(within=timedelta(microseconds=10)), 5),  # row 3 is at 30: row 4 at 40 is within, row 5 isn't
        (task(within=timedelta(microseconds=9)), 4),
        (task(within=timedelta(microseconds=1_000)), 9),
        (task(max_length=2, within=timedelta(microseconds=1_000)), 5),
    ],
)
def test_bounds_end_matches_of_earlier_starts(search_task: Task, end: int) -> None:
    assert within_reach(search_task, np.arange(12) * 10, row=4, end=9) == end


def test_nothing_starts_before_the_first_row() -> None:
    assert within_reach(task(within=timedelta(microseconds=1)), np.arange(5) * 10, row=0, end=5) == 5
