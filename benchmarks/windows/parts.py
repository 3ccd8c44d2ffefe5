"""`python -m benchmarks windows`: the answers, then the growth of windows beside the clause, in process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.experiment import Experiment, Part, Scale, expect, interleaved_seconds
from benchmarks.queries import prices
from benchmarks.records import Baseline, Goal, Record, Sense
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.clause.query.window_pattern import WindowPattern
from ostinato.local.local_clause import match_table
from ostinato.local.local_windows import window_columns
from ostinato.reference.window_oracle import window_rows

ROWS = {Scale.SMALL: (100_000, 1_000_000), Scale.FULL: (1_000_000, 10_000_000)}
ORACLE_ROWS = 200
ROUNDS = 3
CLAUSE = """ORDER BY id MEASURES LAST(price) AS top, count(*) AS n AFTER MATCH SKIP {skip} PATTERN (START DOWN+ UP+)
    DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price)"""
LINEAR = Goal(Sense.AT_MOST, 11)
"""Time with ten times as many rows, as for the clause (benchmarks/match)."""
SKIPS = {"past last row": "PAST LAST ROW", "to next row": "TO NEXT ROW"}
KINDS = {
    "initial": (None, False),
    "seek": (None, True),
    "initial, 9 following": (9, False),
    "seek, 9 following": (9, True),
}


def rows(count: int) -> pa.Table:
    """Prices in order, the same for each length."""
    return pa.table({"id": np.arange(count), "price": prices(count)})


def window(kind: str, skip: str) -> WindowPattern:
    frame_end, seek = KINDS[kind]
    return WindowPattern(parse_clause(CLAUSE.format(skip=SKIPS[skip])), frame_end, seek, frozenset({"n"}))


def check_answers(scale: Scale) -> list[Record]:
    """Few rows as in the oracle. Many rows: the matches of INITIAL have as many rows as those of the clause."""
    few, many = rows(ORACLE_ROWS), rows(ROWS[scale][0])
    for skip in SKIPS:
        for kind in KINDS:
            right = window_rows(window(kind, skip), few.column_names, few.to_pylist())
            expect(f"{kind}, {skip}, {ORACLE_ROWS} rows", window_columns(window(kind, skip), few).to_pylist(), right)
        counts = window_columns(window("initial", skip), many).column("n")
        of_clause = match_table(window("initial", skip).clause, many).column("n")
        found = pc.filter(counts, pc.greater(counts, 0)).to_pylist()
        expect(f"initial, {skip}, {many.num_rows} rows", found, of_clause.to_pylist())
    cases = f"{len(KINDS) * len(SKIPS)} windows"
    return [
        Record("windows", "answers", cases, "equal to the oracle and the clause", len(KINDS) * len(SKIPS), "windows")
    ]


def measure_growth(scale: Scale) -> list[Record]:
    """Times at both sizes, of the window and of the clause."""
    return [record for skip in SKIPS for record in _growth_of(skip, scale)]


def _growth_of(skip: str, scale: Scale) -> list[Record]:
    small, large = (_times(skip, rows(count)) for count in ROWS[scale])
    few, many = ROWS[scale]
    records = []
    for kind in KINDS:
        case, clause = f"{kind}, {skip}", Baseline("clause", large["clause"])
        records.append(Record("windows", "growth", case, f"time, {many:,} rows", large[kind], "s", clause))
        goal = LINEAR if (kind, skip) == ("initial", "past last row") else None
        of_clause = Baseline("clause", large["clause"] / small["clause"])
        growth = large[kind] / small[kind]
        records.append(
            Record("windows", "growth", case, f"time, {many // few} times the rows", growth, "", of_clause, goal)
        )
    return records


def _times(skip: str, table: pa.Table) -> dict[str, float]:
    clause = window("initial", skip).clause
    actions: dict[str, Callable[[], object]] = {"clause": lambda: match_table(clause, table)}

    def over(kind: str) -> Callable[[], object]:
        return lambda: window_columns(window(kind, skip), table)

    return interleaved_seconds(actions | {kind: over(kind) for kind in KINDS}, ROUNDS)


def draw(records: Sequence[Record], folder: Path) -> list[Path]:
    """There is no picture: the table has all figures."""
    return []


EXPERIMENT = Experiment(parts=(Part("answers", check_answers), Part("growth", measure_growth)), draw=draw)
