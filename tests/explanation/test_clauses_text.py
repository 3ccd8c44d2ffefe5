"""What is said of the clauses of a workload on a stream: who runs together, and why others don't."""

from __future__ import annotations

from types import SimpleNamespace

import ostinato as ost
from ostinato.explanation.asked import read_question
from ostinato.explanation.clauses_text import together_text
from ostinato.explanation.understood import understand

HEAD = "ORDER BY ts MEASURES FIRST(x) AS a ALL MATCHES PATTERN"
CLAUSES = {
    "two": f"{HEAD} (A X* B) DEFINE B AS x > A.x",
    "three": f"{HEAD} (A X* B X* C) DEFINE B AS x > A.x, C AS x > 2",
    "last": f"{HEAD} (A X* B $) DEFINE B AS x > A.x",
}


def told(*, streaming: bool) -> str:
    """Of a DataFrame nothing is asked but its columns, and whether it is a stream."""
    df = SimpleNamespace(
        columns=["ts", "x"], dtypes=[("ts", "timestamp"), ("x", "double")], schema=None, isStreaming=streaming
    )
    asked = ost.Workload(CLAUSES)
    understood = {name: understand(read_question(query.clause, df)[0]) for name, query in asked.clauses.items()}
    return together_text(asked, understood, df)


def test_on_a_stream() -> None:
    assert told(streaming=True).splitlines() == [
        "How the clauses run together, on a stream",
        "-----------------------------------------",
        "shared matcher   two, three: one state for equal sub-patterns; where a section below names an",
        "                 engine, that is the one the clause would have by itself",
        "                 one operator; a match leaves when the watermark has passed its last row",
        "by itself        last: on a stream `$` is known at the end of the input only, and a shared match leaves with"
        " its last row",
        "                 an operator for each, as ost.match_recognize has it",
    ]


def test_on_a_batch() -> None:
    assert "shared matcher   two, three, last:" in told(streaming=False)
    assert "stream" not in told(streaming=False)
