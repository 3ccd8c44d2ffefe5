"""How soon a match can end, for every row: letters for rows, variables for states."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.clause.automaton.nfa import build_nfa
from ostinato.clause.language.pattern_parser import parse_row_pattern
from ostinato.clause.matching import soonest_ends as ends
from ostinato.clause.matching.nfa_tables import automaton_tables
from ostinato.clause.matching.reachability import reachable_states
from ostinato.clause.matching.symbols import symbols_of
from ostinato.kernels.kernel_cache import interpreted

pytestmark = pytest.mark.kernel


@pytest.fixture(params=["compiled", "python"], autouse=True)
def kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if request.param == "python":
        monkeypatch.setattr(ends, "_fill", interpreted(ends._fill))
    yield


def soonest(pattern: str, *keys: str) -> list[dict[str, int]]:
    """For each row the variables that can lead to a match, with the rows to its soonest end. X takes every row."""
    nfa = build_nfa(parse_row_pattern(pattern))
    variables = tuple(dict.fromkeys(state.variable for state in nfa.states))
    rows, automaton = "".join(keys), automaton_tables(nfa, variables)
    masks = [np.array([name in (row.upper(), "X") or row == "*" for row in rows], np.bool_) for name in variables]
    symbols = symbols_of(masks, [variables.index(state.variable) for state in nfa.states], len(rows))
    end = np.cumsum([len(key) for key in keys])
    first, is_open = end - [len(key) for key in keys], np.zeros(len(keys), np.uint8)
    reachable = reachable_states(automaton, symbols.of_row, symbols.allowed, first, end, is_open)
    distances = ends.soonest_ends(automaton, reachable, first, end)
    names = [state.variable for state in nfa.states]
    return [
        {
            name: int(row[state])
            for state, name in enumerate(names)
            if reachable.sets[reachable.set_of_row[at]][0] >> np.uint64(state) & np.uint64(1)
        }
        for at, row in enumerate(distances)
    ]


def test_a_gap_ends_with_the_next_end() -> None:
    assert soonest("A X* B", "axxb") == [{"A": 3, "X": 3}, {"X": 2}, {"X": 1}, {"B": 0}]
    assert soonest("A X* B", "abxa") == [{"A": 1, "X": 1}, {"B": 0}, {}, {}]


def test_the_shortest_way_counts() -> None:
    assert soonest("A (B B | C C C C)", "a**cc")[0] == {"A": 2}


def test_an_end_of_another_key_doesnt_count() -> None:
    assert soonest("A X* B", "ax", "xb") == [{}, {}, {"X": 1}, {"B": 0}]


def test_the_end_of_the_partition_is_an_end() -> None:
    assert soonest("A+ $", "aba", "a") == [{}, {}, {"A": 0}, {"A": 0}]


def test_a_distance_that_is_too_large_is_far() -> None:
    (first, *_) = soonest("A X* B", "a" + "x" * ends.FAR + "b")
    assert first == {"A": ends.FAR, "X": ends.FAR}


def test_a_bounded_search_over_gaps_visits_few_rows() -> None:
    """Without an end in time, 1,000 starts would take 1,000 rows each."""
    rows = pa.table({"t": range(2_001), "k": ["A"] * 1_000 + ["x"] * 1_000 + ["C"]})
    clause = "ORDER BY t MEASURES A.t AS a ALL MATCHES PATTERN (A X* C) {} DEFINE A AS k = 'A', C AS k = 'C'"
    query = ost.match_recognize(clause.format("MAXLENGTH 1002"), max_partial_matches=1_100)
    assert ost.match(query, rows)["a"].to_pylist() == [999]
    with pytest.raises(ost.MatchError, match="TOO_MANY_PARTIAL_MATCHES"):
        ost.match(ost.match_recognize(clause.format(""), max_partial_matches=1_100), rows)
