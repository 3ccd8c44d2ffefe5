"""The parts of `python -m benchmarks windows` at a tiny scale: their answers are checked there."""

from __future__ import annotations

import pytest
from benchmarks.experiment import Scale
from benchmarks.windows import parts


def test_windows_are_measured_beside_the_clause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(parts.ROWS, Scale.SMALL, (100, 1_000))
    monkeypatch.setattr(parts, "ROUNDS", 1)
    monkeypatch.setattr(parts, "ORACLE_ROWS", 40)
    (answers,) = parts.check_answers(Scale.SMALL)
    assert answers.value == 8
    records = parts.measure_growth(Scale.SMALL)
    assert len(records) == 16
    assert [record.case for record in records if record.goal is not None] == ["initial, past last row"]
    assert all(record.value > 0 for record in records)
