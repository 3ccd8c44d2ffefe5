"""Planning a query on a DataFrame loads no numba, whatever the kind of query. Only the tasks load kernels.

Two calls compute on the driver and load kernels there: `ost.summary_answer`, and `ost.explain` of a summary, which
measures its size.
"""

from __future__ import annotations

import subprocess
import sys

PLANS = '''
import sys
import ostinato as ost
from ostinato.spark.session.session import local_session
from ostinato.spark.streams.stream_checks import ROCKSDB, STATE_STORE

spark = local_session(cores=1, **{STATE_STORE: ROCKSDB})
columns = "kind string, id long, v double, ts timestamp"
batch = spark.createDataFrame([], columns)
rows = spark.readStream.format("rate").load()
stream = rows.selectExpr("'a' AS kind", "value AS id", "CAST(value AS DOUBLE) AS v", "timestamp AS ts")
stream = stream.withWatermark("ts", "1 second")

HEAD = "PARTITION BY kind ORDER BY ts"
CLAUSE = f"""{HEAD} MEASURES LAST(v) AS v PATTERN (A B+) WITHIN INTERVAL '5' SECOND
    DEFINE B AS v < A.v + sum(B.v)"""
ALL_MATCHES = f"""{HEAD} MEASURES LAST(v) AS v ALL MATCHES PATTERN (A B+ C) WITHIN INTERVAL '5' SECOND
    DEFINE A AS id > 1, B AS v < 5, C AS C.v > A.v"""
EVENTS = "TYPE kind TIME ts PATTERN SEQ(a a, b+ b) WHERE a.v > 1 WITHIN 5 SECONDS TUMBLE RETURN COUNT(*)"
MATCHES = "TYPE kind TIME ts PATTERN SEQ(a a, b b) WHERE b.v > a.v + 1 WITHIN 5 SECONDS RETURN MATCHES"
SIDE = "ORDER BY id MEASURES LAST(v) AS v {} MATCHES PATTERN (A B+) DEFINE B AS v < PREV(v)"
CORRELATION = f"""SELECT live.v FROM t MATCH_RECOGNIZE ({SIDE.format("INCREMENTAL")}) AS live
    JOIN t MATCH_RECOGNIZE ({SIDE.format("MAXIMAL")}) AS archive ON RECENT(archive, live, 7)"""
summary = ost.summary("a b* c", type="kind", time="ts", within="5 seconds", size=4, aggregate="SUM(v)")
triples = spark.createDataFrame([], "head string, relation string, tail string")
questions = ost.GraphQuestions(ost.graph(triples.toArrow()), lambda question, topic: ["knows"])
bounded = ost.Workload({"one": ALL_MATCHES, "two": MATCHES}, latency_bound={"one": "1 ms", "two": "1 ms"})

PLANS = {
    "clause": lambda: batch.transform(ost.match_recognize(CLAUSE)),
    "clause in slices": lambda: batch.transform(ost.match_recognize(CLAUSE, skew="slice")),
    "clause on a stream": lambda: stream.transform(ost.match_recognize(CLAUSE)),
    "clause in SQL": lambda: ost.sql(f"SELECT max(v) FROM t MATCH_RECOGNIZE ({CLAUSE})", t=batch),
    "explanation": lambda: print(ost.explain(CLAUSE, batch)),
    "event query": lambda: batch.transform(ost.events(EVENTS)),
    "event query on a stream": lambda: stream.transform(ost.events(EVENTS)),
    "matches of an event query": lambda: batch.transform(ost.events(MATCHES)),
    "matches of an event query on a stream": lambda: stream.transform(ost.events(MATCHES)),
    "workload": lambda: ost.Workload([CLAUSE, ALL_MATCHES, EVENTS, MATCHES, MATCHES]).run(batch).table,
    "workload on a stream": lambda: ost.Workload([CLAUSE, ALL_MATCHES, EVENTS, MATCHES]).run(stream).table,
    "workload with bounds": lambda: bounded.run(batch).table,
    "summary": lambda: batch.transform(summary),
    "summary on a stream": lambda: stream.transform(summary),
    "correlation": lambda: ost.correlate(CORRELATION).run(batch),
    "correlation in SQL": lambda: ost.sql(CORRELATION, t=batch),
    "paths": lambda: ost.paths("knows / likes", start="a").run(triples),
    "questions": lambda: questions.run(batch.selectExpr("kind AS question", "kind AS topic")),
    "explanation of an event query": lambda: print(ost.explain(ost.events(EVENTS), batch)),
    "explanation of a workload": lambda: print(ost.explain(bounded, batch)),
}
'''

PROGRAM = f"""{PLANS}
for name, plan in PLANS.items():
    plan()
    assert "numba" not in sys.modules, f"planning loads numba: {{name}}"
print("planned", len(PLANS))
"""


def test_planning_loads_no_numba() -> None:
    finished = subprocess.run([sys.executable, "-c", PROGRAM], check=False, capture_output=True, text=True, timeout=300)
    assert finished.returncode == 0, finished.stderr[-3000:]
    assert "planned 20" in finished.stdout
