"""Probes into ranges of rows: the matches of each probe alone, open starts, and quiet rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.clause.matching.probing import Probe, expected, matches_from, prepared_letters, probe_all, probes_of
from tests.laws.strategies import patterns

from ostinato.clause.matching import growths
from ostinato.clause.matching.growths import ProbeMode, find, quiet_before
from ostinato.clause.matching.match_engine import RowTimes, RunConditions
from ostinato.clause.matching.search import no_check, no_update, search_in_python
from ostinato.errors import MatchError
from ostinato.kernels.kernel_cache import interpreted


@st.composite
def letters_and_probes(draw: Any) -> tuple[str, str, list[Probe]]:
    """A pattern without anchors, rows, and probes that may overlap."""
    pattern = draw(patterns("ABCR"))
    assume("^" not in pattern and "$" not in pattern and any(name in pattern for name in "ABCR"))
    text = draw(st.text("abc", max_size=7))
    probes = []
    for _ in range(draw(st.integers(0, 4))):
        start, stop, end = sorted(draw(st.lists(st.integers(0, len(text)), min_size=3, max_size=3)))
        probes.append(Probe(start, stop, end, draw(st.booleans())))
    return pattern, text, probes


# --- the matches of a probe ---


@pytest.mark.kernel
@given(example=letters_and_probes(), max_length=st.sampled_from([None, None, 1, 3]))
def test_a_probe_has_the_matches_of_its_rows_alone(
    example: tuple[str, str, list[Probe]], max_length: int | None
) -> None:
    pattern, text, probes = example
    prepared = prepared_letters(pattern, text, f"MAXLENGTH {max_length}" if max_length else "")
    for mode in set(ProbeMode) - {ProbeMode.CHAINED}:
        shown = probe_all(prepared, probes, mode)
        for probe, result in zip(probes, shown, strict=True):
            assert result.matches == expected(pattern, text, probe, mode, max_length), (mode, probe)


@pytest.mark.kernel
@given(example=letters_and_probes())
def test_a_chain_of_the_standards_matches(example: tuple[str, str, list[Probe]]) -> None:
    pattern, text, probes = example
    probes = [replace(probe, is_open=False) for probe in probes]
    shown = probe_all(prepared_letters(pattern, text), probes, ProbeMode.CHAINED)
    assert [probe.matches for probe in shown] == [expected(pattern, text, probe, ProbeMode.CHAINED) for probe in probes]
    assert not any(probe.open_starts for probe in shown)


@pytest.mark.kernel
@given(example=letters_and_probes())
def test_the_search_agrees_with_its_python(example: tuple[str, str, list[Probe]]) -> None:
    pattern, text, probes = example
    assume("R" not in pattern)
    prepared = prepared_letters(pattern, text)
    in_python = RunConditions(search_in_python(interpreted(no_update), interpreted(no_check)))
    for mode in ProbeMode:
        slow, fast = (probe_all(rows, probes, mode) for rows in (replace(prepared, run_conditions=in_python), prepared))
        for interpreted_result, compiled_result in zip(slow, fast, strict=True):
            assert interpreted_result.matches == compiled_result.matches, mode
            if mode is ProbeMode.INCREMENTAL:  # without a memo, starts that follow an earlier one stay open
                assert set(interpreted_result.open_starts) >= set(compiled_result.open_starts)
            else:
                assert interpreted_result.open_starts == compiled_result.open_starts, mode


def test_the_growths_of_a_start_end_later_and_later() -> None:
    prepared = prepared_letters("A B*", "abbb")
    matches = find(prepared, probes_of([Probe(0, 2, 4)], 4), ProbeMode.GROWING)
    assert matches.start.tolist() == [0, 0, 0, 0, 1, 1, 1]
    assert matches.length.tolist() == [1, 2, 3, 4, 1, 2, 3]
    assert matches.rank.tolist() == [3, 2, 1, 0, 2, 1, 0]  # greedy: the longest is preferred


def test_records_stop_at_an_empty_match() -> None:
    """A match that is less preferred than the empty match is never the preferred one."""
    (greedy,) = probe_all(prepared_letters("B*", "bbb"), [Probe(0, 1, 3)], ProbeMode.RECORDS)
    (reluctant,) = probe_all(prepared_letters("B*?", "bbb"), [Probe(0, 1, 3)], ProbeMode.RECORDS)
    assert greedy.matches == [(0, "BBB"), (0, "BB"), (0, "B")]
    assert reluctant.matches == []
    assert reluctant.open_starts == []


# --- probes that overlap ---


@pytest.mark.kernel
@pytest.mark.parametrize("mode", list(ProbeMode))
@pytest.mark.parametrize("pattern", ["A B?", "A B+", "A R{1,3}"])
def test_probes_stay_separate_when_buffers_grow(mode: ProbeMode, pattern: str) -> None:
    """Thousands of matches, each probe in several calls of the kernel."""
    text = "abbc" * 750
    prepared = prepared_letters(pattern, text)
    probes = [Probe(0, 2_000, 3_000), Probe(500, 2_500, 2_600), Probe(0, 2_000, 3_000), Probe(499, 501, 3_000)]
    together = probe_all(prepared, probes, mode)
    assert together == [probe_all(prepared, [probe], mode)[0] for probe in probes]
    assert together[0] == together[2]


def test_many_states_that_only_look_reachable() -> None:
    """The C that would complete the match is outside all probes. Each (state, row) is still tried once per start."""
    text = "ab" * 200 + "c"
    prepared = prepared_letters("(A | B)* C", text)
    probes = [Probe(0, 1, end) for end in range(300, 400)]
    assert all(not shown.matches for shown in probe_all(prepared, probes, ProbeMode.PREFERRED))


def test_a_failure_names_its_row() -> None:
    prepared = prepared_letters("(A | R)* C", "b" * 40)
    prepared = replace(prepared, task=replace(prepared.task, max_partial_matches=1_000))
    with pytest.raises(MatchError) as caught:
        probe_all(prepared, [Probe(5, 6, 40)], ProbeMode.GROWING)
    assert (caught.value.code, caught.value.row) == ("TOO_MANY_PARTIAL_MATCHES", 5)


# --- open starts ---


@pytest.mark.kernel
@given(example=letters_and_probes(), cut=st.integers(0, 7))
def test_a_closed_start_never_changes_again(example: tuple[str, str, list[Probe]], cut: int) -> None:
    """Also if later rows aren't known yet."""
    pattern, text, _ = example
    cut = min(cut, len(text))
    known_rows, all_rows = prepared_letters(pattern, text[:cut]), prepared_letters(pattern, text)
    for mode in (ProbeMode.GROWING, ProbeMode.RECORDS):
        (before,) = probe_all(known_rows, [Probe(0, cut, cut)], mode)
        (after,) = probe_all(all_rows, [Probe(0, cut, len(text))], mode)
        closed = set(range(cut)) - set(before.open_starts)
        known, later = ([match for match in result.matches if match[0] in closed] for result in (before, after))
        assert known == later, mode


@pytest.mark.kernel
@given(example=letters_and_probes(), cut=st.integers(0, 7))
def test_a_chain_stops_at_the_first_start_that_depends_on_later_rows(
    example: tuple[str, str, list[Probe]], cut: int
) -> None:
    pattern, text, _ = example
    cut = min(cut, len(text))
    (before,) = probe_all(prepared_letters(pattern, text[:cut]), [Probe(0, cut, cut)], ProbeMode.CHAINED)
    all_matches = expected(pattern, text, Probe(0, len(text), len(text)), ProbeMode.CHAINED)
    assert before.matches == all_matches[: len(before.matches)]
    open_start = before.open_starts[0] if before.open_starts else cut
    assert all(start >= open_start for start, _ in all_matches[len(before.matches) :])


@pytest.mark.parametrize(
    ("pattern", "text", "mode", "open_starts"),
    [
        ("A B C", "abc", ProbeMode.GROWING, [1, 2]),  # any row may be A
        ("B+ C", "abbb", ProbeMode.GROWING, [1, 2, 3]),
        ("B+ C", "abba", ProbeMode.GROWING, []),
        ("B+ C", "abbb", ProbeMode.INCREMENTAL, [1]),  # start 1 takes all matches of start 2
        ("B+ C", "abbb", ProbeMode.CHAINED, [1]),
        ("B+?", "bb", ProbeMode.RECORDS, []),  # a match of one row is always preferred
        ("B+?", "bb", ProbeMode.GROWING, [0, 1]),
        ("B B?", "bb", ProbeMode.GROWING, [1]),
    ],
)
def test_open_starts(pattern: str, text: str, mode: ProbeMode, open_starts: list[int]) -> None:
    rows = len(text)
    opened, closed = probe_all(
        prepared_letters(pattern, text), [Probe(0, rows, rows), Probe(0, rows, rows, False)], mode
    )
    assert opened.open_starts == open_starts
    assert closed.open_starts == []


def test_elapsed_time_closes_a_start() -> None:
    prepared = prepared_letters("B+ C", "bbbb")
    timed = replace(prepared, task=replace(prepared.task, within_us=2), times=RowTimes(np.array([0, 5, 6, 7])))
    probes = probes_of([Probe(0, 4, 4)], 4)
    assert find(timed, probes, ProbeMode.GROWING).open_start.tolist() == [1, 2, 3]  # start 0 is too far from row 1
    assert find(timed, probes, ProbeMode.GROWING, known_until=8).open_start.tolist() == [3]


# --- quiet rows ---


@pytest.fixture(params=["compiled", "interpreted"])
def quiet_kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "interpreted":
        monkeypatch.setattr(growths, "_fill_quiet", interpreted(growths._fill_quiet))


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("pattern", "text", "quiet"),
    [
        ("B C", "abcbca", [0, 1, 1, 3, 3, 5]),
        ("B+", "abbabb", [0, 1, 1, 3, 4, 4]),
        ("B+ C", "bbabbc", [0, 1, 2, 3, 3, 3]),  # rows 0 and 1 lead nowhere
        ("B+ C", "abbb", [0, 1, 1, 1]),  # a C may still come
        ("A*", "abc", [0, 0, 0]),
    ],
)
@pytest.mark.usefixtures("quiet_kernel")
def test_quiet_rows(pattern: str, text: str, quiet: list[int]) -> None:
    assert quiet_before(prepared_letters(pattern, text)).tolist() == quiet


@pytest.mark.kernel
@given(example=letters_and_probes(), cut=st.integers(0, 7))
def test_no_match_spans_a_quiet_row(example: tuple[str, str, list[Probe]], cut: int) -> None:
    """For any later rows."""
    pattern, text, _ = example
    quiet = quiet_before(prepared_letters(pattern, text[:cut])).tolist()
    for start in range(len(text)):
        for labels in matches_from(pattern, text, start):
            assert not any(start < row < start + len(labels) for row in set(quiet))


def test_every_key_has_its_own_quiet_rows() -> None:
    prepared = prepared_letters("B+", "bbbb")
    in_two_keys = replace(prepared, key_at=np.array([0, 2, 2, 4]))
    assert quiet_before(in_two_keys).tolist() == [0, 0, 2, 2]
