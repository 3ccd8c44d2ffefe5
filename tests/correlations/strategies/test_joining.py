"""Compares pairs of live and archive matches with the definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.correlations.language.correlation import Region
from ostinato.correlations.strategies import joining
from ostinato.correlations.strategies.joining import ArchiveStarts, Lives, Pairs, by_start, join, join_equal
from ostinato.kernels.kernel_cache import interpreted

pytestmark = pytest.mark.kernel

Live = tuple[int, int, int, int]
"""Key, start, end, and number of archive rows before its end."""
Entry = tuple[int, int, int, list[int]]
"""Key, start, position, ends of its growths."""
KEYS = 3


def lives_of(lives: list[Live]) -> Lives:
    return Lives(*(np.array(column, np.int64) for column in zip(*lives, strict=True))) if lives else _NO_LIVES


_NO_LIVES = Lives(*(np.empty(0, np.int64) for _ in Lives._fields))


def starts_of(entries: list[Entry]) -> ArchiveStarts:
    return ArchiveStarts(
        key_at=np.searchsorted([entry[0] for entry in entries], np.arange(KEYS + 1)),
        start=np.array([entry[1] for entry in entries], np.int64),
        position=np.array([entry[2] for entry in entries], np.int64),
        growth_at=np.cumsum([0, *(len(entry[3]) for entry in entries)]),
        end=np.array([end for entry in entries for end in entry[3]], np.int64),
    )


def pairs_by_definition(lives: list[Live], entries: list[Entry], region: Region) -> list[tuple[int, int]]:
    """For each live match, each earlier start in its region with the last growth that ended before the live match."""
    pairs = []
    for live, (key, start, end, archive_rows) in enumerate(lives):
        first_growth = 0
        for entry_key, entry_start, position, ends in entries:
            ended = [index for index, growth_end in enumerate(ends) if growth_end < end]
            is_recent = (
                archive_rows - position <= region.size if region.kind == "rows" else end - entry_start <= region.size
            )
            if key == entry_key and ended and entry_start < start and is_recent:
                pairs.append((live, first_growth + ended[-1]))
            first_growth += len(ends)
    return pairs


@st.composite
def matches(draw: Any) -> tuple[list[Live], list[Entry]]:
    """The archive has one row per time unit, so positions equal starts. Matches may share a start."""
    moments = st.integers(0, 12)
    lives: list[Live] = []
    for _ in range(draw(st.integers(0, 6))):
        start, end = sorted((draw(moments), draw(moments)))
        lives.append((draw(st.integers(0, KEYS - 1)), start, end, end))
    entries: list[Entry] = []
    for _ in range(draw(st.integers(0, 6))):
        start = draw(moments)
        ends = sorted(draw(st.lists(st.integers(start, 14), min_size=1, max_size=4)))
        entries.append((draw(st.integers(0, KEYS - 1)), start, start, ends))
    return sorted(lives, key=lambda live: (live[0], live[2])), sorted(entries, key=lambda entry: entry[:3])


regions = st.one_of(
    st.builds(Region, st.just("time"), st.integers(1, 13)),
    st.builds(Region, st.just("number"), st.sampled_from([0.5, 3.5, 7.5, 1e30])),
    st.builds(Region, st.just("rows"), st.integers(1, 13)),
)


@pytest.fixture(params=["compiled", "interpreted"], autouse=True)
def _kernels(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "interpreted":
        for name in ("_walk", "_insert", "_is_past", "_count_before", "_by_group"):
            monkeypatch.setattr(joining, name, interpreted(getattr(joining, name)))


@given(both=matches(), region=regions)
def test_pairs_are_those_of_the_definition(both: tuple[list[Live], list[Entry]], region: Region) -> None:
    lives, entries = both
    joined = join(lives_of(lives), starts_of(entries), region)
    assert list(zip(joined.live.tolist(), joined.growth.tolist(), strict=True)) == pairs_by_definition(
        lives, entries, region
    )


@given(both=matches(), region=regions, data=st.data())
def test_an_index_by_equality_finds_the_pairs_with_equal_codes(
    both: tuple[list[Live], list[Entry]], region: Region, data: st.DataObject
) -> None:
    """Code -1 is NULL, which equals nothing. Growths of one start may have different codes."""
    lives, entries = both
    starts = starts_of(entries)
    codes = st.integers(-1, 2)
    live_code = data.draw(st.lists(codes, min_size=len(lives), max_size=len(lives)))
    growth_code = data.draw(st.lists(codes, min_size=len(starts.end), max_size=len(starts.end)))
    joined = join_equal(lives_of(lives), np.array(live_code, np.int64), starts, np.array(growth_code, np.int64), region)
    assert list(zip(joined.live.tolist(), joined.growth.tolist(), strict=True)) == [
        (live, growth)
        for live, growth in pairs_by_definition(lives, entries, region)
        if live_code[live] == growth_code[growth] >= 0
    ]


def test_the_five_results_of_the_papers_first_table() -> None:
    """Live falls and archive ticks from 02:00 to 02:10, at most seven minutes apart."""
    falls = [(0, 0, 1, 1), (0, 2, 3, 3), (0, 4, 5, 5), (0, 6, 7, 7), (0, 8, 9, 9)]
    ticks = [(0, 2, 2, [4]), (0, 4, 4, [6])]
    joined = join(lives_of(falls), starts_of(ticks), Region("time", 7))
    times = [
        (ticks[growth][1], falls[live][2]) for live, growth in zip(*(column.tolist() for column in joined), strict=True)
    ]
    assert sorted(times) == [(2, 5), (2, 7), (2, 9), (4, 7), (4, 9)]


@pytest.mark.filterwarnings("ignore:overflow encountered")  # NumPy warns where the kernel counts modulo 2 ** 64
def test_times_too_far_apart_for_a_signed_difference() -> None:
    far = 1 << 62
    lives = lives_of([(0, far + 1, far + 2, 2)])
    starts = starts_of([(0, -far - 1, 0, [-far]), (0, far, 1, [far + 1])])
    assert join(lives, starts, Region("number", far)).growth.tolist() == [1]


@pytest.mark.parametrize("in_order", [True, False])
def test_pairs_are_ordered_by_the_start_of_the_archive_match(*, in_order: bool) -> None:
    """Pairs with starts of the same time are ordered by live match."""
    rng = np.random.default_rng(7)
    key, start = rng.integers(0, 3, 30), rng.integers(0, 5, 30)
    if in_order:
        order = np.lexsort((start, key))
        key, start = key[order], start[order]
    live, growth = np.sort(rng.integers(0, 20, 200)), rng.integers(0, 30, 200)
    joined = by_start(Pairs(live, growth), key, start, 25)
    expected = sorted(zip(key[growth], start[growth], live, range(200), growth, strict=True))
    assert joined.live.tolist() == [pair[2] for pair in expected]
    assert joined.growth.tolist() == [pair[4] for pair in expected]
    assert joined.of_live.tolist() == np.bincount(live, minlength=25).tolist()
    assert joined.of_growth.tolist() == np.bincount(growth, minlength=30).tolist()


def test_no_pairs_have_no_order() -> None:
    nothing = np.empty(0, np.int64)
    assert len(by_start(Pairs(nothing, nothing), nothing, nothing, 0).live) == 0
