"""The section on the clauses of a workload: the groups that run together, and why other clauses run alone."""

from __future__ import annotations

from types import SimpleNamespace

import ostinato as ost
from ostinato.explanation.clause_groups_text import together_text
from ostinato.explanation.explained_clauses import read_clauses
from ostinato.explanation.planned_clause import plan_clause
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
    understood = {name: plan_clause(read_clauses(query.clause, df)[0]) for name, query in asked.clauses.items()}
    return together_text(asked, understood, df)


def test_on_a_stream() -> None:
    assert told(streaming=True).splitlines() == [
        "How the clauses run together, on a stream",
        "-----------------------------------------",
        "shared matcher   two, three: equal sub-patterns share a state.",
        "                 The sections below name the engine that a clause would use alone.",
        "                 One stream operator runs them. A match is emitted when the watermark passes its last row.",
        "alone            last: on a stream `$` is known at the end of the input only, and a shared match leaves with"
        " its last row",
        "                 Each has its own stream operator, as in ost.match_recognize.",
    ]


def test_on_a_batch() -> None:
    assert told(streaming=False).splitlines() == [
        "How the clauses run together",
        "----------------------------",
        "shared matcher   two, three, last: equal sub-patterns share a state.",
        "                 The sections below name the engine that a clause would use alone.",
        "                 A batch uses that engine if sharing fails or needs more than 196,608 partial matches.",
    ]


def test_where_a_clause_has_nothing_in_common_or_an_end() -> None:
    within = {name: text.replace("DEFINE", "WITHIN INTERVAL '9' SECOND DEFINE") for name, text in CLAUSES.items()}
    down = f"{HEAD} (A X* B) WITHIN INTERVAL '9' SECOND DEFINE A AS x < 0"
    lines = told(within | {"down": down}, streaming=False).splitlines()
    assert lines[-2:] == [
        "                 A batch uses that engine if sharing fails.",
        "alone            down: no other query has a state in common with it",
    ]
    assert "A batch uses that engine" not in told(CLAUSES, streaming=False, sharing="always")
