"""Regions between hand-made parts of one key, each of ten rows unless told otherwise."""

from __future__ import annotations

from ostinato.slices.handover import NOWHERE
from ostinato.slices.seams import KeySlice, SeamRegion, SliceRows, regions

ROWS = 10


def part(
    number: int,
    takes_over: int,
    reach: int,
    hands_on: int,
    *,
    begins: bool = False,
    rows: int = ROWS,
    match_count: int = 0,
) -> KeySlice:
    return KeySlice(number, rows, begins, False, takes_over, reach, hands_on, match_count)


def deaf(number: int, rows: int = ROWS) -> KeySlice:
    """A part without a row to take over at: all its rows are its neighbours' business."""
    return part(number, NOWHERE, rows, rows, rows=rows)


def seams(*parts: KeySlice, before: int = 1, after: int = 0) -> list[SeamRegion]:
    return list(regions(parts, before, after))


def test_one_part_that_knows_its_beginning_and_decides_all_leaves_nothing() -> None:
    assert seams(part(0, 0, 0, ROWS, begins=True)) == []


def test_the_last_rows_are_finished_at_the_end_of_the_key() -> None:
    assert seams(part(0, 0, 0, 7, begins=True)) == [
        SeamRegion((SliceRows(0, 6, 10),), start=1, stop=4, end=4, is_open=False, taken_over_by=None)
    ]


def test_a_part_that_may_have_begun_before_has_a_seam_at_its_head() -> None:
    assert seams(part(0, 1, 3, ROWS)) == [
        SeamRegion((SliceRows(0, 0, 3),), start=0, stop=1, end=3, is_open=True, taken_over_by=0)
    ]


def test_a_seam_leads_from_what_one_part_left_to_where_the_next_takes_over() -> None:
    left, right = part(0, 0, 0, 8, begins=True), part(1, 2, 4, ROWS)
    assert seams(left, right) == [
        SeamRegion(
            (SliceRows(0, 7, 10), SliceRows(1, 0, 4)),
            start=1,  # row 8 of the first part: row 7 is there for PREV
            stop=3 + 2,
            end=3 + 4,
            is_open=True,
            taken_over_by=1,
        )
    ]


def test_a_part_that_cannot_take_over_is_taken_whole() -> None:
    match_count = seams(part(0, 0, 0, 9, begins=True), deaf(1), part(2, 1, 1, ROWS))
    assert match_count == [
        SeamRegion(
            (SliceRows(0, 8, 10), SliceRows(1, 0, 10), SliceRows(2, 0, 1)),
            start=1,
            stop=13,
            end=13,
            is_open=True,
            taken_over_by=2,
        )
    ]


def test_parts_that_cannot_take_over_up_to_the_end() -> None:
    assert seams(deaf(0), deaf(1)) == [
        SeamRegion(
            (SliceRows(0, 0, 10), SliceRows(1, 0, 10)), start=0, stop=20, end=20, is_open=False, taken_over_by=None
        )
    ]


def test_runs_that_outlive_the_part_that_takes_over_are_followed_into_the_next() -> None:
    """The second part takes over at its row 1, but earlier runs may consume all its rows and go on."""
    match_count = seams(part(0, 0, 0, 9, begins=True), part(1, 1, ROWS, ROWS), part(2, 1, 3, ROWS))
    assert match_count[0] == SeamRegion(
        (SliceRows(0, 8, 10), SliceRows(1, 0, 10), SliceRows(2, 0, 3)),
        start=1,
        stop=3,
        end=15,
        is_open=True,
        taken_over_by=1,
    )
    assert match_count[1] == SeamRegion(
        (SliceRows(1, 9, 10), SliceRows(2, 0, 3)), start=1, stop=2, end=4, is_open=True, taken_over_by=2
    )
    assert len(match_count) == 2


def test_runs_that_live_to_the_end_of_the_key() -> None:
    match_count = seams(part(0, 0, 0, 9, begins=True), part(1, 1, ROWS, ROWS))
    assert match_count == [
        SeamRegion((SliceRows(0, 8, 10), SliceRows(1, 0, 10)), start=1, stop=3, end=12, is_open=False, taken_over_by=1)
    ]


def test_rows_that_prev_and_next_read_come_along() -> None:
    match_count = seams(part(0, 0, 0, 8, begins=True), part(1, 3, 5, 10), before=3, after=2)
    assert match_count == [
        SeamRegion((SliceRows(0, 5, 10), SliceRows(1, 0, 7)), start=3, stop=8, end=10, is_open=True, taken_over_by=1)
    ]


def test_there_are_no_rows_before_the_first() -> None:
    match_count = seams(part(0, 0, 0, 1, begins=True), before=3)
    assert match_count == [
        SeamRegion((SliceRows(0, 0, 10),), start=1, stop=10, end=10, is_open=False, taken_over_by=None)
    ]


def test_every_start_is_tried_once() -> None:
    """By the part that owns it or in one seam: counted over all rows of the key."""
    parts = [part(0, 1, 4, 7), deaf(1), part(2, 3, ROWS, 8), part(3, 1, 2, 10), part(4, 2, 2, 6)]
    tried = [0] * (ROWS * len(parts))
    for number, each in enumerate(parts):
        if each.takes_over != NOWHERE:
            for row in range(each.takes_over, each.hands_on):
                tried[ROWS * number + row] += 1
    for region in seams(*parts):
        first = ROWS * region.pieces[0].key_slice + region.pieces[0].first
        for row in range(region.start, region.stop):
            tried[first + row] += 1
    assert tried == [1] * len(tried)


def test_the_rows_that_neighbours_need() -> None:
    ready = part(0, 2, 4, 8)
    assert (ready.head_end(after=0), ready.head_end(after=3), ready.head_end(after=9)) == (4, 7, 10)
    assert (ready.tail_first(before=1), ready.tail_first(before=20)) == (7, 0)
    assert (deaf(0).head_end(after=1), deaf(0).tail_first(before=1)) == (10, 0)


def test_a_seam_ends_where_its_runs_are_dead() -> None:
    match_count = seams(part(0, 0, 0, 8, begins=True), part(1, 2, 4, ROWS), part(2, 1, 3, ROWS))
    assert [region.pieces for region in match_count] == [
        (SliceRows(0, 7, 10), SliceRows(1, 0, 4)),
        (SliceRows(1, 9, 10), SliceRows(2, 0, 3)),
    ]
