"""The parts of `python -m benchmarks paths` without data: every question has an answer, few go through all parts."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.experiment import Scale
from benchmarks.paths import answers, bounds, questions
from benchmarks.paths.parts import EXPERIMENT
from benchmarks.paths.plot import draw
from benchmarks.paths.speed import FIGURE as SPEED
from benchmarks.records import Record
from benchmarks.trends.recorded import FOLDER_VARIABLE


@pytest.fixture(autouse=True)
def few_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setitem(questions.MOST_QUESTIONS, Scale.SMALL, 8)
    monkeypatch.setattr(questions, "_FILMS", 200)
    monkeypatch.setattr(questions, "_PEOPLE", 120)
    monkeypatch.setattr(answers, "QUESTIONS", 2)
    monkeypatch.setattr(bounds, "SHARES", (50,))


def test_every_question_about_films_has_an_answer() -> None:
    name, _, sets = questions.load(Scale.SMALL)
    assert name == "films"
    assert [(asked.hops, len(asked.dev), len(asked.test)) for asked in sets] == [(hops, 8, 8) for hops in (1, 2, 3)]
    assert all(question.answers for asked in sets for question in (*asked.dev, *asked.test))


def test_every_part_checks_and_measures() -> None:
    parts = [part for part in EXPERIMENT.parts if part.figure != SPEED]  # that one starts Spark
    records = [record for part in parts for record in part.measure(Scale.SMALL)]
    assert {record.figure for record in records} == {part.figure for part in parts}
    answered = [record.value for record in records if record.metric == "answered" and "no bound" in record.case]
    assert len(answered) == 6
    assert min(answered) > 0.99


def test_what_was_measured_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    record = Record("paths", bounds.LATENCY, "films, 2 hops, 50 %, SHARP", "recall", 0.9, "")
    assert [path.name for path in draw([record], tmp_path)] == ["paths-figure-7.png"]
