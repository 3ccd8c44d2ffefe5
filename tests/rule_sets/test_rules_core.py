"""Rules of one bucket, step by step. Letters for rows."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow as pa
from tests.rule_sets.rule_streams import LETTERS, RuleStream, matches, of_kind, rows, rule

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_clause import match_table
from ostinato.rule_sets.rules_core import RulesCore

AB = "MEASURES A.x AS a, B.x AS b PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B'"
ABC = "MEASURES A.x AS a, C.x AS c PATTERN (A B* C) DEFINE A AS kind = 'A', B AS kind = 'B', C AS kind = 'C'"


def test_two_rules_share_the_rows() -> None:
    stream = RuleStream()
    output = stream.step(rows("ABC"), 3, rule("pairs", AB), rule("runs", ABC))
    assert matches(output) == [("pairs", 1, {"a": 0, "b": 1}), ("runs", 1, {"a": 0, "c": 2})]
    assert [row["message"] for row in of_kind(output, "rule_changed")] == ["added; it sees the rows from now on"] * 2


def test_an_open_run_goes_on_in_the_next_step() -> None:
    stream = RuleStream()
    assert matches(stream.step(rows("AB"), 2, rule("runs", ABC))) == []
    assert stream.steps[-1].counts.open_runs == 1
    output = stream.step(rows("BC", 3), 4)
    assert matches(output) == [("runs", 1, {"a": 0, "c": 1})]
    assert stream.steps[-1].counts.buffered_rows == 0
    (match,) = of_kind(output, "match")
    assert (match["k"], match["began"].microsecond, match["ended"].microsecond) == ("p", 1, 4)


def test_an_added_rule_sees_new_rows_only_unless_it_asks_for_kept_ones() -> None:
    for start, expected in (("new", []), ("kept", [("late", 1, {"a": 0, "b": 1})])):
        stream = RuleStream()
        stream.step(rows("AB"), 2, rule("holds", ABC))
        output = stream.step(None, 2, rule("late", AB, start=start))
        assert matches(output) == expected


def test_rows_before_a_rule_are_not_its_neighbours() -> None:
    after_a = "MEASURES B.x AS b PATTERN (B) DEFINE B AS kind = 'B' AND PREV(kind) = 'A'"
    stream = RuleStream()
    stream.step(rows("A"), 1, rule("holds", ABC))
    assert matches(stream.step(rows("B", 2), 2, rule("new", after_a))) == []
    stream = RuleStream()
    stream.step(rows("A"), 1, rule("holds", ABC))
    assert matches(stream.step(rows("B", 2), 2, rule("kept", after_a, start="kept"))) == [("kept", 1, {"b": 0})]


def test_a_changed_rule_is_searched_anew_over_its_open_rows() -> None:
    stream = RuleStream()
    assert matches(stream.step(rows("ABA"), 3, rule("r", AB))) == [("r", 1, {"a": 0, "b": 1})]
    output = stream.step(
        rows("C", 4), 4, rule("r", "MEASURES A.x AS a PATTERN (A C) DEFINE A AS kind = 'A', C AS kind = 'C'", 2)
    )
    assert matches(output) == [("r", 2, {"a": 2})]
    assert [row["message"] for row in of_kind(output, "rule_changed")] == [
        "changed from version 1; open partial matches of 1 key are searched anew"
    ]


def test_a_removed_rule_ends_its_runs() -> None:
    stream = RuleStream()
    stream.step(rows("AB"), 2, rule("r", ABC))
    output = stream.step(None, 2, rule("r", "", 2, enabled=False))
    assert [row["message"] for row in of_kind(output, "rule_changed")] == [
        "removed; open partial matches of 1 key ended"
    ]
    assert stream.steps[-1].counts.buffered_rows == 0
    assert stream.step(rows("C", 3), 3) == []


def test_a_removed_rule_may_end_as_at_the_end_of_input() -> None:
    greedy = "MEASURES count(*) AS n PATTERN (A B*) DEFINE A AS kind = 'A', B AS kind = 'B'"
    stream = RuleStream()
    assert matches(stream.step(rows("AB"), 2, rule("r", greedy))) == []
    assert matches(stream.step(None, 2, rule("r", "", 2, enabled=False, at_end="finish"))) == [("r", 1, {"n": 2})]


def test_the_highest_version_wins_whatever_the_order() -> None:
    stream = RuleStream()
    stream.step(None, 0, rule("r", AB, 2), rule("r", ABC, 1))
    assert matches(stream.step(rows("AB"), 2)) == [("r", 2, {"a": 0, "b": 1})]
    assert stream.step(None, 2, rule("r", ABC, 1)) == []


def test_one_version_with_two_contents_is_rejected() -> None:
    stream = RuleStream()
    stream.step(None, 0, rule("r", AB))
    (report,) = stream.step(None, 0, rule("r", ABC))
    assert report["kind"] == "rule_rejected"
    assert report["message"].startswith("RULE_VERSION_EXISTS")
    assert stream.step(None, 0, rule("r", AB)) == []


def test_a_rejected_version_leaves_the_one_before_in_force() -> None:
    stream = RuleStream()
    stream.step(None, 0, rule("r", AB))
    (report,) = stream.step(None, 0, rule("r", "PATTERN (A B", 2))
    assert (report["kind"], report["version"]) == ("rule_rejected", 2)
    assert "^" in report["message"]
    assert matches(stream.step(rows("AB"), 2)) == [("r", 1, {"a": 0, "b": 1})]


def test_rules_that_cannot_run_are_rejected_and_the_others_go_on() -> None:
    stream = RuleStream(max_rules=2)
    texts = {
        "unknown": "PATTERN (A) DEFINE A AS price > 1",
        "types": "PATTERN (A) DEFINE A AS kind + 1",
        "keys": "PARTITION BY kind PATTERN (A) DEFINE A AS x > 1",
        "order": "ORDER BY x PATTERN (A) DEFINE A AS x > 1",
        "function": "PATTERN (A) DEFINE A AS no_such_function(x)",
    }
    output = stream.step(
        rows("AB"),
        2,
        *(rule(id, text) for id, text in texts.items()),
        rule("good", AB),
        "{",
        "[]",
        '{"id": "no version"}',
    )
    assert matches(output) == [("good", 1, {"a": 0, "b": 1})]
    rejected = {row.get("rule", ""): row["message"].split(":")[0] for row in of_kind(output, "rule_rejected")}
    assert rejected == {
        "unknown": "UNKNOWN_COLUMN",
        "types": "NOT_A_CONDITION",
        "keys": "RULE_NEEDS_OTHER_KEYS",
        "order": "RULE_NEEDS_OTHER_ORDER",
        "function": "UNKNOWN_FUNCTION",
        "no version": "INVALID_RULE",
        "": "INVALID_RULE",
    }
    output = stream.step(None, 2, rule("second", ABC), rule("third", ABC))
    assert [row["message"].split(":")[0] for row in of_kind(output, "rule_rejected")] == ["TOO_MANY_RULES"]


def test_a_row_that_a_rule_cannot_evaluate_is_an_error_row_of_that_rule() -> None:
    divides = "MEASURES A.x AS a PATTERN (A) DEFINE A AS 10 / x > 1"
    stream = RuleStream()
    output = stream.step(rows("AB"), 2, rule("divides", divides), rule("pairs", AB))
    assert matches(output) == [("divides", 1, {"a": 1}), ("pairs", 1, {"a": 0, "b": 1})]
    (error,) = of_kind(output, "error")
    assert (error["rule"], error["began"].microsecond) == ("divides", 1)
    assert error["message"].startswith("DIVIDE_BY_ZERO")


def test_a_measure_that_fails_is_an_error_row_and_the_other_matches_come() -> None:
    stream = RuleStream()
    output = stream.step(rows("AA"), 2, rule("r", "MEASURES 1 / A.x AS a PATTERN (A) DEFINE A AS kind = 'A'"))
    assert [measures for _, _, measures in matches(output)] == [{"a": 1.0}]
    assert [row["began"].microsecond for row in of_kind(output, "error")] == [1]


def test_a_rule_beyond_its_limit_is_suspended_and_a_new_version_revives_it() -> None:
    stream = RuleStream()
    hungry = rule("hungry", ABC, max_state_bytes=100)
    output = stream.step(rows("ABBBBBBBBB"), 10, hungry, rule("pairs", AB))
    (report,) = of_kind(output, "rule_suspended")
    assert report["message"].startswith("RULE_STATE_TOO_LARGE: the rows that it keeps take 340 bytes, more than 100")
    assert matches(output) == [("pairs", 1, {"a": 0, "b": 1})]
    assert stream.steps[-1].counts.open_runs == 0
    assert matches(stream.step(rows("ABC", 11), 13, rule("hungry", ABC, 2))) == [
        ("hungry", 2, {"a": 0, "c": 2}),
        ("pairs", 1, {"a": 0, "b": 1}),
    ]


def test_rows_kept_for_prev_count_too() -> None:
    """Of all keys, also of those that get no row in a step."""
    stream = RuleStream()
    looks_back = "PATTERN (A) DEFINE A AS x < PREV(x, 100)"
    stream.step(rows("A" * 10), 10, rule("r", looks_back, max_state_bytes=500), rule("first", "PATTERN (^ A)"))
    (report,) = of_kind(stream.step(rows("A" * 10, 11, key="q"), 20), "rule_suspended")
    assert report["rule"] == "r"
    assert report["message"].startswith("RULE_STATE_TOO_LARGE: the rows that it keeps take 680 bytes, more than 500")


QUIET = "0.00001 seconds by k"


def test_a_quiet_key_stays_until_its_matches_are_shown_again() -> None:
    stream = RuleStream()
    output = stream.step(rows("ABAB"), 4, rule("r", AB, suppress=QUIET))
    assert [(row["kind"], row["ended"].microsecond) for row in output[1:]] == [("match", 2), ("suppressed", 4)]
    assert (stream.steps[-1].counts.buffered_rows, stream.steps[-1].wake_at_us) == (1, 12)
    (shown,) = of_kind(stream.step(rows("AB", 11), 12), "match")
    assert shown["ended"].microsecond == 12
    stream.step(None, 22)
    assert (stream.steps[-1].counts.buffered_rows, stream.steps[-1].wake_at_us) == (0, None)


def test_a_new_version_keeps_the_quiet_time_unless_it_starts_anew() -> None:
    for more, kind in (({}, "suppressed"), ({"start": "new"}, "match")):
        stream = RuleStream()
        stream.step(rows("AB"), 2, rule("r", AB, suppress=QUIET))
        output = stream.step(rows("AB", 5), 6, rule("r", ABC.replace("C)", "C?)"), 2, suppress=QUIET, **more))
        assert [row["kind"] for row in [*output, *stream.finish()]] == ["rule_changed", kind]


def test_rows_of_one_match_are_suppressed_together() -> None:
    stream = RuleStream()
    all_rows = AB.replace("PATTERN", "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN")
    output = stream.step(rows("ABAB-"), 5, rule("r", all_rows, suppress=QUIET))
    assert [row["kind"] for row in output[1:]] == ["match", "match", "suppressed", "suppressed", "unmatched"]


def test_attempts_of_a_funnel_that_stop_early_are_never_suppressed_and_start_no_quiet_time() -> None:
    funnel = '{"steps": ["A", "B"], "type": "kind", "mode": "strict_order"}'
    stream = RuleStream(kinds=("funnel",))
    output = stream.step(rows("AXABAXAB"), 8, rule("r", funnel, suppress="1 hour by k"))
    found = [(json.loads(row["measures"])["completed"], row["kind"]) for row in output[1:]]
    assert found == [(False, "match"), (True, "match"), (False, "match"), (True, "suppressed")]


def test_a_stream_suppresses_by_its_own_keys() -> None:
    (report,) = RuleStream().step(rows("AB"), 2, rule("r", AB, suppress="1 hour by kind"))
    assert report["kind"] == "rule_rejected"
    assert report["message"].startswith("INVALID_SUPPRESS: matches are suppressed by the keys of the rule, not by")


def test_within_ends_an_attempt_by_the_watermark() -> None:
    stream = RuleStream()
    stream.step(rows("AB"), 2, rule("r", ABC.replace("DEFINE", "WITHIN INTERVAL '0.000010' SECOND DEFINE")))
    assert stream.steps[-1].wake_at_us == 11
    stream.step(None, 11)
    assert stream.steps[-1].counts.buffered_rows == 0


def test_waiting_rows_see_the_rules_in_force_when_they_are_released() -> None:
    stream = RuleStream()
    stream.step(rows("AB"), 0, rule("r", ABC))
    stream.step(None, 0, rule("r", AB, 2))
    assert matches(stream.step(None, 2)) == [("r", 2, {"a": 0, "b": 1})]


def test_late_rows_are_shown_if_asked() -> None:
    stream = RuleStream(late="show")
    stream.step(rows("AB"), 2, rule("r", AB))
    (late,) = stream.step(rows("C", 1), 3)
    assert (late["kind"], late["k"], late["began"].microsecond) == ("late", "p", 1)


def test_the_end_of_input_decides_open_runs() -> None:
    stream = RuleStream()
    stream.step(rows("AB"), 2, rule("r", "MEASURES count(*) AS n PATTERN (A B*) DEFINE A AS kind = 'A'"))
    assert matches(stream.finish()) == [("r", 1, {"n": 2})]


def test_a_select_list_around_the_clause() -> None:
    stream = RuleStream()
    text = f"SELECT b + 1 AS next, k FROM events MATCH_RECOGNIZE ({AB}) AS m"
    assert matches(stream.step(rows("AB"), 2, rule("r", text))) == [("r", 1, {"next": 2})]


def test_a_match_has_the_id_that_it_has_in_a_batch_under_the_name_of_its_rule() -> None:
    stream = RuleStream()
    pieces = [rows("AA"), rows("AAB", 2), rows("BC", 5)]
    found = [*stream.step(pa.concat_tables(pieces[:2]), 2, rule("r", ABC)), *stream.step(pieces[2], 9)]
    clause = parse_clause(f"PARTITION BY k ORDER BY at {ABC}")
    batch = match_table(replace(clause, ids=IdColumns(match_id="id", rule="r")), pa.concat_tables(pieces))
    assert [row["match_id"] for row in of_kind(found, "match")] == batch.column("id").to_pylist()
    assert batch.num_rows == 1


def test_equal_rows_of_one_time_have_matches_with_different_ids() -> None:
    single = rule("r", "MEASURES A.x AS a PATTERN (A) DEFINE A AS kind = 'A'")
    twice = pa.concat_tables([rows("A"), rows("A")])
    ids = [row["match_id"] for row in of_kind(RuleStream().step(twice, 1, single), "match")]
    assert len(set(ids)) == 2
    waits = RuleStream()
    waits.step(twice, 0, single)
    assert [row["match_id"] for row in of_kind(waits.step(None, 1), "match")] == ids


def test_ids_of_rows_that_waited_for_an_open_run() -> None:
    """The ordinals of equal rows are stored with them: the first of two is gone when the second one matches."""
    stream, at_once = RuleStream(), RuleStream()
    pair = "MEASURES B.x AS b PATTERN (A B) DEFINE A AS kind = 'A', B AS kind = 'B'"
    twice = pa.concat_tables([rows("A"), rows("A")])
    stream.step(twice, 1, rule("r", pair))
    (match,) = of_kind(stream.step(rows("B", 2), 2), "match")
    (expected,) = of_kind(at_once.step(pa.concat_tables([twice, rows("B", 2)]), 2, rule("r", pair)), "match")
    assert match["match_id"] == expected["match_id"]


def test_open_partial_matches_by_rule_and_state() -> None:
    stream = RuleStream()
    stream.step(rows("AB"), 2, rule("runs", ABC), rule("pairs", AB), rule("gone", AB))
    stream.step(rows("A", 3, "q"), 3, rule("gone", "", 2, enabled=False))
    assert stream.open_rules() == [
        ("pairs", "active", None, 1),
        ("pairs", "active", "B", 1),
        ("runs", "active", None, 2),
        ("runs", "active", "B", 2),
        ("runs", "active", "C", 2),
    ]
    stream.step(None, 3, rule("runs", "", 2, enabled=False, reason="slow"))
    assert stream.open_rules()[-1] == ("runs", "suspended", None, 0)


def test_a_suspension_in_the_change_log_ends_with_the_next_version() -> None:
    stream = RuleStream()
    stream.step(rows("AB"), 2, rule("r", ABC))
    (report,) = stream.step(None, 2, rule("r", "", 2, enabled=False, reason="it took 3 s"))
    assert (report["kind"], report["version"]) == ("rule_suspended", 2)
    assert report["message"] == "suspended by a change: it took 3 s; open partial matches of 1 key ended"
    assert stream.step(rows("C", 3), 3) == []
    assert matches(stream.step(rows("ABC", 4), 6, rule("r", ABC, 3))) == [("r", 3, {"a": 0, "c": 2})]


def test_a_rule_that_always_fails_is_suspended() -> None:
    stream = RuleStream(max_errors=3)
    fails = rule("fails", "PATTERN (A) DEFINE A AS 1 / (x - x) > 0")
    output = stream.step(rows("ABC"), 3, fails, rule("pairs", AB))
    assert len(of_kind(output, "error")) == 3
    output = stream.step(rows("ABCD", 4), 7)
    (report,) = of_kind(output, "rule_suspended")
    assert report["message"].startswith("RULE_FAILS_TOO_OFTEN: its limit is 3 rows")
    assert (of_kind(output, "error"), matches(output)) == ([], [("pairs", 1, {"a": 0, "b": 1})])


def test_the_time_of_each_rule_is_counted() -> None:
    stream = RuleStream()
    stream.step(rows("AB"), 2, rule("pairs", AB), rule("broken", "PATTERN (A"))
    assert stream.steps[-1].rule_ns.keys() == {"pairs"}


def test_kinds_of_queries_are_declared() -> None:
    funnel = '{"steps": ["A", "B", "C"], "type": "kind", "within": "1 hour"}'
    events = "PATTERN SEQ(A a, B b) WITHIN 10 MINUTES RETURN COUNT(*)"
    output = RuleStream().step(None, 0, rule("steps", funnel), rule("events", events))
    assert [row["message"].split("\n")[0] for row in output] == [
        "RULE_OF_OTHER_KIND: this rule is an event query, and this stream takes a clause",
        "RULE_OF_OTHER_KIND: this rule is a funnel, and this stream takes a clause",
    ]
    stream = RuleStream(kinds=("clause", "funnel"))
    output = stream.step(rows("AB"), 2, rule("steps", funnel), rule("pairs", AB), rule("bad", '{"steps": ["A"]}'))
    assert matches(output) == [("pairs", 1, {"a": 0, "b": 1})]
    assert [row["rule"] for row in of_kind(output, "rule_rejected")] == ["bad"]
    ((name, _, measures),) = matches(stream.step(rows("C", 3), 3))
    assert (name, measures["level"], measures["completed"]) == ("steps", 3, True)


def test_a_rule_without_rows_that_may_begin_a_match_keeps_nothing() -> None:
    stream = RuleStream()
    stream.step(rows("XXYZ"), 4, rule("runs", ABC), rule("pairs", AB))
    assert stream.steps[-1].counts.buffered_rows == 0
    assert matches(stream.step(rows("AXB", 5), 7)) == []
    assert matches(stream.step(rows("AB", 8), 9)) == [("pairs", 1, {"a": 0, "b": 1})]


def test_a_suspended_rule_frees_the_rows_of_silent_keys_with_the_next_step() -> None:
    stream = RuleStream()
    stream.step(rows("AB", key="silent"), 2, rule("hungry", ABC, max_state_bytes=300))
    (report,) = of_kind(stream.step(rows("A" + "B" * 20, 3, "busy"), 30), "rule_suspended")
    assert report["rule"] == "hungry"
    assert stream.steps[-1].counts.buffered_rows == 2
    stream.step(rows("X", 31), 31)
    assert stream.steps[-1].counts.buffered_rows == 0


def test_open_partial_matches_of_a_removed_rule_may_be_timeouts() -> None:
    stream = RuleStream()
    stream.step(
        rows("AB"),
        2,
        rule(
            "r",
            ABC.replace("PATTERN", "SHOW TIMEOUT MATCHES PATTERN")
            .replace("DEFINE", "WITHIN INTERVAL '1' HOUR DEFINE")
            .replace("SHOW", "ONE ROW PER MATCH SHOW"),
        ),
    )
    output = stream.step(None, 2, rule("r", "", 2, enabled=False, at_end="finish"))
    assert matches(output) == [("r", 1, {"a": 0, "c": None})]


def test_one_large_row_suspends_only_a_rule_that_holds_it() -> None:
    schema = pa.schema([*LETTERS, pa.field("note", pa.string())])

    def noted(letter: str, at: int, key: str, note: str) -> pa.Table:
        return rows(letter, at, key).append_column("note", pa.array([note]))

    stream = RuleStream(schema, max_state_bytes=10_000)
    stream.step(pa.concat_tables([noted("A", 1, f"k{i}", "-") for i in range(100)]), 1, rule("r", ABC))
    assert of_kind(stream.step(noted("Z", 2, "other", "x" * 100_000), 2), "rule_suspended") == []
    (report,) = of_kind(stream.step(noted("A", 3, "other", "x" * 9_000), 3), "rule_suspended")
    assert report["message"].startswith("RULE_STATE_TOO_LARGE: the rows that it keeps take 13,132 bytes")


def test_a_rule_cannot_raise_the_limits_of_the_call() -> None:
    stream = RuleStream(max_state_bytes=100, max_errors=1)
    output = stream.step(rows("ABBBBB"), 6, rule("r", ABC, max_state_bytes=1 << 40))
    assert of_kind(output, "rule_suspended") != []
    divides = rule("s", "PATTERN (A) DEFINE A AS 1 / (x - x) > 0", max_errors=1_000)
    assert of_kind(RuleStream(max_errors=1).step(rows("AB"), 2, divides), "rule_suspended") != []


def test_only_rows_of_the_step_count_as_its_errors() -> None:
    """Neither those of earlier steps that are still open, nor those that only other rules hold."""
    fails = "1 / (x - x)"
    own = rule("own", f"PATTERN (A B* C) DEFINE A AS kind = 'A', B AS kind <> 'B' OR {fails} > 0, C AS kind = 'C'")
    seldom = rule("seldom", f"PATTERN (A) DEFINE A AS kind = 'B' AND {fails} > 0")
    stream = RuleStream(max_errors=2)
    stream.step(rows("A"), 1, rule("holds", ABC), own, seldom)
    for at in range(2, 8):
        output = stream.step(rows("B", at), at)
        assert sorted((row["kind"], row["rule"]) for row in output) == [("error", "own"), ("error", "seldom")]
    output = stream.step(rows("BBB", 8), 10)
    assert {row["rule"] for row in of_kind(output, "rule_suspended")} == {"own", "seldom"}


def test_a_condition_over_several_rows_that_fails_is_an_error_row_and_the_rest_goes_on() -> None:
    text = "MEASURES A.x AS a, B.x AS b PATTERN (A B) DEFINE A AS kind = 'A', B AS 1 / (B.x - {} - 1) >= 0"
    for other in ("A.x", "sum(A.x)"):  # read from the row before, and from the run
        stream = RuleStream()
        output = stream.step(rows("A"), 1, rule("r", text.format(other)))
        output += stream.step(rows("B", 2).set_column(3, "x", pa.array([1])), 2)
        output += stream.step(pa.concat_tables([rows("A", 3), rows("B", 4).set_column(3, "x", pa.array([4]))]), 4)
        assert matches(output) == [("r", 1, {"a": 0, "b": 4})]
        (error,) = of_kind(output, "error")
        assert (error["k"], error["began"].microsecond) == ("p", 2)
        assert json.loads(error["measures"]) == {"k": "p", "at": "1970-01-01 00:00:00.000002", "kind": "B", "x": 1}
        assert error["message"].startswith("DIVIDE_BY_ZERO")
        assert of_kind(output, "rule_suspended") == []


def test_conditions_over_several_rows_count_as_errors() -> None:
    text = "PATTERN (A B) DEFINE A AS kind = 'A', B AS 1 / (B.x - B.x + sum(A.x) - sum(A.x)) >= 0"
    output = RuleStream(max_errors=2).step(rows("AXAXAX"), 6, rule("r", text), rule("good", AB))
    (report,) = of_kind(output, "rule_suspended")
    assert report["message"].startswith("RULE_FAILS_TOO_OFTEN: its limit is 2 rows")
    assert len(of_kind(RuleStream(max_errors=3).step(rows("AXAXAX"), 6, rule("r", text)), "error")) == 3


def test_an_aggregate_of_a_measure_that_fails_is_an_error_row() -> None:
    text = "MEASURES sum(9223372036854775807 - x) AS s PATTERN (A+) DEFINE A AS kind = 'A'"
    output = RuleStream().step(rows("AAB"), 3, rule("r", text))
    (error,) = of_kind(output, "error")
    assert (error["began"].microsecond, error["ended"].microsecond, "measures" in error) == (1, 2, False)
    assert of_kind(output, "rule_suspended") == []


def test_a_changed_rule_sees_no_rows_that_only_other_rules_hold() -> None:
    after_a = "MEASURES B.x AS b PATTERN (B) DEFINE B AS kind = 'B' AND PREV(kind) = 'A'"
    begins = "MEASURES B.x AS b PATTERN (^ B) DEFINE B AS kind = 'B'"
    for text, expected in ((after_a, []), (begins, [("r", 2, {"b": 0})])):
        for others in ((), (rule("holds", ABC),)):
            stream = RuleStream()
            stream.step(rows("A"), 1, rule("r", AB.replace("'A'", "'Q'")), *others)
            assert matches(stream.step(rows("B", 2), 2, rule("r", text, 2))) == expected


def test_a_changed_rule_sees_the_rows_before_that_its_version_before_kept() -> None:
    after_a = "MEASURES B.x AS b PATTERN (B) DEFINE B AS kind = 'B' AND PREV(kind) = 'A'"
    stream = RuleStream()
    stream.step(rows("A"), 1, rule("r", after_a))
    assert matches(stream.step(rows("B", 2), 2, rule("r", f"{after_a} AND x < 9", 2))) == [("r", 2, {"b": 0})]


def test_removals_are_reported_whatever_the_state_of_the_rule() -> None:
    stream = RuleStream()
    (report,) = stream.step(None, 0, rule("unknown", "", enabled=False))
    assert (report["kind"], report["message"]) == (
        "rule_changed",
        "nothing to remove: no rule of this name is in force",
    )
    for reason, kind in ((None, "rule_changed"), ("slow", "rule_suspended")):
        stream = RuleStream()
        stream.step(rows("ABBBB"), 5, rule("hungry", ABC, max_state_bytes=100))
        options = {} if reason is None else {"reason": reason}
        (report,) = stream.step(None, 5, rule("hungry", "", 2, enabled=False, **options))
        assert (report["kind"], report["rule"], report["version"]) == (kind, "hungry", 2)
    (report,) = stream.step(None, 5, rule("hungry", "", 3, enabled=False))  # a suspension of the change log
    assert (report["kind"], report["message"]) == ("rule_changed", "removed")


class TableStream(RuleStream):
    """One bucket of rules from a static table. Every step has a new core, as after a restart."""

    table: tuple[str, ...] = ()

    def core(self) -> RulesCore:
        return RulesCore(self.declared, "rules", self.late, self.table)


def test_a_static_table_is_applied_once_whatever_worker_takes_the_step() -> None:
    stream = TableStream()
    stream.table = (rule("r", AB).to_json(), rule("r", ABC).to_json())
    assert [row["kind"] for row in stream.step(rows("AB"), 2)] == ["rule_rejected", "rule_changed", "match"]
    assert [row["kind"] for row in stream.step(rows("AB", 3), 4)] == ["match"]
    stream.table = (rule("r", AB.replace("'A'", "'Z'")).to_json(), rule("s", AB).to_json())
    output = stream.step(None, 4)
    assert [(row["kind"], row["rule"]) for row in output] == [("rule_rejected", "r"), ("rule_changed", "s")]
    assert stream.step(None, 4) == []
    assert [row["rule"] for row in of_kind(stream.step(rows("AB", 5), 6), "match")] == ["r", "s"]
