"""What people use today, in the same run: lead() columns in PySpark, and pandas-match-recognize.

lead() can say patterns of fixed length, Q7 and Q12 here. pandas-match-recognize takes SQL but is slow, so it gets few
rows, in a process of its own (it brings packages with common names): `python -m benchmarks.match.rivals Q12 1000`.
Queries that it answers otherwise than the definition are named, not timed.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
import time
from functools import partial
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.experiment import Scale, best_seconds, expect, in_fresh_process, interleaved_seconds
from benchmarks.match import sparks
from benchmarks.match.events import keyed_events, write_events
from benchmarks.match.kernel_run import price_table
from benchmarks.queries import Mode, Q, prices
from benchmarks.records import Baseline, Record

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LEAD_ROWS = {Scale.SMALL: 500_000, Scale.FULL: 5_000_000}
LEAD_KEYS = 100
LEAD_ROUNDS = 3
LEAD_CONDITIONS = {
    "Q7": "price < 70 AND price1 > price AND price2 < price1 AND price2 < price",
    "Q12": "price < 90 AND price1 > 110 AND price2 < 90",
}
PANDAS_PACKAGE = "pandas_match_recognize"
PANDAS_ROWS = {Scale.SMALL: 1_000, Scale.FULL: 5_000}
PANDAS_QUERIES = ("Q1", "Q2", "Q3", "Q4", "Q6", "Q7", "Q12")
PANDAS_TIMEOUT_SECONDS = 300


def measure_rivals(scale: Scale) -> list[Record]:
    return [*_against_lead(scale), *_against_pandas(PANDAS_ROWS[scale])]


# --- lead() in PySpark ------------------------------------------------------------------------------------------------


def with_lead(events: DataFrame, name: str) -> DataFrame:
    """The query as people write it by hand: the next rows beside each row, then a filter."""
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    by_key = Window.partitionBy("key").orderBy("ts")
    ahead = {f"price{i}": F.lead("price", i).over(by_key) for i in (1, 2)}
    found = events.withColumns(ahead).where(LEAD_CONDITIONS[name])
    return found.select("key", F.col("price").alias("first_price"), F.col("price2").alias("last_price"))


def _against_lead(scale: Scale) -> list[Record]:
    import ostinato as ost

    rows = LEAD_ROWS[scale]
    records = []
    spark = sparks.spark_session()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "events"
        write_events(keyed_events(rows, LEAD_KEYS), path)
        events = spark.read.parquet(str(path))
        for name in LEAD_CONDITIONS:
            ours = events.transform(ost.match_recognize(Q[name].clause(Mode.PREFERRED, partition_by="key")))
            theirs = with_lead(events, name)
            expect(f"lead(), {name}", sparks.totals(ours), sparks.totals(theirs))
            actions = {"ours": partial(sparks.run, ours), "lead()": partial(sparks.run, theirs)}
            times = interleaved_seconds(actions, LEAD_ROUNDS)
            case = f"{name}, {rows:,} rows, {LEAD_KEYS} keys"
            baseline = Baseline("lead() in PySpark", times["lead()"])
            records.append(Record("match", "rivals", case, "time on Spark", times["ours"], "s", baseline))
    return records


# --- pandas-match-recognize -------------------------------------------------------------------------------------------


def _against_pandas(rows: int) -> list[Record]:
    if util.find_spec(PANDAS_PACKAGE) is None:
        note = "pandas-match-recognize is not installed (extra: bench), not compared"
        return [Record("match", "rivals", "pandas-match-recognize", "queries compared", 0, "", notes=(note,))]
    return [_beside_pandas(name, rows) for name in PANDAS_QUERIES]


def _beside_pandas(name: str, rows: int) -> Record:
    from ostinato.clause.language.clause_parser import parse_clause
    from ostinato.local.local_clause import match_table

    clause = Q[name].clause(Mode.PREFERRED)
    table = price_table(prices(rows))
    answer = match_table(parse_clause(clause), table)
    ours = best_seconds(lambda: match_table(parse_clause(clause), table), 3)
    record = partial(Record, "match", "rivals", f"{name}, {rows:,} rows in process")
    try:
        theirs = json.loads(
            in_fresh_process("benchmarks.match.rivals", name, str(rows), timeout_seconds=PANDAS_TIMEOUT_SECONDS)
        )
    except Exception as failure:  # theirs: whatever it is, our own figures go on
        note = f"pandas-match-recognize fails: {str(failure).strip().splitlines()[-1][:160]}"
        return record("speed", rows / ours, "rows/s", notes=(note,))
    right = [[row["first_price"], row["last_price"]] for row in answer.to_pylist()]
    if theirs["answer"] != right:
        note = (
            f"pandas-match-recognize finds {len(theirs['answer'])} matches, the definition {len(right)}: not compared"
        )
        return record("speed", rows / ours, "rows/s", notes=(note,))
    baseline = Baseline("pandas-match-recognize", rows / theirs["seconds"])
    return record("speed, same answers", rows / ours, "rows/s", baseline)


def run_pandas_alone(name: str, rows: int) -> dict[str, object]:
    """Its second answer, timed; the first warms it up."""
    logging.disable(logging.CRITICAL)
    from pandas_match_recognize import match_recognize

    frame = price_table(prices(rows)).to_pandas()
    clause = Q[name].clause(Mode.PREFERRED).replace("AFTER MATCH", "ONE ROW PER MATCH\nAFTER MATCH")
    query = f"SELECT * FROM frame MATCH_RECOGNIZE (\n{clause}\n)"
    match_recognize(query, frame)
    started = time.perf_counter()
    found = match_recognize(query, frame)
    taken = time.perf_counter() - started
    answer = found[["first_price", "last_price"]].to_numpy().tolist() if len(found) else []
    return {"seconds": taken, "answer": answer}


if __name__ == "__main__":
    print(json.dumps(run_pandas_alone(sys.argv[1], int(sys.argv[2]))))
