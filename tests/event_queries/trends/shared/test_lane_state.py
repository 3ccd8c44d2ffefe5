"""Open windows as bytes. A stream resumes exactly from its state, and a state of other queries is refused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from tests.event_queries.trends.enumerated import answers, events, program, run, windows

from ostinato.errors import MatchError
from ostinato.event_queries.plan.event_program import Program, Slot, SlotKind
from ostinato.event_queries.trends.shared.compile import compiled
from ostinato.event_queries.trends.shared.lane_state import fingerprint
from ostinato.event_queries.trends.shared.shared_engine import SharedEngine

pytestmark = pytest.mark.kernel

Q1, Q2 = program("A B+"), program("C B+")
WINDOWED = [program("A B+", extent=windows(8, 3)), program("C B+", extent=windows(8, 3))]
NEVER = np.array([-(10**6)])


def stored(programs: Sequence[Program], text: str, exact: bool = True) -> bytes:
    """The state after the events of `text`, one per time unit."""
    (state,) = SharedEngine(programs, exact).advance(events(text), [b""], NEVER).states
    return state


def resumed(programs: Sequence[Program], before: str, after: str, exact: bool = True) -> list[list[tuple[Any, ...]]]:
    """The answers if the events come in two calls, with a stored state in between."""
    engine, times = SharedEngine(programs, exact), range(len(before), len(before) + len(after))
    first = engine.advance(events(before), [b""], NEVER)
    second = SharedEngine(programs, exact).advance(events(after, times), list(first.states), None)
    return [answers(one) + answers(other) for one, other in zip(first.results, second.results, strict=True)]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("programs", [[Q1, Q2], WINDOWED], ids=["one window", "sliding windows"])
def test_a_resumed_stream_gives_the_same_answers(programs: list[Program], exact: bool) -> None:
    text = "ACBBBABBC" * 2
    expected = run(SharedEngine(programs, exact), events(text))
    assert any(expected)
    for cut in (1, 4, 9, 17):
        assert resumed(programs, text[:cut], text[cut:], exact) == expected


def test_numbers_beyond_64_bits_are_stored() -> None:
    assert resumed([Q1, Q2], "AC" + "B" * 100, "B")[0][0][2] == 2**101 - 1


def test_sums_and_extremes_are_stored() -> None:
    slots = (Slot(SlotKind.COUNT, frozenset({1})),)
    programs = [program("A B+", slots=slots), program("C B+", slots=slots)]
    assert resumed(programs, "ACB", "BB") == run(SharedEngine(programs, True), events("ACBBB"))


def test_the_state_without_open_windows_is_empty() -> None:
    step = SharedEngine(WINDOWED, True).advance(events("ACB"), [b""], np.array([100]))
    assert step.states == (b"",)


# --- refused states --------------------------------------------------------------------------------------------------


def load(programs: Sequence[Program], state: bytes, exact: bool = True) -> None:
    SharedEngine(programs, exact).advance(events("B", [9]), [state], None)


@pytest.mark.parametrize("other", [[Q1, program("A B+ C")], [Q2, Q1], WINDOWED], ids=["pattern", "order", "windows"])
def test_a_state_of_other_queries_is_refused(other: list[Program]) -> None:
    with pytest.raises(MatchError, match="STATE_OF_OTHER_QUERY"):
        load(other, stored([Q1, Q2], "ACB"))


def test_exact_and_approximate_states_are_not_mixed() -> None:
    with pytest.raises(MatchError, match="STATE_OF_OTHER_QUERY"):
        load([Q1, Q2], stored([Q1, Q2], "ACB"), exact=False)


@pytest.mark.parametrize("cut", [1, 8, 24])
def test_a_truncated_state_is_refused(cut: int) -> None:
    with pytest.raises(MatchError):
        load([Q1, Q2], stored([Q1, Q2], "ACB")[:-cut])


def test_different_layouts_have_different_fingerprints() -> None:
    def fingerprint_of(programs: Sequence[Program], exact: bool = True) -> int:
        return fingerprint(compiled(programs, exact, frozenset(), True).layout, exact)

    assert fingerprint_of([Q1, Q2]) == fingerprint_of([program("A B+"), program("C B+")])
    exact = [fingerprint_of(programs) for programs in ([Q1, Q2], [Q2, Q1], WINDOWED)]
    assert len({*exact, fingerprint_of([Q1, Q2], exact=False)}) == 4
