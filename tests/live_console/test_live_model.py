"""The state of the page: differences add up to the whole, and memory stays bounded."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.live_console.console_files import TWICE, Clock, output_row, write_rows

import ostinato as ost
from ostinato.live_console.model import live_model
from ostinato.live_console.model.live_model import Cursor, LiveModel, StoredRow
from ostinato.live_console.model.rule_line import RuleLine
from ostinato.live_console.model.source_poller import SourcePoller
from ostinato.live_console.server.event_stream import as_event, read_cursor
from ostinato.live_console.sources.match_reader import NewRows
from ostinato.live_console.sources.metrics_reader import MetricsReader, StreamNumbers
from ostinato.live_console.sources.open_states_reader import OpenStates
from ostinato.live_console.sources.page_settings import Sources
from ostinato.live_console.sources.problems import Problem
from ostinato.live_console.sources.sink_rows import FileRows, SinkRow
from ostinato.rule_sets.rule_changes import RuleChange, RuleOptions


def sink_row(rule: str = "r", kind: str = "match", version: int = 1, message: str = "", ended: float = 0.0) -> SinkRow:
    return SinkRow(kind, rule, version, "", (("user", "ann"),), ended, ended, None, "{}", message)


def one_file(*rows: SinkRow) -> NewRows:
    reports = tuple(row for row in rows if row.kind.startswith("rule_"))
    return NewRows((FileRows(Counter((row.rule, row.kind) for row in rows), rows, reports=reports),))


class Page:
    """The memory of a page, which applies the differences: the judge of `delta`."""

    def __init__(self, model: LiveModel) -> None:
        self.model, self.cursor = model, Cursor()
        self.rows: list[Any] = []
        self.rules: dict[str, Any] = {}
        self.problems: Any = None
        self.samples: list[Any] = []

    def follow(self, most: int = 10_000) -> int:
        """Takes differences until there are none; returns their number."""
        for count in range(most):
            news = self.model.delta(self.cursor)
            if news is None:
                return count
            delta, self.cursor = news
            if delta.get("starts"):
                self.rows, self.rules, self.samples = [], {}, []
            self.rows = (self.rows + delta["rows"])[-self.model.most_rows :]
            self.rules |= {line["id"]: line for line in delta["rules"]}
            self.samples += delta["samples"]
            self.tiles = delta["tiles"]
            self.problems = delta.get("problems", self.problems)
        return most

    def seen(self) -> Any:
        return self.rows, self.rules, self.samples, self.problems, self.tiles


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("rows"), st.integers(1, 9), st.sampled_from("abc")),
        st.tuples(st.just("change"), st.integers(1, 4), st.sampled_from("abc")),
        st.tuples(st.just("numbers"), st.integers(0, 9), st.sampled_from("abc")),
        st.tuples(st.just("states"), st.integers(0, 9), st.sampled_from("abc")),
        st.tuples(st.just("problem"), st.integers(0, 2), st.sampled_from("ab")),
        st.tuples(st.just("time"), st.integers(1, 30), st.just("")),
        st.tuples(st.just("follow"), st.integers(1, 3), st.just("")),
        st.tuples(st.just("restart"), st.just(0), st.just("")),
    ),
    max_size=25,
)


@settings(max_examples=60, deadline=None)
@given(MOVES)
def test_differences_add_up_to_what_a_new_page_gets(moves: list[tuple[str, int, str]]) -> None:
    clock = Clock()
    model = LiveModel(Sources(), most_rows=7, clock=clock)
    page = Page(model)
    for move, number, name in moves:
        match move:
            case "rows":
                model.take_rows(one_file(*(sink_row(name) for _ in range(number))))
            case "change":
                model.take_changes([RuleChange(name, number, "PATTERN (A)", number % 2 == 0)])
            case "numbers":
                model.take_numbers(StreamNumbers({"q": {"rows_total": number}}, {}, {name: float(number)}))
            case "states":
                model.take_states({name: OpenStates(number, "active")})
            case "problem":
                model.take_problems([Problem("x", "CODE", f"{name} {at}") for at in range(number)])
            case "time":
                clock.now += number
                model.pass_time()
            case "restart":
                model.restart(Sources())
            case _:
                page.follow(number)
    page.follow()
    new = Page(model)
    new.follow()
    # A page shows rates as of the last difference that it got; a new one gets those of now.
    for rules in (page.rules, new.rules):
        for line in rules.values():
            line.pop("per_minute")
    assert page.seen() == new.seen()


def test_long_differences_come_in_parts(monkeypatch) -> None:
    monkeypatch.setattr(live_model, "_ROWS_OF_DELTA", 3)
    monkeypatch.setattr(live_model, "_RULES_OF_DELTA", 2)
    model = LiveModel(Sources(), clock=Clock())
    model.take_rows(one_file(*(sink_row(f"rule {at}") for at in range(8))))
    page = Page(model)
    assert page.follow() == 4
    assert [row[0] for row in page.rows] == [*range(1, 9)]
    assert len(page.rules) == 8


def test_memory_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(live_model, "MOST_RULES", 5)
    model = LiveModel(Sources(), most_rows=10, clock=Clock())
    for at in range(50):
        model.take_rows(one_file(sink_row(f"rule {at}")))
        model.take_changes([RuleChange("rule 0", at + 1, "PATTERN (A)")])
    page = Page(model)
    page.follow()
    assert (len(page.rows), len(page.rules), page.tiles["matches"]) == (10, 5, 50)
    line = model.rule("rule 0")
    assert line is not None and sorted(line.versions) == [*range(43, 51)]
    assert model.row(40) is None and model.row(51) is None
    assert (stored := model.row(41)) is not None and stored.number == 41


def test_the_key_of_a_row_has_its_severity_in_front() -> None:
    row = sink_row()
    cells = [StoredRow(1, 0.0, each).to_json()[4] for each in (row, replace(row, severity="high"))]
    assert cells == ["ann", "high: ann"]
    assert StoredRow(1, 0.0, replace(row, keys=(), severity="high")).to_json()[4] == "high"


def test_problems_are_those_of_now() -> None:
    model = LiveModel(Sources(), clock=Clock())
    page = Page(model)
    for codes in (["ONE"], ["TWO"], ["TWO"], [], ["ONE", "TWO"]):
        model.take_problems([Problem("x", code, "") for code in codes])
        page.follow()
        assert [problem["code"] for problem in page.problems] == codes


def test_rates_leave_out_what_was_there_before(monkeypatch) -> None:
    clock = Clock()
    model = LiveModel(Sources(), clock=clock)
    model.take_rows(NewRows(one_file(sink_row(), sink_row()).files, is_backlog=True))
    model.pass_time()
    model.take_rows(one_file(sink_row()))
    clock.now += 2
    model.pass_time()
    page = Page(model)
    page.follow()
    assert (page.tiles["matches"], page.tiles["per_minute"], page.rules["r"]["per_minute"]) == (3, 1, 1)
    assert page.samples[-1][0] == 0.5
    clock.now += 70
    model.pass_time()
    page.follow()
    assert (page.tiles["per_minute"], page.rules["r"]["per_minute"]) == (0, 0)


def change(version: int, enabled: bool = True, reason: str | None = None) -> RuleChange:
    return RuleChange("r", version, "PATTERN (A)" if enabled else "", enabled, RuleOptions(reason=reason))


def test_the_status_of_a_rule() -> None:
    line = RuleLine("r")
    assert line.status() == ("seen", "")
    line.take_change(change(1))
    assert line.status() == ("enabled", "")
    line.take_change(change(2))
    line.take_report(sink_row(kind="rule_rejected", version=2, message="SYNTAX_ERROR: no"))
    assert line.status() == ("enabled", "version 2 was rejected: SYNTAX_ERROR: no")
    assert line.in_force is not None and line.in_force.version == 1
    line.take_report(sink_row(kind="rule_suspended", version=1, message="RULE_STATE_TOO_LARGE: 70 MB"))
    assert line.status() == ("suspended", "RULE_STATE_TOO_LARGE: 70 MB")
    line.take_change(change(3))
    assert line.status() == ("enabled", "")
    line.take_change(change(4, enabled=False, reason="too slow"))
    assert line.status() == ("suspended", "too slow")
    line.take_change(change(5, enabled=False))
    assert line.status() == ("removed", "")


def test_reports_that_dont_concern_the_version_in_force() -> None:
    line = RuleLine("r")
    line.take_change(change(1))
    line.take_report(sink_row(kind="rule_rejected", version=1, message="RULE_VERSION_EXISTS: another content"))
    assert line.status() == ("enabled", "")
    line.take_report(sink_row(kind="rule_rejected", version=1, message="UNKNOWN_COLUMN: x"))
    assert line.status()[0] == "rejected"
    line.take_report(sink_row(kind="rule_changed", version=1, message="added"))
    assert line.status() == ("enabled", "")


REPORTS = st.lists(st.tuples(st.sampled_from(["changed", "rejected", "suspended"]), st.integers(1, 3)), max_size=9)


@settings(max_examples=200, deadline=None)
@given(REPORTS, st.integers(0, 9), st.integers(0, 9))
def test_older_reports_give_the_same_status_as_all_in_their_order(
    reports: list[tuple[str, int]], first: int, live: int
) -> None:
    rows = [
        sink_row(kind=f"rule_{kind}", version=version, message=f"report {at}")
        for at, (kind, version) in enumerate(reports)
    ]
    in_order, newest_first = RuleLine("r"), RuleLine("r")
    for row in rows:
        in_order.take_report(row)
    older, newer = rows[:first], rows[first:]
    for row in newer[:live]:
        newest_first.take_report(row)
    for row in reversed(older[first // 2 :]):
        newest_first.take_older_report(row)
    for row in newer[live:]:  # they come while older files are searched
        newest_first.take_report(row)
    for row in reversed(older[: first // 2]):
        newest_first.take_older_report(row)
    assert newest_first == in_order


def test_reports_of_older_files_reach_the_page() -> None:
    model = LiveModel(Sources(), clock=Clock())
    page = Page(model)
    model.take_changes([change(1)])
    page.follow()
    assert page.rules["r"]["status"] == "enabled"
    model.take_rows(NewRows(older_reports=(sink_row(kind="rule_rejected", message="UNKNOWN_COLUMN: x"),)))
    page.follow()
    assert (page.rules["r"]["status"], page.tiles["rejected"], page.rows) == ("rejected", 1, [])


def test_the_states_tell_of_a_suspension_whose_report_is_gone() -> None:
    line = RuleLine("r", open=OpenStates(0, "suspended", version=1))
    line.take_change(change(1))
    assert line.status()[0] == "suspended"
    line.take_change(change(2))
    assert line.status() == ("enabled", "")


def test_a_report_about_no_rule_is_a_row_only() -> None:
    model = LiveModel(Sources(), clock=Clock())
    model.take_rows(one_file(sink_row("", "rule_rejected", message="INVALID_RULE: no JSON")))
    page = Page(model)
    page.follow()
    assert (len(page.rows), page.rules) == (1, {})


def test_the_status_doesnt_depend_on_the_order_of_the_log() -> None:
    changes = [change(1), change(2), change(3, enabled=False), change(4)]
    rng = random.Random(7)
    for _ in range(10):
        rng.shuffle(changes)
        line = RuleLine("r")
        for each in changes:
            line.take_change(each)
        assert (line.status(), line.in_force) == (("enabled", ""), change(4))


def test_a_cursor_of_nonsense_gets_everything() -> None:
    for text in ("", "a.1.2", "a.1.2.x", f"a.1.2.{'9' * 40}", "a.-1.2.3"):
        assert read_cursor(text) == Cursor()


def test_an_event_can_always_be_written() -> None:
    values = [1.5, float("nan"), float("-inf"), "NaN", None]
    event = as_event({"tiles": {"open": float("inf")}, "rows": [values]}, Cursor("a", 1, 2, 3))
    assert event == 'id: a.1.2.3\ndata: {"tiles":{"open":null},"rows":[[1.5,null,null,"NaN",null]]}\n\n'


def test_a_defect_of_one_source_shows_and_the_others_go_on(tmp_path: Path, monkeypatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("/home/ann/secret")

    write_rows(tmp_path / "sink" / "a.parquet", [output_row()])
    ost.write_rule(tmp_path / "log", "twice", TWICE)
    monkeypatch.setattr(MetricsReader, "look", broken)
    sources = Sources(tmp_path / "log", tmp_path / "sink", tmp_path / "m.prom", tmp_path / "states")
    model = LiveModel(sources, clock=Clock())
    SourcePoller(model, each_round=broken).run_once()
    page = Page(model)
    page.follow()
    assert [(problem["source"], problem["code"]) for problem in page.problems] == [
        ("console", "INTERNAL_ERROR"),
        ("metrics", "INTERNAL_ERROR"),
        ("states", "SOURCE_MISSING"),
    ]
    assert "RuntimeError" in page.problems[0]["message"] and "secret" not in page.problems[0]["message"]
    assert (page.tiles["matches"], page.rules["twice"]["status"]) == (1, "enabled")
