"""The right answers first: the paper's Table 1, and every strategy against the definitions on streams of each kind."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks.correlate.queries import Q1, Q2
from benchmarks.correlate.running import ALL, WINDOW_FIRST, Case, answer, correlated, table_of
from benchmarks.correlate.streams import Clusters, Marks, Quotes, Ticks, quotes_file
from benchmarks.experiment import Scale, expect
from benchmarks.records import Record
from ostinato.correlations.language.correlation_parser import read_correlation
from ostinato.reference.correlation_oracle import correlate_rows

TABLE_1_PRICES = (10, 6, 6, 5, 7, 6, 11, 8, 8, 3, 3)
TABLE_1_REGION = "7"
TABLE_1 = [(2, 5, 6, 7), (2, 7, 8, 7), (2, 9, 3, 7), (4, 7, 8, 11), (4, 9, 3, 11)]
"""Start, end, the live match's lowest price and the archive match's last, in the order of the result."""
ORACLE_ROWS = 240
CASES = (
    Case(Q1, Ticks(ORACLE_ROWS, period=12), "40"),
    Case(Q1, Ticks(ORACLE_ROWS, period=12), "25 ROWS"),
    Case(Q2, Marks(ORACLE_ROWS, 20, 10), "50"),
    Case(Q2, Marks(ORACLE_ROWS, 10, 20, rise=3, fall=16), "31"),
    Case(Q2, Clusters(ORACLE_ROWS, 0.5, every=120, matches=4, stretch=32, length=8), "60"),
)


def cases() -> tuple[Case, ...]:
    """One of each kind of stream; real quotes where there are."""
    if quotes_file() is None:
        return CASES
    return (*CASES, Case(Q1, Quotes(ORACLE_ROWS), "50 ROWS", order_by="ts, event_id"))


def check_answers(scale: Scale) -> list[Record]:
    """Raises WrongAnswer; the records are the counts."""
    records = [_check_table_1()]
    for case in cases():
        right = oracle_rows(case)
        for setup in (*ALL, WINDOW_FIRST):
            expect(f"{case.query.name}, {case.stream}: {setup.name}", rows_of(answer(case, setup).table), right)
        name = f"{case.query.name}, {type(case.stream).__name__.lower()}, region {case.region}"
        records.append(Record("correlate", "answers", name, "all strategies as the oracle", len(right), "results"))
    return records


def _check_table_1() -> Record:
    prices = np.array(TABLE_1_PRICES, np.float64)
    stock = pa.table({"symbol": ["XOM"] * len(prices), "ts": np.arange(len(prices)), "price": prices})
    for setup in (*ALL, WINDOW_FIRST):
        given = correlated(Q1.text(TABLE_1_REGION), stock, setup)
        expect(f"table 1: {setup.name}", rows_of(given.table), TABLE_1)
    return Record("correlate", "answers", "table 1", "results of the paper", len(TABLE_1), "results")


Row = tuple[object, ...]


def rows_of(table: pa.Table) -> list[Row]:
    """Ordered by start and end; where times are equal, by the prices."""
    return sorted(tuple(row.values()) for row in table.to_pylist())


def oracle_rows(case: Case) -> list[Row]:
    """By the definitions: for each live match the archive as of it is matched anew."""
    table = table_of(case.stream)
    rows = table.to_pylist()
    correlation = read_correlation(case.text).correlation
    results = correlate_rows(correlation, table.column_names, rows, table.column_names, rows)
    return sorted(
        (row["correlation_start"], row["correlation_end"], row["live"]["price"], row["archive"]["price"])
        for row in results
    )
