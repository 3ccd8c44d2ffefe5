"""Rules of one bucket, step by step. Letters for rows."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from tests.rule_sets.rule_streams import RuleStream, matches, of_kind, rows, rule

from ostinato.calls.id_columns import IdColumns
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_clause import match_table

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
        "changed from version 1; open partial matches of 1 keys are searched anew"
    ]


def test_a_removed_rule_ends_its_runs() -> None:
    stream = RuleStream()
    stream.step(rows("AB"), 2, rule("r", ABC))
    output = stream.step(None, 2, rule("r", "", 2, enabled=False))
    assert [row["message"] for row in of_kind(output, "rule_changed")] == [
        "removed; open partial matches of 1 keys ended"
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
        "no version": "INVALID_OPTION",
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
    assert report["message"].startswith("RULE_STATE_TOO_LARGE: its open partial matches hold 10 rows")
    assert matches(output) == [("pairs", 1, {"a": 0, "b": 1})]
    assert stream.steps[-1].counts.open_runs == 0
    assert matches(stream.step(rows("ABC", 11), 13, rule("hungry", ABC, 2))) == [
        ("hungry", 2, {"a": 0, "c": 2}),
        ("pairs", 1, {"a": 0, "b": 1}),
    ]


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
    assert report["message"] == "suspended by a change: it took 3 s; open partial matches of 1 keys ended"
    assert stream.step(rows("C", 3), 3) == []
    assert matches(stream.step(rows("ABC", 4), 6, rule("r", ABC, 3))) == [("r", 3, {"a": 0, "c": 2})]


def test_a_rule_that_always_fails_is_suspended() -> None:
    stream = RuleStream(max_errors=3)
    fails = rule("fails", "PATTERN (A) DEFINE A AS 1 / (x - x) > 0")
    output = stream.step(rows("ABC"), 3, fails, rule("pairs", AB))
    assert len(of_kind(output, "error")) == 3
    output = stream.step(rows("ABCD", 4), 7)
    (report,) = of_kind(output, "rule_suspended")
    assert report["message"].startswith("RULE_FAILS_TOO_OFTEN: it can't evaluate more than 3 rows")
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
