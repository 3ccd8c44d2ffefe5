"""Funnels on Spark Connect: the same rows and report as in process."""

from __future__ import annotations

from typing import Any

from tests.funnels.letters import events, funnel, shown


def test_rows_and_report_are_those_in_process(connect: Any) -> None:
    table = events(ann="AABxC", bob="AxB", cy="xxB", di="A            BC")
    found, wanted = funnel().run(connect.createDataFrame(table)), funnel().run(table)
    assert shown(found.table.toArrow()) == shown(wanted.table)
    assert found.report.numbers == wanted.report.numbers
