"""Benchmarks speak one form, and their queries have the right answers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import benchmarks.__main__ as command
import pytest
from benchmarks.experiment import (
    Experiment,
    Part,
    Scale,
    WrongAnswer,
    best_seconds,
    expect,
    in_fresh_process,
    interleaved_seconds,
)
from benchmarks.match import answers, kernel
from benchmarks.match.events import keyed_events
from benchmarks.match.kernel_run import KernelRun
from benchmarks.match.memory import peak_bytes
from benchmarks.queries import KNOWN_COUNTS, QUERIES, Mode, Q, Shape, prices
from benchmarks.records import Baseline, Goal, Record, Sense, amount, table, this_machine, write_json

from ostinato.clause.language.clause_parser import parse_clause

FIELDS = ["name", "figure", "case", "metric", "value", "unit", "baseline", "ratio", "goal", "met", "machine"]
TWELVE = pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
MODES = pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.name)


def time_record(value: float, baseline: Baseline | None = None, goal: Goal | None = None) -> Record:
    return Record("match", "spark", "Q1", "time", value, "s", baseline, goal)


# --- the form ---


def test_a_record_has_the_fields_of_the_design_in_their_order() -> None:
    record = time_record(3.0, Baseline("floor", 2.0), Goal(Sense.AT_MOST, 1.5, of_ratio=True))
    assert list(record.as_json(this_machine())) == FIELDS
    assert record.as_json(this_machine()) | {"machine": None} == {
        "name": "match",
        "figure": "spark",
        "case": "Q1",
        "metric": "time",
        "value": 3.0,
        "unit": "s",
        "baseline": "floor: 2.00 s",
        "ratio": 1.5,
        "goal": "ratio <= 1.5",
        "met": True,
        "machine": None,
    }


def test_goals_bound_the_value_or_the_ratio() -> None:
    floor = Baseline("floor", 2.0)
    assert time_record(3.1, floor, Goal(Sense.AT_MOST, 1.5, of_ratio=True)).met is False
    assert time_record(2.0, floor, Goal(Sense.BELOW, 1.0, of_ratio=True)).met is False
    assert time_record(1.9, floor, Goal(Sense.BELOW, 1.0, of_ratio=True)).met is True
    assert time_record(0.9, None, Goal(Sense.BELOW, 1.0)).met is True
    assert time_record(9.0, None, Goal(Sense.AT_LEAST, 10.0)).met is False
    assert time_record(1.0).met is None


def test_a_ratio_needs_a_baseline_of_the_same_run() -> None:
    told = time_record(3.0, Baseline("elsewhere", 2.0, source="issue text"), Goal(Sense.AT_MOST, 9, of_ratio=True))
    assert told.ratio is None
    assert told.met is False
    assert time_record(3.0, Baseline("floor", 0.0)).ratio is None


def test_json_is_a_list_of_records(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    write_json([time_record(1.0), time_record(2.0)], this_machine(), path)
    assert [record["value"] for record in json.loads(path.read_text())] == [1.0, 2.0]
    write_json([], this_machine(), path)
    assert json.loads(path.read_text()) == []


def test_a_missed_goal_is_marked_and_notes_follow_their_row() -> None:
    slow = Record("match", "kernel", "Q1", "speed", 5e6, "rows/s", goal=Goal(Sense.AT_LEAST, 1e7), notes=("because",))
    lines = table([slow]).splitlines()
    assert lines[1].split() == "kernel Q1 speed 5.0 M rows/s >= 10 M rows/s NO".split()
    assert lines[2].strip() == "because"


def test_amounts_read_at_a_glance() -> None:
    assert [amount(0.0123, "s"), amount(-0.5, "s"), amount(0.0, "s"), amount(12, "s")] == [
        "12.3 ms",
        "-500.0 ms",
        "0.00 s",
        "12.00 s",
    ]
    assert [amount(3.2e7, "B"), amount(27_387, "matches"), amount(1.5, "")] == ["32.0 MB", "27,387 matches", "1.5"]


def test_the_machine_is_described_without_paths() -> None:
    machine = asdict(this_machine())
    assert machine["cores"] >= 1
    assert machine["memory_gb"] > 0
    assert machine["numba"] != "absent"
    assert not any(str(value).startswith(("/", "~")) for value in machine.values())


# --- the command ---


def test_every_registered_benchmark_can_be_loaded() -> None:
    for name in command.EXPERIMENTS:
        figures = [part.figure for part in command.experiment(name).parts]
        assert figures
        assert len(set(figures)) == len(figures)


def test_answers_come_before_measurements() -> None:
    assert command.experiment("match").parts[0].figure == "answers"


def run_command(monkeypatch: pytest.MonkeyPatch, parts: tuple[Part, ...], *arguments: str) -> int:
    monkeypatch.setattr(command, "experiment", lambda name: Experiment(parts, lambda records, folder: []))
    return command.main(["match", *arguments])


def test_a_wrong_answer_stops_the_benchmark(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    measured: list[Scale] = []

    def wrong(scale: Scale) -> list[Record]:
        expect("Q1", 5, 6)
        return []

    def later(scale: Scale) -> list[Record]:
        measured.append(scale)
        return []

    assert run_command(monkeypatch, (Part("answers", wrong), Part("kernel", later))) == 1
    assert measured == []
    assert "WRONG ANSWER in answers: Q1: 5, should be 6" in capsys.readouterr().err


def test_a_missed_goal_does_not_fail_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    part = Part("spark", lambda scale: [time_record(2.0, None, Goal(Sense.BELOW, 1.0))])
    assert run_command(monkeypatch, (part,), "--json", str(tmp_path / "r.json")) == 0
    assert "goals met: 0 of 1" in capsys.readouterr().out
    assert json.loads((tmp_path / "r.json").read_text())[0]["met"] is False


def test_fresh_processes_time_the_import_of_ostinato() -> None:
    """The module that times a first query must not have loaded what the query loads."""
    program = "import sys, benchmarks.start.first_queries; print(sum(name.startswith('numba') for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
    )
    assert done.stdout.strip() == "0"


def test_unknown_figures_and_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["nonsense"], ["match", "--only", "nonsense"]):
        with pytest.raises(SystemExit):
            command.main(arguments)
    assert "no figure 'nonsense' in match: answers, kernel" in capsys.readouterr().err


# --- timing ---


def test_times_are_taken_in_turns_after_a_warm_up() -> None:
    calls: list[str] = []
    actions = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}
    times = interleaved_seconds(actions, 2)
    assert calls == list("ab" + "ab" * 2)
    assert set(times) == {"a", "b"}
    assert best_seconds(lambda: None, 3) >= 0


def test_slow_actions_are_called_twice_at_least() -> None:
    calls: list[str] = []
    interleaved_seconds({"a": lambda: calls.append("a")}, 5, warm_up=False, enough_seconds=-1)
    assert calls == ["a", "a"]


def test_a_failing_process_says_why() -> None:
    with pytest.raises(RuntimeError, match="failed"):
        in_fresh_process("benchmarks.nowhere")


def test_peak_memory_covers_what_was_touched() -> None:
    before = peak_bytes()
    touched = b"x" * (before + 50_000_000)
    assert peak_bytes() >= before + 40_000_000
    del touched


# --- queries and answers ---


def test_prices_are_a_prefix_of_one_sequence() -> None:
    assert (prices(1_500_000)[:1000] == prices(1000)).all()
    assert 50 <= prices(20_000).min() <= prices(20_000).max() <= 150


@TWELVE
def test_shapes_and_goals_fit_the_pattern(query) -> None:
    is_fixed = not set("*+?") & set(query.pattern)
    compares_rows = "PREV" in query.define or query.name == "Q7"
    assert (query.shape is Shape.VARIABLE) == (not is_fixed)
    assert (query.shape is Shape.ROW_ONLY) == (is_fixed and not compares_rows)
    expected = {Shape.ROW_ONLY: 100e6, Shape.FIXED: 20e6, Shape.VARIABLE: 10e6 if query.name in ("Q1", "Q3") else 20e6}
    assert kernel.goal_of(query).bound == expected[query.shape]


def test_clauses_say_mode_partition_and_bound() -> None:
    clause = parse_clause(Q["Q1"].clause(Mode.ALL, partition_by="key"))
    assert clause.max_length == 100
    assert [key.column.text for key in clause.partition_by] == ["key"]
    assert parse_clause(Q["Q1"].clause(Mode.PREFERRED)).max_length is None


@MODES
@TWELVE
def test_answers_equal_the_oracle_on_few_rows(query, mode) -> None:
    assert answers.answer(query, mode, 300).to_pylist() == answers.oracle_answer(query, mode, 300)


@MODES
@TWELVE
def test_counts_in_20_000_rows(query, mode) -> None:
    right = KNOWN_COUNTS[query.name, mode, 20_000]
    assert answers.answer(query, mode, 20_000).num_rows == right
    run = KernelRun(query, mode, prices(20_000))
    assert run.whole() == right
    assert run.match(run.given_masks) == right


def test_ties_of_the_paper_notes() -> None:
    """Prices with a tie: Section 2's Q1 has two matches there, the appendix's one."""
    run = KernelRun(Q["Q1"], Mode.ALL, prices(8) * 0 + [1, 3, 2, 5, 5, 3, 4, 0])
    assert run.whole() == 2


def test_a_wrong_count_is_a_wrong_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "ORACLE_ROWS", 20)
    monkeypatch.setattr(answers, "KNOWN_COUNTS", {("Q12", Mode.PREFERRED, 1_000): 1})
    with pytest.raises(WrongAnswer, match="Q12 preferred, 1,000 rows"):
        answers.check_answers(Scale.SMALL)


def test_events_have_as_many_keys_as_asked_and_rising_times() -> None:
    events = keyed_events(1_000, 10)
    assert len(events["key"].unique()) == 10
    times = events["ts"].to_pylist()
    assert times == sorted(set(times))
