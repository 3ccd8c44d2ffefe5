"""What is said of the clauses of a workload: who runs together, and why others don't."""

from __future__ import annotations

from types import SimpleNamespace

import ostinato as ost
from ostinato.explanation.asked import read_question
from ostinato.explanation.clauses_text import together_text
from ostinato.explanation.understood import understand
from ostinato.workloads.plan.clause_groups import Sharing

HEAD = "ORDER BY ts MEASURES FIRST(x) AS a ALL MATCHES PATTERN"
CLAUSES = {
    "two": f"{HEAD} (A X* B) DEFINE B AS x > A.x",
    "three": f"{HEAD} (A X* B X* C) DEFINE B AS x > A.x, C AS x > 2",
    "last": f"{HEAD} (A X* B $) DEFINE B AS x > A.x",
}


def told(clauses: dict[str, str] = CLAUSES, *, streaming: bool, sharing: Sharing = "dynamic") -> str:
    """Of a DataFrame nothing is asked but its columns, and whether it is a stream."""
    df = SimpleNamespace(
        columns=["ts", "x"], dtypes=[("ts", "timestamp"), ("x", "double")], schema=None, isStreaming=streaming
    )
    asked = ost.Workload(clauses, sharing=sharing)
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
    assert told(streaming=False).splitlines() == [
        "How the clauses run together",
        "----------------------------",
        "shared matcher   two, three, last: one state for equal sub-patterns; where a section below names an",
        "                 engine, that is the one the clause would have by itself",
        "                 each by itself, with that engine, in a batch where sharing fails or holds more than 196,608"
        " partial matches",
    ]


def test_where_a_clause_has_nothing_in_common_or_an_end() -> None:
    within = {name: text.replace("DEFINE", "WITHIN INTERVAL '9' SECOND DEFINE") for name, text in CLAUSES.items()}
    down = f"{HEAD} (A X* B) WITHIN INTERVAL '9' SECOND DEFINE A AS x < 0"
    lines = told(within | {"down": down}, streaming=False).splitlines()
    assert lines[-2:] == [
        "                 each by itself, with that engine, in a batch where sharing fails",
        "by itself        down: no other query has a state in common with it",
    ]
    assert "each by itself" not in told(CLAUSES, streaming=False, sharing="always")
