"""One small query of each system: `python -m benchmarks.start.first_queries NAME local|spark|identity|stages`.

It prints the seconds from the query's text to its rows, and the number of rows.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

ROWS = 1_000
CLAUSE = """PARTITION BY user ORDER BY at MEASURES FIRST(x) AS top, count(*) AS length
    PATTERN (A B+ C) DEFINE B AS x < PREV(x), C AS x > PREV(x)"""
HEAD = "TYPE kind TIME at"
TREND = (
    f"{HEAD} PATTERN SEQ({{}} a, B+ b) WHERE SAME[user] WITHIN 30 SECONDS SLIDE 10 SECONDS RETURN COUNT(*), SUM(b.x)"
)
MATCHES = f"{HEAD} PATTERN SEQ(A a, B b, {{}} l) WHERE SAME[user] AND b.x < l.x WITHIN 9 SECONDS RETURN MATCHES"
SIDE = "ORDER BY at MEASURES LAST(x) AS top {} MATCHES PATTERN (A B+) DEFINE B AS x > PREV(x)"
CORRELATION = f"""SELECT live.top, archive.top FROM t MATCH_RECOGNIZE ({SIDE.format("INCREMENTAL")}) AS live
    JOIN t MATCH_RECOGNIZE ({SIDE.format("MAXIMAL")}) AS archive ON RECENT(archive, live, INTERVAL '9' SECOND)"""


def events() -> pa.Table:
    """A thousand events, one a second."""
    return pa.table(
        {
            "at": pa.array([second * 1_000_000 for second in range(ROWS)], pa.timestamp("us", "UTC")),
            "kind": [*"ABCBD"] * (ROWS // 5),
            "user": [number // 10 % 4 for number in range(ROWS)],
            "x": [float(number * 7 % 11) for number in range(ROWS)],
        }
    )


def _clause() -> Any:
    import ostinato as ost

    return ost.match_recognize(CLAUSE)


def _event_query() -> Any:
    import ostinato as ost

    return ost.events(TREND.format("A"))


def _matches() -> Any:
    import ostinato as ost

    return ost.events(MATCHES.format("C"))


def _workload() -> Any:
    import ostinato as ost

    return ost.Workload([TREND.format(kind) for kind in "AC"])


def _bounded_workload() -> Any:
    import ostinato as ost

    return ost.Workload([MATCHES.format(kind) for kind in "CD"], selection_ratio=0.5)


def _summary() -> Any:
    import ostinato as ost

    return ost.summary("A(B|C)*D", type="kind", time="at", within="9 seconds", size=100)


def _correlation() -> Any:
    import ostinato as ost

    return ost.correlate(CORRELATION)


def _funnel() -> Any:
    import ostinato as ost

    steps = {"first": "kind = 'A'", "then": "kind = 'B'", "last": "kind = 'C'"}
    return ost.funnel(steps, keys="user", time="at", within="1 minute")


QUERIES: dict[str, Callable[[], Any]] = {
    "MATCH_RECOGNIZE": _clause,
    "event query": _event_query,
    "RETURN MATCHES": _matches,
    "workload": _workload,
    "workload with a bound": _bounded_workload,
    "summary": _summary,
    "correlation": _correlation,
    "funnel": _funnel,
}


def run_alone(name: str, where: str) -> dict[str, float]:
    """Runs one query. On Spark, the time begins when the session and its input are there."""
    table = events()
    if where == "local":
        began = time.perf_counter()
        import ostinato as ost

        rows = ost.match(QUERIES[name](), table).num_rows
        return {"seconds": time.perf_counter() - began, "rows": rows}
    from ostinato.spark.session.session import local_session

    spark = local_session("ostinato benchmark", cores=2)
    df = spark.createDataFrame(table)
    _ = df.schema
    began = time.perf_counter()
    if where == "identity":
        rows = df.repartition("user").mapInArrow(_same, df.schema).toArrow().num_rows
    elif where == "stages":
        rows = _stages(df).toArrow().num_rows
    else:
        rows = df.transform(QUERIES[name]()).toArrow().num_rows
    taken = time.perf_counter() - began
    spark.stop()
    return {"seconds": taken, "rows": rows}


def _stages(df: Any) -> Any:
    """The stages that Spark runs for a clause, without our code: select, shuffle, mapInArrow, filter, select."""
    from ostinato.rows.column_names import ERROR
    from ostinato.spark.shipping.row_errors import RAISES

    sent = df.selectExpr("at AS a", "`user`", "x AS b", "CASE WHEN x > 1 THEN 1L ELSE 0L END AS c", f"NULL AS {ERROR}")
    sent = sent.selectExpr("a", "`user`", "b", "c", f"CAST({ERROR} AS STRING) AS {ERROR}").repartition("user")
    return sent.mapInArrow(_same_with_numba, sent.schema).where(RAISES).select("user", "b")


def _same_with_numba(batches: Any) -> Any:
    import numba  # noqa: F401

    yield from batches


def _same(batches: Any) -> Any:
    yield from batches


if __name__ == "__main__":
    print(json.dumps(run_alone(sys.argv[1], sys.argv[2])))
