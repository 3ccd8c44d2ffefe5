"""Public objects fit a terminal, show escaped HTML in notebooks, and errors are short there."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.calls.shown_objects import short_repr

HOSTILE = "'<script>'"


def long_pattern() -> ost.PatternQuery:
    names = [f"V{number}" for number in range(200)]
    conditions = dict.fromkeys(names, f"kind = {HOSTILE} AND price > PREV(price)")
    return ost.pattern(" ".join(names)).order_by("ts").define(**conditions).measures(last="LAST(ts)")


def graph() -> ost.Graph:
    relations = [f"<script>{number}" for number in range(100)]
    return ost.graph(pa.table({"head": ["a"] * 100, "relation": relations, "tail": ["b"] * 100}))


def report() -> object:
    query = "PATTERN SEQ(A a, B b) WITHIN 10 EVENTS RETURN MATCHES"
    workload = ost.Workload(
        {f"<script>{number}": query for number in range(3)}, type="k", time="t", latency_bound="1 s"
    )
    return workload.run(pa.table({"k": ["A", "B"], "t": [1, 2]})).reports[0]


@pytest.mark.parametrize(
    ("make", "begins"),
    [
        (long_pattern, "PatternQuery(ORDER BY ts MEASURES last(ts) AS `last` ONE ROW PER MATCH"),
        (lambda: ost.event_seq("A", "B+ b").where(f"b.x = {HOSTILE}"), "EventBuilder(PATTERN SEQ(A, B+ b) WHERE"),
        (graph, "Graph(nodes: 2, edges: 100, relations: 100)"),
        (report, "Report(matches: <script>0 1"),
    ],
)
def test_an_object_shows_itself(make, begins) -> None:
    shown = make()
    assert repr(shown).startswith(begins)
    assert len(repr(shown)) <= 300
    assert "\n" not in repr(shown)
    assert "<script>" not in shown._repr_html_()
    assert "&lt;script&gt;" in shown._repr_html_()


def test_a_long_repr_is_cut() -> None:
    assert len(short_repr(1, "word " * 1000)) <= 300
    assert short_repr(1, "a\n b") == "int(a b)"


def test_errors_are_short_in_notebooks(monkeypatch) -> None:
    table = pa.table({"ts": [1], "price": [1.0]})
    with pytest.raises(ost.QueryError) as raised:
        ost.match("ORDER BY ts MEASURES LAST(prcie) AS p PATTERN (A) DEFINE A AS true", table)
    assert raised.value._render_traceback_() == [
        "UNKNOWN_COLUMN: the input has no column 'prcie'",
        "  1 | ORDER BY ts MEASURES LAST(prcie) AS p PATTERN (A) DEFINE A AS true",
        "    |                           ^^^^^",
        "hint: did you mean 'price'?",
    ]
    monkeypatch.setenv("OSTINATO_TRACEBACK", "full")
    lines = raised.value._render_traceback_()
    assert lines[0].startswith("Traceback")
    assert len(lines) > 10
