"""Rules on the page: tests on the input are the engine of streams, saving never overwrites, pictures show the match."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.live_console.console_files import START, TWICE, event_rows, output_row, write_rows

import ostinato as ost
from ostinato.kernels.stopping import check_stopped
from ostinato.live_console.model.live_model import LiveModel
from ostinato.live_console.model.source_poller import SourcePoller
from ostinato.live_console.rules import rule_trial
from ostinato.live_console.rules.rule_desk import RuleDesk
from ostinato.live_console.rules.rule_terms import RuleTerms
from ostinato.live_console.sources.page_settings import Sources
from ostinato.rule_sets import change_files
from ostinato.rule_sets.declaration import RuleLimits

ANY_TERMS = RuleTerms()


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    pq.write_table(event_rows(), tmp_path / "events.parquet")
    ost.write_rule(tmp_path / "rules", "twice", TWICE)
    began, ended = START.replace(minute=0), START.replace(minute=2)
    write_rows(tmp_path / "sink" / "a.parquet", [output_row(user="ann", began=began, ended=ended)])
    return Sources(tmp_path / "rules", tmp_path / "sink", table=tmp_path / "events.parquet")


@pytest.fixture
def desk(sources: Sources) -> RuleDesk:
    return desk_of(sources)


def desk_of(sources: Sources, terms: RuleTerms = ANY_TERMS) -> RuleDesk:
    model = LiveModel(sources)
    SourcePoller(model).look()
    return RuleDesk(model, terms)


def test_a_test_gives_what_a_query_over_the_table_gives(desk: RuleDesk) -> None:
    found = desk.test("twice", TWICE)
    expected = ost.match(TWICE, event_rows(), keys="user", time="ts").to_pylist()
    assert expected == [{"user": "ann", "total": 30.0}]
    assert (found["rows"], found["matches"], found["errors"], found["refused"]) == (5, 1, 0, "")
    assert [(row["key"], json.loads(row["text"])) for row in found["shown"]] == [("ann", {"total": 30.0})]


def test_a_rule_that_a_stream_would_reject_shows_its_caret(desk: RuleDesk) -> None:
    refused = desk.test("new", "MEASURES 1 AS x PATTERN (A) DEFINE A AS kynd = 'pay'")["refused"]
    assert refused.startswith("UNKNOWN_COLUMN") and "^^^^" in refused and "did you mean 'kind'" in refused


def test_bad_rows_are_counted(desk: RuleDesk) -> None:
    found = desk.test("new", "MEASURES 1 AS x PATTERN (A) DEFINE A AS amount / (amount - 10) > 1")
    assert (found["errors"], found["shown"][0]["kind"]) == (1, "error")


def test_a_test_has_the_options_of_the_rule(sources: Sources) -> None:
    ost.write_rule(sources.log, "strict", TWICE, options={"max_errors": 1})
    text = "MEASURES 1 AS x PATTERN (A) DEFINE A AS 1 / (amount - amount) > 1"
    assert desk_of(sources).test("new", text)["errors"] == 5
    assert desk_of(sources).test("strict", text)["refused"].startswith("RULE_FAILS_TOO_OFTEN")


def test_suppressed_matches_are_counted(sources: Sources) -> None:
    text = "MEASURES LAST(amount) AS last PATTERN (PAY) DEFINE PAY AS kind = 'pay'"
    ost.write_rule(sources.log, "pays", text, options={"suppress": "1 hour by user"})
    found = desk_of(sources).test("pays", text)
    assert (found["matches"], found["suppressed"], found["errors"]) == (2, 1, 0)  # ann pays twice in the hour


def test_a_test_that_takes_too_long_ends(desk: RuleDesk, monkeypatch) -> None:
    def goes_on_until_stopped(*_: object, **__: object) -> None:
        while True:
            check_stopped()
            time.sleep(0.001)

    monkeypatch.setattr(rule_trial, "_LONGEST_TEST", "1 millisecond")
    monkeypatch.setattr(rule_trial.RulesCore, "advance", goes_on_until_stopped)
    with pytest.raises(ost.OstinatoError, match="DEADLINE_PASSED"):
        desk.test("new", TWICE)


def test_a_funnel_can_be_tested_too(desk: RuleDesk) -> None:
    funnel = json.dumps({"steps": ["login", "pay"], "type": "kind", "within": "1 hour"})
    assert desk.test("steps", funnel)["matches"] == 2


def test_the_order_must_be_clear(sources: Sources, tmp_path: Path) -> None:
    table = event_rows().append_column("seen", pa.array([START] * 5, pa.timestamp("us", "UTC")))
    pq.write_table(table, tmp_path / "events.parquet")
    with pytest.raises(ost.QueryError, match=r"CONSOLE_NEEDS_COLUMNS.*ts, seen"):
        desk_of(sources).test("twice", TWICE)
    assert desk_of(sources, RuleTerms(("user",), ("ts",))).test("twice", TWICE)["matches"] == 1
    with pytest.raises(ost.QueryError, match="did you mean 'user'"):
        desk_of(sources, RuleTerms(("usr",), ("ts",))).test("twice", TWICE)


def test_the_keys_must_be_clear(sources: Sources, tmp_path: Path) -> None:
    empty = Sources(sources.log, tmp_path / "empty", table=sources.table)
    with pytest.raises(ost.QueryError, match=r"CONSOLE_NEEDS_COLUMNS.*it has no match of a rule yet"):
        desk_of(empty).test("twice", TWICE)
    assert "LOGIN" in desk_of(empty).automaton_picture("twice")
    for keys, matches in ((("user",), 0), ((), 1)):  # nobody pays three times, but all together do
        found = desk_of(empty, RuleTerms(keys)).test("twice", TWICE.replace("{2}", "{3}"))
        assert (found["matches"], found["keys"], found["time"]) == (matches, keys, ("ts",))
    table = event_rows().rename_columns(["person", "ts", "kind", "amount"])
    pq.write_table(table, tmp_path / "events.parquet")
    with pytest.raises(ost.QueryError, match=r"CONSOLE_NEEDS_COLUMNS.*the input lacks: user"):
        desk_of(sources).test("twice", TWICE)


@pytest.mark.parametrize(
    ("rows", "keys"),
    [
        ([{"kind": "rule_changed", "rule": "r"}], None),
        ([{"kind": "match", "rule": "r", "user": "a"}, {"kind": "rule_changed", "rule": "r"}], ("user",)),
        ([{"kind": "match", "rule": "r", "day": "x", "user": "a"}, {"kind": "match", "user": "b"}], ("day", "user")),
        ([{"kind": "match", "rule": "r", "measures": "{}"}], ()),
        ([{"user": "a", "total": 30}], None),
    ],
)
def test_keys_are_those_of_the_rows_that_have_them(tmp_path: Path, rows: list[dict[str, Any]], keys: Any) -> None:
    """Spark's JSON lines leave out NULL. Rows of a query that isn't one of rules say nothing about keys."""
    (tmp_path / "sink").mkdir()
    (tmp_path / "sink" / "a.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    model = LiveModel(Sources(matches=tmp_path / "sink"))
    SourcePoller(model).look()
    assert model.seen_keys() == keys


def test_a_test_has_the_limits_of_a_stream(desk: RuleDesk) -> None:
    assert desk._table(("user",))[1].limits == RuleLimits()


def test_saving_writes_the_next_version(desk: RuleDesk, sources: Sources) -> None:
    assert desk.text("twice")["version"] == 1
    assert desk.save("twice", "PATTERN (A)", enabled=True, seen_version=1) == {"id": "twice", "version": 2}
    assert desk.save("../new/rule", TWICE, enabled=True, seen_version=0) == {"id": "../new/rule", "version": 1}
    assert sources.log is not None
    names = sorted(path.name for path in sources.log.iterdir())
    assert len(names) == 3 and all("/" not in name for name in names)
    assert {path.parent for path in sources.log.parent.rglob("*.json")} == {sources.log}


def test_a_suspended_rule_is_switched_on_with_its_options(sources: Sources) -> None:
    options = {"max_errors": 5, "at_end": "finish", "suppress": "1 hour by user"}
    ost.write_rule(sources.log, "twice", TWICE, options=options)
    ost.suspend_rule(sources.log, "twice", "too slow")
    desk = desk_of(sources)
    shown = desk.text("twice")
    assert (shown["text"], shown["enabled"], shown["options"]) == (TWICE, False, options)
    assert (shown["version"], shown["newest"], shown["note"]) == (2, 3, "too slow")
    assert "LOGIN" in desk.automaton_picture("twice")
    desk.save("twice", shown["text"], enabled=True, seen_version=shown["newest"])
    desk = desk_of(sources)
    assert (desk.text("twice")["newest"], desk.text("twice")["options"]) == (4, options)
    desk.save("twice", "PATTERN (A)", enabled=True, seen_version=4)
    assert desk_of(sources).text("twice")["options"] == options


def test_options_come_from_the_folder_when_the_console_has_forgotten_their_version(sources: Sources) -> None:
    ost.write_rule(sources.log, "twice", TWICE, options={"max_errors": 5})
    for _ in range(10):  # more than the versions that a line of the page keeps
        ost.suspend_rule(sources.log, "twice", "too slow")
    desk = desk_of(sources)
    shown = desk.text("twice")
    assert (shown["text"], shown["options"], shown["newest"]) == (TWICE, {"max_errors": 5}, 12)
    desk.save("twice", shown["text"], enabled=True, seen_version=12)
    assert desk_of(sources).text("twice")["options"] == {"max_errors": 5}


@pytest.mark.parametrize("content", ["{", '{"id": "other", "version": 7}'])
def test_a_rule_can_be_saved_after_a_version_that_isnt_one(sources: Sources, content: str) -> None:
    assert sources.log is not None
    (sources.log / "twice.v00000002.json").write_text(content)
    desk = desk_of(sources)
    shown = desk.text("twice")
    assert (shown["version"], shown["newest"], shown["text"]) == (1, 2, TWICE)
    assert desk.save("twice", "PATTERN (A)", enabled=True, seen_version=shown["newest"])["version"] == 3


def test_links_and_pipes_in_the_log_arent_read(sources: Sources, tmp_path: Path) -> None:
    assert sources.log is not None
    ost.write_rule(tmp_path / "outside", "twice", "PATTERN (SECRET)", version=2)
    (sources.log / "twice.v00000002.json").symlink_to(next((tmp_path / "outside").iterdir()))
    for name in ("twice.v00000003.json", "pipe.json"):
        os.mkfifo(sources.log / name)
    desk = desk_of(sources)
    shown = desk.text("twice")
    assert (shown["text"], shown["newest"]) == (TWICE, 3)
    assert desk.save("twice", "PATTERN (A)", enabled=True, seen_version=3)["version"] == 4


def test_a_rule_can_be_saved_after_its_newest_version_was_removed(sources: Sources) -> None:
    assert sources.log is not None
    ost.write_rule(sources.log, "twice", "PATTERN (B)")
    desk = desk_of(sources)
    (sources.log / "twice.v00000002.json").unlink()
    shown = desk.text("twice")
    assert (shown["newest"], shown["text"]) == (1, TWICE)
    assert desk.save("twice", "PATTERN (A)", enabled=True, seen_version=1)["version"] == 2


def test_a_log_that_cant_be_listed_is_no_defect(desk: RuleDesk, monkeypatch) -> None:
    def refused(*_) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_dir", refused)
    assert desk.text("twice")["text"] == TWICE
    with pytest.raises(ost.QueryError, match="LOG_NOT_WRITABLE"):
        desk.save("twice", TWICE, enabled=True, seen_version=1)


def test_a_rule_that_changed_meanwhile_isnt_overwritten(desk: RuleDesk, sources: Sources) -> None:
    ost.write_rule(sources.log, "twice", "PATTERN (B)")
    with pytest.raises(ost.QueryError, match="RULE_CHANGED_MEANWHILE: version 2"):
        desk.save("twice", "PATTERN (A)", enabled=True, seen_version=1)


@pytest.mark.parametrize(("id", "text"), [("", TWICE), ("x", ""), ("x" * 201, TWICE), ("x", "a" * 70_000)])
def test_a_change_that_no_log_can_hold_isnt_written(desk: RuleDesk, sources: Sources, id: str, text: str) -> None:
    with pytest.raises(ost.QueryError, match="INVALID_RULE"):
        desk.save(id, text, enabled=True, seen_version=0)
    assert sources.log is not None and len(list(sources.log.iterdir())) == 1


def test_a_log_without_permission_is_named_without_its_path(desk: RuleDesk, sources: Sources, monkeypatch) -> None:
    def refused(*_) -> bool:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(change_files, "_create", refused)
    with pytest.raises(ost.QueryError, match=r"LOG_NOT_WRITABLE: the change log rules can't be written: Permission"):
        desk.save("twice", TWICE, enabled=True, seen_version=1)


def test_a_match_is_drawn_on_its_rows(desk: RuleDesk) -> None:
    svg = desk.match_picture(1)
    assert svg.startswith("<svg") and "LOGIN" in svg and "PAY" in svg and "ann" in svg
    assert "<script" not in svg


def test_a_match_of_a_rule_without_a_text_is_a_band(sources: Sources, tmp_path: Path) -> None:
    row = output_row("unknown", user="ann", began=START, ended=START.replace(minute=2))
    write_rows(tmp_path / "sink" / "a.parquet", [row])
    svg = desk_of(sources).match_picture(1)
    assert "band" in svg and "LOGIN" not in svg


def test_pictures_that_cant_be_drawn_say_why(sources: Sources, tmp_path: Path) -> None:
    write_rows(tmp_path / "sink" / "a.parquet", [output_row(user="nobody")])
    with pytest.raises(ost.QueryError, match="PICTURE_MISSING"):
        desk_of(sources).match_picture(1)
    with pytest.raises(ost.QueryError, match="INPUT_MISSING"):
        desk_of(Sources(sources.log, sources.matches)).match_picture(1)
    with pytest.raises(ost.QueryError, match="ROW_GONE"):
        desk_of(sources).match_picture(99)


def test_the_automaton_of_a_rule(desk: RuleDesk, sources: Sources) -> None:
    assert "LOGIN" in desk.automaton_picture("twice")
    assert "LOGIN" in desk_of(Sources(sources.log)).automaton_picture("twice")  # no input: any order will do
    ost.write_rule(sources.log, "short", "PATTERN (LOGIN) DEFINE LOGIN AS kind = 'login'")
    assert "LOGIN" in desk_of(Sources(sources.log)).automaton_picture("short")  # no measures: a key is shown
    with pytest.raises(ost.QueryError, match="PICTURE_MISSING"):
        desk.automaton_picture("none")
    with pytest.raises(ost.QueryError, match="UNKNOWN_RULE"):
        desk.text("none")


def test_hostile_names_are_escaped_in_pictures(sources: Sources, tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    table = event_rows().set_column(0, "user", pa.array([hostile] * 5))
    pq.write_table(table, tmp_path / "events.parquet")
    row = output_row(user=hostile, began=START, ended=START.replace(minute=2))
    write_rows(tmp_path / "sink" / "a.parquet", [row])
    svg = desk_of(sources).match_picture(1)
    assert "<script" not in svg and "&lt;script&gt;" in svg
