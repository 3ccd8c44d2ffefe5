"""The right answers first: counts that independent matchers found, and the oracle on the first rows for all queries."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.experiment import Scale, expect
from benchmarks.match.kernel import case_of
from benchmarks.match.kernel_run import price_table
from benchmarks.queries import KNOWN_COUNTS, QUERIES, Mode, PatternQuery, Q, prices
from benchmarks.records import Record
from ostinato.clause.language.clause_parser import parse_clause
from ostinato.local.local_clause import match_table
from ostinato.reference import match_rows

ORACLE_ROWS = 600


def answer(query: PatternQuery, mode: Mode, rows: int) -> pa.Table:
    """The query's whole answer on the first rows, in process."""
    return match_table(parse_clause(query.clause(mode)), price_table(prices(rows)))


def oracle_answer(query: PatternQuery, mode: Mode, rows: int) -> list[dict[str, object]]:
    """The same by definition, slowly."""
    events = [{"ts": ts, "price": price} for ts, price in enumerate(prices(rows).tolist())]
    return match_rows(parse_clause(query.clause(mode)), ["ts", "price"], events)


def check_answers(scale: Scale) -> list[Record]:
    """Raises WrongAnswer; the records are the counts."""
    for query in QUERIES:
        for mode in Mode:
            shown = answer(query, mode, ORACLE_ROWS).to_pylist()
            expect(f"{case_of(query, mode)}, {ORACLE_ROWS} rows", shown, oracle_answer(query, mode, ORACLE_ROWS))
    all_cases = f"all {len(QUERIES)} queries, both modes"
    records = [
        Record("match", "answers", all_cases, f"{ORACLE_ROWS} rows, equal the oracle's", 2 * len(QUERIES), "answers")
    ]
    for (name, mode, rows), right in KNOWN_COUNTS.items():
        case = case_of(Q[name], mode)
        found = answer(Q[name], mode, rows)
        expect(f"{case}, {rows:,} rows", found.num_rows, right)
        expect(f"{case}, {rows:,} rows, NULL measures", _nulls(found), 0)
        records.append(Record("match", "answers", case, f"{rows:,} rows, as known", found.num_rows, "matches"))
    return records


def _nulls(found: pa.Table) -> int:
    return int(np.sum([column.null_count for column in found.columns]))
