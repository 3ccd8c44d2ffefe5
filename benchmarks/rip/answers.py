"""The right answers first: all variants find the library's ALL MATCHES, and the paper's own examples hold."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import ostinato as ost
from benchmarks.experiment import Scale, WrongAnswer, expect
from benchmarks.match.kernel_run import price_table
from benchmarks.queries import QUERIES, PatternQuery, Q, prices
from benchmarks.records import Record
from benchmarks.rip.kernels import PASSED_BY
from benchmarks.rip.linear_query import LinearQuery, linear_query
from benchmarks.rip.run_based import Prices, Runs, RunUnit
from benchmarks.rip.variants import Variant, check_same, rb, rb_plus, sb, sb_plus

ROWS = 50_000

TABLE_1 = PatternQuery("table 1", "A B* C D* E F* G", Q["Q1"].define.split(", H AS")[0], Q["Q1"].shape)
"""Example 5: the first half of Q1."""
TABLE_1_PRICES = (33.1, 34.0, 33.2, 35.0)
TABLE_1_EVALUATIONS = (1, 3, 7, 7)
TIE_PRICES = (1.0, 3.0, 2.0, 5.0, 5.0, 3.0, 4.0, 0.0)
TIE_MATCHES = ("A C E F G I K M", "A C E G H I K M")


def library_matches(query: PatternQuery, price: Prices, max_length: int) -> Runs:
    """The library's answer in the form of `Outcome.in_order`."""
    names = linear_query(query).variables
    measures = ", ".join([*(f"FIRST({name}.ts) AS {name}" for name in names), "LAST(ts) AS last_ts"])
    clause = (
        f"ORDER BY ts MEASURES {measures} ALL MATCHES PATTERN ({query.pattern}) MAXLENGTH {max_length} "
        f"DEFINE {query.define}"
    )
    found: pa.Table = ost.match(clause, price_table(price))
    columns = [column.fill_null(PASSED_BY).to_numpy() for column in found.columns]
    rows = np.array(columns, np.int32).T.reshape(-1, len(columns))
    return rows[np.lexsort(rows.T[::-1])]


def variants_of(query: LinearQuery) -> list[Variant]:
    """All of the paper's beside SEQ, with cuts in many places."""
    return [
        rb(2),
        rb(3),
        rb_plus(2, slice_rows=query.shared_rows + 1_000),
        sb(query, transfer_rows=700),
        sb_plus(query),
    ]


def evaluations_per_event(query: LinearQuery, price: Prices) -> list[int]:
    """Algorithm 1 one event at a time: how often predicates were evaluated for each."""
    unit = RunUnit(query, price)
    totals = [0]
    for row in range(len(price)):
        unit.go_on(0, len(price), row + 1)
        totals.append(int(unit.evaluations.sum()))
    return np.diff(totals).tolist()


def labels_of(query: LinearQuery, match: Runs) -> str:
    """A match as the paper writes it: the variable of each event."""
    entered = [(int(row), name) for row, name in zip(match, query.variables, strict=False) if row != PASSED_BY]
    ends = [row for row, _ in entered[1:]] + [int(match[-1]) + 1]
    return " ".join(name for (row, name), end in zip(entered, ends, strict=True) for _ in range(row, end))


def check_answers(scale: Scale) -> list[Record]:
    """Raises WrongAnswer; the records are the counts."""
    records = [_check_table_1(), _check_ties()]
    for pattern_query in QUERIES:
        query, price = linear_query(pattern_query), prices(ROWS)
        found = check_same(query, price, variants_of(query))
        if not np.array_equal(found.in_order(), library_matches(pattern_query, price, query.max_length)):
            raise WrongAnswer(f"{query.name}, {ROWS:,} rows: SEQ and the library differ")
        metric = f"{ROWS:,} rows, all variants and the library agree"
        records.append(Record("rip", "answers", query.name, metric, len(found.matches), "matches"))
    return records


def _check_table_1() -> Record:
    query, price = linear_query(TABLE_1), np.array(TABLE_1_PRICES)
    expect("table 1, evaluations", evaluations_per_event(query, price), list(TABLE_1_EVALUATIONS))
    found = check_same(query, price, variants_of(query))
    expect("table 1, matches", [labels_of(query, match) for match in found.in_order()], ["A C E G"])
    return Record("rip", "answers", "table 1", "evaluations as in the paper", int(found.evaluations.sum()), "")


def _check_ties() -> Record:
    query, price = linear_query(Q["Q1"]), np.array(TIE_PRICES)
    found = check_same(query, price, variants_of(query))
    shown = sorted(labels_of(query, match) for match in found.matches)
    expect("ties, matches", shown, list(TIE_MATCHES))
    return Record("rip", "answers", "ties", "both labelings of the tie", len(shown), "matches")
