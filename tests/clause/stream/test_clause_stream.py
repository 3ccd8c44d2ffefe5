"""Single steps of a stream: the output of each step, its state, and its timer. Letters for rows."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ostinato.clause.stream.open_runs import open_runs
from ostinato.clause.stream.state_counts import keys_by_reason, keys_by_state
from ostinato.errors import QueryError
from ostinato.testing import StreamTester

COLUMNS = {"k": "string", "at": "timestamp_ntz", "kind": "string"}


def clause(pattern: str, more: str = "", *, output: str = "ONE ROW PER MATCH") -> str:
    defined = ", ".join(f"{letter} AS kind = '{letter}'" for letter in "ABC" if letter in pattern)
    return f"""
        PARTITION BY k ORDER BY at
        MEASURES FIRST(at) AS first, count(*) AS rows
        {output}
        PATTERN ({pattern}) {more}
        DEFINE {defined}"""


def rows(letters: str, since: int = 1, key: str | None = "p") -> list[dict[str, Any]]:
    """One row per microsecond: `rows("AB", 5)` has A at 5 and B at 6."""
    return [{"k": key, "at": since + i, "kind": letter} for i, letter in enumerate(letters)]


def starts_and_lengths(given: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """The start time and the number of rows of each match."""
    return [(row["first"].microsecond, row["rows"]) for row in given]


def stream(pattern: str, more: str = "", *, output: str = "ONE ROW PER MATCH", **options: Any) -> StreamTester:
    return StreamTester(clause(pattern, more, output=output), COLUMNS, **options)


# --- when a match is given --------------------------------------------------------------------------------------------


def test_rows_wait_for_the_watermark_and_are_put_in_order() -> None:
    tester = stream("A B")
    assert tester.feed(rows("B", 2), watermark=0) == []
    assert tester.feed(rows("A", 1), watermark=1) == []
    assert starts_and_lengths(tester.advance_watermark(2)) == [(1, 2)]


def test_a_greedy_last_variable_waits_for_the_row_that_ends_it() -> None:
    tester = stream("A B+")
    assert tester.feed(rows("ABB"), watermark=3) == []
    assert starts_and_lengths(tester.feed(rows("C", 4), watermark=4)) == [(1, 3)]


def test_the_end_of_input_decides_open_matches() -> None:
    tester = stream("A B+")
    tester.feed(rows("ABB"), watermark=3)
    assert starts_and_lengths(tester.finish()) == [(1, 3)]


def test_the_end_of_input_releases_rows_beyond_the_watermark() -> None:
    tester = stream("A B")
    tester.feed(rows("AB"), watermark=1)
    assert starts_and_lengths(tester.finish()) == [(1, 2)]


def test_next_waits_for_the_row() -> None:
    tester = StreamTester(
        "ORDER BY at MEASURES FIRST(kind) AS f, NEXT(kind) AS n PATTERN (A) DEFINE A AS kind = 'A'", COLUMNS
    )
    assert tester.feed(rows("A"), watermark=1) == []
    assert tester.feed(rows("B", 2), watermark=2) == [{"f": "A", "n": "B"}]


def looking_ahead(pattern: str, define: str, *, more: str = "", output: str = "") -> StreamTester:
    measures = "FIRST(at) AS first, count(*) AS rows"
    text = f"PARTITION BY k ORDER BY at MEASURES {measures} {output} PATTERN ({pattern}) {more} DEFINE {define}"
    return StreamTester(text, COLUMNS)


def test_next_inside_the_match_waits_for_no_further_row() -> None:
    tester = looking_ahead("A B", "A AS kind = 'A' AND NEXT(kind) = 'B'")
    assert starts_and_lengths(tester.feed(rows("AB"), watermark=2)) == [(1, 2)]


def test_a_condition_with_next_ends_by_a_timer() -> None:
    """Whatever follows, B comes too late."""
    tester = looking_ahead("A B", "A AS kind = 'A' AND NEXT(kind) <> 'C', B AS kind = 'B'", more=WITHIN)
    assert tester.feed([*rows("A", 5), *rows("A", 9, "q")], watermark=9) == []
    assert (tester.open_runs, tester.wake_at_us) == (2, 15)
    tester.advance_watermark(15)
    assert (tester.open_runs, tester.buffered_rows, tester.wake_at_us) == (1, 1, 19)


def test_a_row_that_waits_for_its_next_row_outlasts_the_timer() -> None:
    """The row after B decides, however late it comes."""
    for letter, matches in (("A", []), ("C", [(5, 2)])):
        tester = looking_ahead("A B", "A AS kind = 'A', B AS kind = 'B' AND NEXT(kind) = 'C'", more=WITHIN)
        assert tester.feed(rows("AB", 5), watermark=100) == []
        assert (tester.open_runs, tester.wake_at_us) == (1, None)
        assert starts_and_lengths(tester.feed(rows(letter, 200), watermark=200)) == matches


def test_a_timeout_that_depends_on_a_missing_row_waits_for_it() -> None:
    tester = looking_ahead("A B", "A AS kind = 'A' AND NEXT(kind) = 'C'", more=WITHIN, output=TIMEOUTS)
    assert tester.feed(rows("A", 5), watermark=100) == []
    assert starts_and_lengths(tester.feed(rows("C", 200), watermark=200)) == [(5, 1)]


def test_incremental_matches_are_emitted_row_by_row() -> None:
    tester = StreamTester(
        "ORDER BY at MEASURES count(*) AS n INCREMENTAL MATCHES PATTERN (A B+) DEFINE A AS kind = 'A'", COLUMNS
    )
    rows_by_step = [tester.feed(rows(letter, at), watermark=at) for at, letter in enumerate("ABB", 1)]
    assert rows_by_step == [[], [{"n": 2}], [{"n": 3}]]


def test_incremental_matches_that_need_the_end_are_not_lost() -> None:
    tester = StreamTester(
        "ORDER BY at MEASURES count(*) AS n INCREMENTAL MATCHES PATTERN (A B $) DEFINE A AS kind = 'A'", COLUMNS
    )
    assert tester.feed(rows("AB"), watermark=2) == []
    assert tester.finish() == [{"n": 2}]


def test_unmatched_rows_are_emitted_once() -> None:
    tester = stream("A B", output="ALL ROWS PER MATCH WITH UNMATCHED ROWS")
    output_rows = [row for at, letter in enumerate("CABCA", 1) for row in tester.feed(rows(letter, at), watermark=at)]
    output_rows += tester.finish()
    assert sorted((row["at"].microsecond, row["rows"]) for row in output_rows if row["rows"]) == [(2, 1), (3, 2)]
    assert sorted(row["at"].microsecond for row in output_rows if row["rows"] is None) == [1, 4, 5]


def test_a_row_of_an_earlier_match_is_not_shown_as_unmatched() -> None:
    tester = StreamTester(
        """ORDER BY at MEASURES MATCH_NUMBER() AS n ALL ROWS PER MATCH WITH UNMATCHED ROWS AFTER MATCH SKIP TO LAST B
        PATTERN (A B) DEFINE A AS kind <> 'C', B AS kind = 'B' """,
        COLUMNS,
    )
    assert [row["n"] for row in tester.feed(rows("AB"), watermark=2)] == [1, 1]  # B might start the next match
    assert [(row["kind"], row["n"]) for row in tester.feed(rows("C", 3), watermark=3)] == [("C", None)]


# --- late rows --------------------------------------------------------------------------------------------------------


def test_late_rows_are_counted() -> None:
    tester = stream("A B")
    tester.feed(rows("A", 5), watermark=5)
    tester.feed([*rows("C", 5), *rows("C", 4), {"k": "p", "at": None, "kind": "A"}, *rows("B", 6)], watermark=6)
    assert (tester.rows, tester.late_rows) == (5, 3)
    assert tester.results.num_rows == 1


def test_late_rows_are_shown_with_the_option_late() -> None:
    tester = stream("A B", late="show")
    tester.feed(rows("A", 5), watermark=5)
    output_rows = tester.feed([*rows("C", 4, "late"), *rows("B", 6)], watermark=6)
    assert [(row["k"], row["rows"], row["late"]) for row in output_rows] == [("p", 2, False), ("late", None, True)]


def test_late_rows_tell_their_time_in_every_output_mode() -> None:
    for output in ("ONE ROW PER MATCH", "ALL ROWS PER MATCH"):
        tester = stream("A B", late="show", output=output)
        tester.feed(rows("A", 5), watermark=5)
        *_, match, late = tester.feed([*rows("C", 4, "late"), *rows("B", 6)], watermark=6)
        assert list(match)[:3] == ["k", "at", "first"]
        assert [(row["k"], row["at"].microsecond, row["late"]) for row in (match, late)] == [
            ("p", 6, False),
            ("late", 4, True),
        ]


def test_a_measure_cannot_have_the_name_of_an_order_column_that_late_rows_show() -> None:
    text = "ORDER BY at MEASURES FIRST(at) AS at PATTERN (A)"
    StreamTester(text, COLUMNS)
    with pytest.raises(QueryError, match="late='show' also shows the ORDER BY columns") as caught:
        StreamTester(text, COLUMNS, late="show")
    assert caught.value.code == "DUPLICATE_COLUMN"


def test_an_eager_stream_matches_rows_on_arrival() -> None:
    tester = stream("A B", eager=True)
    assert starts_and_lengths(tester.feed(rows("AB"))) == [(1, 2)]
    tester.feed(rows("A", 2))  # the same time as the last row: not late
    tester.feed(rows("B", 1))
    assert tester.late_rows == 1


# --- time -------------------------------------------------------------------------------------------------------------

WITHIN = "WITHIN INTERVAL '0.000010' SECOND"
TIMEOUTS = "ONE ROW PER MATCH SHOW TIMEOUT MATCHES"


def test_a_timer_ends_open_runs() -> None:
    tester = stream("A B", WITHIN, output=TIMEOUTS)
    assert tester.feed(rows("A", 5), watermark=5) == []
    assert tester.wake_at_us == 15
    assert tester.advance_watermark(14) == []
    assert starts_and_lengths(tester.advance_watermark(15)) == [(5, 1)]
    assert (tester.wake_at_us, tester.buffered_rows) == (None, 0)


def test_an_eager_stream_sets_the_timer_behind_rows_of_the_same_time() -> None:
    tester = stream("A B", WITHIN, output=TIMEOUTS, eager=True)
    tester.feed(rows("A", 5), watermark=5)
    assert tester.wake_at_us == 16
    assert tester.advance_watermark(15) == []
    assert starts_and_lengths(tester.advance_watermark(16)) == [(5, 1)]


def test_a_pattern_of_fixed_length_forgets_expired_keys() -> None:
    tester = stream("A B", WITHIN)
    tester.feed(rows("A", 5), watermark=5)
    assert (tester.buffered_rows, tester.wake_at_us) == (1, 15)
    tester.advance_watermark(15)
    assert tester.buffered_rows == 0


def test_a_pattern_of_fixed_length_waits_until_it_expires() -> None:
    tester = stream("A B C", WITHIN)
    tester.feed([*rows("A", 5), *rows("B", 12)], watermark=12)
    assert starts_and_lengths(tester.feed(rows("C", 15), watermark=15)) == [(5, 3)]


def test_the_timer_does_not_end_a_run_before_its_rows_are_read() -> None:
    """B waits for the row that NEXT reads. Until that row comes, the timer must not end the partial match of B."""
    tester = StreamTester(
        f"""PARTITION BY k ORDER BY at MEASURES FIRST(at) AS first, count(*) AS rows, NEXT(kind) AS n
        PATTERN (A B+) {WITHIN} DEFINE A AS kind = 'A', B AS kind = 'B' """,
        COLUMNS,
    )
    assert tester.feed([*rows("A", 5), *rows("B", 7)], watermark=100) == []
    assert starts_and_lengths(tester.feed(rows("C", 200), watermark=200)) == [(5, 2)]


def test_waiting_rows_set_the_timer() -> None:
    tester = stream("A B")
    tester.feed(rows("CAB", 7), watermark=3)
    assert tester.wake_at_us == 7


def test_the_decision_time_is_later_than_the_watermark_before() -> None:
    tester = stream("A B", decision_time="decided", late="show")

    def decided(given: list[dict[str, Any]]) -> list[int]:
        return [row["decided"].microsecond for row in given]

    assert decided(tester.feed(rows("AB", 1), watermark=4)) == [5]
    assert decided(tester.feed(rows("C", 3), watermark=4)) == [5]  # a late row: the watermark has not moved
    assert decided(tester.feed(rows("AB", 8), watermark=6)) == []
    assert decided(tester.finish()) == [9]


# --- the state --------------------------------------------------------------------------------------------------------


def test_a_key_without_open_matches_is_forgotten() -> None:
    tester = stream("A B")
    tester.feed(rows("ABC"), watermark=3)
    assert (tester.open_runs, tester.buffered_rows, tester.state.open_rows) == (0, 0, ())


@pytest.mark.parametrize("pattern", ["^ A B", "^ (A | B)"])
def test_a_key_remembers_that_it_had_earlier_rows(pattern: str) -> None:
    tester = stream(pattern)
    tester.feed(rows("C"), watermark=1)
    tester.feed(rows("AB", 2), watermark=3)
    assert tester.finish() == []


def test_match_numbers_continue() -> None:
    tester = StreamTester(
        "PARTITION BY k ORDER BY at MEASURES MATCH_NUMBER() AS n PATTERN (A) DEFINE A AS kind = 'A'", COLUMNS
    )
    numbers = [
        row["n"] for at in range(1, 4) for row in tester.feed([*rows("A", at), *rows("A", at, None)], watermark=at)
    ]
    assert numbers == [1, 1, 2, 2, 3, 3]


def test_waiting_rows_are_appended_not_rewritten() -> None:
    tester = stream("A B")
    tester.feed(rows("A", 5), watermark=1)
    before = tester.state.waiting
    tester.feed(rows("B", 6), watermark=2)
    assert tester.state.waiting[: len(before)] == before
    assert len(tester.state.waiting) == len(before) + 1


def test_waiting_rows_stay_in_few_segments() -> None:
    tester = stream("A B")
    for at in range(40):
        tester.feed(rows("C", 100 + at), watermark=1)
    assert len(tester.state.waiting) <= 17
    assert tester.buffered_rows == 40


def test_open_runs_have_the_variables_that_they_wait_for() -> None:
    tester = stream("A B+ C | A C")
    tester.feed([*rows("AB", 1), *rows("A", 4, "q"), *rows("C", 4, "r")], watermark=4)
    runs = open_runs(tester.worker, tester.state).to_pylist()
    assert [(run["k"], run["waiting_since"].microsecond, run["rows"], run["next"]) for run in runs] == [
        ("p", 1, 2, ["B", "C"]),
        ("q", 4, 1, ["B", "C"]),
    ]
    tester.feed(rows("C", 5, "p") + rows("C", 5, "q"), watermark=5)
    nothing = open_runs(tester.worker, tester.state)
    assert (nothing.num_rows, nothing.column_names) == (0, ["k", "waiting_since", "rows", "next"])


def counted(table: pa.Table) -> dict[str, tuple[int, ...]]:
    """The rows of a table of counts, by the name before the numbers."""
    return {row.pop("reason"): tuple(row.values()) for row in table.to_pylist()}


@pytest.mark.parametrize(
    ("more", "pattern", "kept"),
    [
        ("", "A B C", {}),
        (", PREV(FIRST(kind)) AS p", "A B C", {"PREV": (2, 2)}),
        ("", "^ A B C | A B C", {"^": (2, 2)}),
        (", MATCH_NUMBER() AS n", "A B C", {"MATCH_NUMBER()": (1, 1)}),
    ],
)
def test_keys_are_counted_by_the_reason_to_keep_them(more: str, pattern: str, kept: dict[str, tuple[int, int]]) -> None:
    """p has a run of two rows, q had its match, r had none, s and p wait for the watermark."""
    text = clause(pattern).replace("AS rows", f"AS rows{more}")
    tester = StreamTester(text, COLUMNS)
    tester.feed([*rows("AB"), *rows("ABC", 1, "q"), *rows("C", 1, "r"), *rows("A", 9, "s"), *rows("C", 9)], watermark=4)
    assert counted(keys_by_reason(tester.worker, tester.state)) == {
        "open partial match": (1, 2),
        **kept,
        "waits for the watermark": (1, 2),
    }
    by_state = keys_by_state(tester.worker, tester.state).to_pylist()
    assert {row["variable"] for row in by_state if row["keys"] == 1} == {"C"}


# --- forgotten keys ---------------------------------------------------------------------------------------------------

FORGET = {"forget_keys_after": "0.000010 seconds"}


def test_a_silent_key_ends_as_at_the_end_of_input() -> None:
    tester = stream("A B+", **FORGET)
    assert tester.feed([*rows("AB", 1), *rows("A", 4, "q")], watermark=4) == []
    assert tester.wake_at_us == 12
    assert tester.advance_watermark(11) == []
    assert starts_and_lengths(tester.advance_watermark(12)) == [(1, 2)]
    assert (tester.forgotten_keys, tester.wake_at_us) == (1, 14)
    tester.advance_watermark(14)
    assert (tester.forgotten_keys, tester.buffered_rows, tester.wake_at_us) == (2, 0, None)


@pytest.mark.parametrize("steps", [(1, 2, 30), (1, 30), (30,)])
def test_a_forgotten_key_begins_anew(steps: tuple[int, ...]) -> None:
    """`^` holds, PREV is NULL and numbers start at 1, in whatever steps the rows arrive."""
    tester = StreamTester(
        """PARTITION BY k ORDER BY at MEASURES at AS at, PREV(kind) AS p, MATCH_NUMBER() AS n
        PATTERN (^ A | B) DEFINE A AS kind = 'A', B AS kind = 'B' """,
        COLUMNS,
        **FORGET,
    )
    waiting = [*rows("AB", 1), *rows("A", 12), *rows("A", 23), *rows("B", 24)]
    for watermark in steps:
        tester.feed([row for row in waiting if row["at"] <= watermark], watermark=watermark)
        waiting = [row for row in waiting if row["at"] > watermark]
    tester.finish()
    matches = [(row["at"].microsecond, row["p"], row["n"]) for row in tester.results.to_pylist()]
    assert matches == [(1, None, 1), (2, "A", 2), (23, None, 1), (24, "A", 2)]


# --- refused queries --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("order", "reason"),
    [("", "ORDER BY"), ("ORDER BY kind", "is STRING"), ("ORDER BY at DESC", "backwards")],
)
def test_queries_that_a_stream_cannot_answer_are_refused(order: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason) as caught:
        StreamTester(f"{order} MEASURES count(*) AS n PATTERN (A)", COLUMNS)
    assert caught.value.code == "STREAM_NOT_SUPPORTED"
