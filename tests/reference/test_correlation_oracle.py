"""The oracle of correlations against the paper's Table 1 and the cases in which shortcuts go wrong."""

from __future__ import annotations

from datetime import date, datetime

import pytest
from tests.reference.correlations import FALL, TABLE_1, TICK, at_minutes, correlation, starts_and_ends

from ostinato.correlations.language.correlation_parser import read_correlation
from ostinato.errors import MatchError
from ostinato.reference.correlation_oracle import correlate_rows

RISE = "DEFINE B AS p > PREV(p)"
ANY_TWO = "MEASURES A.t AS a, LAST(B.t) AS b {} PATTERN (A B)"


def test_table_1() -> None:
    rows = at_minutes(TABLE_1)
    found = correlate_rows(correlation(FALL, TICK), ["t", "p"], rows, ["t", "p"], rows)
    flat = [(row["correlation_start"], row["correlation_end"], row["live"], row["archive"]) for row in found]
    assert flat == [
        (2, 5, {"pli": 7, "plm": 6}, {"pai": 6, "pam": 7}),
        (2, 7, {"pli": 11, "plm": 8}, {"pai": 6, "pam": 7}),
        (2, 9, {"pli": 8, "plm": 3}, {"pai": 6, "pam": 7}),
        (4, 7, {"pli": 11, "plm": 8}, {"pai": 7, "pam": 11}),
        (4, 9, {"pli": 8, "plm": 3}, {"pai": 7, "pam": 11}),
    ]


def test_maximal_matches_are_those_of_the_archive_as_of_the_live_match() -> None:
    asked = correlation(
        f"MEASURES A.p AS a INCREMENTAL MATCHES PATTERN (A B) {RISE}",
        f"MEASURES LAST(B.p) AS top MAXIMAL MATCHES PATTERN (A B+) {RISE}",
    )
    rows = at_minutes((1, 2, 3, 4))
    found = correlate_rows(asked, ["t", "p"], rows, ["t", "p"], rows)
    assert [(row["correlation_start"], row["correlation_end"], row["archive"]) for row in found] == [
        (0, 2, {"top": 2}),
        (0, 3, {"top": 3}),  # grown since the live match before
        (1, 3, {"top": 3}),
    ]


def test_live_matches_come_from_the_full_history() -> None:
    """A fall from the first row on is one long live match for each end: none starts behind an archive match."""
    archive = "MEASURES A.p AS a MAXIMAL MATCHES PATTERN (A B) DEFINE B AS p < PREV(p)"
    assert starts_and_ends(correlation(FALL, archive), at_minutes((9, 8, 7, 6, 5))) == []


# --- the edges of the region ------------------------------------------------------------------------------------------


def pairs(
    times: list[object], distance: str, archive_mode: str = "MAXIMAL MATCHES", more: str = ""
) -> list[tuple[object, object]]:
    asked = correlation(ANY_TWO.format("INCREMENTAL MATCHES"), ANY_TWO.format(archive_mode), distance, more)
    return starts_and_ends(asked, [{"t": time} for time in times])


def test_the_region_ends_at_its_distance() -> None:
    assert pairs([0, 1, 4, 5], "4") == [(0, 4), (1, 5)]
    assert pairs([0, 1, 4, 5], "5") == [(0, 4), (0, 5), (1, 5)]
    assert pairs([0, 1, 4, 5], "4.5") == [(0, 4), (1, 5)]


def test_a_region_of_rows_counts_the_rows_of_the_archive_back_from_its_end() -> None:
    assert pairs([0, 10, 20, 30, 40], "2 ROWS") == [(0, 20), (10, 30), (20, 40)]
    assert pairs([0, 10, 20, 30, 40], "3 ROWS") == [(0, 20), (0, 30), (10, 30), (10, 40), (20, 40)]
    assert pairs([0, 10, 20], "1 ROW") == []


def test_rows_at_the_time_of_the_live_match_are_not_in_its_archive() -> None:
    assert pairs([0, 1, 1, 2], "7") == [(0, 2)]
    assert pairs([0, 0, 1], "7") == []  # the archive match starts when the live one does
    assert pairs([5, 5, 5], "7") == []


def test_rows_without_time_are_in_no_archive() -> None:
    """NULLs come first: as rows they still belong to live matches, which then join nothing."""
    assert pairs([None, 0, 1, 2], "7") == [(0, 2)]
    assert pairs([None, None, 0, 1], "7") == []


def test_the_standards_match_takes_the_preferred_as_of_then() -> None:
    live = ANY_TWO.format("AFTER MATCH SKIP PAST LAST ROW")
    archive = "MEASURES count(*) AS n AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+? | A C*) DEFINE B AS p > 0, C AS p < 0"
    rows = at_minutes((1, -1, -1, 2, 3, 4))
    found = correlate_rows(correlation(live, archive, "9"), ["t", "p"], rows, ["t", "p"], rows)
    assert [(row["correlation_start"], row["correlation_end"], row["archive"]["n"]) for row in found] == [  # type: ignore[index]
        (0, 3, 3),
        (0, 5, 3),
        (1, 3, 2),
        (1, 5, 2),
        (2, 5, 2),
        (3, 5, 2),
    ]


def test_empty_matches_join_nothing() -> None:
    empty = "MEASURES count(*) AS n {} PATTERN (A*) DEFINE A AS p > 0"
    live, archive = empty.format("AFTER MATCH SKIP PAST LAST ROW"), empty.format("AFTER MATCH SKIP TO NEXT ROW")
    rows = at_minutes((0, 1, 0, 1))
    assert starts_and_ends(correlation(live, archive, "9"), rows) == [(1, 3)]


def test_the_predicate_sees_both_matches() -> None:
    assert pairs([0, 1, 2, 3], "7", more="AND live.a - archive.b = 1") == [(0, 3)]
    assert pairs([0, 1, 2, 3], "7", more="AND correlation_end = 2") == [(0, 2)]


# --- keys, two tables -------------------------------------------------------------------------------------------------

TWO_TABLES = """SELECT * FROM x MATCH_RECOGNIZE (PARTITION BY k ORDER BY t MEASURES A.t AS t INCREMENTAL MATCHES
      PATTERN (A B) DEFINE B AS TRUE) AS live
    JOIN y MATCH_RECOGNIZE (PARTITION BY s ORDER BY u MEASURES A.u AS u MAXIMAL MATCHES PATTERN (A)) AS archive
    ON live.k = archive.s AND RECENT(archive, live, INTERVAL '1' DAY)"""


def test_keys_are_joined_and_null_equals_nothing() -> None:
    days = [datetime(2024, 1, 1, hour) for hour in range(4)]
    live = [{"k": key, "t": time} for key in ("a", "b", None) for time in days[1:3]]
    archive = [{"s": key, "u": days[0]} for key in ("a", "c", None)]
    asked = read_correlation(TWO_TABLES).correlation
    found = correlate_rows(asked, ["k", "t"], live, ["s", "u"], archive)
    assert found == [
        {
            "correlation_start": days[0],
            "correlation_end": days[2],
            "live": {"k": "a", "t": days[1]},
            "archive": {"s": "a", "u": days[0]},
        }
    ]


def test_rows_of_the_archive_newer_than_the_live_clock_are_not_seen() -> None:
    live = [{"k": 1, "t": date(2024, 1, day)} for day in (2, 3)]
    archive = [{"s": 1, "u": date(2024, 1, day)} for day in (1, 2, 3, 4, 1)]
    found = correlate_rows(read_correlation(TWO_TABLES).correlation, ["k", "t"], live, ["s", "u"], archive)
    assert found == []  # 1 January is two days before the end
    longer = read_correlation(TWO_TABLES.replace("'1'", "'2'")).correlation
    found = correlate_rows(longer, ["k", "t"], live, ["s", "u"], archive)
    assert [row["correlation_start"] for row in found] == [date(2024, 1, 1)] * 2  # duplicates are rows


# --- intervals --------------------------------------------------------------------------------------------------------


def events(*spans: tuple[int, int | None]) -> list[dict[str, object]]:
    def moment(minute: int | None) -> datetime | None:
        return None if minute is None else datetime(2024, 1, 1, 0, minute)

    return [{"t": moment(start), "e": moment(end)} for start, end in spans]


def interval_pairs(rows: list[dict[str, object]]) -> list[tuple[int, int]]:
    asked = correlation(
        ANY_TWO.format("INCREMENTAL MATCHES"), ANY_TWO.format("MAXIMAL MATCHES"), "INTERVAL '9' MINUTE", order="t, e"
    )
    found = starts_and_ends(asked, rows)
    return [(start.minute, end.minute) for start, end in found]  # type: ignore[attr-defined]


def test_a_match_of_intervals_ends_with_the_latest_of_its_rows() -> None:
    rows = events((0, 9), (1, 2), (3, 4))
    assert interval_pairs(rows) == []  # (0, 9) is in no archive
    assert interval_pairs([*rows, *events((5, 8))]) == [(1, 8)]  # rows (1, 2) and (3, 4)


def test_an_interval_inside_another_is_in_the_archive_without_it() -> None:
    """The long event hasn't ended yet: the rows beside it become neighbours in the archive."""
    assert interval_pairs(events((0, 1), (1, 20), (2, 3), (4, 5), (5, 6))) == [(0, 5), (0, 6), (2, 6)]


def test_an_event_ends_after_its_start() -> None:
    for rows in (events((3, 2)), events((0, 1), (3, None))):
        with pytest.raises(MatchError, match="INTERVAL_ENDS_FIRST"):
            interval_pairs(rows)
